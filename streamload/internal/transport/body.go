package transport

import (
	"errors"
	"io"
	"sync"
)

// Body is what a load sends. It can be opened any number of times, each time from byte 0.
//
// A reader that has WriteTo (io.WriterTo) is written straight to the connection with it. Where a writer has WriteVector (see vectorWriter),
// WriteTo may hand several pieces to it at once. Close is called when nothing reads any more.
type Body interface {
	Len() int64
	Open() io.ReadCloser
}

// countedBody knows how much of a body net/http has taken to send. What it took may have left.
type countedBody struct {
	length int64

	mu     sync.Mutex // net/http reads in a goroutine of its own, also after RoundTrip has returned
	body   io.ReadCloser
	taken  int64
	whole  bool // all was taken when the answer began
	shut   bool
	closed bool
	// writing is true while the body writes itself; it is closed after that.
	writing bool
}

func openBody(b Body) *countedBody { return &countedBody{length: b.Len(), body: b.Open()} }

// errBodyShut ends a connection whose request is over; nobody sees it.
var errBodyShut = errors.New("the request is over")

var errBodyLong = errors.New("the body is longer than it said")

func (b *countedBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.shut && b.taken < b.length {
		return 0, errBodyShut
	}
	n, err := b.body.Read(p)
	b.taken += int64(n)
	return n, err
}

func (b *countedBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	if b.writing {
		return nil // writeTo closes it
	}
	return b.body.Close()
}

// take counts n bytes that are about to leave, or says that they must not.
func (b *countedBody) take(n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed, b.shut && b.taken < b.length:
		return errBodyShut
	case b.taken+n > b.length:
		return errBodyLong
	}
	b.taken += n
	return nil
}

// begin says whether the body can write itself, from its first byte. After true, end must be called.
func (b *countedBody) begin() (io.WriterTo, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w, ok := b.body.(io.WriterTo)
	if !ok || b.taken > 0 || b.closed || b.shut {
		return nil, false
	}
	b.writing = true
	return w, true
}

func (b *countedBody) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writing = false
	if b.closed {
		_ = b.body.Close()
	}
}

// answered is called when the answer begins, or there will be none. A server that answers before it has the whole body does not speak of
// the whole body, also if it goes on to read it.
func (b *countedBody) answered() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.whole = b.taken == b.length
}

// shutdown says whether some of the body was taken, and whether all of it was when the answer began. It is the last word: no more
// will be taken. A body without bytes counts as taken.
func (b *countedBody) shutdown() (some, whole bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shut = true
	return b.taken > 0 || b.length == 0, b.whole
}
