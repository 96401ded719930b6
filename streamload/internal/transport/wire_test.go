package transport

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(proxyHelper) != "" {
		os.Exit(helpProxyTest())
	}
	goleak.VerifyTestMain(m)
}

// wire is a server that speaks TCP as a script says, byte by byte.
type wire struct {
	addr  string
	conns atomic.Int32 // accepted so far
	open  atomic.Int32 // of them
	stray atomic.Int64 // see strayBytes
	quit  chan struct{}
	wg    sync.WaitGroup

	mu    sync.Mutex
	heads []*http.Request
}

// peer is one connection to a wire.
type peer struct {
	*wire
	net.Conn
	br   *bufio.Reader
	nth  int          // connection, from 1
	came atomic.Int64 // bytes received; a script may leave a copy running
	used int64        // of them, those of the heads and bodies that the script read
}

func (p *peer) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	p.came.Add(int64(n))
	return n, err
}

// at is the position in what is received up to which the script has read.
func (p *peer) at() int64 { return p.came.Load() - int64(p.br.Buffered()) }

// serve plays the script with each connection. A script that returns closes its connection.
func serve(t *testing.T, script func(*peer)) *wire {
	t.Helper()
	return serveOn(t, listen(t, "tcp4", "127.0.0.1:0"), script)
}

func listen(t *testing.T, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil && network == "tcp6" {
		t.Skip("no IPv6 on this machine: ", err)
	}
	require.NoError(t, err)
	return l
}

func serveOn(t *testing.T, l net.Listener, script func(*peer)) *wire {
	t.Helper()
	w := &wire{addr: l.Addr().String(), quit: make(chan struct{})}
	w.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p := &peer{wire: w, Conn: c, nth: int(w.conns.Add(1))}
			p.br = bufio.NewReader(p)
			w.open.Add(1)
			stop := make(chan struct{})
			w.wg.Go(func() {
				select {
				case <-w.quit:
				case <-stop:
				}
				_ = c.Close()
			})
			w.wg.Go(func() {
				defer close(stop)
				script(p)
				w.stray.Add(p.came.Load() - p.used)
				w.open.Add(-1)
			})
		}
	})
	t.Cleanup(func() {
		close(w.quit)
		_ = l.Close()
		w.wg.Wait()
	})
	return w
}

// head reads the head of a request; nil when there is none.
func (p *peer) head() *http.Request {
	from := p.at()
	r, err := http.ReadRequest(p.br)
	if err != nil {
		return nil
	}
	p.used += p.at() - from
	p.mu.Lock()
	p.heads = append(p.heads, r)
	p.mu.Unlock()
	return r
}

// seen are the heads of the requests so far.
func (w *wire) seen() []*http.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]*http.Request(nil), w.heads...)
}

func (p *peer) say(format string, args ...any) { _, _ = fmt.Fprintf(p, format, args...) }

// body reads the whole body of a request, without a word of 100 Continue.
func (p *peer) body(r *http.Request) string {
	b, _ := io.ReadAll(io.LimitReader(p.br, r.ContentLength))
	p.used += int64(len(b))
	return string(b)
}

// rest reads until the client closes the connection.
func (p *peer) rest() { _, _ = io.Copy(io.Discard, p.br) }

// strayBytes is how many bytes came beyond the heads and bodies that the script asked for, once all connections have ended.
func (w *wire) strayBytes(t *testing.T) int64 {
	t.Helper()
	require.Eventually(t, func() bool { return w.open.Load() == 0 }, 20*time.Second, time.Millisecond, "connections stay open")
	return w.stray.Load()
}

// reset ends the connection with RST, as a server does that closes with unread data.
func (p *peer) reset() {
	// What has come until now is counted, for as long as a body that was sent at once would take.
	_ = p.SetReadDeadline(time.Now().Add(2 * time.Millisecond))
	p.rest()
	if c, ok := p.Conn.(*net.TCPConn); ok {
		_ = c.SetLinger(0)
	}
	_ = p.Close()
}

// pause waits; it is false when the test is over.
func (p *peer) pause(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-p.quit:
		return false
	}
}

const (
	successJSON = `{"TxnId":7,"Label":"b","Status":"Success","Message":"OK","NumberTotalRows":2}`
	failJSON    = `{"TxnId":7,"Label":"b","Status":"Fail","Message":"[INTERNAL_ERROR]no"}`
)

func (p *peer) sayJSON(status int, body string) {
	p.say("HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", status, http.StatusText(status), len(body), body)
}

// redirect sends the client on, as an FE does: with the user's password in the address and a question mark at its end.
func (p *peer) redirect(addr string, header ...string) {
	p.say("HTTP/1.1 307 Temporary Redirect\r\nLocation: http://root:hunter22@%s/api/db/t/_stream_load?\r\nContent-Length: 0\r\n%s\r\n",
		addr, strings.Join(header, "\r\n"))
}

// frontend redirects every request and keeps the connections.
func frontend(t *testing.T, addr string) *wire {
	t.Helper()
	return serve(t, func(p *peer) {
		for p.head() != nil {
			p.redirect(addr)
		}
		p.rest()
	})
}

// backend asks for the body of every request, reads it, and stores it.
func backend(t *testing.T, got func(body string)) *wire {
	t.Helper()
	return serve(t, func(p *peer) {
		for r := p.head(); r != nil; r = p.head() {
			p.say("HTTP/1.1 100 Continue\r\n\r\n")
			got(p.body(r))
			p.sayJSON(200, successJSON)
		}
	})
}

func nobody(string) {}

// rows is a body.
type rows []byte

func (r rows) Len() int64          { return int64(len(r)) }
func (r rows) Open() io.ReadCloser { return io.NopCloser(bytes.NewReader(r)) }

// body20MB is too large for the buffers of any connection; so is body4MB, which is there for what has to travel.
var (
	body20MB = rows(bytes.Repeat([]byte("0123456789abcdef"), 20<<20/16))
	body4MB  = body20MB[:4<<20]
)

const smallBody = `{"id":1}` + "\n" + `{"id":2}`

// client makes a Transport with short waits.
func client(t *testing.T, set ...func(*Config)) *Transport {
	t.Helper()
	c := Config{Username: "root", Password: "hunter22", ContinueWait: 50 * time.Millisecond, FEWait: 10 * time.Second}
	for _, s := range set {
		s(&c)
	}
	tr := New(c)
	t.Cleanup(tr.Close)
	return tr
}

func at(t *testing.T, address string) *url.URL {
	t.Helper()
	u, err := ParseFE(address)
	require.NoError(t, err)
	return u
}

// load sends a body to an FE.
func load(t *testing.T, tr *Transport, fe string, body Body) Attempt {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return tr.Load(ctx, at(t, fe), Load{Database: "db", Table: "t", Header: http.Header{"label": {"b"}}, Body: body})
}

// tries is how often something is tried that must never go wrong.
func tries() int {
	if testing.Short() {
		return 20
	}
	return 200
}

// watchedBody counts how often it is opened and closed.
type watchedBody struct {
	rows
	opened, closed atomic.Int32
}

func (b *watchedBody) Open() io.ReadCloser {
	b.opened.Add(1)
	return &watchedReader{b.rows.Open(), b}
}

type watchedReader struct {
	io.ReadCloser
	b *watchedBody
}

func (r *watchedReader) Close() error {
	r.b.closed.Add(1)
	return r.ReadCloser.Close()
}
