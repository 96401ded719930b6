package contract

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// gateway is a proxy that takes loads whole and passes them on to a cluster by itself, following the FE's redirect, as some load
// balancers before Doris do. Everything else goes straight through.
type gateway struct {
	t      *testing.T
	srv    *httptest.Server
	behind string // base URL of the FE
	client *http.Client
	// load answers the n-th load (from 0). forward passes it on and gives the cluster's answer; it may be called later, or never.
	load func(n int, forward func() reply) reply
	// body answers a load by what is in it; it is used when load is nil.
	body func(body []byte, forward func() reply) reply

	mu    sync.Mutex
	loads int
}

func newGateway(t *testing.T, c *cluster, load func(n int, forward func() reply) reply) *gateway {
	t.Helper()
	g := &gateway{t: t, behind: c.FEURL(), load: load, client: &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	g.srv = httptest.NewServer(http.HandlerFunc(g.serve))
	t.Cleanup(g.srv.Close)
	return g
}

func (g *gateway) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	header := r.Header.Clone()
	header.Del("Accept-Encoding") // the gateway's own client asks for gzip, and undoes it
	uri := r.URL.RequestURI()
	if r.Method != http.MethodPut {
		a := g.pass(r.Method, g.behind+uri, header, body)
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
		return
	}
	g.mu.Lock()
	n := g.loads
	g.loads++
	g.mu.Unlock()
	forward := func() reply { return g.pass(http.MethodPut, g.behind+uri, header, body) }
	var a reply
	if g.load == nil {
		a = g.body(body, forward)
	} else {
		a = g.load(n, forward)
	}
	if a.status == http.StatusTemporaryRedirect {
		w.Header().Set("Location", a.body)
		a.body = ""
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

// pass sends a request on, to where the FE redirects it.
func (g *gateway) pass(method, to string, header http.Header, body []byte) reply {
	for range 3 {
		req, err := http.NewRequestWithContext(g.t.Context(), method, to, bytes.NewReader(body))
		if err != nil {
			return reply{http.StatusBadGateway, err.Error()}
		}
		req.Header = header.Clone()
		if strings.HasPrefix(to, g.behind) && method == http.MethodPut {
			req.Body, req.ContentLength = http.NoBody, 0 // the FE takes no body
		}
		resp, err := g.client.Do(req)
		if err != nil {
			return reply{http.StatusBadGateway, err.Error()}
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			return reply{http.StatusBadGateway, err.Error()}
		}
		if resp.StatusCode != http.StatusTemporaryRedirect {
			return reply{resp.StatusCode, string(text)}
		}
		to = resp.Header.Get("Location")
	}
	return reply{http.StatusLoopDetected, "redirects without end"}
}

func (g *gateway) seen() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.loads
}

func badGateway() reply {
	return reply{http.StatusBadGateway, "<html><head><title>502 Bad Gateway</title></head></html>"}
}

func gatewayTimeout() reply {
	return reply{http.StatusGatewayTimeout, "<html><head><title>504 Gateway Time-out</title></head></html>"}
}

func TestGatewayPassesLoads(t *testing.T) {
	t.Parallel()
	c := with(t)
	g := newGateway(t, c, func(_ int, forward func() reply) reply { return forward() })
	client, _ := newClient(t, c.through([]string{g.srv.URL}))
	report, err := client.Load(within(t, ended), batch(3))
	require.NoError(t, err)
	require.Equal(t, 1, report.Attempts)
	require.Equal(t, ids(3), c.stored(table))
}

func TestProxyAnswersByItself(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		load     func(n int, forward func() reply) reply
		attempts int
		evidence string
	}{
		{"502 before the load happened", func(n int, forward func() reply) reply {
			if n == 0 {
				return badGateway()
			}
			return forward()
		}, 2, "success"},
		{"504 before the load happened", func(n int, forward func() reply) reply {
			if n == 0 {
				return gatewayTimeout()
			}
			return forward()
		}, 2, "success"},
		{"502 after the load happened", func(n int, forward func() reply) reply {
			if a := forward(); n > 0 {
				return a
			}
			return badGateway()
		}, 1, "state_visible"},
		{"504 after the load happened", func(n int, forward func() reply) reply {
			if a := forward(); n > 0 {
				return a
			}
			return gatewayTimeout()
		}, 1, "state_visible"},
		{"200 with a login page after the load happened", func(n int, forward func() reply) reply {
			if a := forward(); n > 0 {
				return a
			}
			return ok("<html>Success! Please log in.</html>")
		}, 1, "state_visible"},
		{"200 with nothing before the load happened", func(n int, forward func() reply) reply {
			if n == 0 {
				return ok("")
			}
			return forward()
		}, 2, "success"},
		{"the load twice, the second answer comes back", func(_ int, forward func() reply) reply {
			forward()
			return forward()
		}, 1, "label_finished"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := with(t)
			g := newGateway(t, c, tt.load)
			client, j := newClient(t, c.through([]string{g.srv.URL}))
			report, err := client.Load(within(t, ended), batch(20))
			require.NoError(t, err)
			require.Equal(t, tt.evidence, report.Evidence)
			require.Equal(t, tt.attempts, g.seen())
			same(t, j.sent(), tt.attempts)
			require.Equal(t, ids(20), c.stored(table))
		})
	}
}

// A proxy gives up on a request that it sends on all the same, later. Whichever of the two sends comes first, the rows are
// stored once, because both have the same label.
func TestFirstRequestLandsAfterItsStateWasUnknown(t *testing.T) {
	t.Parallel()
	t.Run("after the resend", func(t *testing.T) {
		t.Parallel()
		c := with(t)
		held := make(chan func() reply, 1)
		g := newGateway(t, c, func(n int, forward func() reply) reply {
			if n == 0 {
				held <- forward
				return gatewayTimeout()
			}
			return forward()
		})
		client, j := newClient(t, c.through([]string{g.srv.URL}))
		report, err := client.Load(within(t, ended), batch(20))
		require.NoError(t, err)
		require.Equal(t, "success", report.Evidence)
		require.True(t, report.Ambiguous)
		require.Equal(t, []string{"UNKNOWN"}, j.states())
		late := (<-held)()
		require.Contains(t, late.body, "Label Already Exists")
		require.Equal(t, ids(20), c.stored(table))
	})
	t.Run("before the resend", func(t *testing.T) {
		t.Parallel()
		c := with(t)
		held := make(chan func() reply, 1)
		g := newGateway(t, c, func(n int, forward func() reply) reply {
			if n == 0 {
				held <- forward
				return gatewayTimeout()
			}
			if late := (<-held)(); !strings.Contains(late.body, `"Success"`) {
				return late
			}
			return forward()
		})
		client, j := newClient(t, c.through([]string{g.srv.URL}))
		report, err := client.Load(within(t, ended), batch(20))
		require.NoError(t, err)
		require.Equal(t, "label_finished", report.Evidence)
		require.Equal(t, []string{"UNKNOWN"}, j.states())
		same(t, j.sent(), 2)
		require.Equal(t, ids(20), c.stored(table))
	})
	t.Run("after the resend was aborted", func(t *testing.T) {
		t.Parallel()
		c := with(t)
		held := make(chan func() reply, 1)
		g := newGateway(t, c, func(n int, forward func() reply) reply {
			switch n {
			case 0:
				held <- forward
				return gatewayTimeout()
			case 1: // answered: too many versions, so ABORTED, but the first send is still on its way
				return forward()
			default:
				if late := (<-held)(); !strings.Contains(late.body, `"Success"`) {
					return late
				}
				return forward()
			}
		})
		c.Inject(tooManyVersions(1))
		client, j := newClient(t, c.through([]string{g.srv.URL}))
		report, err := client.Load(within(t, ended), batch(20))
		require.NoError(t, err)
		require.Equal(t, "label_finished", report.Evidence)
		require.Equal(t, []string{"UNKNOWN", "ABORTED"}, j.states())
		same(t, j.sent(), 3)
		require.Equal(t, ids(20), c.stored(table))
	})
}
