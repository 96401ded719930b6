// Package codec takes the compression off the body of a load, with bounded
// memory, the way the decompressors of a BE do (be/src/exec/decompressor.cpp):
// a body may be one compressed stream or several, one behind the other.
package codec

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Kind is a compression. The zero value is none.
type Kind string

// The compressions.
const (
	None Kind = ""
	// Gzip takes zlib streams too, as zlib does when it finds out by itself.
	Gzip Kind = "gzip"
	// Deflate is the zlib format, with its header and checksum.
	Deflate Kind = "deflate"
	Bzip2   Kind = "bzip2"
	// LZ4Frame is the frame format, not bare blocks.
	LZ4Frame Kind = "lz4frame"
	Zstd     Kind = "zstd"
)

// What can be wrong with a body.
var (
	// ErrMagic is a stream that does not begin as one of its kind does: another
	// compression, none at all, or rubbish behind the last stream.
	ErrMagic = errors.New("no such stream")
	// ErrData is a stream with damage in it.
	ErrData = errors.New("damaged stream")
	// ErrTruncated is a stream that ends too early.
	ErrTruncated = errors.New("truncated stream")
	// ErrShort is an LZ4 body of less than 15 bytes, which the servers refuse
	// whatever is in it.
	ErrShort = errors.New("too short")
	// ErrTooLarge is a body that is larger than the limit when decompressed.
	ErrTooLarge = errors.New("larger than the limit")
)

// LZ4Header is the least length of an LZ4 body.
const LZ4Header = 15

// maxZstdWindow is the window that libzstd takes at most unless it is told
// otherwise (ZSTD_WINDOWLOG_LIMIT_DEFAULT, 27).
const maxZstdWindow = 128 << 20

// Decode takes the compression off body. The result has at most limit bytes, and
// about twice that is held while it is made. With first what follows the
// first stream is ignored, otherwise all streams are joined and whatever else
// follows is an error. An empty body is an empty result. The errors are those
// above.
func Decode(kind Kind, body []byte, limit int64, first bool) ([]byte, error) {
	if kind == None || len(body) == 0 {
		if int64(len(body)) > limit {
			return nil, ErrTooLarge
		}
		return body, nil
	}
	if kind == LZ4Frame && len(body) < LZ4Header {
		return nil, ErrShort
	}
	d := decoder{limit: limit, first: first}
	var err error
	switch kind {
	case Gzip, Deflate:
		err = d.flate(kind, body)
	case Bzip2:
		err = d.bzip2(body)
	case LZ4Frame:
		err = d.frames(body, lz4Frame, func(frame io.Reader) (io.Reader, func(), error) {
			return lz4.NewReader(frame), func() {}, nil
		})
	case Zstd:
		err = d.frames(body, zstdFrame, func(frame io.Reader) (io.Reader, func(), error) {
			r, err := zstd.NewReader(frame, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
			if err != nil {
				return nil, nil, err
			}
			return r, r.Close, nil
		})
	default:
		err = ErrMagic
	}
	if err != nil {
		return nil, err
	}
	return d.out.Bytes(), nil
}

type decoder struct {
	out   bytes.Buffer
	limit int64
	first bool
}

// copy takes what r gives up to the limit.
func (d *decoder) copy(r io.Reader) error {
	room := d.limit - int64(d.out.Len())
	n, err := io.Copy(&d.out, io.LimitReader(r, room+1))
	switch {
	case n > room:
		return ErrTooLarge
	case err == nil:
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return ErrTruncated
	}
	return ErrData
}

func (d *decoder) flate(kind Kind, body []byte) error {
	in := bytes.NewReader(body) // an io.ByteReader: no byte behind a stream is taken
	for in.Len() > 0 {
		start := body[len(body)-in.Len():]
		var r io.Reader
		var err error
		if kind == Gzip && start[0] == 0x1f {
			var z *gzip.Reader
			if z, err = gzip.NewReader(in); err == nil {
				z.Multistream(false)
				r = z
			}
		} else {
			r, err = zlib.NewReader(in)
		}
		switch {
		case err == nil:
			err = d.copy(r)
		case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
			err = ErrTruncated
		default:
			err = ErrMagic
		}
		if err != nil || d.first {
			return err
		}
	}
	return nil
}

func (d *decoder) bzip2(body []byte) error {
	if !bzip2Start(body) {
		if len(body) < 4 && strings.HasPrefix("BZh", string(body)) { //nolint:gocritic // argOrder: the body is the beginning of the magic word
			return ErrTruncated
		}
		return ErrMagic
	}
	if !d.first {
		return d.copy(bzip2.NewReader(bytes.NewReader(body)))
	}
	// The reader does not say where a stream ends. Streams begin at whole bytes,
	// so the first one ends at one of the places where another could begin, or
	// where the reader gives up looking for one.
	for end := 4; end < len(body); end++ {
		if !bzip2Start(body[end:]) {
			continue
		}
		one := decoder{limit: d.limit}
		err := one.copy(bzip2.NewReader(bytes.NewReader(body[:end])))
		if err == nil || errors.Is(err, ErrTooLarge) {
			*d = one
			return err
		}
	}
	r := &lastError{in: bzip2.NewReader(bytes.NewReader(body))}
	err := d.copy(r)
	if errors.Is(err, ErrData) && r.err == bzip2.StructuralError("bad magic value in continuation file") { //nolint:errorlint // the reader returns it bare
		return nil
	}
	return err
}

// lastError remembers the error of a reader.
type lastError struct {
	in  io.Reader
	err error
}

func (r *lastError) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	r.err = err
	return n, err
}

// bzip2Start says whether a bzip2 stream may begin here: the file header and the
// magic number of a block, or of the end of a stream without any.
func bzip2Start(b []byte) bool {
	return len(b) >= 10 && string(b[:3]) == "BZh" && b[3] >= '1' && b[3] <= '9' &&
		(string(b[4:10]) == "1AY&SY" || string(b[4:10]) == "\x17\x72\x45\x38\x50\x90")
}

// frames decodes frame by frame; length says where one ends.
func (d *decoder) frames(body []byte, length func([]byte) (n int, skip bool, err error), open func(io.Reader) (io.Reader, func(), error)) error {
	for len(body) > 0 {
		n, skip, err := length(body)
		if err != nil {
			return err
		}
		if !skip {
			if err := d.frame(body[:n], open); err != nil || d.first {
				return err
			}
		}
		body = body[n:]
	}
	return nil
}

func (d *decoder) frame(frame []byte, open func(io.Reader) (io.Reader, func(), error)) error {
	r, done, err := open(bytes.NewReader(frame))
	if err != nil {
		return ErrData
	}
	defer done()
	return d.copy(r)
}
