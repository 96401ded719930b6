package wire

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/dorisload/benthos-doris/test/cases/internal/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs a cluster whose script is given as the JSON that a case holds.
func start(t *testing.T, steps string) *Cluster {
	t.Helper()
	line := `{"id":"x","kind":"k","expect":{"outcome":"ack"},"script":` + strings.ReplaceAll(steps, "\n", " ") + `}`
	cases, err := script.Read(strings.NewReader(line))
	require.NoError(t, err)
	c, err := Start(cases[0].Script, Options{
		User: "loader", Password: "secret",
		CountRows: func(body []byte) int { return strings.Count(string(body), "\n") + 1 },
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// peer is the client's end of a connection.
type peer struct {
	t    *testing.T
	conn *net.TCPConn
	in   *bufio.Reader
}

func dial(t *testing.T, c *Cluster, role Role) *peer {
	t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", c.tokens[string(role)])
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	return &peer{t: t, conn: conn.(*net.TCPConn), in: bufio.NewReader(conn)}
}

func (p *peer) send(text string) {
	p.t.Helper()
	_, err := io.WriteString(p.conn, text)
	require.NoError(p.t, err)
}

// head is a load with the headers that a client sends before the body.
func head(label string, length int, more ...string) string {
	text := fmt.Sprintf("PUT /api/db/t1/_stream_load HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: %d\r\nAuthorization: Basic %s\r\n",
		length, base64.StdEncoding.EncodeToString([]byte("loader:secret")))
	if label != "" {
		text += "label: " + label + "\r\n"
	}
	return text + strings.Join(append(slices.Clone(more), "\r\n"), "\r\n")
}

// line reads one line of the server's.
func (p *peer) line() string {
	p.t.Helper()
	text, err := p.in.ReadString('\n')
	require.NoError(p.t, err)
	return strings.TrimRight(text, "\r\n")
}

func (p *peer) want100() {
	p.t.Helper()
	require.Equal(p.t, "HTTP/1.1 100 Continue", p.line())
	require.Empty(p.t, p.line())
}

// heard is an answer as a client takes it in.
type heard struct {
	status int
	header http.Header
	closes bool
	body   string
}

// answer reads a whole answer.
func (p *peer) answer() heard {
	p.t.Helper()
	resp, err := http.ReadResponse(p.in, nil)
	require.NoError(p.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(p.t, err)
	return heard{status: resp.StatusCode, header: resp.Header, closes: resp.Close, body: string(body)}
}

// load sends a load to a backend the way it should be, and returns the answer.
func load(t *testing.T, c *Cluster, role Role, label, body string, more ...string) string {
	t.Helper()
	p := dial(t, c, role)
	p.send(head(label, len(body), more...))
	p.want100()
	p.send(body)
	return p.answer().body
}

// call sends a request without a body.
func call(t *testing.T, c *Cluster, role Role, method, target string, more ...string) heard {
	t.Helper()
	p := dial(t, c, role)
	p.send(method + " " + target + " HTTP/1.1\r\nHost: x\r\n" + strings.Join(append(more, ""), "\r\n") + "\r\n")
	return p.answer()
}

func state(t *testing.T, c *Cluster, label string) string {
	t.Helper()
	return call(t, c, FE, http.MethodGet, "/api/db/get_load_state?label="+label).body
}

// settled waits until the record shows what the test waits for.
func settled(t *testing.T, c *Cluster, ready func(Traffic) bool) Traffic {
	t.Helper()
	require.Eventually(t, func() bool { return ready(c.Traffic()) }, 5*time.Second, time.Millisecond)
	return c.Traffic()
}
