package transport

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
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

// A process reads the environment's proxies once, and never uses one for loopback. So another process loads to an FE that
// only the proxy can reach.
func TestProxyOfTheEnvironment(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	require.NoError(t, err)
	run := func(t *testing.T, env ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, exe)
		cmd.Env = append([]string{proxyHelper + "=http://fe.invalid:8030"}, env...)
		out, err := cmd.Output()
		require.NoError(t, err, "%s", out)
		return string(out)
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
	require.Zero(t, proxy.stray.Load())
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
	require.Zero(t, deny.stray.Load())

	require.Contains(t, run(t, "HTTP_PROXY=http://"+proxy.addr, "NO_PROXY=fe.invalid"), "not sent hops=0 err=PUT fe.invalid:8030")
	require.Contains(t, run(t, "HTTP_PROXY=http://127.0.0.1:1"), "not sent hops=0 err=PUT fe.invalid:8030: proxyconnect")
}
