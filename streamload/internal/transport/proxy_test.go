package transport

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proxyHelper names the FE that a test process loads to; see TestProxyOfTheEnvironment.
const proxyHelper = "STREAMLOAD_TEST_PROXY_FE"

// helpProxyTest does one load and prints what came of it.
func helpProxyTest() int {
	fe, err := ParseFE(os.Getenv(proxyHelper))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	tr := New(Config{Username: "root", Password: "hunter22", ContinueWait: 10 * time.Second})
	defer tr.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	a := tr.Load(ctx, fe, Load{Database: "db", Table: "t", Header: http.Header{"label": {"b"}}, Body: body20MB})
	fmt.Printf("%s %s hops=%d err=%v\n", a.Load.Status, a.Sent, a.Hops, a.Err)
	return 0
}

// loadElsewhere lets another process load to an FE that only a proxy can reach: a process reads the environment's proxies once, and
// never uses one for loopback.
func loadElsewhere(t *testing.T, fe string, env ...string) string {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(within(t, time.Minute), exe)
	cmd.Env = append([]string{proxyHelper + "=" + fe}, env...)
	out, err := cmd.Output()
	require.NoError(t, err, "%s", out)
	return string(out)
}

func TestProxyOfTheEnvironment(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, env ...string) string {
		t.Helper()
		return loadElsewhere(t, "http://fe.invalid:8030", env...)
	}
	// The proxy plays FE and BE, both of which it keeps the connections of.
	proxy := serve(t, func(p *peer) {
		for r := p.head(); r != nil; r = p.head() {
			switch r.URL.Host {
			case "fe.invalid:8030":
				p.redirect("be.invalid:8040")
			case "be.invalid:8040":
				p.say("HTTP/1.1 100 Continue\r\n\r\n")
				p.body(r)
				p.sayJSON(200, successJSON)
			default:
				p.sayJSON(502, "{}")
			}
		}
	})
	require.Equal(t, "Success answered hops=1 err=<nil>\n", run(t, "HTTP_PROXY=http://"+proxy.addr))
	require.Zero(t, proxy.strayBytes(t))
	require.Len(t, proxy.seen(), 2)
	for _, r := range proxy.seen() {
		require.True(t, strings.HasPrefix(r.RequestURI, "http://"), r.RequestURI)
		_, _, ok := r.BasicAuth()
		require.True(t, ok)
	}

	// A proxy that refuses by itself gets no body.
	deny := serve(t, func(p *peer) {
		if p.head() != nil {
			p.sayJSON(403, `{"status":"FAILED","msg":"not through here"}`)
			p.rest()
		}
	})
	require.Equal(t, "FAILED not sent hops=0 err=<nil>\n", run(t, "HTTP_PROXY=http://"+deny.addr))
	require.Zero(t, deny.strayBytes(t))

	require.Contains(t, run(t, "HTTP_PROXY=http://"+proxy.addr, "NO_PROXY=fe.invalid"), "not sent hops=0 err=PUT fe.invalid:8030")
	require.Contains(t, run(t, "HTTP_PROXY=http://127.0.0.1:1"), "not sent hops=0 err=PUT fe.invalid:8030: proxyconnect")
}

// A proxy passes https on as it is, and net/http does the TLS inside. The FE gets no body here either.
func TestProxyThatConnects(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.cert.Raw}), 0o600))

	fe, be := ca.serve(t, "fe.invalid", sendsTo("https://be.invalid:8040")), ca.serve(t, "be.invalid", stores)
	servers := map[string]string{"fe.invalid:8030": fe.addr, "be.invalid:8040": be.addr}
	proxy := serve(t, func(p *peer) {
		r := p.head()
		if r == nil {
			return
		}
		var d net.Dialer
		c, err := d.DialContext(t.Context(), "tcp", servers[r.Host])
		if err != nil {
			return
		}
		p.say("HTTP/1.1 200 Connected\r\n\r\n")
		p.wg.Go(func() {
			_, _ = io.Copy(c, p.br)
			_ = c.Close()
		})
		_, _ = io.Copy(p, c)
	})
	require.Equal(t, "Success answered hops=1 err=<nil>\n",
		loadElsewhere(t, "https://fe.invalid:8030", "HTTPS_PROXY=http://"+proxy.addr, "SSL_CERT_FILE="+file))
	require.Zero(t, fe.strayBytes(t), "body bytes at the FE")
	for _, r := range proxy.seen() {
		require.Equal(t, http.MethodConnect, r.Method)
		require.Empty(t, r.Header["Authorization"], "the proxy does not get the password")
	}
}
