package stream

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// ready is what GET /ready of a pipeline says.
func ready(mux *http.ServeMux) int {
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/ready", http.NoBody))
	return w.Code
}

// attemptsToConnect counts what Benthos says of its tries.
func (l *logs) attemptsToConnect() int {
	return strings.Count(l.String(), "Failed to connect to doris_stream_load: no FE answers: ")
}

// With no FE up at the start the pipeline waits, and says why.
func TestAPipelineWaitsForItsFirstFE(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{FEs: 2})
	c.StopFE(0)
	c.StopFE(1)
	p := newPipeline(t, `
input:
  generate:
    count: 50
    interval: ""
    mapping: root.id = counter()
output:
`+c.output("batching: { count: 10, period: 20ms }", "max_retries: -1"))
	mux := http.NewServeMux()
	p.b.SetHTTPMux(mux)
	s := p.start(t.Context())
	eventually(t, func() bool { return p.logs.attemptsToConnect() >= 2 })
	require.Equal(t, http.StatusServiceUnavailable, ready(mux))
	require.NoError(t, c.StartFE(1))
	require.NoError(t, s.wait())
	require.Equal(t, ids(50), c.stored("orders"))
	require.NotContains(t, p.logs.String(), "Failed to send message", "nothing was nacked")
}

// All FEs go away in the middle and come back: nothing is lost, nothing is stored twice, nothing is nacked, and meanwhile the pipeline is not
// ready and does not run hot.
func TestAnOutageOfAllFEs(t *testing.T) {
	t.Parallel()
	for name, more := range map[string][]string{
		"with batching":    {"batching: { count: 20, period: 5ms }"},
		"without batching": {},
		"in order":         {"max_in_flight: 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Each outage begins between a commit and its answer, which is lost.
			c := newCluster(t, emulator.Options{FEs: 2})
			p := newPipeline(t, `
input:
  generate:
    interval: 1ms
    mapping: root.id = counter()
output:
`+c.output(append(more, "max_retries: -1", "label_poll: { initial_interval: 1ms, max_interval: 5ms, max_elapsed_time: 50ms }")...))
			mux := http.NewServeMux()
			p.b.SetHTTPMux(mux)
			s := p.start(t.Context())
			for outage := range 2 {
				before := c.Count(db, "orders")
				eventually(t, func() bool { return c.Count(db, "orders") > before+50 })
				eventually(t, func() bool { return ready(mux) == http.StatusOK })
				c.Inject(emulator.Fault{At: emulator.BEAnswer, Do: emulator.Reset, Times: 1})
				eventually(t, func() bool { return strings.Contains(p.logs.String(), "Attempt 1 to load failed") })
				c.StopFE(0)
				c.StopFE(1)
				tries := p.logs.attemptsToConnect()
				eventually(t, func() bool { return p.logs.attemptsToConnect() >= tries+2 })
				require.Equal(t, http.StatusServiceUnavailable, ready(mux))
				require.NoError(t, c.StartFE(outage))
				require.NoError(t, c.StartFE(1-outage))
			}
			after := c.Count(db, "orders")
			eventually(t, func() bool { return c.Count(db, "orders") > after+50 })
			require.NoError(t, s.StopWithin(ended))
			require.NoError(t, s.wait())
			got := c.stored("orders")
			require.Equal(t, ids(len(got)), got)
			require.NotContains(t, p.logs.String(), "Failed to send message", "nothing was nacked")
		})
	}
}

// A load that is at a BE is acked while no FE is up: the others wait, it does not.
func TestLoadsOnTheirWayAreNotHeldUpByAnOutage(t *testing.T) {
	t.Parallel()
	g := newGate(emulator.BEAnswer)
	c := newCluster(t, emulator.Options{Injector: g})
	p := newPipeline(t, "output:\n"+c.output("max_retries: -1"))
	send, err := p.b.AddProducerFunc()
	require.NoError(t, err)
	s := p.start(t.Context())
	ctx, cancel := context.WithTimeout(t.Context(), ended)
	defer cancel()
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- send(ctx, service.NewMessage([]byte(order(1)))) }()
	wait(t, g.reached)
	c.StopFE(0)
	go func() { second <- send(ctx, service.NewMessage([]byte(order(2)))) }()
	eventually(t, func() bool { return p.logs.attemptsToConnect() > 0 })
	close(g.open)
	require.NoError(t, wait(t, first))
	require.Empty(t, second, "it waits")
	require.NoError(t, c.StartFE(0))
	require.NoError(t, wait(t, second))
	require.NoError(t, s.StopWithin(ended))
	require.NoError(t, s.wait())
	require.Equal(t, ids(2), c.stored("orders"))
}

// With a fallback, an outage does not send everything to the dead letters.
func TestAnOutageIsNoReasonForDeadLetters(t *testing.T) {
	t.Parallel()
	c := with(t)
	path := t.TempDir() + "/dead.ndjson"
	p := newPipeline(t, fallbackTo(c, path, "max_retries: -1"))
	send, err := p.b.AddBatchProducerFunc()
	require.NoError(t, err)
	s := p.start(t.Context())
	ctx, cancel := context.WithTimeout(t.Context(), ended)
	defer cancel()
	require.NoError(t, send(ctx, service.MessageBatch{service.NewMessage([]byte(order(1)))}))
	c.StopFE(0)
	c.StopBE(0) // where the next load would go without asking an FE
	sent := make(chan error, 1)
	go func() {
		sent <- send(ctx, service.MessageBatch{service.NewMessage([]byte(order(2))), service.NewMessage([]byte("bad"))})
	}()
	eventually(t, func() bool { return p.logs.attemptsToConnect() > 1 })
	_, err = os.Stat(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, c.StartBE(0))
	require.NoError(t, c.StartFE(0))
	require.NoError(t, wait(t, sent))
	require.NoError(t, s.StopWithin(ended))
	require.NoError(t, s.wait())
	require.Equal(t, ids(2), c.stored("orders"))
	dead := readDead(t, path)
	require.Len(t, dead, 1)
	require.Equal(t, "bad", dead[0].Raw)
}

func TestStopWhileNoFEAnswers(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]int{"never connected": 0, "connection lost": 5} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := with(t)
			if before == 0 {
				c.StopFE(0)
			}
			p := newPipeline(t, `
input:
  generate:
    interval: 1ms
    mapping: root.id = counter()
output:
`+c.output("max_retries: -1"))
			s := p.start(t.Context())
			if before > 0 {
				eventually(t, func() bool { return c.Count(db, "orders") > before })
				c.StopFE(0)
			}
			eventually(t, func() bool { return p.logs.attemptsToConnect() > 0 })
			began := time.Now()
			_ = s.StopWithin(800 * time.Millisecond) // whether that is graceful is Benthos' affair
			require.Less(t, time.Since(began), 10*time.Second)
			_ = s.wait()
			got := c.stored("orders")
			require.Len(t, slices.Compact(slices.Clone(got)), len(got), "loads that ran at the same time may have failed between others, but none was stored twice")
		})
	}
	t.Run("the program, by SIGTERM", func(t *testing.T) {
		t.Parallel()
		c := with(t)
		yaml := configFile(t, `
input:
  generate:
    interval: 1ms
    mapping: root.id = counter()
output:
`+c.output("max_retries: -1"))
		text, err := os.ReadFile(yaml)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(yaml, append([]byte("shutdown_timeout: 2s\n"), text...), 0o600))
		p := start(t, "benthos-doris", "run", yaml)
		eventually(t, func() bool { return c.Count(db, "orders") > 30 })
		c.StopFE(0)
		eventually(t, func() bool { return p.out.attemptsToConnect() > 0 })
		began := time.Now()
		p.signal(syscall.SIGTERM)
		_ = wait(t, p.exit)
		require.Less(t, time.Since(began), 15*time.Second)
		got := c.stored("orders")
		require.Len(t, slices.Compact(slices.Clone(got)), len(got), "loads that ran at the same time may have failed between others, but none was stored twice")
	})
}

// gateway passes connections on to an FE while it is open, and drops them while it is not.
type gateway struct {
	address string
	dropped atomic.Int64

	mu    sync.Mutex
	shut  bool
	conns map[net.Conn]bool
}

func newGateway(t *testing.T, to string) *gateway {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := &gateway{address: "http://" + l.Addr().String(), conns: map[net.Conn]bool{}}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			if g.keep(in) {
				all.Go(func() { g.pass(in, to) })
			} else {
				g.dropped.Add(1)
				_ = in.Close()
			}
		}
	})
	t.Cleanup(func() { _ = l.Close(); g.set(false); all.Wait() })
	return g
}

// set opens or shuts the gateway; shut it drops the connections that are there too.
func (g *gateway) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = !open
	for c := range g.conns {
		if g.shut {
			_ = c.Close()
		}
	}
}

func (g *gateway) keep(c net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return false
	}
	g.conns[c] = true
	return true
}

func (g *gateway) done(c net.Conn) {
	_ = c.Close()
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.conns, c)
}

func (g *gateway) pass(in net.Conn, to string) {
	defer g.done(in)
	out, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", to)
	if err != nil {
		return
	}
	defer g.done(out)
	if !g.keep(out) {
		return
	}
	var back sync.WaitGroup
	back.Go(func() { _, _ = io.Copy(in, out); _ = in.Close() })
	_, _ = io.Copy(out, in)
	_ = out.Close()
	back.Wait()
}

// A server that takes connections and drops them is tried about once a second, not as fast as it goes.
func TestReconnectsDoNotRunHot(t *testing.T) {
	t.Parallel()
	c := with(t)
	g := newGateway(t, strings.TrimPrefix(c.FEURL(), "http://"))
	p := newPipeline(t, `
input:
  generate:
    interval: 1ms
    count: 500
    mapping: root.id = counter()
output:
`+output([]string{g.address}, "username: "+c.user, "max_retries: -1", "max_in_flight: 4"))
	s := p.start(t.Context())
	eventually(t, func() bool { return c.Count(db, "orders") > 20 })
	g.set(false)
	eventually(t, func() bool { return p.logs.attemptsToConnect() > 0 })
	began, before := time.Now(), g.dropped.Load()
	eventually(t, func() bool { return time.Since(began) > 2*time.Second })
	// As fast as it goes would be thousands. A slow machine takes longer than it was told.
	require.LessOrEqual(t, g.dropped.Load()-before, 20+int64(20*time.Since(began).Seconds()))
	g.set(true)
	require.NoError(t, s.wait())
	require.Equal(t, ids(500), c.stored("orders"))
	t.Logf("%d connections were dropped in %s", g.dropped.Load()-before, 2*time.Second)
}
