package emulator

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dorisload/benthos-doris/test/emulator/internal/codec"
)

// compressions are the words that compress_type knows (be/src/util/load_util.cpp);
// None marks those that the emulator does not do.
var compressions = map[string]codec.Kind{
	"gz": codec.Gzip, "bz2": codec.Bzip2, "lz4": codec.LZ4Frame, "deflate": codec.Deflate, "zstd": codec.Zstd,
	"lzo": codec.None, "lzop": codec.None, "lz4_block": codec.None, "snappy_block": codec.None,
}

// readCompression reads the header compress_type. A word that is not known, gzip
// for example, makes the format of a CSV load unknown. A JSON load takes it for
// no compression at all.
func (s *loadSpec) readCompression(p *profile, unknownFormat error) error {
	word := strings.ToLower(s.h.Get("compress_type"))
	if word == "" {
		return nil
	}
	if s.format == "json" && !p.jsonCompression() {
		return &beError{"INTERNAL_ERROR", "compress data of JSON format is not supported."}
	}
	kind, known := compressions[word]
	if p.oldLZ4() {
		switch word {
		case "lz4frame":
			kind, known = codec.LZ4Frame, true
		case "lz4":
			known = false
		}
	}
	if kind == codec.Zstd && !p.zstd() {
		known = false
	}
	switch {
	case known && kind == codec.None:
		return &beError{"NOT_IMPLEMENTED_ERROR", "the compress_type " + word + " is not supported by the emulator"}
	case known:
		s.codec = kind
	case s.format != "json":
		return unknownFormat
	}
	return nil
}

// plainBody takes the compression off the body.
//
// In Doris only the line readers of a BE do that: a JSON body that is read as one
// document is parsed as it came (NewJsonReader::_read_one_message), so a
// compressed one is a bad row. In StarRocks the reader of JSON stops at the end of
// the first stream, and what follows is lost without a word. (Where streams of
// gzip or bzip2 are small, its decompressor goes on in the same buffer; the
// emulator always takes the worse case.)
func (l *load) plainBody(p *plan, body []byte) ([]byte, error) {
	isJSON, starrocks := l.spec.format == "json", p.profile.starrocks()
	if l.spec.codec == codec.None || isJSON && !starrocks && !p.json.ByLine {
		return body, nil
	}
	limit := l.x.e.opt.MaxPlainBytes
	out, err := codec.Decode(l.spec.codec, body, limit, isJSON && starrocks)
	switch {
	case err == nil:
		return out, nil
	case errors.Is(err, codec.ErrTooLarge):
		return nil, &beError{"INTERNAL_ERROR", fmt.Sprintf("the decompressed body is larger than the emulator takes (%d bytes)", limit)}
	case errors.Is(err, codec.ErrTruncated) && isJSON && starrocks:
		return nil, &beError{"INTERNAL_ERROR", "the compressed body is cut short (a real BE would not end to wait for the rest)"}
	}
	return nil, &beError{"INTERNAL_ERROR", codecText(l.spec.codec, err, len(body), starrocks)}
}

// codecText says in the words of a BE (decompressor.cpp of Doris,
// stream_compression.cpp of StarRocks, new_plain_text_line_reader.cpp) what is
// wrong with a compressed body.
func codecText(kind codec.Kind, err error, size int, starrocks bool) string {
	magic := errors.Is(err, codec.ErrMagic)
	switch {
	case errors.Is(err, codec.ErrShort):
		return fmt.Sprintf("Lz4 header size is between 7 and 15 bytes. but input size is only: %d", size)
	case errors.Is(err, codec.ErrTruncated):
		return "Compressed file has been truncated, which is not allowed"
	case kind == codec.Gzip, kind == codec.Deflate:
		return "Failed to inflate. return code: -3"
	case kind == codec.Bzip2 && magic:
		return "Failed to bz2 decompress. status code: -5"
	case kind == codec.Bzip2:
		return "Failed to bz2 decompress. status code: -4"
	case kind == codec.LZ4Frame && magic:
		return "LZ4F_getFrameInfo error: ERROR_frameType_unknown"
	case kind == codec.LZ4Frame:
		return "Decompression error: ERROR_decompressionFailed"
	}
	text := "Data corruption detected"
	if magic {
		text = "Unknown frame descriptor"
	}
	if starrocks {
		return "ZSTD decompress failed. error: " + text
	}
	return "Failed to zstd decompress: " + text
}
