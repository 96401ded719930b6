package transport

import (
	"bytes"
	"io"
)

// net/http reads a body in pieces of 32 KiB and writes each of them. But first it asks the connection whether it can read the body itself
// (io.ReaderFrom), with the body in an io.LimitedReader. So that is where a body gets to write itself, in pieces as large as it likes, and
// without being copied where its rows are long. What is counted stays what may have left: a piece is counted before it is written.

// vectorWriter takes several pieces in one call, which the system writes as one (writev).
type vectorWriter interface {
	// WriteVector writes all pieces in their order. It may change the slice, not the pieces.
	WriteVector(pieces [][]byte) (int64, error)
}

// ReadFrom writes what r reads.
func (c *withholdConn) ReadFrom(r io.Reader) (int64, error) {
	if l, ok := r.(*io.LimitedReader); ok {
		if b, ok := l.R.(*countedBody); ok && l.N == b.length {
			if body, ok := b.begin(); ok {
				defer b.end()
				n, err := body.WriteTo(bodyWriter{b, c})
				l.N -= n
				return n, err
			}
		}
	}
	return io.Copy(onlyWriter{c}, r)
}

// onlyWriter hides ReadFrom.
type onlyWriter struct{ io.Writer }

// bodyWriter counts what it writes.
type bodyWriter struct {
	body *countedBody
	conn *withholdConn
}

var _ vectorWriter = bodyWriter{}

// maxTaken is how many bytes are taken at a time. What is taken may have left, so less would be more exact, and more is no faster.
const maxTaken = 256 << 10

func (w bodyWriter) Write(p []byte) (n int, err error) {
	for err == nil && n < len(p) {
		piece := p[n:min(len(p), n+maxTaken)]
		if err = w.body.take(int64(len(piece))); err != nil {
			break
		}
		var wrote int
		wrote, err = w.conn.Write(piece)
		n += wrote
	}
	return n, err
}

func (w bodyWriter) WriteVector(pieces [][]byte) (n int64, err error) {
	for err == nil && len(pieces) > 0 {
		size, count := int64(0), 0
		for count < len(pieces) && size+int64(len(pieces[count])) <= maxTaken {
			size += int64(len(pieces[count]))
			count++
		}
		var wrote int64
		if count == 0 { // longer than what is taken at a time
			var k int
			k, err = w.Write(pieces[0])
			wrote, count = int64(k), 1
		} else if err = w.body.take(size); err == nil {
			wrote, err = w.conn.writeVector(pieces[:count:count])
		}
		n += wrote
		pieces = pieces[count:]
	}
	return n, err
}

// The head of a request whose body does not wait for "100 Continue" is kept until the first bytes of the body come, and leaves with them: one
// packet, and one call of the system, instead of two.

// keepHead makes the connection keep the head of the next request. A body must follow.
func (c *withholdConn) keepHead() { c.keeping, c.kept = true, c.kept[:0] }

var headEnds = []byte("\r\n\r\n")

// Write writes p, with the head that was kept before it.
func (c *withholdConn) Write(p []byte) (int, error) {
	if !c.keeping {
		return c.Conn.Write(p)
	}
	if !bytes.HasSuffix(c.kept, headEnds) {
		c.kept = append(c.kept, p...)
		return len(p), nil
	}
	n, err := c.writeVector([][]byte{p})
	return int(n), err
}

// writeVector writes pieces of a body, with the head that was kept before them. It returns how many bytes of the pieces left.
func (c *withholdConn) writeVector(pieces [][]byte) (int64, error) {
	if !c.keeping && len(pieces) == 1 {
		n, err := c.Conn.Write(pieces[0])
		return int64(n), err
	}
	head, all := int64(0), c.vector[:0]
	if c.keeping {
		c.keeping = false
		head = int64(len(c.kept))
		all = append(all, c.kept)
	}
	all = append(all, pieces...)
	c.vector, c.unwritten = all, all
	n, err := c.unwritten.WriteTo(c.Conn) // writev where Conn is plain TCP, else one after the other
	clear(c.vector)                       // the connection must not keep the rows alive
	return max(n-head, 0), err
}
