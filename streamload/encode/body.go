package encode

import (
	"bytes"
	"io"
	"sort"
	"sync/atomic"
)

// smallBody is the length in bytes up to which a body is made in one piece. An
// HTTP client then knows its reader and sends header and body in one write;
// above it the copy costs more than that saves.
const smallBody = 64 << 10

// layout is what stands around and between the rows of a body.
type layout struct {
	before, between, after []byte
}

var (
	jsonLines = layout{between: []byte{'\n'}}
	jsonArray = layout{before: []byte{'['}, between: []byte{','}, after: []byte{']'}}
)

// Body is the body of one load. The zero value has no rows. A Body does not
// change and may be used from several goroutines at the same time; it may be
// copied.
type Body struct {
	rows    [][]byte
	lines   []int // in each row; nil: one
	skipped []int // sorted positions in the input of the rows left out
	from    int   // rows of the body this one is a part of that come before it
	layout  layout
	size    int64
	small   []byte   // the whole body if it is a small one
	hash    [16]byte // of the rows, when hashed is true
	hashed  bool
	readers *atomic.Int64 // how many may still look at rows; nil for a small body
}

func newBody(rows [][]byte, skipped []int, l layout) Body {
	b := Body{rows: rows, skipped: skipped, layout: l}
	if len(rows) == 0 {
		return b
	}
	b.size = int64(len(l.before)+len(l.after)) + int64(len(rows)-1)*int64(len(l.between))
	for _, row := range rows {
		b.size += int64(len(row))
	}
	if b.size <= smallBody {
		b.small = make([]byte, b.size)
		r := rowReader{rows: rows, layout: l}
		r.fill(b.small)
		return b
	}
	b.readers = &atomic.Int64{}
	return b
}

// Len returns the length of the body in bytes.
func (b *Body) Len() int64 { return b.size }

// Rows returns the number of rows in the body.
func (b *Body) Rows() int { return len(b.rows) }

// Lines returns how many rows the server finds in the body: as many as Rows or,
// where a row is any number of lines, as many as there are lines.
func (b *Body) Lines() int {
	if b.lines == nil {
		return len(b.rows)
	}
	sum := 0
	for _, n := range b.lines {
		sum += n
	}
	return sum
}

// LinesOf returns how many of them are in the i-th row of the body. It panics if
// i is not in [0, Rows()).
func (b *Body) LinesOf(i int) int {
	_ = b.rows[i]
	if b.lines == nil {
		return 1
	}
	return b.lines[i]
}

// Index returns the position in the input of [Encode] of the i-th row of the
// body, both from 0. It panics if i is not in [0, Rows()).
func (b *Body) Index(i int) int {
	_ = b.rows[i]
	i += b.from
	// Before the k-th skipped row stand skipped[k]-k rows of the body, so the
	// i-th row comes after every skipped row for which that is at most i.
	return i + sort.Search(len(b.skipped), func(k int) bool { return b.skipped[k]-k > i })
}

// Open returns a reader of the body from its first byte. Any number of them may
// be open at the same time, and each may be used in another goroutine. It costs
// little, as nothing is copied.
//
// Read fills the buffer it is given, except at the end of the body. The reader
// also has WriteTo, which continues where reading stopped. Close may be called
// more than once, also while another goroutine reads.
func (b *Body) Open() io.ReadCloser {
	if b.size <= smallBody {
		// This very type is what net/http knows as a body held in memory.
		return io.NopCloser(bytes.NewReader(b.small))
	}
	b.readers.Add(1)
	return &rowReader{rows: b.rows, layout: b.layout, readers: b.readers}
}

// InUse tells whether some reader may still look at the slice of rows: one that
// has begun to read and has not come to the end. A reader that was closed on
// its way keeps the slice in use for ever, because it may be reading still. The
// rows themselves may be in use for longer.
func (b *Body) InUse() bool { return b.readers != nil && b.readers.Load() > 0 }
