package emulator

import (
	"bufio"
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"
)

// listener accepts connections and keeps track of them, so that every one,
// hijacked or not, can be ended. Connections that were taken away from the HTTP
// server can be given back to it.
type listener struct {
	net.Listener
	tls   *tls.Config
	ready chan net.Conn
	done  chan struct{}
	wg    sync.WaitGroup

	mu    sync.Mutex
	conns map[*conn]struct{}
	ended bool
}

// conn is a tracked connection.
type conn struct {
	net.Conn
	raw net.Conn // the TCP connection, also when Conn is TLS
	in  *bufio.Reader
	l   *listener
}

// listen opens a listener; the context is for name resolution only.
func listen(addr string, config *tls.Config) (*listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, err
	}
	l := &listener{Listener: ln, tls: config, ready: make(chan net.Conn), done: make(chan struct{}), conns: map[*conn]struct{}{}}
	l.wg.Add(1)
	go l.loop()
	return l, nil
}

func (l *listener) loop() {
	defer l.wg.Done()
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			select {
			case <-l.done:
				return
			case <-time.After(5 * time.Millisecond): // out of file descriptors, mostly
				continue
			}
		}
		c := &conn{Conn: raw, raw: raw, l: l}
		if l.tls != nil {
			c.Conn = tls.Server(raw, l.tls)
		}
		if !l.track(c) || !l.give(c) {
			_ = raw.Close()
		}
	}
}

func (l *listener) track(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.conns[c] = struct{}{}
	}
	return !l.ended
}

// give hands a connection to the HTTP server.
func (l *listener) give(c net.Conn) bool {
	select {
	case l.ready <- c:
		return true
	case <-l.done:
		return false
	}
}

// Accept gives the next connection, new or given back.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.ready:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close stops accepting. Open connections live on; see end.
func (l *listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return nil
	}
	l.ended = true
	close(l.done)
	return l.Listener.Close()
}

// end stops accepting and ends every connection, by RST if asked.
func (l *listener) end(reset bool) {
	_ = l.Close()
	l.resetAll(reset)
	l.wg.Wait()
}

func (l *listener) resetAll(reset bool) {
	l.mu.Lock()
	list := make([]*conn, 0, len(l.conns))
	for c := range l.conns {
		list = append(list, c)
	}
	l.mu.Unlock()
	for _, c := range list {
		if reset {
			c.reset()
		} else {
			_ = c.raw.Close()
		}
	}
}

// Read reads from what was given back first.
func (c *conn) Read(p []byte) (int, error) {
	if c.in != nil {
		if c.in.Buffered() > 0 {
			return c.in.Read(p)
		}
		c.in = nil
	}
	return c.Conn.Read(p)
}

// Close ends the connection.
func (c *conn) Close() error {
	c.l.mu.Lock()
	delete(c.l.conns, c)
	c.l.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite ends our side only.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// reset ends the connection with an RST.
func (c *conn) reset() {
	if tcp, ok := c.raw.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.raw.Close()
	_ = c.Close()
}
