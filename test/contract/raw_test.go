package contract

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rawServer reads request heads off a socket and answers them without asking for the body and without closing the connection, as the
// HTTP libraries of some servers and proxies do. Then it reads on, and counts what comes that is no new request.
type rawServer struct {
	ln     net.Listener
	answer func(r *http.Request) string

	mu      sync.Mutex
	heads   int
	strayed int
	wg      sync.WaitGroup
}

func newRawServer(t *testing.T, answer func(*http.Request) string) *rawServer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &rawServer{ln: ln, answer: answer}
	s.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s.wg.Go(func() { s.serve(c) })
		}
	})
	t.Cleanup(func() { s.end() })
	return s
}

func (s *rawServer) url() string { return "http://" + s.ln.Addr().String() }

func (s *rawServer) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	in := bufio.NewReader(c)
	r, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.heads++
	s.mu.Unlock()
	if _, err := io.WriteString(c, s.answer(r)); err != nil {
		return
	}
	// The client has to end the connection now: what it sends would be read as a request.
	_ = c.SetReadDeadline(time.Now().Add(ended))
	n, _ := io.Copy(io.Discard, in)
	s.mu.Lock()
	s.strayed += int(n)
	s.mu.Unlock()
}

// end waits for the ends of all connections. It gives how many heads came, and how many bytes behind them.
func (s *rawServer) end() (heads, strayed int) {
	_ = s.ln.Close()
	s.wg.Wait()
	return s.heads, s.strayed
}

func keepAlive(status, header, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s", status, header, len(body), body)
}

// A server that answers the head at once and keeps the connection gets not one byte of the rows, at any hop.
func TestNoRowGoesToAServerThatAnsweredTheHead(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"small": 3, "large": 50_000} {
		t.Run("a BE that refuses, "+name, func(t *testing.T) {
			t.Parallel()
			be := newRawServer(t, func(*http.Request) string {
				return keepAlive("200 OK", "", `{"TxnId":-1,"Label":"x","Status":"Fail","Message":"[E-217]body size exceed"}`)
			})
			fe := newRawServer(t, func(r *http.Request) string {
				if r.Method != http.MethodPut {
					return keepAlive("200 OK", "Connection: close\r\n", stateIs("UNKNOWN").body)
				}
				return keepAlive("307 Temporary Redirect", "Location: "+be.url()+r.URL.Path+"?\r\n", "")
			})
			client, _ := newClient(t, config([]string{fe.url()}, retries(2)))
			report, err := client.Load(within(t, ended), batch(size))
			e := failed(t, err)
			require.Contains(t, e.Message, "body size exceed")
			require.Equal(t, 3, report.Attempts)
			client.Close()
			for what, s := range map[string]*rawServer{"FE": fe, "BE": be} {
				heads, strayed := s.end()
				require.GreaterOrEqual(t, heads, 3, what)
				require.Zero(t, strayed, what)
			}
		})
		t.Run("a proxy that redirects twice, "+name, func(t *testing.T) {
			t.Parallel()
			c := with(t)
			inner := newRawServer(t, func(r *http.Request) string {
				return keepAlive("307 Temporary Redirect", "Location: http://"+c.BEAddr()+r.URL.Path+"\r\n", "moved")
			})
			outer := newRawServer(t, func(r *http.Request) string {
				return keepAlive("301 Moved Permanently", "Location: "+inner.url()+r.URL.Path+"\r\n", strings.Repeat("moved ", 1000))
			})
			client, _ := newClient(t, c.through([]string{outer.url()}))
			_, err := client.Load(within(t, ended), batch(size))
			require.NoError(t, err)
			require.Equal(t, size, c.Count(db, table))
			client.Close()
			for what, s := range map[string]*rawServer{"outer": outer, "inner": inner} {
				heads, strayed := s.end()
				require.Equal(t, 1, heads, what)
				require.Zero(t, strayed, what)
			}
		})
	}
}
