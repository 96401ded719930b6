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
// It sees an answer in plain, also where we do the TLS. Behind a proxy that is asked to CONNECT net/http does it, and only the first hop
// withholds, because its requests say themselves that the connection closes.
//
// It must be armed before a request is written; "100 Continue" or the first final answer disarms it. All bytes but that one
// header are delivered as they came.
type withholdConn struct {
	net.Conn
	armed atomic.Bool
	// Only the one reading goroutine of net/http uses these.
	held    []byte // received, and not examined to the end
	pending []byte // to be delivered before anything else
	err     error  // to be returned after pending
	// Only the one writing goroutine of net/http uses these, and before it gets a request, who gives it.
	keeping bool   // the head of a request
	kept    []byte // so far
	// vector is what is written in one call, unwritten what is left of it. They are kept because they would be allocated for each call.
	vector    [][]byte
	unwritten net.Buffers
}

// maxHeld bounds what is held back of answers whose end does not come; net/http gives up on them itself.
const maxHeld = 64 << 10

var closeHeader = []byte("Connection: close\r\n")

func (c *withholdConn) Read(p []byte) (int, error) {
	for {
		if len(c.pending) > 0 {
			n := copy(p, c.pending)
			c.pending = c.pending[n:]
			return n, nil
		}
		if err := c.err; err != nil {
			c.err = nil
			return 0, err
		}
		n, err := c.Conn.Read(p)
		if len(c.held) == 0 && (n == 0 || !c.armed.Load()) {
			return n, err
		}
		c.held = append(c.held, p[:n]...)
		c.examine()
		if err != nil || len(c.held) > maxHeld {
			c.release() // it will not get any clearer
			c.err = err
		}
	}
}

// examine releases as much of what is held as is certain.
func (c *withholdConn) examine() {
	for len(c.held) > 0 {
		lineEnd := bytes.IndexByte(c.held, '\n') + 1
		if lineEnd == 0 && mayBeStatusLine(c.held) {
			return
		}
		switch code := statusCode(c.held[:lineEnd]); {
		case code == "100", code == "": // the server wants the body, or speaks no HTTP
			c.release()
			return
		case code[0] == '1' && code != "101": // an interim answer: pass it on whole, and look at the next
			end := headEnd(c.held)
			if end == 0 {
				return
			}
			c.pending = append(c.pending, c.held[:end]...)
			c.held = c.held[end:]
		case lineEnd == len(c.held):
			return
		case c.held[lineEnd] == ' ', c.held[lineEnd] == '\t': // would continue our header; net/http refuses it as it is
			c.release()
			return
		default:
			c.pending = append(c.pending, c.held[:lineEnd]...)
			c.pending = append(c.pending, closeHeader...)
			c.held = c.held[lineEnd:]
			c.release()
			return
		}
	}
}

// release lets all that is held go, and disarms.
func (c *withholdConn) release() {
	c.armed.Store(false)
	c.pending = append(c.pending, c.held...)
	c.held = nil
}

var statusLineStart = []byte("HTTP/")

// mayBeStatusLine is false when the beginning of a line cannot become a status line any more.
func mayBeStatusLine(line []byte) bool {
	n := min(len(line), len(statusLineStart))
	return bytes.Equal(line[:n], statusLineStart[:n])
}

// statusCode is the three digits of a status line, "" if it is none. Like net/http it takes any number of spaces before them.
func statusCode(line []byte) string {
	if len(line) <= len(statusLineStart) || !mayBeStatusLine(line) {
		return ""
	}
	_, rest, found := bytes.Cut(line, []byte(" "))
	rest = bytes.TrimLeft(rest, " ")
	if !found || len(rest) < 3 {
		return ""
	}
	for _, digit := range rest[:3] {
		if digit < '0' || digit > '9' {
			return ""
		}
	}
	return string(rest[:3])
}

// headEnd is the length of a head with the empty line that ends it, 0 if it has not ended yet. Like net/http it takes lines that end
// with a bare line feed.
func headEnd(b []byte) int {
	for at := 0; ; {
		n := bytes.IndexByte(b[at:], '\n')
		if n < 0 {
			return 0
		}
		line := bytes.TrimSuffix(b[at:at+n], []byte("\r"))
		at += n + 1
		if len(line) == 0 {
			return at
		}
	}
}
