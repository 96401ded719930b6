package emulator

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"time"
)

// quiet is the error log of the HTTP servers: clients that misbehave are what
// the emulator is for.
var quiet = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)

// exchange is one request at a node and the way to answer it.
type exchange struct {
	e   *Emulator
	n   *node
	w   http.ResponseWriter
	r   *http.Request
	rec *Request

	db, table, label, op string
	txn                  int64
	challenge            bool // the answer asks for an account
}

// basicChallenge is what FEs of StarRocks say with HTTP 401.
const basicChallenge = `Basic realm=""`

func (e *Emulator) serve(n *node, handle func(*exchange)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !e.enter() {
			panic(http.ErrAbortHandler)
		}
		defer e.busy.Done()
		handle(&exchange{e: e, n: n, w: w, r: r, rec: e.rec.request(r, n.name)})
	})
}

// basic gives the account of the request as the FE reads it: any scheme word,
// then base64 of user:password; user@cluster is cut at the @.
func basic(header string) (user, password string, ok bool) {
	_, encoded, ok := strings.Cut(strings.TrimSpace(header), " ")
	if !ok {
		return "", "", false
	}
	plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil {
		return "", "", false
	}
	user, password, ok = strings.Cut(string(plain), ":")
	user, _, _ = strings.Cut(user, "@")
	return user, password, ok
}

func (x *exchange) clientIP() string {
	host, _, _ := net.SplitHostPort(x.r.RemoteAddr)
	return host
}

// take takes the connection away from the HTTP server.
func (x *exchange) take() (*conn, *bufio.Reader, bool) {
	nc, rw, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		return nil, nil, false // HTTP/1.0 pipelining leftovers, or the server is gone
	}
	c, ok := nc.(*conn)
	return c, rw.Reader, ok
}

// reset ends the exchange with an RST.
func (x *exchange) reset() {
	if c, in, ok := x.take(); ok {
		x.drain(c, in, 0)
		c.reset()
	}
}

// hangUp ends the exchange with a FIN and no answer.
func (x *exchange) hangUp() {
	if c, in, ok := x.take(); ok {
		x.leave(c, in)
	}
}

// leave closes our side, waits a little for the other side, and closes. Closing
// at once would turn the FIN into an RST when unread bytes are around.
func (x *exchange) leave(c *conn, in *bufio.Reader) {
	_ = c.CloseWrite()
	x.drain(c, in, 250*time.Millisecond)
	_ = c.Close()
}

// hang reads and never answers, until the connection ends or d is over (0: no
// bound). before runs at the end, while the client cannot know of it.
func (x *exchange) hang(d time.Duration, before func()) {
	c, in, ok := x.take()
	if !ok {
		before()
		return
	}
	if d == 0 {
		d = 365 * 24 * time.Hour
	}
	x.drain(c, in, d)
	before()
	_ = c.Close()
}

// drain reads what still comes, for at most d, and counts it as body.
func (x *exchange) drain(c *conn, in *bufio.Reader, d time.Duration) {
	if n := in.Buffered(); n > 0 {
		_, _ = in.Discard(n)
		x.count(int64(n))
	}
	if d <= 0 {
		return
	}
	_ = c.SetReadDeadline(time.Now().Add(d))
	_, _ = io.Copy(countingWriter{x}, in)
}

type countingWriter struct{ x *exchange }

func (w countingWriter) Write(p []byte) (int, error) {
	w.x.count(int64(len(p)))
	return len(p), nil
}

func (x *exchange) count(n int64) { x.e.rec.body(x.rec, n, strings.HasPrefix(x.n.name, "fe")) }

// answer writes a plain answer.
func (x *exchange) answer(status int, contentType string, body []byte) {
	h := x.w.Header()
	if x.challenge {
		h.Set("WWW-Authenticate", basicChallenge)
	}
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body)
}

// gzipped compresses an answer as BEs do for clients that accept it.
func (x *exchange) gzipped(body []byte) []byte {
	if !strings.Contains(x.r.Header.Get("Accept-Encoding"), "gzip") {
		return body
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(body)
	_ = z.Close()
	x.w.Header().Set("Content-Encoding", "gzip")
	return out.Bytes()
}

// rawAnswer answers a load at an FE without reading its body, and treats the
// connection as Options.AfterRedirect says.
func (x *exchange) rawAnswer(status int, contentType, location string, body []byte) {
	policy := x.e.opt.AfterRedirect
	c, in, ok := x.take()
	if !ok {
		return
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\nDate: %s\r\n", status, http.StatusText(status), time.Now().UTC().Format(http.TimeFormat))
	if location != "" {
		fmt.Fprintf(&b, "Location: %s\r\n", location)
	}
	if x.challenge {
		b.WriteString("WWW-Authenticate: " + basicChallenge + "\r\n")
	}
	fmt.Fprintf(&b, "Content-Type: %s\r\nContent-Length: %d\r\n", contentType, len(body))
	if policy != KeepAfterRedirect {
		b.WriteString("Connection: close\r\n")
	}
	b.WriteString("\r\n")
	b.Write(body)
	if policy != KeepAfterRedirect {
		x.e.rec.leave(1)
		defer x.e.rec.leave(-1)
	}
	if _, err := c.Write(b.Bytes()); err != nil {
		_ = c.Close()
		return
	}
	switch policy {
	case KeepAfterRedirect:
		x.keep(c, in)
	case ResetAfterRedirect:
		x.drain(c, in, 50*time.Millisecond)
		c.reset()
	default:
		x.leave(c, in)
	}
}

// keep waits for what comes next on the connection: the body of the request
// that was answered already, which is counted and dropped, or the next request.
func (x *exchange) keep(c *conn, in *bufio.Reader) {
	if x.r.ContentLength != 0 && !startsRequest(in) {
		body := io.LimitReader(in, x.r.ContentLength)
		if x.r.ContentLength < 0 {
			body = httputil.NewChunkedReader(in)
		}
		if _, err := io.Copy(countingWriter{x}, body); err != nil {
			_ = c.Close()
			return
		}
		if x.r.ContentLength < 0 {
			_, _ = in.Discard(2) // the empty line after the last chunk
		}
	}
	if _, err := in.Peek(1); err != nil {
		_ = c.Close()
		return
	}
	c.in = in
	if !c.l.give(c) {
		_ = c.Close()
	}
}

func startsRequest(in *bufio.Reader) bool {
	if _, err := in.Peek(1); err != nil {
		return true // the connection ended; the caller finds out
	}
	start, _ := in.Peek(min(in.Buffered(), 8))
	for _, method := range []string{"GET ", "PUT ", "POST ", "HEAD ", "DELETE "} {
		if n := min(len(method), len(start)); string(start[:n]) == method[:n] {
			return true
		}
	}
	return false
}

// verdict is what a point in the exchange led to.
type verdict int

const (
	goOn    verdict = iota // nothing happened, or nothing that matters
	over                   // the exchange has ended
	special                // the caller has to do the fault
)

// at stands at point p: faults that work everywhere are done here.
func (x *exchange) at(p Point) (Fault, verdict) {
	f, ok := x.pick(p)
	if !ok {
		return f, goOn
	}
	return f, x.do(f)
}

func (x *exchange) pick(p Point) (Fault, bool) {
	return x.e.faults.pick(x.e.ctx, Exchange{
		Point: p, Server: x.n.name, DB: x.db, Table: x.table, Label: x.label, Op: x.op, TxnID: x.txn,
		TwoPhase: x.r.Header.Get("two_phase_commit") == "true", Length: x.r.ContentLength,
	})
}

func (x *exchange) do(f Fault) verdict {
	switch f.Do {
	case Reset:
		x.reset()
	case Close:
		x.hangUp()
	case Hang:
		x.hang(f.For, func() {})
	case Delay:
		wait := time.NewTimer(f.For)
		defer wait.Stop()
		select {
		case <-wait.C:
			return goOn
		case <-x.e.ctx.Done():
			x.reset()
		}
	case HTTP:
		status, contentType := f.Status, f.ContentType
		if status == 0 {
			status = http.StatusInternalServerError
		}
		if contentType == "" {
			contentType = "text/html; charset=utf-8"
		}
		if strings.HasPrefix(x.n.name, "fe") && x.r.Method == http.MethodPut {
			x.rawAnswer(status, contentType, f.Location, []byte(f.Body))
		} else {
			if f.Location != "" {
				x.w.Header().Set("Location", f.Location)
			}
			x.answer(status, contentType, []byte(f.Body))
		}
	case Evict:
		x.e.EvictLabels(x.db)
		return goOn
	case MasterSwitch:
		x.e.SwitchMaster()
		return goOn
	case FEDown:
		return x.feDown(f.For)
	case BEDown:
		return x.beDown(f.For)
	case BERestart:
		return x.beRestart()
	default:
		return special
	}
	return over
}

func (x *exchange) feDown(d time.Duration) verdict {
	n := x.e.fes[0]
	if strings.HasPrefix(x.n.name, "fe") {
		n = x.n
	}
	n.down(true)
	return x.back(n, d)
}

func (x *exchange) beDown(d time.Duration) verdict {
	n := x.be()
	x.e.StopBE(n.index)
	return x.back(n, d)
}

// back brings a node back after a while. The exchange is over if it is at that node.
func (x *exchange) back(n *node, d time.Duration) verdict {
	x.e.returnIn(n, d)
	if n == x.n {
		return over
	}
	return goOn
}

// be is the BE that a fault of BEs means: the one addressed, or the first.
func (x *exchange) be() *node {
	if strings.HasPrefix(x.n.name, "be") {
		return x.n
	}
	return x.e.bes[0]
}

func (x *exchange) beRestart() verdict {
	n := x.be()
	x.e.RestartBE(n.index)
	if n == x.n {
		return over
	}
	return goOn
}
