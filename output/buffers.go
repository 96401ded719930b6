package output

import "sync"

// buffer has room for the rows of a group. A slice header for each row of small rows is a tenth of their size, so it is used again, as far as that is certain
// to be safe.
type buffer struct {
	rows    [][]byte
	indices []int
}

var buffers sync.Pool

// newBuffer is an empty buffer for up to n rows.
func newBuffer(n int) *buffer {
	if b, ok := buffers.Get().(*buffer); ok && cap(b.rows) >= n {
		return b
	}
	return &buffer{make([][]byte, 0, n), make([]int, 0, n)}
}

// free gives the buffers of groups back. Nothing may look at the groups any more.
func free(groups []*group) {
	for _, g := range groups {
		if g.buffer == nil || !g.unused {
			continue
		}
		clear(g.Rows) // the pool must not keep them alive
		*g.buffer = buffer{g.Rows[:0], g.indices[:0]}
		buffers.Put(g.buffer)
		g.buffer, g.Rows, g.indices = nil, nil, nil
	}
}
