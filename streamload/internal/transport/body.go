package transport

import (
	"io"
	"sync"
	"sync/atomic"
)

// Body is what a load sends. It can be opened any number of times, each time from byte 0.
type Body interface {
	Len() int64
	Open() io.ReadCloser
}

// countedBody knows how much of a body net/http has taken to send. What it took may have left.
type countedBody struct {
	io.ReadCloser
	taken  atomic.Int64
	closer sync.Once
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.taken.Add(int64(n))
	return n, err
}

func (b *countedBody) Close() (err error) {
	b.closer.Do(func() { err = b.ReadCloser.Close() })
	return err
}
