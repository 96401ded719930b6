package encode

import (
	"errors"
	"io"
	"math"
	"sync"
	"sync/atomic"
)

const (
	// chunkSize is how many bytes WriteTo copies together when rows are small.
	chunkSize = 128 << 10
	// directRow is the length in bytes from which on WriteTo passes a row on as
	// it is, without copying it into a chunk.
	directRow = 32 << 10
	// vectorRow is that length where a writer takes several pieces at once. A
	// piece costs the system about as much as copying this many bytes.
	vectorRow = 2 << 10
	// vectorSize is how many bytes are handed to such a writer at once.
	vectorSize = 256 << 10
)

// vectorWriter is a writer that takes several pieces of a body at once. It may
// change the slice, not the pieces.
type vectorWriter interface {
	WriteVector(pieces [][]byte) (int64, error)
}

var errClosed = errors.New("encode: read of a body that is closed")

var (
	chunks  = sync.Pool{New: func() any { return new([chunkSize]byte) }}
	vectors = sync.Pool{New: func() any { return new([][]byte) }}
)

// rowReader reads a body out of its rows. Its methods must not be called at the
// same time, but for Close.
type rowReader struct {
	rows   [][]byte
	layout layout
	piece  []byte // what is left of the current piece of the body
	step   int    // number of the next piece
	closed atomic.Bool
	// use says what becomes of the rows, readers counts the readers that may
	// still look at them.
	use     atomic.Uint32
	readers *atomic.Int64
}

// The values of rowReader.use, which only grows.
const (
	unused   uint32 = iota
	inUse           // reading has begun
	finished        // all rows have been looked at, or none ever will be
)

// begin says whether the reader may go on.
func (r *rowReader) begin() bool {
	if r.closed.Load() {
		return false
	}
	return r.use.CompareAndSwap(unused, inUse) || r.use.Load() == inUse || r.step > 2*len(r.rows)
}

// finish says that rows will not be looked at any more, unless that was said
// before or more than from has happened.
func (r *rowReader) finish(from uint32) {
	if r.use.CompareAndSwap(from, finished) && r.readers != nil {
		r.readers.Add(-1)
	}
}

// next makes the next piece the current one. The pieces are what stands before
// the rows, then the rows with what stands between them in turn, and what
// stands after them. It returns false when there are no more.
func (r *rowReader) next() bool {
	s := r.step
	switch last := 2 * len(r.rows); {
	case s == 0:
		r.piece = r.layout.before
	case s == last:
		r.piece = r.layout.after
	case s > last:
		r.finish(inUse)
		return false
	case s%2 == 1:
		r.piece = r.rows[s/2]
	default:
		r.piece = r.layout.between
	}
	r.step++
	return true
}

// whole copies rows that fit into p as a whole and are shorter than limit, each
// with what stands before it, and returns how many bytes that is. It does
// nothing more than next and copy would; it spares small rows the detour.
func (r *rowReader) whole(p []byte, limit int) int {
	if len(r.piece) > 0 || r.step == 0 || r.step%2 == 1 {
		return 0
	}
	n, between := 0, r.layout.between
	for _, row := range r.rows[r.step/2:] {
		if len(row) >= limit || len(between)+len(row) > len(p)-n {
			break
		}
		n += copy(p[n:], between)
		n += copy(p[n:], row)
		r.step += 2
	}
	return n
}

// fill copies as much of the body into p as fits and returns how much that is.
func (r *rowReader) fill(p []byte) int {
	n := 0
	for n < len(p) {
		n += r.whole(p[n:], math.MaxInt)
		if len(r.piece) == 0 && !r.next() {
			break
		}
		c := copy(p[n:], r.piece)
		n += c
		r.piece = r.piece[c:]
	}
	return n
}

// Read implements io.Reader. It returns fewer bytes than fit into p only at the
// end of the body.
func (r *rowReader) Read(p []byte) (int, error) {
	if !r.begin() {
		return 0, errClosed
	}
	n := r.fill(p)
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// WriteTo implements io.WriterTo. It writes what has not been read yet: large
// rows as they are, small ones in chunks, and both together where w has
// WriteVector. After an error the reader is of no further use.
func (r *rowReader) WriteTo(w io.Writer) (int64, error) {
	if !r.begin() {
		return 0, errClosed
	}
	// An HTTP client calls this when it has read the whole body, to see that
	// nothing is left; no chunk is needed for that.
	for len(r.piece) == 0 {
		if !r.next() {
			return 0, nil
		}
	}
	chunk := chunks.Get().(*[chunkSize]byte)
	defer chunks.Put(chunk)
	if v, ok := w.(vectorWriter); ok {
		return r.writeVectors(v, chunk)
	}
	return r.writeChunks(w, chunk)
}

func (r *rowReader) writeChunks(w io.Writer, chunk *[chunkSize]byte) (written int64, err error) {
	write := func(p []byte) error {
		if r.closed.Load() {
			return errClosed
		}
		n, err := w.Write(p)
		written += int64(n)
		if err == nil && n != len(p) {
			err = io.ErrShortWrite
		}
		return err
	}
	used := 0
	for {
		used += r.whole(chunk[used:], directRow)
		if len(r.piece) == 0 && !r.next() {
			break
		}
		if len(r.piece) >= directRow {
			if used > 0 {
				if err := write(chunk[:used]); err != nil {
					return written, err
				}
				used = 0
			}
			if err := write(r.piece); err != nil {
				return written, err
			}
			r.piece = nil
			continue
		}
		c := copy(chunk[used:], r.piece)
		r.piece = r.piece[c:]
		if used += c; used == chunkSize {
			if err := write(chunk[:]); err != nil {
				return written, err
			}
			used = 0
		}
	}
	if used == 0 {
		return written, nil
	}
	return written, write(chunk[:used])
}

// writeVectors writes large rows from where they are and what stands between
// them out of the chunk, many at a time.
func (r *rowReader) writeVectors(w vectorWriter, chunk *[chunkSize]byte) (written int64, err error) {
	pieces := vectors.Get().(*[][]byte)
	defer func() {
		clear((*pieces)[:cap(*pieces)]) // the pool must not keep the rows alive
		vectors.Put(pieces)
	}()
	for more := true; more; {
		vector, size := (*pieces)[:0], 0
		// chunk[from:used] is what was copied since the last row.
		from, used := 0, 0
		copied := func() {
			if used > from {
				vector = append(vector, chunk[from:used])
				from = used
			}
		}
		for size < vectorSize && used < chunkSize {
			n := r.whole(chunk[used:], vectorRow)
			used, size = used+n, size+n
			if len(r.piece) == 0 {
				if more = r.next(); !more {
					break
				}
				continue
			}
			if len(r.piece) >= vectorRow {
				copied()
				vector = append(vector, r.piece)
				size += len(r.piece)
				r.piece = nil
				continue
			}
			n = copy(chunk[used:], r.piece)
			used, size = used+n, size+n
			r.piece = r.piece[n:]
		}
		copied()
		*pieces = vector
		if r.closed.Load() {
			return written, errClosed
		}
		if size == 0 {
			continue
		}
		n, err := w.WriteVector(vector)
		written += n
		if err == nil && n != int64(size) {
			err = io.ErrShortWrite
		}
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// Close implements io.Closer.
func (r *rowReader) Close() error {
	r.closed.Store(true)
	r.finish(unused)
	return nil
}
