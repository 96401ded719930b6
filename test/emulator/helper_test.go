package emulator_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// reply is the answer of a BE, or either form of an FE.
type reply struct {
	TxnID             int64 `json:"TxnId"`
	Label             string
	Comment           string
	TwoPhaseCommit    string
	GroupCommit       bool
	Status            string
	ExistingJobStatus string
	Message           string
	Total             int64 `json:"NumberTotalRows"`
	Loaded            int64 `json:"NumberLoadedRows"`
	Filtered          int64 `json:"NumberFilteredRows"`
	Unselected        int64 `json:"NumberUnselectedRows"`
	LoadBytes         int64
	ErrorURL          string

	Msg  string `json:"msg"`
	Code int    `json:"code"`
	Data any    `json:"data"`

	raw    string
	http   int
	header http.Header
}

// client sends each request on a connection of its own and follows nothing.
func client(t *testing.T) *http.Client {
	tr := &http.Transport{DisableKeepAlives: true, ExpectContinueTimeout: 10 * time.Second}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 20 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// try sends a request as root; headers are "name: value".
func try(ctx context.Context, t *testing.T, method, url, body string, headers ...string) (reply, error) {
	t.Helper()
	var in io.Reader
	if method == http.MethodPut || body != "" {
		in = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, in)
	if err != nil {
		return reply{}, err
	}
	req.SetBasicAuth("root", "")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if value == "-" {
			req.Header.Del(name)
			continue
		}
		req.Header.Set(name, value)
	}
	resp, err := client(t).Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return reply{raw: string(text)}, err
	}
	r := reply{raw: string(text), http: resp.StatusCode, header: resp.Header}
	_ = json.Unmarshal(text, &r)
	return r, nil
}

func do(t *testing.T, method, url, body string, headers ...string) reply {
	t.Helper()
	r, err := try(t.Context(), t, method, url, body, headers...)
	require.NoError(t, err)
	return r
}

// put loads into db.t at a BE, with Expect as the FE wants it.
func put(t *testing.T, emu *emulator.Emulator, body string, headers ...string) reply {
	t.Helper()
	return do(t, http.MethodPut, "http://"+emu.BEAddr()+"/api/db/t/_stream_load", body, append([]string{"Expect: 100-continue"}, headers...)...)
}

// putJSON loads JSON lines.
func putJSON(t *testing.T, emu *emulator.Emulator, body string, headers ...string) reply {
	t.Helper()
	return put(t, emu, body, append([]string{"format: json", "read_json_by_line: true"}, headers...)...)
}

func tryJSON(t *testing.T, emu *emulator.Emulator, body string, headers ...string) (reply, error) {
	t.Helper()
	return try(t.Context(), t, http.MethodPut, "http://"+emu.BEAddr()+"/api/db/t/_stream_load", body,
		append([]string{"Expect: 100-continue", "format: json", "read_json_by_line: true"}, headers...)...)
}

func state(t *testing.T, emu *emulator.Emulator, label string) string {
	t.Helper()
	r := do(t, http.MethodGet, emu.FEURL()+"/api/db/get_load_state?label="+label, "")
	require.Equal(t, "success", r.Msg, r.raw)
	return r.Data.(string)
}

// start starts a cluster with the table db.t: id BIGINT NOT NULL, name
// VARCHAR(8), n INT.
func start(t *testing.T, opt emulator.Options) *emulator.Emulator {
	t.Helper()
	opt.Tables = append(opt.Tables, emulator.Table{Database: "db", Name: "t", Columns: []emulator.Column{
		{Name: "id", Type: "BIGINT", NotNull: true}, {Name: "name", Type: "VARCHAR(8)"}, {Name: "n", Type: "INT"},
	}})
	return emulator.New(t, opt)
}

// wire is a raw connection to a node.
type wire struct {
	net.Conn
	t  *testing.T
	in *bufio.Reader
}

func dial(t *testing.T, addr string) *wire {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(addr, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(20*time.Second)))
	return &wire{Conn: c, t: t, in: bufio.NewReader(c)}
}

func (w *wire) send(text string) {
	w.t.Helper()
	_, err := io.WriteString(w.Conn, text)
	require.NoError(w.t, err)
}

// head writes the header of a load of size bytes; root has no password.
func (w *wire) head(db, table string, size int, headers ...string) {
	w.t.Helper()
	w.send(fmt.Sprintf("PUT /api/%s/%s/_stream_load HTTP/1.1\r\nHost: x\r\nAuthorization: Basic cm9vdDo=\r\nContent-Length: %d\r\n%s\r\n\r\n",
		db, table, size, strings.Join(append([]string{"Accept: */*"}, headers...), "\r\n")))
}

// line reads one line without its end.
func (w *wire) line() string {
	w.t.Helper()
	text, err := w.in.ReadString('\n')
	require.NoError(w.t, err)
	return strings.TrimRight(text, "\r\n")
}

// head is the interesting part of the header of an answer.
type head struct {
	status int
	close  bool
}

// answer reads one answer with its body.
func (w *wire) answer() (a head, body string) {
	w.t.Helper()
	resp, err := http.ReadResponse(w.in, nil)
	require.NoError(w.t, err)
	defer resp.Body.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(resp.Body)
	require.NoError(w.t, err)
	return head{status: resp.StatusCode, close: resp.Close}, b.String()
}

// clock is a clock that tests move.
type clock struct{ ch chan time.Time }

func newClock() *clock {
	c := &clock{ch: make(chan time.Time, 1)}
	c.ch <- time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return c
}

func (c *clock) now() time.Time {
	t := <-c.ch
	c.ch <- t
	return t
}

func (c *clock) move(d time.Duration) { c.ch <- (<-c.ch).Add(d) }

func intText(n int) string { return strconv.Itoa(n) }

// unescape undoes the JSON escapes of quotes.
func unescape(text string) string { return strings.ReplaceAll(text, `\"`, `"`) }

// injectAt runs do once at the given point and lets everything pass.
func injectAt(p emulator.Point, do func()) emulator.Injector {
	once := make(chan struct{}, 1)
	once <- struct{}{}
	return emulator.InjectorFunc(func(_ context.Context, e emulator.Exchange) (emulator.Fault, bool) {
		if e.Point == p {
			select {
			case <-once:
				do()
			default:
			}
		}
		return emulator.Fault{}, false
	})
}

// exact compares answers byte by byte: the order of their keys counts.
func exact(t *testing.T, want, got string, about ...any) {
	t.Helper()
	require.Equal(t, want, got, about...)
}
