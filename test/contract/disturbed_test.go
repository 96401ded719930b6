package contract

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

// Between the client and a Doris, real or not, stand proxies that lose, cut and falsify. What was not acknowledged is delivered again, as an
// input does. In the end each row must be there once.
func TestDisturbed(t *testing.T) {
	t.Parallel()
	t.Run("emulator", func(t *testing.T) {
		t.Parallel()
		e := &emulated{cluster: newCluster(t, emulator.Options{FEs: 2, BEs: 2, Users: []emulator.User{{Password: password, Load: []string{"*"}}}})}
		unanswered := 0
		for seed := range uint64(4) {
			unanswered += disturb(t, e, e.newTable(t), seed)
		}
		require.Positive(t, unanswered)
	})
	t.Run("real server", func(t *testing.T) {
		if os.Getenv("DORIS_FE_URL") == "" {
			t.Parallel()
			t.Skip("SKIPPED: no real Doris was disturbed, because DORIS_FE_URL is not set")
		}
		doris := realServer(t)
		unanswered := 0
		for seed := range uint64(10) {
			unanswered += disturb(t, doris, doris.newTable(t), seed)
		}
		require.Positive(t, unanswered)
	})
}

// disturb loads rows into a table through proxies. It gives how many loads were stored without an answer that said so.
func disturb(t *testing.T, s server, table string, seed uint64) int {
	t.Helper()
	const batches, size = 12, 40
	d := newDisturber(t, seed)
	conf := s.config(retries(4), func(c *streamload.Config) {
		fes := c.FEs
		c.FEs = nil
		for _, fe := range fes {
			c.FEs = append(c.FEs, d.frontend(t, fe))
		}
		c.LabelPoll = streamload.Backoff{Initial: 5 * time.Millisecond, Max: 200 * time.Millisecond, MaxElapsed: 20 * time.Second}
		c.Backoff = streamload.Backoff{Initial: 5 * time.Millisecond, Max: 200 * time.Millisecond, MaxElapsed: 30 * time.Second}
	})
	client, _ := newClient(t, conf)
	ctx := within(t, 5*time.Minute)
	var loading sync.WaitGroup
	errs := make(chan error, batches)
	for i := range batches {
		loading.Go(func() {
			b := streamload.Batch{Database: s.database(), Table: table, Rows: rows(1+i*size, size)}
			var err error
			for range 200 { // deliveries
				if _, err = client.Load(ctx, b); err == nil || ctx.Err() != nil {
					break
				}
			}
			errs <- err
		})
	}
	loading.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err, "seed %d: %s", seed, d)
	}
	require.Equal(t, ids(batches*size), s.ids(t, table), "seed %d: %s", seed, d)
	return d.struck("lost answer") + d.struck("502 in place of the answer") + d.struck("half an answer")
}

// disturber makes proxies, one before each server, and decides what they do.
type disturber struct {
	mu       sync.Mutex
	picks    int
	random   *rand.Rand
	backends map[string]string // addresses of the proxies, by that of the server
	strikes  map[string]int
	t        *testing.T
	servers  *http.Transport
}

// stormy is how many requests may be disturbed. Then it is calm, and what is still open must be settled.
const stormy = 300

func newDisturber(t *testing.T, seed uint64) *disturber {
	t.Helper()
	d := &disturber{
		random: rand.New(rand.NewPCG(seed, 0)), backends: map[string]string{}, strikes: map[string]int{}, t: t, //nolint:gosec // a seed is to be repeated
		servers: &http.Transport{MaxIdleConnsPerHost: 16},
	}
	t.Cleanup(d.servers.CloseIdleConnections)
	return d
}

func (d *disturber) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return fmt.Sprint(d.strikes)
}

func (d *disturber) struck(what string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.strikes[what]
}

// pick is one of the disturbances, or "" for none, which is as likely as all of them together.
func (d *disturber) pick(disturbances ...string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.picks++; d.picks > stormy {
		return ""
	}
	i := d.random.IntN(2 * len(disturbances))
	if i >= len(disturbances) {
		return ""
	}
	d.strikes[disturbances[i]]++
	return disturbances[i]
}

func (d *disturber) serve(h http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(h)
	d.t.Cleanup(s.Close)
	return s
}

// frontend is a proxy before an FE. It sends loads on to the proxy before the BE that the FE names.
func (d *disturber) frontend(t *testing.T, fe string) string {
	t.Helper()
	at, err := url.Parse(fe)
	require.NoError(t, err)
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at) }, Transport: d.servers, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { cut(w) }}
	return d.serve(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/_stream_load") {
			switch d.pick("state: reset", "state: 503") {
			case "state: reset":
				cut(w)
			case "state: 503":
				http.Error(w, "<html>try again later</html>", http.StatusServiceUnavailable)
			default:
				pass.ServeHTTP(w, r)
			}
			return
		}
		if d.pick("FE reset", "", "", "") == "FE reset" {
			cut(w)
			return
		}
		resp, err := d.servers.RoundTrip(d.onward(r, at.Host, http.NoBody, 0))
		if err != nil {
			cut(w)
			return
		}
		defer resp.Body.Close()
		if to, err := resp.Location(); err == nil {
			to.Host = d.backend(to.Host)
			w.Header().Set("Location", to.String())
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}).URL
}

// backend is the address of the proxy before a BE.
func (d *disturber) backend(be string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.backends[be] == "" {
		d.backends[be] = strings.TrimPrefix(d.serve(func(w http.ResponseWriter, r *http.Request) { d.load(w, r, be) }).URL, "http://")
	}
	return d.backends[be]
}

// load hands a load on to a BE.
func (d *disturber) load(w http.ResponseWriter, r *http.Request, be string) {
	what := d.pick("BE reset", "half a body", "lost answer", "502 in place of the answer", "half an answer")
	if what == "BE reset" {
		cut(w)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		cut(w)
		return
	}
	var onward io.Reader = bytes.NewReader(body)
	if what == "half a body" {
		onward = io.MultiReader(bytes.NewReader(body[:len(body)/2]), broken{})
	}
	resp, err := d.servers.RoundTrip(d.onward(r, be, io.NopCloser(onward), int64(len(body))))
	if err != nil {
		cut(w)
		return
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	switch {
	case err != nil, what == "lost answer", what == "half a body":
		cut(w)
	case what == "502 in place of the answer":
		http.Error(w, "<html>bad gateway</html>", http.StatusBadGateway)
	case what == "half an answer":
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		_, _ = w.Write(text[:len(text)/2])
		cut(w)
	default:
		w.WriteHeader(resp.StatusCode)
		_, _ = w.Write(text)
	}
}

// onward is the request as it goes to a server. The servers get its body without having asked for it.
func (*disturber) onward(r *http.Request, host string, body io.ReadCloser, length int64) *http.Request {
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host, out.Host, out.RequestURI = "http", host, host, ""
	out.Header.Del("Accept-Encoding") // nothing here would say how an answer is compressed
	out.Body, out.ContentLength = body, length
	if length == 0 {
		out.Body = http.NoBody // any other would be sent in chunks, which Doris treats in another way
	}
	return out
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// cut resets the connection of a request.
func cut(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
