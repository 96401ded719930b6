package emulator_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

const (
	csvBody  = "1\ta\t1\n2\tb\t2\n"
	jsonBody = "{\"id\":1}\n{\"id\":2}\n"
)

// bz2 has what the program bzip2 makes of the two bodies; the standard library
// only reads the format.
var bz2 = map[string]string{
	csvBody:  "QlpoOTFBWSZTWdcq6TgAAANJAAAwMAAwACAAMMAIepmpWuChvi7kinChIa5V0nA=",
	jsonBody: "QlpoOTFBWSZTWTKYTdoAAAdZgAAQEAAwEAQgAAogACEoBP1QgyYhOE8aJJwvxdyRThQkDKYTdoA=",
}

// packed compresses a body; name is as in compress_type.
func packed(t *testing.T, name, body string) string {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch name {
	case "gz":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "lz4":
		w = lz4.NewWriter(&b)
	case "zstd":
		z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
		require.NoError(t, err)
		w = z
	case "bz2":
		require.Contains(t, bz2, body)
		text, err := base64.StdEncoding.DecodeString(bz2[body])
		require.NoError(t, err)
		return string(text)
	}
	_, err := io.WriteString(w, body)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

var allCodecs = []string{"gz", "bz2", "lz4", "deflate", "zstd"}

func TestCompressedBodies(t *testing.T) {
	t.Parallel()
	for _, version := range emulator.Versions(emulator.Doris) {
		for _, name := range allCodecs {
			t.Run(version+" "+name, func(t *testing.T) {
				t.Parallel()
				emu := start(t, emulator.Options{Version: version})
				word := name
				if name == "lz4" && version == "1.2" {
					word = "lz4frame"
				}
				r := put(t, emu, packed(t, name, csvBody), "compress_type: "+strings.ToUpper(word))
				if name == "zstd" && version != "master" {
					require.Contains(t, r.Message, "unknown data format, format=", "newer than every release")
					return
				}
				require.Equal(t, "Success", r.Status, r.raw)
				require.Equal(t, 2, emu.Count("db", "t"))
				require.EqualValues(t, len(packed(t, name, csvBody)), r.LoadBytes, "the bytes that were sent")

				r = putJSON(t, emu, packed(t, name, jsonBody), "compress_type: "+name)
				if version < "3.0" {
					require.Contains(t, r.Message, "compress data of JSON format is not supported.")
					return
				}
				require.Equal(t, "Success", r.Status, r.raw)
				require.Equal(t, 4, emu.Count("db", "t"))
			})
		}
	}
}

func TestCompressedJSONPatchLevels(t *testing.T) {
	t.Parallel()
	for version, ok := range map[string]bool{"3.0.4": false, "3.0.5": true, "3.0": true} {
		emu := start(t, emulator.Options{Version: version})
		r := putJSON(t, emu, packed(t, "gz", jsonBody), "compress_type: gz")
		require.Equal(t, ok, r.Status == "Success", "%s: %s", version, r.raw)
	}
	_, err := emulator.Start(emulator.Options{Version: "3"})
	require.ErrorContains(t, err, `unknown version "3" of doris, want one of 1.2, 2.0,`)
}

// Only what is read line by line is decompressed.
func TestCompressedDocumentIsNotRead(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{})
	const array = `[{"id":1},{"id":2}]`
	r := put(t, emu, packed(t, "gz", array), "format: json", "strip_outer_array: true", "compress_type: gz")
	require.Equal(t, "[DATA_QUALITY_ERROR]too many filtered rows", r.Message)
	require.EqualValues(t, 1, r.Filtered)
	r = put(t, emu, packed(t, "gz", array), "format: json", "strip_outer_array: true", "read_json_by_line: true", "compress_type: gz")
	require.Equal(t, "Success", r.Status, r.raw)
	require.Equal(t, 2, emu.Count("db", "t"))
}

func TestUnknownCompression(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{})
	require.Equal(t, "[INTERNAL_ERROR]unknown data format, format=", put(t, emu, packed(t, "gz", csvBody), "compress_type: gzip").Message)
	// With JSON it is no compression, without a word.
	require.Equal(t, "Success", putJSON(t, emu, jsonBody, "compress_type: gzip").Status)
	require.Equal(t, "[DATA_QUALITY_ERROR]too many filtered rows", putJSON(t, emu, packed(t, "gz", jsonBody), "compress_type: gzip").Message)
	// The header of HTTP says nothing to a BE.
	require.Equal(t, "[DATA_QUALITY_ERROR]too many filtered rows", put(t, emu, packed(t, "gz", csvBody), "Content-Encoding: gzip").Message)
}

func TestStreamsInARow(t *testing.T) {
	t.Parallel()
	for _, name := range allCodecs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			emu := start(t, emulator.Options{Version: "master"})
			one := packed(t, name, csvBody)
			r := put(t, emu, one+one, "compress_type: "+name)
			require.Equal(t, "Success", r.Status, r.raw)
			require.Equal(t, 4, emu.Count("db", "t"))

			for what, want := range map[string][]string{
				one + "and then some":           {"Failed to inflate. return code: -3", "Failed to bz2 decompress. status code: ", "LZ4F_getFrameInfo error: ERROR_frameType_unknown", "Failed to zstd decompress: Unknown frame descriptor"},
				"this is not compressed at all": {"Failed to inflate. return code: -3", "Failed to bz2 decompress. status code: -5", "LZ4F_getFrameInfo error: ERROR_frameType_unknown", "Failed to zstd decompress: Unknown frame descriptor"},
				one[:len(one)-1]:                {"Compressed file has been truncated, which is not allowed"},
			} {
				r := put(t, emu, what, "compress_type: "+name, "label: bad")
				require.Equal(t, "Fail", r.Status, r.raw)
				found := false
				for _, w := range want {
					found = found || strings.HasPrefix(r.Message, "[INTERNAL_ERROR]"+w)
				}
				require.True(t, found, r.Message)
				require.Equal(t, emulator.Aborted, emu.LabelState("db", "bad"))
			}
			require.Equal(t, 4, emu.Count("db", "t"))
			require.Equal(t, "Success", put(t, emu, "", "compress_type: "+name).Status, "an empty body needs no frame")
		})
	}
	emu := start(t, emulator.Options{})
	require.Contains(t, put(t, emu, "short", "compress_type: lz4").Message, "Lz4 header size is between 7 and 15 bytes. but input size is only: 5")
}

func TestTheOldWordForLZ4(t *testing.T) {
	t.Parallel()
	each(t, emulator.Options{}, func(t *testing.T, emu *emulator.Emulator, since func(string) bool) {
		body := packed(t, "lz4", csvBody)
		for word, known := range map[string]bool{"lz4": since("2.0"), "lz4frame": !since("2.0")} {
			r := put(t, emu, body, "compress_type: "+word)
			require.Equal(t, known, r.Status == "Success", r.raw)
			if !known {
				require.Contains(t, r.Message, "unknown data format, format=")
			}
		}
	})
}

func TestCompressedBombs(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{MaxPlainBytes: 1 << 14})
	big := strings.Repeat("1\ta\t1\n", 1<<14)
	for _, name := range []string{"gz", "deflate", "lz4"} {
		r := put(t, emu, packed(t, name, big), "compress_type: "+name)
		require.Equal(t, "[INTERNAL_ERROR]the decompressed body is larger than the emulator takes (16384 bytes)", r.Message)
	}
	require.Zero(t, emu.Count("db", "t"))
	require.Equal(t, "Success", put(t, emu, big[:6<<12]).Status, "the limit is for compressed bodies")
}

func TestCompressedByChunksAndWithNames(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{})
	r := put(t, emu, packed(t, "gz", "id\tname\tn\n"+csvBody), "compress_type: gz", "format: csv_with_names")
	require.Equal(t, "Success", r.Status, r.raw)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+emu.BEAddr()+"/api/db/t/_stream_load", io.MultiReader(strings.NewReader(packed(t, "lz4", csvBody))))
	require.NoError(t, err)
	req.SetBasicAuth("root", "")
	req.Header.Set("compress_type", "lz4")
	resp, err := client(t).Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Contains(t, string(text), `"Status": "Success"`)
	require.Equal(t, 4, emu.Count("db", "t"))
}
