package encode

import (
	"fmt"
	"io"
	"slices"

	"github.com/dsnet/compress/bzip2"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Compression is how a body is compressed.
type Compression uint8

const (
	// Uncompressed leaves the body as it is.
	Uncompressed Compression = iota
	// Gzip is one gzip member (RFC 1952).
	Gzip
	// LZ4 is one LZ4 frame, with a checksum of the content.
	LZ4
	// Zstd is one Zstandard frame (RFC 8878).
	Zstd
	// Deflate is one zlib stream (RFC 1950), which is what Doris and StarRocks
	// mean by the name (decompressor.cpp: inflateInit2 with 15 window bits).
	Deflate
	// Bzip2 is one bzip2 stream.
	Bzip2
)

var compressionNames = [...]string{"none", "gzip", "lz4", "zstd", "deflate", "bzip2"}

// String returns the name of the compression.
func (c Compression) String() string {
	if int(c) < len(compressionNames) {
		return compressionNames[c]
	}
	return fmt.Sprintf("compression(%d)", uint8(c))
}

// ParseCompression finds a compression by the name that String gives; the empty
// name is none.
func ParseCompression(name string) (c Compression, ok bool) {
	if name == "" {
		return Uncompressed, true
	}
	i := slices.Index(compressionNames[:], name)
	return Compression(max(i, 0)), i >= 0
}

// MaxLevel is the highest level that a compression has: 9, but 22 for zstd, and
// 0 for none. The lowest is 1 for all.
func (c Compression) MaxLevel() int {
	switch c {
	case Gzip, LZ4, Deflate, Bzip2:
		return 9
	case Zstd:
		return 22
	default:
		return 0
	}
}

// encoder compresses one stream at a time.
type encoder interface {
	io.WriteCloser
	// Reset makes it ready for another stream.
	Reset(w io.Writer)
}

// newEncoder makes an encoder of a level, 0 for the one that suits loads: the
// fastest, but bzip2's usual one, as its level is only the size of a block.
//
// The levels of zstd are those of its C library. The encoder has four, of which
// each stands for several of them.
func (c Compression) newEncoder(level int) (encoder, error) {
	if level < 0 || level > c.MaxLevel() {
		return nil, fmt.Errorf("level %d is not between 1 and %d", level, c.MaxLevel())
	}
	fast := max(level, 1)
	switch c {
	case Gzip:
		return gzip.NewWriterLevel(io.Discard, fast)
	case Deflate:
		return zlib.NewWriterLevel(io.Discard, fast)
	case Zstd:
		return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(fast)), zstd.WithEncoderConcurrency(1))
	case LZ4:
		w := lz4.NewWriter(io.Discard)
		// The server makes room for a whole block.
		err := w.Apply(lz4.BlockSizeOption(lz4.Block256Kb), lz4.ConcurrencyOption(1), lz4.CompressionLevelOption(lz4Levels[level]))
		return w, err
	case Bzip2:
		w, err := bzip2.NewWriter(io.Discard, &bzip2.WriterConfig{Level: level}) // 0 is its default
		return bzip2Encoder{w}, err
	default:
		return nil, fmt.Errorf("there is no compression %s", c)
	}
}

// lz4Levels by number: 0 is the fast algorithm, the others search harder and harder.
var lz4Levels = [...]lz4.CompressionLevel{
	lz4.Fast, lz4.Level1, lz4.Level2, lz4.Level3, lz4.Level4, lz4.Level5, lz4.Level6, lz4.Level7, lz4.Level8, lz4.Level9,
}

type bzip2Encoder struct{ *bzip2.Writer }

func (e bzip2Encoder) Reset(w io.Writer) { _ = e.Writer.Reset(w) } // never fails
