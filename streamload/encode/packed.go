package encode

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// Compressor compresses bodies. It is safe for concurrent use, and keeps as many
// encoders as were at work at the same time until the garbage collector takes
// them.
type Compressor struct {
	compression Compression
	level       int
	encoders    sync.Pool
}

// NewCompressor makes a Compressor; level 0 is the compression's default. The
// error says what is wrong with the level.
func NewCompressor(c Compression, level int) (*Compressor, error) {
	e, err := c.newEncoder(level)
	if err != nil {
		return nil, err
	}
	p := &Compressor{compression: c, level: level}
	p.encoders.Put(e)
	return p, nil
}

// ErrStopped is the error of Compress when it was told to stop.
var ErrStopped = errors.New("stopped")

// Compress compresses a body as one stream. Release must be called when the
// result is no longer needed. When stop is closed meanwhile it gives up soon, with
// ErrStopped; nil never is.
//
// The compressed bytes are held until then, because a body is sent with its
// length before it, and may be sent again. To compress it anew for each attempt
// would take the same time again, and nothing less: the length must be known
// before the first byte leaves.
func (c *Compressor) Compress(b *Body, stop <-chan struct{}) (*Packed, error) {
	e, _ := c.encoders.Get().(encoder)
	if e == nil {
		var err error
		if e, err = c.compression.newEncoder(c.level); err != nil {
			return nil, err
		}
	}
	p := &Packed{stop: stop}
	p.holders.Store(1)
	e.Reset(p)
	from := rowReader{rows: b.rows, layout: b.layout}
	_, err := from.WriteTo(e)
	if err == nil {
		err = e.Close()
	}
	if err != nil { // an encoder that failed is not used again
		p.Release()
		return nil, fmt.Errorf("%s: %w", c.compression, err)
	}
	p.stop = nil
	e.Reset(io.Discard) // the pool must not keep the result alive
	c.encoders.Put(e)
	return p, nil
}

// packSize is the size of the pieces that a compressed body is held in, in bytes.
const packSize = 64 << 10

var packs = sync.Pool{New: func() any { return new([packSize]byte) }}

// Packed is a compressed body. It may be used from several goroutines.
type Packed struct {
	packs []*[packSize]byte
	rows  [][]byte // what is used of each
	size  int64
	stop  <-chan struct{}
	// holders is how many still need the pieces: who compressed, and each open reader.
	holders atomic.Int64
}

// Write appends to the body while it is made. It fails only when it is to stop.
func (p *Packed) Write(b []byte) (int, error) {
	select {
	case <-p.stop:
		return 0, ErrStopped
	default:
	}
	n := len(b)
	p.size += int64(n)
	for len(b) > 0 {
		last := len(p.rows) - 1
		if last < 0 || len(p.rows[last]) == packSize {
			piece := packs.Get().(*[packSize]byte)
			p.packs, p.rows = append(p.packs, piece), append(p.rows, piece[:0])
			last++
		}
		row := p.rows[last]
		taken := copy(row[len(row):packSize], b)
		p.rows[last] = row[:len(row)+taken]
		b = b[taken:]
	}
	return n, nil
}

// Len returns the length of the body in bytes.
func (p *Packed) Len() int64 { return p.size }

// Open returns a reader of the body from its first byte, as [Body.Open] does. It
// must be closed, and not be opened after Release.
func (p *Packed) Open() io.ReadCloser {
	p.holders.Add(1)
	r := &packedReader{packed: p, rowReader: rowReader{rows: p.rows}}
	r.users.Store(1)
	return r
}

// Release says that no more readers will be opened. When the last one is closed
// the memory is used for other bodies. Call it once.
func (p *Packed) Release() {
	if p.holders.Add(-1) > 0 {
		return
	}
	for _, piece := range p.packs {
		packs.Put(piece)
	}
	p.packs, p.rows = nil, nil
}

// packedReader reads a compressed body. The body is held until the reader is
// closed and no call of it reads any more.
type packedReader struct {
	rowReader
	packed *Packed
	once   sync.Once
	users  atomic.Int64 // calls that read, and one until it is closed
}

func (r *packedReader) enter() bool {
	for {
		n := r.users.Load()
		if n == 0 {
			return false
		}
		if r.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (r *packedReader) leave() {
	if r.users.Add(-1) == 0 {
		r.packed.Release()
	}
}

// Read implements io.Reader.
func (r *packedReader) Read(p []byte) (int, error) {
	if !r.enter() {
		return 0, errClosed
	}
	defer r.leave()
	return r.rowReader.Read(p)
}

// WriteTo implements io.WriterTo.
func (r *packedReader) WriteTo(w io.Writer) (int64, error) {
	if !r.enter() {
		return 0, errClosed
	}
	defer r.leave()
	return r.rowReader.WriteTo(w)
}

// Close implements io.Closer. It may be called more than once.
func (r *packedReader) Close() error {
	r.once.Do(func() {
		_ = r.rowReader.Close()
		r.leave()
	})
	return nil
}
