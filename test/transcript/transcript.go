// Package transcript keeps what a program or a pipeline under test says.
package transcript

import (
	"bytes"
	"sync"
)

// Text can be read while it is written. The zero value is empty.
type Text struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (t *Text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.Write(p)
}

// String is all that was written up to now.
func (t *Text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}
