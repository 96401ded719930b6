package wire

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"time"
)

// Role is the part that a server plays; it is also the token for its address.
type Role string

// The servers of a cluster. The certificate of BETLSBadName holds for another
// name than its address. Trap accepts connections and never answers.
const (
	FE           Role = "FE"
	FE2          Role = "FE2"
	FETLS        Role = "FE_TLS"
	BE           Role = "BE"
	BE2          Role = "BE2"
	BETLSBadName Role = "BE_TLS_BADNAME"
	Trap         Role = "TRAP"
)

func (r Role) frontend() bool { return r == FE || r == FE2 || r == FETLS }

// idleLimit ends a connection on which nothing comes; it is only there so that
// a lost connection can't keep a test up.
const idleLimit = time.Minute

type server struct {
	cluster   *Cluster
	role      Role
	tls       *tls.Config
	listeners []net.Listener

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
}

func (s *server) listenOn(ctx context.Context, address string) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	s.listeners = append(s.listeners, l)
	return nil
}

// listenOnBoth opens the same port on the host and on [::1].
func (s *server) listenOnBoth(ctx context.Context, host string) error {
	var lc net.ListenConfig
	probe, err := lc.Listen(ctx, "tcp", "[::1]:0")
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoIPv6, err)
	}
	_ = probe.Close()
	for range 20 {
		if err = s.listenOn(ctx, host+":0"); err != nil {
			return err
		}
		port := s.listeners[0].Addr().(*net.TCPAddr).Port
		if err = s.listenOn(ctx, fmt.Sprintf("[::1]:%d", port)); err == nil {
			return nil
		}
		_ = s.listeners[0].Close()
		s.listeners = nil
	}
	return err
}

func (s *server) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return // the listener is closed
		}
		if !s.keep(conn) {
			_ = conn.Close()
			return
		}
		s.cluster.wg.Go(func() {
			defer s.forget(conn)
			if s.role == Trap {
				s.swallow(conn)
				return
			}
			s.converse(conn)
		})
	}
}

func (s *server) keep(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.conns[conn] = struct{}{}
	return true
}

func (s *server) forget(conn net.Conn) {
	_ = conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, conn)
}

// close ends the server: dials are refused from now on and its connections are
// closed, but for the one that is spared.
func (s *server) close(spared net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, l := range s.listeners {
		_ = l.Close()
	}
	for conn := range s.conns {
		if conn != spared {
			_ = conn.Close()
		}
	}
}

// swallow is the trap: it reads whatever comes.
func (s *server) swallow(conn net.Conn) {
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		s.cluster.mu.Lock()
		s.cluster.trapped = append(s.cluster.trapped, buf[:n]...)
		s.cluster.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// converse answers the requests of one connection, one after the other.
func (s *server) converse(raw net.Conn) {
	tcp, ok := raw.(*net.TCPConn)
	if !ok {
		return
	}
	conn := raw
	if s.tls != nil {
		secured := tls.Server(raw, s.tls)
		if secured.HandshakeContext(s.cluster.ctx) != nil {
			return // the client did not like the certificate
		}
		conn = secured
	}
	wait := idleLimit
	in := bufio.NewReader(conn)
	for n, unread := 0, false; ; n++ {
		_ = conn.SetReadDeadline(time.Now().Add(wait))
		head, err := readHead(in)
		if err != nil {
			return // the client has left, or is idle for too long
		}
		_ = conn.SetReadDeadline(time.Now().Add(idleLimit))
		x, err := newExchange(s, conn, tcp, in, head)
		if err != nil {
			s.malformed(conn, head, err)
			return
		}
		x.req.Reused = n > 0
		x.req.PrevBodyUnread = unread
		if !x.serve() {
			return
		}
		unread = !x.consumed
		wait = idleLimit
		if x.closeIdleAfter > 0 {
			wait = x.closeIdleAfter
		}
	}
}

// malformed answers what is no request, as a server does when the rest of a
// body that it left unread is taken for one.
func (s *server) malformed(conn net.Conn, head []byte, err error) {
	s.cluster.mu.Lock()
	s.cluster.requests = append(s.cluster.requests, &Request{
		At: time.Since(s.cluster.started), Server: s.role, On: OnMalformed, Step: -1,
		Target: string(bytes.TrimSpace(head[:min(len(head), 120)])), Answer: err.Error(),
	})
	s.cluster.mu.Unlock()
	const page = "<h1>Bad Message 400</h1><pre>reason: Illegal request line</pre>"
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		len(page), page)
}
