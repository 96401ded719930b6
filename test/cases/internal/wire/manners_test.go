package wire

import (
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const success = `"body":"{\"Status\":\"Success\"}"`

func TestContinueIsWithheld(t *testing.T) {
	t.Parallel()
	c := start(t, `[{"on":"be_load","times":1,"reply":{"status":200,"no_100_continue":true,`+success+`}}]`)
	p := dial(t, c, BE)
	p.send(head("l1", 2))
	settled(t, c, func(got Traffic) bool { return len(got.Requests) == 1 })
	require.NoError(t, p.conn.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err := p.in.ReadByte()
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, p.conn.SetReadDeadline(time.Now().Add(5*time.Second)))
	p.send("{}")
	resp := p.answer()
	require.Equal(t, http.StatusOK, resp.status)
	require.Len(t, c.Traffic().Durable, 1)
}

func TestContinueComesLate(t *testing.T) {
	t.Parallel()
	c := start(t, `[{"on":"be_load","times":1,"reply":{"status":200,"late_100_ms":150,`+success+`}}]`)
	p := dial(t, c, BE)
	began := time.Now()
	p.send(head("l1", 2) + "{}") // does not wait
	p.want100()
	require.GreaterOrEqual(t, time.Since(began), 140*time.Millisecond)
	resp := p.answer()
	require.Equal(t, http.StatusOK, resp.status)
}

func TestAnswerBeforeTheBody(t *testing.T) {
	t.Parallel()
	c := start(t, `[{"on":"be_load","times":1,"reply":{"status":413,"before_body":true,"close":true}}]`)
	p := dial(t, c, BE)
	p.send(head("l1", 2))
	resp := p.answer()
	require.Equal(t, http.StatusRequestEntityTooLarge, resp.status)
	require.True(t, resp.closes)
	_, err := p.in.ReadByte()
	require.ErrorIs(t, err, io.EOF)
	require.Empty(t, c.Traffic().Requests[0].Body)
}

func TestBodyIsCutShort(t *testing.T) {
	t.Parallel()
	c := start(t, `[{"on":"be_load","times":1,"reply":{"status":200,"close":true,"headers":{"Content-Length":"400"},`+success+`}}]`)
	p := dial(t, c, BE)
	p.send(head("l1", 2))
	p.want100()
	p.send("{}")
	resp, err := http.ReadResponse(p.in, nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestWhatJSONCantHold(t *testing.T) {
	t.Parallel()
	c := start(t, `[
		{"on":"be_load","times":1,"reply":{"status":200,"body":"{{HEX:ff00}}{{PAD:3}}{{LABEL}}\ufffd","body_patch":{"replace_ufffd_with_hex":"fe"}}},
		{"on":"be_load","times":1,"reply":{"status":200,"trickle_ms":1,"headers":{"Content-Length":"9"},"body":"drip"}},
		{"on":"be_load","times":1,"reply":{"status":200,"body_encoding":"gzip","headers":{"Content-Encoding":"gzip"},"body":"packed"}}]`)
	require.Equal(t, "\xff\x00xxxl1\xfe", load(t, c, BE, "l1", "{}"))
	require.Equal(t, "drip", load(t, c, BE, "l2", "{}"))
	unpacked, err := gzip.NewReader(strings.NewReader(load(t, c, BE, "l3", "{}")))
	require.NoError(t, err)
	text, err := io.ReadAll(unpacked)
	require.NoError(t, err)
	require.Equal(t, "packed", string(text))
}

func TestAnswerIsDelayedButTheRowsAreIn(t *testing.T) {
	t.Parallel()
	c := start(t, `[{"on":"be_load","times":1,"reply":{"status":200,"delay_ms":60000,`+success+`}}]`)
	p := dial(t, c, BE)
	p.send(head("l1", 2))
	p.want100()
	p.send("{}")
	settled(t, c, func(got Traffic) bool { return len(got.Durable) == 1 })
}

func TestFaultsOnTheWire(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, fault string
		asks        bool // sends 100 Continue
		durable     int
	}{
		{"reset_after_headers", `"fault":"reset_after_headers"`, false, 0},
		{"reset_after_body", `"fault":"reset_after_body"`, true, 0},
		{"reset_after_body, kept", `"fault":"reset_after_body","stores":true`, true, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := start(t, `[{"on":"be_load","times":1,`+tc.fault+`}]`)
			p := dial(t, c, BE)
			p.send(head("l1", 2))
			if tc.asks {
				p.want100()
				p.send("{}")
			}
			_, err := p.in.ReadByte()
			require.ErrorIs(t, err, syscall.ECONNRESET)
			require.Len(t, c.Traffic().Durable, tc.durable)
		})
	}
}

func TestHangsUntilTheClientLeaves(t *testing.T) {
	t.Parallel()
	c := start(t, `[{"on":"be_load","times":1,"fault":"hang_until_client_timeout","stores":true},
		{"on":"be_load","times":1,"fault":"stall_reading_body"}]`)
	p := dial(t, c, BE)
	p.send(head("l1", 2))
	p.want100()
	p.send("{}")
	settled(t, c, func(got Traffic) bool { return len(got.Durable) == 1 })
	require.NoError(t, p.conn.CloseWrite())
	_, err := p.in.ReadByte()
	require.ErrorIs(t, err, io.EOF)

	p = dial(t, c, BE)
	p.send(head("l2", 2))
	p.want100()
	p.send("{}")
	require.NoError(t, p.conn.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err = p.in.ReadByte()
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.Empty(t, c.Traffic().Requests[1].Body)
}

func TestClosesReusedConnections(t *testing.T) {
	t.Parallel()
	c := start(t, `[{"on":"be_load","times":-1,"fault":"close_on_reuse"}]`)
	p := dial(t, c, BE)
	p.send(head("l1", 2))
	p.want100()
	p.send("{}")
	resp := p.answer()
	require.Equal(t, http.StatusOK, resp.status, "the first request is answered")
	p.send(head("l2", 2))
	_, err := p.in.ReadByte()
	require.ErrorIs(t, err, io.EOF)
}

func TestRefusesConnections(t *testing.T) {
	t.Parallel()
	c := start(t, `[{"on":"state","times":-1,"fault":"refuse_connection"}]`)
	idle := dial(t, c, FE)
	p := dial(t, c, FE)
	p.send("GET /api/db/get_load_state?label=x HTTP/1.1\r\nHost: x\r\n\r\n")
	_, err := p.in.ReadByte()
	require.ErrorIs(t, err, syscall.ECONNRESET)
	var d net.Dialer
	_, err = d.DialContext(t.Context(), "tcp", c.tokens["FE"])
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	_, err = idle.in.ReadByte()
	require.Error(t, err)
	dial(t, c, FE2)
}

func TestRedirectsAndResets(t *testing.T) {
	t.Parallel()
	c := start(t, `[{"on":"fe_load","times":-1,"fault":"send_307_then_reset_while_reading_body"}]`)
	p := dial(t, c, FE)
	p.send(head("l1", 2))
	resp := p.answer()
	require.Equal(t, http.StatusTemporaryRedirect, resp.status)
	_, err := p.in.ReadByte()
	require.ErrorIs(t, err, syscall.ECONNRESET)
	require.Zero(t, c.Traffic().Requests[0].Unasked)

	p = dial(t, c, FE)
	p.send(head("l1", 2) + "{}")
	settled(t, c, func(got Traffic) bool { return len(got.Requests) == 2 && got.Requests[1].Unasked == 1 })
	require.True(t, c.Traffic().Requests[1].Redirected())
}

func TestSendsWhatIsNoHTTP(t *testing.T) {
	t.Parallel()
	c := start(t, `[{"on":"be_load","times":1,"fault":"send_raw","raw_hex":"160301"}]`)
	p := dial(t, c, BE)
	p.send(head("l1", 2))
	p.want100()
	p.send("{}")
	got, err := io.ReadAll(p.in)
	require.NoError(t, err)
	require.Equal(t, "\x16\x03\x01", string(got))
}

func TestLeftoversAreTakenForARequest(t *testing.T) {
	t.Parallel()
	c := start(t, `[{"on":"fe_load","times":1,"reply":{"status":307,"keep_alive_no_drain":true}}]`)
	p := dial(t, c, FE)
	p.send(head("l1", 4))
	p.answer()
	p.send("{} x" + head("l2", 4))
	resp := p.answer()
	require.Equal(t, http.StatusBadRequest, resp.status)
	require.Contains(t, resp.body, "Bad Message")
	got := c.Traffic().Requests
	require.Equal(t, OnMalformed, got[1].On)
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	c := start(t, `[{"on":"state","times":1,"reply":{"status":200,"close_idle_after_ms":20}}]`)
	p := dial(t, c, FE)
	p.send("GET /api/db/get_load_state?label=x HTTP/1.1\r\nHost: x\r\n\r\n")
	p.answer()
	_, err := p.in.ReadByte()
	require.ErrorIs(t, err, io.EOF)
}

func TestOutputIsInterrupted(t *testing.T) {
	t.Parallel()
	c := start(t, `[{"on":"state","times":-1,"cancel_context_after_ms":30,"reply":{"status":200}}]`)
	began := time.Now()
	state(t, c, "x")
	select {
	case <-c.Interrupted():
		require.GreaterOrEqual(t, time.Since(began), 25*time.Millisecond)
	case <-time.After(5 * time.Second):
		require.FailNow(t, "nothing was interrupted")
	}
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	c := start(t, `[]`)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM([]byte(c.AuthorityPEM())))
	connect := func(role Role) error {
		d := tls.Dialer{Config: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
		conn, err := d.DialContext(t.Context(), "tcp", c.tokens[string(role)])
		if err == nil {
			_ = conn.Close()
		}
		return err
	}
	require.NoError(t, connect(FETLS))
	var wrongName x509.HostnameError
	require.ErrorAs(t, connect(BETLSBadName), &wrongName)
}

func TestBothLoopbacks(t *testing.T) {
	t.Parallel()
	c, err := Start(nil, Options{})
	require.NoError(t, err)
	c.Close()

	c = start6(t)
	var d net.Dialer
	host, _, err := net.SplitHostPort(c.tokens["BE"])
	require.NoError(t, err)
	for _, host := range []string{host, "::1"} {
		conn, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort(host, c.tokens["BE_PORT"]))
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	}
}

func start6(t *testing.T) *Cluster {
	t.Helper()
	var lc net.ListenConfig
	probe, err := lc.Listen(t.Context(), "tcp", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 loopback here")
	}
	require.NoError(t, probe.Close())
	return start(t, `[{"on":"fe_load","times":1,"reply":{"status":307,"headers":{"Location":"http://[::1]:{{BE_PORT}}/"}}}]`)
}

func TestTrapSwallows(t *testing.T) {
	t.Parallel()
	c := start(t, `[]`)
	p := dial(t, c, Trap)
	p.send("Authorization: Basic x")
	settled(t, c, func(got Traffic) bool { return string(got.Trapped) == "Authorization: Basic x" })
}
