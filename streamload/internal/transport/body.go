package transport

import (
	"errors"
	"io"
	"sync"
)

// Body is what a load sends. It can be opened any number of times, each time from byte 0.
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
}

func openBody(b Body) *countedBody { return &countedBody{length: b.Len(), body: b.Open()} }

// errBodyShut ends a connection whose request is over; nobody sees it.
var errBodyShut = errors.New("the request is over")

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
	return b.body.Close()
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
