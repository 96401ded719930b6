package transport

import (
	"bytes"
	"net"
	"sync/atomic"
)

// withholdConn keeps the body of a request back when the server gives its final answer without having asked for it.
//
// A server that sees "Expect: 100-continue" may answer at once: an FE with a redirect, a BE with a refusal. net/http then still
// sends the whole body to keep the connection in step, unless the answer says that the connection closes. So that is what
// this connection makes of such an answer: it adds "Connection: close" to it. Not a byte of the body leaves, and the
// connection is not used again, as RFC 9110 (10.1.1) wants from a client that does not send the body.
//
// It must be armed before a request is written; the first answer disarms it.
type withholdConn struct {
	net.Conn
	armed atomic.Bool
	// Only the one reading goroutine of net/http uses these.
	head    []byte // of the answer, as far as it is held back
	pending []byte // to be delivered before anything else
}

const (
	statusLinePrefix = len("HTTP/1.1 100")
	maxHeldHead      = 64 << 10
)

var closeHeader = []byte("Connection: close\r\n")

func (c *withholdConn) Read(p []byte) (int, error) {
	for {
		if len(c.pending) > 0 {
			n := copy(p, c.pending)
			c.pending = c.pending[n:]
			return n, nil
		}
		n, err := c.Conn.Read(p)
		if n == 0 || !c.armed.Load() {
			return n, err
		}
		c.head = append(c.head, p[:n]...)
		if !c.examine() && err == nil {
			continue // too little to tell: read on
		}
		c.pending, c.head = c.head, nil
		if err != nil {
			c.armed.Store(false)
		}
	}
}

// examine looks at what is held back and returns true when it can be delivered.
func (c *withholdConn) examine() bool {
	at := 0 // start of the answer looked at; interim answers are passed over
	for {
		rest := c.head[at:]
		switch {
		case len(c.head) > maxHeldHead:
			c.armed.Store(false)
			return true
		case len(rest) < statusLinePrefix:
			return at > 0 && len(rest) == 0 // interim answers only: deliver them, stay armed
		case !bytes.HasPrefix(rest, []byte("HTTP/1.")):
			c.armed.Store(false)
			return true
		}
		code := rest[len("HTTP/1.1 "):statusLinePrefix]
		switch {
		case string(code) == "100":
			c.armed.Store(false) // the server wants the body
			return true
		case code[0] == '1':
			end := bytes.Index(rest, []byte("\r\n\r\n"))
			if end < 0 {
				return false
			}
			at += end + 4
		default:
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				return false
			}
			c.armed.Store(false)
			end += at + 1
			c.head = append(c.head[:end:end], append(bytes.Clone(closeHeader), c.head[end:]...)...)
			return true
		}
	}
}
