package codec_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator/internal/codec"
)

const text = "1\ta\t1\n2\tb\t2\n"

// The output of bzip2 for text, for nothing, and for a million zeros; the
// standard library only reads the format.
const (
	bzText  = "QlpoOTFBWSZTWdcq6TgAAANJAAAwMAAwACAAMMAIepmpWuChvi7kinChIa5V0nA="
	bzEmpty = "QlpoORdyRThQkAAAAAA="
	bzZeros = "QlpoOTFBWSZTWXnTnkgAB6jAQMAAAAIACCAAMMwJqmmVJDapSQ8XckU4UJB5055I"
)

func unbase(t testing.TB, s string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(s)
	require.NoError(t, err)
	return b
}

func pack(t testing.TB, kind codec.Kind, plain []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch kind {
	case codec.Gzip:
		w = gzip.NewWriter(&b)
	case codec.Deflate:
		w = zlib.NewWriter(&b)
	case codec.LZ4Frame:
		z := lz4.NewWriter(&b)
		require.NoError(t, z.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.BlockChecksumOption(true)))
		w = z
	case codec.Zstd:
		z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
		require.NoError(t, err)
		w = z
	default:
		require.Equal(t, text, string(plain), "bzip2 bodies are made elsewhere")
		return unbase(t, bzText)
	}
	_, err := w.Write(plain)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

var kinds = []codec.Kind{codec.Gzip, codec.Deflate, codec.Bzip2, codec.LZ4Frame, codec.Zstd}

func TestOneStream(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 300_000)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise)
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			for _, first := range []bool{false, true} {
				out, err := codec.Decode(kind, pack(t, kind, []byte(text)), 100, first)
				require.NoError(t, err)
				require.Equal(t, text, string(out))
				if kind == codec.Bzip2 {
					continue
				}
				out, err = codec.Decode(kind, pack(t, kind, noise), 1<<20, first)
				require.NoError(t, err)
				require.True(t, bytes.Equal(noise, out))
			}
		})
	}
	out, err := codec.Decode(codec.Bzip2, unbase(t, bzEmpty), 100, true)
	require.NoError(t, err)
	require.Empty(t, out)
}

func TestSeveralStreams(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			one := pack(t, kind, []byte(text))
			two := append(append([]byte(nil), one...), one...)
			out, err := codec.Decode(kind, two, 100, false)
			require.NoError(t, err)
			require.Equal(t, text+text, string(out))
			out, err = codec.Decode(kind, two, 100, true)
			require.NoError(t, err)
			require.Equal(t, text, string(out))

			rubbish := append(append([]byte(nil), one...), "rubbish that is no stream"...)
			_, err = codec.Decode(kind, rubbish, 100, false)
			require.Error(t, err)
			out, err = codec.Decode(kind, rubbish, 100, true)
			require.NoError(t, err)
			require.Equal(t, text, string(out))
		})
	}
}

func TestSkippableFrames(t *testing.T) {
	t.Parallel()
	skip := []byte("\x53\x2a\x4d\x18\x03\x00\x00\x00abc")
	for _, kind := range []codec.Kind{codec.LZ4Frame, codec.Zstd} {
		one := pack(t, kind, []byte(text))
		for _, first := range []bool{false, true} {
			out, err := codec.Decode(kind, bytes.Join([][]byte{skip, one, skip}, nil), 100, first)
			require.NoError(t, err)
			require.Equal(t, text, string(out))
		}
	}
}

// A stream that was cut anywhere never passes for a whole one.
func TestCutStreams(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			one := pack(t, kind, []byte(text))
			for n := 1; n < len(one); n++ {
				for _, first := range []bool{false, true} {
					_, err := codec.Decode(kind, one[:n], 100, first)
					switch {
					case kind == codec.LZ4Frame && n < codec.LZ4Header:
						require.ErrorIs(t, err, codec.ErrShort, "%d bytes", n)
					case kind == codec.Bzip2 && n >= 4 && n < 10:
						require.Error(t, err, "%d bytes", n)
					default:
						require.ErrorIs(t, err, codec.ErrTruncated, "%d bytes", n)
					}
				}
			}
		})
	}
	// Between two blocks of LZ4, where the library sees the end of the body.
	noise := make([]byte, 200_000)
	_, _ = rand.NewChaCha8([32]byte{2}).Read(noise)
	whole := pack(t, codec.LZ4Frame, noise)
	_, err := codec.Decode(codec.LZ4Frame, whole[:7+4+65536+4], 1<<20, false)
	require.ErrorIs(t, err, codec.ErrTruncated)
}

func TestDamage(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			_, err := codec.Decode(kind, []byte("plain text, longer than any header"), 100, false)
			require.ErrorIs(t, err, codec.ErrMagic)
			one := pack(t, kind, []byte(text))
			for i := range one {
				bent := append([]byte(nil), one...)
				bent[i] ^= 0x55
				out, err := codec.Decode(kind, bent, 1000, false)
				if err == nil { // a flag that changes nothing
					require.Equal(t, text, string(out), "byte %d", i)
				}
			}
		})
	}
	for _, other := range []codec.Kind{codec.Bzip2, codec.LZ4Frame, codec.Zstd} {
		_, err := codec.Decode(codec.Gzip, pack(t, other, []byte(text)), 100, false)
		require.ErrorIs(t, err, codec.ErrMagic)
	}
	// gz takes zlib streams, deflate takes no gzip.
	out, err := codec.Decode(codec.Gzip, pack(t, codec.Deflate, []byte(text)), 100, false)
	require.NoError(t, err)
	require.Equal(t, text, string(out))
	_, err = codec.Decode(codec.Deflate, pack(t, codec.Gzip, []byte(text)), 100, false)
	require.ErrorIs(t, err, codec.ErrMagic)
}

func TestLimit(t *testing.T) {
	t.Parallel()
	zeros := make([]byte, 1_000_000)
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			bomb := unbase(t, bzZeros)
			if kind != codec.Bzip2 {
				bomb = pack(t, kind, zeros)
			}
			out, err := codec.Decode(kind, bomb, 1_000_000, false)
			require.NoError(t, err)
			require.Len(t, out, 1_000_000)
			for _, first := range []bool{false, true} {
				_, err = codec.Decode(kind, bomb, 999_999, first)
				require.ErrorIs(t, err, codec.ErrTooLarge)
			}
			_, err = codec.Decode(kind, append(append([]byte(nil), bomb...), bomb...), 1_500_000, false)
			require.ErrorIs(t, err, codec.ErrTooLarge, "the limit is for all streams together")
		})
	}
	_, err := codec.Decode(codec.None, []byte("abc"), 2, false)
	require.ErrorIs(t, err, codec.ErrTooLarge)
}

func FuzzDecode(f *testing.F) {
	for _, kind := range kinds {
		one := pack(f, kind, []byte(text))
		f.Add(string(kind), one, true)
		f.Add(string(kind), append(append([]byte(nil), one...), one...), false)
	}
	f.Fuzz(func(t *testing.T, kind string, body []byte, first bool) {
		out, err := codec.Decode(codec.Kind(kind), body, 1<<16, first)
		if err == nil && len(out) > 1<<16 {
			t.Fatalf("%d bytes", len(out))
		}
	})
}
