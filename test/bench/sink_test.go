//go:build linux

package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// The sink plays FEs and a BE in a process of its own. It speaks just enough
// HTTP over raw TCP, so that it is never what limits a client.
//
// Each FE answers the head of a load with 307 and reads nothing before that.
// They differ in what they do then: feKeep keeps the connection and reads what
// comes, feClose says that it closes and reads to the end, feReset says so and
// resets the connection with everything unread, as a server does that closes
// without reading. The BE asks for the body if it is to, discards it in the
// kernel, and answers as after a load. beEarly answers before it has seen the
// body, and closes; feEarly is the FE before it. beLike takes the time that a
// load takes at least, and counts rows itself; feLike is the FE before it.

// addresses is what the sink tells when it is up.
type addresses struct{ FEKeep, FEClose, FEReset, FEEarly, FELike, BE string }

// counts are what the sink has seen.
type counts struct {
	// FEBody is how many bytes came after the head of a load at any FE.
	FEBody int64
	// FELoads and BELoads are how many heads came.
	FELoads, BELoads int64
	// BEBody is how many bytes of bodies came.
	BEBody int64
	// Rows is how many rows the loads that were answered said to have.
	Rows int64
}

type sinkServer struct {
	feBody, feLoads, beLoads, beBody, rows atomic.Int64
}

// runSink serves until its input ends. Each line of input asks for the counts.
func runSink() {
	s := &sinkServer{}
	be := s.listen(func(c *net.TCPConn) { s.serveBE(c, false) })
	early := s.listen(func(c *net.TCPConn) { s.serveBE(c, true) })
	like := s.listen(s.serveLikeDoris)
	a := addresses{
		BE:      be,
		FEKeep:  s.listen(func(c *net.TCPConn) { s.serveFE(c, be, "") }),
		FEClose: s.listen(func(c *net.TCPConn) { s.serveFE(c, be, "close") }),
		FEReset: s.listen(func(c *net.TCPConn) { s.serveFE(c, be, "reset") }),
		FEEarly: s.listen(func(c *net.TCPConn) { s.serveFE(c, early, "") }),
		FELike:  s.listen(func(c *net.TCPConn) { s.serveFE(c, like, "") }),
	}
	out := json.NewEncoder(os.Stdout)
	_ = out.Encode(a)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		_ = out.Encode(counts{
			FEBody: s.feBody.Load(), FELoads: s.feLoads.Load(), BELoads: s.beLoads.Load(), BEBody: s.beBody.Load(), Rows: s.rows.Load(),
		})
	}
}

func (s *sinkServer) listen(serve func(*net.TCPConn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c.(*net.TCPConn))
		}
	}()
	return l.Addr().String()
}

// request is the head of a request.
type request struct {
	method string
	path   string
	length int64
	expect bool
	label  string
	rows   int64
}

// readHead reads a head and nothing more than that from the connection's
// point of view: what follows it stays in r.
func readHead(r *bufio.Reader) (q request, err error) {
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return q, err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			return q, nil
		}
		if first {
			if method, rest, ok := bytes.Cut(line, []byte(" ")); ok {
				path, _, _ := bytes.Cut(rest, []byte(" "))
				q.method, q.path = string(method), string(path)
			}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch value = bytes.TrimSpace(value); strings.ToLower(string(name)) {
		case "content-length":
			q.length, err = strconv.ParseInt(string(value), 10, 64)
		case "x-rows":
			q.rows, err = strconv.ParseInt(string(value), 10, 64)
		case "expect":
			q.expect = true
		case "label":
			q.label = string(value)
		}
		if err != nil {
			return q, err
		}
	}
}

func (s *sinkServer) serveFE(c *net.TCPConn, be, end string) {
	defer func() { _ = c.Close() }()
	r := bufio.NewReaderSize(c, 4096)
	for {
		q, err := readHead(r)
		if err != nil {
			return
		}
		if q.method == http.MethodPut { // and no look at whether the FE is there
			s.feLoads.Add(1)
		}
		connection := "keep-alive"
		if end != "" {
			connection = "close"
		}
		_, _ = fmt.Fprintf(c, "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://%s%s\r\nContent-Length: 0\r\nConnection: %s\r\n\r\n", be, q.path, connection)
		switch end {
		case "reset":
			_ = c.SetLinger(0) // with what is unread, or came later, this is a reset
			return
		case "close":
			_ = c.CloseWrite()
			n, _ := io.Copy(io.Discard, r)
			s.feBody.Add(n)
			return
		}
		n, err := discard(c, r, q.length)
		s.feBody.Add(n)
		if err != nil {
			return
		}
	}
}

func (s *sinkServer) serveBE(c *net.TCPConn, early bool) {
	defer func() { _ = c.Close() }()
	r := bufio.NewReaderSize(c, 4096)
	for {
		q, err := readHead(r)
		if err != nil {
			return
		}
		if q.method == http.MethodPut {
			s.beLoads.Add(1)
		}
		if early {
			answer(c, "close", fmt.Sprintf(`{"TxnId":-1,"Label":%q,"Status":"Label Already Exists","ExistingJobStatus":"FINISHED","Message":"Label [%s] has already been used."}`, q.label, q.label))
			return
		}
		if q.expect && r.Buffered() == 0 {
			if _, err := io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
				return
			}
		}
		n, err := discard(c, r, q.length)
		s.beBody.Add(n)
		if err != nil || n != q.length {
			return
		}
		s.rows.Add(q.rows)
		answer(c, "keep-alive", fmt.Sprintf(`{"TxnId":7,"Label":%q,"TwoPhaseCommit":"false","Status":"Success","Message":"OK","NumberTotalRows":%d,"NumberLoadedRows":%d,"NumberFilteredRows":0,"NumberUnselectedRows":0,"LoadBytes":%d,"LoadTimeMs":3,"BeginTxnTimeMs":0,"StreamLoadPutTimeMs":1,"ReadDataTimeMs":1,"WriteDataTimeMs":1,"CommitAndPublishTimeMs":1}`,
			q.label, q.rows, q.rows, n))
	}
}

func answer(c *net.TCPConn, connection, body string) {
	_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: text/plain;version=0.0.4\r\nContent-Length: %d\r\nConnection: %s\r\n\r\n%s", len(body), connection, body)
}

// discard takes n bytes that follow a head: what is in r first, then the rest
// straight out of the kernel, without copying it.
func discard(c *net.TCPConn, r *bufio.Reader, n int64) (int64, error) {
	got := min(int64(r.Buffered()), n)
	_, _ = r.Discard(int(got))
	raw, err := c.SyscallConn()
	if err != nil {
		return got, err
	}
	var nothing [1]byte
	for got < n {
		var took uintptr
		var errno syscall.Errno
		err := raw.Read(func(fd uintptr) bool {
			// With MSG_TRUNC Linux drops the bytes of a TCP connection instead
			// of copying them, so that no buffer is needed (tcp(7)).
			took, _, errno = syscall.Syscall6(syscall.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&nothing)),
				uintptr(min(n-got, 4<<20)), syscall.MSG_TRUNC|syscall.MSG_DONTWAIT, 0, 0)
			return errno != syscall.EAGAIN
		})
		switch {
		case err != nil:
			return got, err
		case errno != 0:
			return got, errno
		case took == 0:
			return got, io.EOF
		}
		got += int64(took)
	}
	return got, nil
}

// sink is the process that runs runSink.
type sink struct {
	addresses

	ask  *os.File
	tell *json.Decoder
}

// startSink starts the process; it ends with the test.
func startSink(tb testing.TB) *sink {
	tb.Helper()
	cmd, in, out := self(tb, "sink")
	require.NoError(tb, cmd.Start())
	s := &sink{ask: in, tell: json.NewDecoder(out)}
	tb.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	require.NoError(tb, s.tell.Decode(&s.addresses))
	return s
}

// counts asks what has been seen up to now.
func (s *sink) counts(tb testing.TB) (c counts) {
	tb.Helper()
	_, err := s.ask.WriteString("counts\n")
	require.NoError(tb, err)
	require.NoError(tb, s.tell.Decode(&c))
	return c
}

// settled asks until all FE connections that a closing FE still reads have ended, or a second is over.
func (s *sink) settled(tb testing.TB) counts {
	tb.Helper()
	last := s.counts(tb)
	for range 10 {
		time.Sleep(20 * time.Millisecond)
		now := s.counts(tb)
		if now == last {
			return now
		}
		last = now
	}
	return last
}
