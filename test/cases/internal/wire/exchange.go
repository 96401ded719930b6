package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dorisload/benthos-doris/test/cases/internal/script"
)

const (
	headLimit = 1 << 20
	bodyLimit = 256 << 20
)

// exchange is one request and its answer.
type exchange struct {
	cluster *Cluster
	server  *server
	conn    net.Conn     // to read and write on
	tcp     *net.TCPConn // below conn, to reset
	in      *bufio.Reader

	head *http.Request
	req  *Request
	rest io.Reader // the body, as far as it has not been read

	firstUse bool // of the step that answers
	asked    bool // 100 Continue was sent
	consumed bool // nothing of the body is left on the connection
	body     []byte

	writing        sync.Mutex
	closeIdleAfter time.Duration
}

// readHead reads a request up to the empty line after its headers.
func readHead(in *bufio.Reader) ([]byte, error) {
	var head []byte
	for {
		line, err := in.ReadSlice('\n')
		head = append(head, line...)
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return head, err
		}
		if len(head) > headLimit {
			return head, errors.New("the headers are too large")
		}
		blank := bytes.HasSuffix(head, []byte("\n\r\n")) || bytes.HasSuffix(head, []byte("\n\n"))
		if blank {
			return head, nil
		}
		if len(bytes.TrimSpace(head)) == 0 {
			head = head[:0] // line ends before a request are no request
		}
	}
}

func newExchange(s *server, conn net.Conn, tcp *net.TCPConn, in *bufio.Reader, head []byte) (*exchange, error) {
	parsed, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(head)))
	if err != nil {
		return nil, err
	}
	x := &exchange{cluster: s.cluster, server: s, conn: conn, tcp: tcp, in: in, head: parsed}
	x.req = &Request{
		At: time.Since(s.cluster.started), Server: s.role,
		Method: parsed.Method, Target: parsed.RequestURI, Path: parsed.URL.EscapedPath(), Header: parsed.Header,
		Length: -1, Label: parsed.Header.Get("label"),
	}
	// net/http drops the length when both framings are there, so the lines are
	// looked at as they came.
	for line := range bytes.Lines(head) {
		name, value, _ := strings.Cut(string(line), ":")
		switch strings.ToLower(name) {
		case "content-length":
			n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			if err != nil || n < 0 {
				return nil, fmt.Errorf("Content-Length is %q", value)
			}
			x.req.HasLength, x.req.Length = true, n
		case "transfer-encoding":
			x.req.Chunked = strings.EqualFold(strings.TrimSpace(value), "chunked")
		}
	}
	switch {
	case x.req.Chunked:
		x.rest = httputil.NewChunkedReader(in)
	case x.req.Length > 0:
		x.rest = io.LimitReader(in, x.req.Length)
	default:
		x.consumed, x.req.BodyComplete = true, true
	}
	x.req.On = x.kind()
	if x.req.StatePoll() || x.req.On == OnCancel {
		x.req.Label = parsed.URL.Query().Get("label")
	}
	return x, nil
}

// kind tells what the request is, by its path and by who got it.
func (x *exchange) kind() string {
	path, role := x.head.URL.Path, x.server.role
	switch {
	case strings.Contains(path, "_load_error_log"):
		return script.OnErrorURL
	case strings.HasSuffix(path, "/_stream_load_2pc"):
		return script.OnTxn
	case role.frontend() && strings.HasSuffix(path, "/get_load_state"):
		if role == FE2 {
			return script.OnState2
		}
		return script.OnState
	case role.frontend() && x.req.Method == http.MethodPost && strings.HasSuffix(path, "/_cancel"):
		return OnCancel
	case !strings.HasSuffix(path, "/_stream_load"):
		return OnOther
	}
	if role.frontend() {
		if on, ok := x.cluster.fePath(path); ok {
			return on
		}
	}
	switch role {
	case FE:
		return script.OnFELoad
	case FE2:
		return script.OnFE2Load
	case FETLS:
		return script.OnFETLSLoad
	case BE2:
		return script.OnBE2Load
	default:
		return script.OnBELoad
	}
}

func (x *exchange) twoPhase() bool { return x.head.Header.Get("two_phase_commit") == "true" }

func (x *exchange) expects100() bool {
	return strings.EqualFold(x.head.Header.Get("Expect"), "100-continue")
}

func (x *exchange) write(text string) {
	x.writing.Lock()
	defer x.writing.Unlock()
	_ = x.conn.SetWriteDeadline(time.Now().Add(20 * time.Second))
	_, _ = io.WriteString(x.conn, text) // who has left gets nothing
}

func (x *exchange) sendContinue() { x.write("HTTP/1.1 100 Continue\r\n\r\n") }

// readBody asks for the body, as the reply wants it, and reads it. It tells
// whether the whole body came.
func (x *exchange) readBody(r *script.Reply) bool {
	if x.consumed {
		return x.req.BodyComplete
	}
	late := make(chan struct{})
	switch {
	case !x.expects100() || x.asked:
		close(late)
	case r != nil && r.No100Continue:
		close(late)
	case r != nil && r.Late100MS > 0:
		x.cluster.wg.Go(func() {
			defer close(late)
			if x.cluster.sleep(time.Duration(r.Late100MS) * time.Millisecond) {
				x.sendContinue()
			}
		})
	default:
		x.sendContinue()
		close(late)
	}
	x.asked = true
	body, err := io.ReadAll(io.LimitReader(x.rest, bodyLimit))
	if err == nil && x.req.Chunked {
		err = x.skipTrailer()
	}
	complete := err == nil && (x.req.Length < 0 || int64(len(body)) == x.req.Length)
	<-late
	x.body, x.consumed = body, true
	x.cluster.mu.Lock()
	x.req.Body, x.req.BodyComplete = body, complete
	x.cluster.mu.Unlock()
	return complete
}

// skipTrailer reads what follows the last chunk.
func (x *exchange) skipTrailer() error {
	for {
		line, err := x.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			return nil
		}
	}
}

// drain reads a body that nobody asked for, after the answer, until it ends or
// the client leaves. It tells whether the connection can be used again.
func (x *exchange) drain() bool {
	buf := make([]byte, 32<<10)
	for {
		n, err := x.rest.Read(buf)
		x.unasked(buf[:n])
		if errors.Is(err, io.EOF) {
			if x.req.Chunked {
				return x.skipTrailer() == nil
			}
			return x.req.Unasked == x.req.Length
		}
		if err != nil {
			return false
		}
	}
}

func (x *exchange) unasked(piece []byte) {
	x.cluster.mu.Lock()
	defer x.cluster.mu.Unlock()
	if room := 64 - len(x.req.UnaskedStart); room > 0 {
		x.req.UnaskedStart = append(x.req.UnaskedStart, piece[:min(room, len(piece))]...)
	}
	x.req.Unasked += int64(len(piece))
}

// linger closes a connection so that the client can still read the answer: it
// ends the sending direction and waits a little for the client to leave.
func (x *exchange) linger() {
	if half, ok := x.conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_ = x.conn.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	if x.consumed {
		_, _ = io.Copy(io.Discard, x.in)
	} else {
		x.drain()
	}
	_ = x.conn.Close()
}

// reset ends the connection with an RST.
func (x *exchange) reset() {
	_ = x.tcp.SetLinger(0)
	_ = x.tcp.Close()
}

// wait reads until the client leaves.
func (x *exchange) wait() {
	_ = x.conn.SetReadDeadline(time.Time{})
	_, _ = io.Copy(io.Discard, x.in)
}
