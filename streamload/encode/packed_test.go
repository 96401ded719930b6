package encode

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"
)

var compressions = []Compression{Gzip, LZ4, Zstd, Deflate, Bzip2}

// unpack takes the compression off a body, and requires that it is exactly one
// stream: StarRocks reads no further than the first.
func unpack(tb testing.TB, c Compression, body []byte) string {
	tb.Helper()
	src := bytes.NewReader(body) // an io.ByteReader, so that nothing is read ahead
	var r io.Reader
	var err error
	switch c {
	case Gzip:
		var z *gzip.Reader
		z, err = gzip.NewReader(src)
		require.NoError(tb, err)
		z.Multistream(false)
		r = z
	case Deflate:
		r, err = zlib.NewReader(src)
	case Bzip2:
		r = bzip2.NewReader(src)
		require.Equal(tb, 1, bytes.Count(body, []byte("BZh")), "one stream")
	case LZ4:
		require.Equal(tb, len(body), lz4FrameLen(tb, body), "one frame")
		r = lz4.NewReader(src)
	case Zstd:
		require.Equal(tb, len(body), zstdFrameLen(tb, body), "one frame")
		var z *zstd.Decoder
		z, err = zstd.NewReader(src, zstd.WithDecoderConcurrency(1))
		if err == nil {
			defer z.Close()
		}
		r = z
	}
	require.NoError(tb, err)
	text, err := io.ReadAll(r)
	require.NoError(tb, err)
	require.Zero(tb, src.Len(), "bytes behind the stream")
	return string(text)
}

// lz4FrameLen walks over the blocks of a frame (LZ4 frame format description).
func lz4FrameLen(tb testing.TB, b []byte) int {
	tb.Helper()
	require.Equal(tb, uint32(0x184D2204), binary.LittleEndian.Uint32(b))
	flags := b[4]
	require.Equal(tb, byte(0x40), flags&0xc0, "version")
	require.NotZero(tb, flags&4, "a checksum of the content")
	n := 7
	if flags&8 != 0 {
		n += 8
	}
	for {
		size := int(binary.LittleEndian.Uint32(b[n:]) &^ (1 << 31))
		if n += 4; size == 0 {
			return n + 4
		}
		n += size
		if flags&0x10 != 0 {
			n += 4
		}
	}
}

// zstdFrameLen walks over the blocks of a frame (RFC 8878, 3.1.1).
func zstdFrameLen(tb testing.TB, b []byte) int {
	tb.Helper()
	var h zstd.Header
	require.NoError(tb, h.Decode(b))
	require.True(tb, h.HasCheckSum)
	n := h.HeaderSize
	for last := false; !last; {
		head := int(b[n]) | int(b[n+1])<<8 | int(b[n+2])<<16
		last = head&1 != 0
		size := head >> 3
		if head>>1&3 == 1 { // one byte, repeated
			size = 1
		}
		n += 3 + size
	}
	return n + 4
}

func TestCompressedBodies(t *testing.T) {
	t.Parallel()
	all := bodies(t)
	for _, c := range compressions {
		for level := range c.MaxLevel() + 1 {
			if testing.Short() && level > 1 {
				break
			}
			t.Run(c.String()+strings.Repeat("+", level), func(t *testing.T) {
				t.Parallel()
				p, err := NewCompressor(c, level)
				require.NoError(t, err)
				for name, want := range all {
					slow := c == Bzip2 && level > 1 || c == LZ4 && level > 5
					if want.text == "" || level > 0 && name != "one" && (slow || name != "mixed") {
						continue
					}
					packed, err := p.Compress(&want.body, nil)
					require.NoError(t, err)
					for range 2 {
						r := packed.Open()
						text, err := io.ReadAll(r)
						require.NoError(t, err)
						require.NoError(t, r.Close())
						require.Equal(t, packed.Len(), int64(len(text)))
						requireSameText(t, want.text, unpack(t, c, text))
					}
					if c == LZ4 {
						require.GreaterOrEqual(t, packed.Len(), int64(15), "less is refused by the server")
					}
					packed.Release()
				}
			})
		}
	}
}

// The same rows make the same bytes, so that a resend under the same label is one
// to the byte.
func TestCompressionIsDeterministic(t *testing.T) {
	t.Parallel()
	body, rejected := Encode(benchRows(2000, 200, JSON), Options{})
	require.Empty(t, rejected)
	for _, c := range compressions {
		p, err := NewCompressor(c, 0)
		require.NoError(t, err)
		var first []byte
		for range 3 {
			packed, err := p.Compress(&body, nil)
			require.NoError(t, err)
			r := packed.Open()
			text, err := io.ReadAll(r)
			require.NoError(t, err)
			require.NoError(t, r.Close())
			packed.Release()
			if first == nil {
				first = text
			}
			require.True(t, bytes.Equal(first, text), c)
		}
	}
}

func TestCompressionNamesAndLevels(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"none", "gzip", "lz4", "zstd", "deflate", "bzip2"} {
		c, ok := ParseCompression(name)
		require.True(t, ok)
		require.Equal(t, name, c.String())
		_, err := NewCompressor(c, c.MaxLevel()+1)
		require.Error(t, err)
		_, err = NewCompressor(c, -1)
		require.Error(t, err)
	}
	c, ok := ParseCompression("")
	require.True(t, ok)
	require.Equal(t, Uncompressed, c)
	_, ok = ParseCompression("gz")
	require.False(t, ok)
	_, err := NewCompressor(Gzip, 10)
	require.EqualError(t, err, "level 10 is not between 1 and 9")
	_, err = NewCompressor(Uncompressed, 0)
	require.EqualError(t, err, "there is no compression none")
	require.Equal(t, "compression(9)", Compression(9).String())
}

func TestPackedReaders(t *testing.T) {
	t.Parallel()
	body, _ := Encode(benchRows(6000, 300, JSON), Options{})
	p, err := NewCompressor(LZ4, 0)
	require.NoError(t, err)
	packed, err := p.Compress(&body, nil)
	require.NoError(t, err)
	require.Greater(t, packed.Len(), int64(3*packSize), "several pieces")
	r := packed.Open()
	want, err := io.ReadAll(r)
	require.NoError(t, err)

	require.NoError(t, iotest.TestReader(readerOf(packed), want))
	var out bytes.Buffer
	n, err := packed.Open().(io.WriterTo).WriteTo(&out)
	require.NoError(t, err)
	require.Equal(t, packed.Len(), n)
	require.True(t, bytes.Equal(want, out.Bytes()))

	require.NoError(t, r.Close())
	require.NoError(t, r.Close())
	_, err = r.Read(make([]byte, 1))
	require.ErrorIs(t, err, errClosed)
	_, err = r.(io.WriterTo).WriteTo(io.Discard)
	require.ErrorIs(t, err, errClosed)
}

func readerOf(p *Packed) io.Reader { return onlyReader{p.Open()} }

// A reader that is still open keeps the bytes of its body, whatever is compressed
// meanwhile.
func TestPackedBytesAreNotSharedTooEarly(t *testing.T) {
	t.Parallel()
	p, err := NewCompressor(Gzip, 0)
	require.NoError(t, err)
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			body, _ := Encode(benchRows(500+worker, 300, JSON), Options{})
			want := bodyText(t, &body)
			for range 20 {
				packed, err := p.Compress(&body, nil)
				if err != nil {
					t.Error(err)
					return
				}
				a, b := packed.Open(), packed.Open()
				packed.Release()
				half := make([]byte, packed.Len()/2)
				_, err = io.ReadFull(a, half)
				if err != nil {
					t.Error(err)
				}
				runtime.Gosched()
				var whole bytes.Buffer
				_, _ = b.(io.WriterTo).WriteTo(&whole)
				_ = b.Close()
				rest, _ := io.ReadAll(a)
				_ = a.Close()
				if !bytes.Equal(append(half, rest...), whole.Bytes()) {
					t.Error("two readers of one body differ")
				}
				requireSameText(t, want, unpack(t, Gzip, whole.Bytes()))
			}
		})
	}
	all.Wait()
}

// A reader that is closed while it reads lets go of the body when it is done.
func TestPackedCloseWhileReading(t *testing.T) {
	t.Parallel()
	body, _ := Encode(benchRows(20_000, 300, JSON), Options{})
	p, err := NewCompressor(LZ4, 0)
	require.NoError(t, err)
	packed, err := p.Compress(&body, nil)
	require.NoError(t, err)
	reading, closed := make(chan struct{}), make(chan struct{})
	r := packed.Open()
	w := writerFunc(func(b []byte) (int, error) {
		select {
		case <-reading:
		default:
			close(reading)
			<-closed
		}
		return len(b), nil
	})
	done := make(chan error, 1)
	go func() {
		_, err := r.(io.WriterTo).WriteTo(w)
		done <- err
	}()
	<-reading
	require.NoError(t, r.Close())
	packed.Release()
	require.NotNil(t, packed.packs, "a call still reads them")
	close(closed)
	require.ErrorIs(t, <-done, errClosed)
	require.Nil(t, packed.packs)
}

func TestCompressionStops(t *testing.T) {
	t.Parallel()
	body, _ := Encode(benchRows(2_000, 300, JSON), Options{})
	want := bodyText(t, &body)
	stop := make(chan struct{})
	close(stop)
	for _, c := range compressions {
		p, err := NewCompressor(c, 0)
		require.NoError(t, err)
		_, err = p.Compress(&body, stop)
		require.ErrorIs(t, err, ErrStopped, c)
		packed, err := p.Compress(&body, nil)
		require.NoError(t, err, "the next one is not disturbed")
		text, err := io.ReadAll(packed.Open())
		require.NoError(t, err)
		requireSameText(t, want, unpack(t, c, text))
	}
}
