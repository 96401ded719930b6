package exporter

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// journal is a log that can be read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func build(t *testing.T, yaml string) (*exporter, *journal, error) {
	t.Helper()
	parsed, err := Spec().ParseYAML(yaml, service.NewEmptyEnvironment())
	require.NoError(t, err)
	said := &journal{}
	res := service.MockResources(service.MockResourcesOptUseLogger(service.NewLoggerFromSlog(slog.New(slog.NewTextHandler(said, nil)))))
	e, err := newExporter(parsed, res.Logger(), map[string]string{"rows": "Rows that were seen."})
	return e, said, err
}

func mustBuild(t *testing.T, yaml string) (*exporter, *journal) {
	t.Helper()
	e, said, err := build(t, yaml)
	require.NoError(t, err)
	t.Cleanup(func() { _ = e.Close(context.WithoutCancel(t.Context())) })
	return e, said
}

// scrape asks as Prometheus does, over a real connection.
func scrape(t *testing.T, e *exporter) string {
	t.Helper()
	server := httptest.NewServer(e.HandlerFunc())
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
	require.NoError(t, err)
	resp, err := server.Client().Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Contains(t, resp.Header.Get("Content-Type"), "text/plain")
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	server.Client().CloseIdleConnections()
	return string(body)
}

func TestMetricsAsPrometheusSeesThem(t *testing.T) {
	t.Parallel()

	e, said := mustBuild(t, "{}")
	rows := e.NewCounterCtor("rows", "label", "path", "table")
	rows("out", "root.output", "a.b").Incr(3)
	rows("out", "root.output", "a.b").Incr(4)
	rows("out", "root.output", "a.b").Incr(-100)
	rows("out", "root.output", "c.d").Incr(1)
	up := e.NewGaugeCtor("up", "fe")
	up("one:8030").Set(5)
	up("one:8030").Set(1)
	up("two:8030").(gauge).SetFloat64(0.5)
	e.NewTimerCtor("load_ns")().Timing(int64(2 * time.Second))

	text := scrape(t, e)
	for _, line := range []string{
		"# HELP rows Rows that were seen.",
		"# TYPE rows counter",
		`rows{label="out",path="root.output",table="a.b"} 7`,
		`rows{label="out",path="root.output",table="c.d"} 1`,
		"# HELP up A gauge of Benthos.",
		`up{fe="one:8030"} 1`,
		`up{fe="two:8030"} 0.5`,
		"# HELP load_ns A timer of Benthos. In nanoseconds.",
		"# TYPE load_ns summary",
		`load_ns{quantile="0.5"} 2e+09`,
		`load_ns{quantile="0.99"} 2e+09`,
		"load_ns_sum 2e+09",
		"load_ns_count 1",
	} {
		require.Contains(t, text, line+"\n")
	}
	require.NotContains(t, text, "go_")
	require.NotContains(t, text, "process_")
	require.Empty(t, said.String())
}

func TestTimersAsHistograms(t *testing.T) {
	t.Parallel()

	e, _ := mustBuild(t, "use_histogram_timing: true\nhistogram_buckets: [ 1, 5 ]")
	e.NewTimerCtor("load_ns", "table")("t").Timing(int64(2 * time.Second))
	text := scrape(t, e)
	for _, line := range []string{
		"# HELP load_ns A timer of Benthos. In seconds.",
		"# TYPE load_ns histogram",
		`load_ns_bucket{table="t",le="1"} 0`,
		`load_ns_bucket{table="t",le="5"} 1`,
		`load_ns_sum{table="t"} 2`,
	} {
		require.Contains(t, text, line+"\n")
	}

	e, _ = mustBuild(t, "use_histogram_timing: true")
	e.NewTimerCtor("load_ns")().Timing(int64(2 * time.Second))
	require.Contains(t, scrape(t, e), `load_ns_bucket{le="0.005"} 0`)
}

func TestQuantilesOfTheConfig(t *testing.T) {
	t.Parallel()

	e, _ := mustBuild(t, "summary_quantiles_objectives: [ { quantile: 0.75, error: 0.02 } ]")
	e.NewTimerCtor("load_ns")().Timing(7)
	text := scrape(t, e)
	require.Contains(t, text, `load_ns{quantile="0.75"} 7`)
	require.NotContains(t, text, `quantile="0.5"`)
}

func TestMetricsOfTheProcess(t *testing.T) {
	t.Parallel()

	e, _ := mustBuild(t, "add_process_metrics: true\nadd_go_metrics: true")
	text := scrape(t, e)
	require.Contains(t, text, "go_goroutines")
	require.Contains(t, text, "process_") // which of them depends on the system
}

// Benthos exports some names with different labels, for instance below a mapping, and names that Prometheus does not take.
func TestWhatDoesNotFitPrometheus(t *testing.T) {
	t.Parallel()

	e, said := mustBuild(t, "{}")
	e.NewCounterCtor("same", "label")("a").Incr(1)
	e.NewCounterCtor("same", "label", "stream")("a", "s").Incr(2)
	e.NewCounterCtor("same", "label")("a").Incr(10)
	e.NewCounterCtor("input.foo-bar", "some.label")("x").Incr(1)
	e.NewCounterCtor("9lives")().Incr(1)
	e.NewTimerCtor("t", "quantile", "__name__", "le")("a", "b", "c").Timing(1)
	e.NewCounterCtor("junk", "table")("\xff\"\n\\").Incr(1)
	e.NewCounterCtor("", "")("").Incr(1)
	require.Empty(t, said.String())

	text := scrape(t, e)
	for _, line := range []string{
		`same{label="a"} 11`,
		`same{label="a",stream="s"} 2`,
		`input_foo_bar{some_label="x"} 1`,
		"_9lives 1",
		`t_count{exported___name__="b",exported_le="c",exported_quantile="a"} 1`,
		"junk{table=\"\uFFFD\\\"\\n\\\\\"} 1",
		`_{_=""} 1`,
	} {
		require.Contains(t, text, line+"\n")
	}

	// What cannot be is left out, said once, and nothing else suffers.
	e.NewGaugeCtor("same", "label")("a").Set(5)
	require.Contains(t, said.String(), "The metric same is not exported as a gauge: there is a counter of this name")
	e.NewTimerCtor("same", "label")("a").Timing(5)
	e.NewCounterCtor("t")().Incr(5)
	e.NewCounterCtor("twice", "a.b", "a_b")("1", "2").Incr(1)
	require.Contains(t, said.String(), "it has the label a_b twice")
	e.NewCounterCtor("few", "a", "b")("1").Incr(1)
	require.Contains(t, said.String(), "The metric few is not counted")
	require.Equal(t, text, scrape(t, e))
}

func TestSeriesOfARemovedStream(t *testing.T) {
	t.Parallel()

	e, _ := mustBuild(t, "{}")
	rows := e.NewCounterCtor("rows", "stream", "table")
	rows("one", "t").Incr(1)
	rows("two", "t").Incr(2)
	e.NewTimerCtor("load_ns", "stream")("one").Timing(1)
	e.NewGaugeCtor("up")().Set(1)
	e.DeleteSeriesPartialMatch(map[string]string{"stream": "one"})
	text := scrape(t, e)
	require.NotContains(t, text, `stream="one"`)
	require.Contains(t, text, `rows{stream="two",table="t"} 2`)
	require.Contains(t, text, "up 1")

	rows("one", "t").Incr(5)
	require.Contains(t, scrape(t, e), `rows{stream="one",table="t"} 5`)
}

func TestBadConfigs(t *testing.T) {
	t.Parallel()

	tests := []struct{ name, yaml, says string }{
		{"buckets that fall", "histogram_buckets: [ 1, 0.5 ]", "histogram_buckets [1] is 0.5, which does not rise"},
		{"buckets that stay", "histogram_buckets: [ 1, 1 ]", "histogram_buckets [1] is 1"},
		{"a bucket that is none", "histogram_buckets: [ .nan ]", "histogram_buckets [0] is no number"},
		{"a quantile above 1", "summary_quantiles_objectives: [ { quantile: 99, error: 0.1 } ]", "quantile 99"},
		{"an error below 0", "summary_quantiles_objectives: [ { quantile: 0.9, error: -1 } ]", "error -1"},
		{"an address that is none", "push_url: localhost", "push_url is no address"},
		{"an address of something else", "push_url: ftp://localhost", "push_url is no address"},
		{"an interval that is none", "push_url: http://localhost\npush_interval: often", `push_interval is "often"`},
		{"an interval of nothing", "push_url: http://localhost\npush_interval: 0s", "push_interval is 0s"},
		{"no job", "push_url: http://localhost\npush_job_name: ''", "push_job_name is empty"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := build(t, test.yaml)
			require.ErrorContains(t, err, test.says)
		})
	}

	_, _, err := build(t, "histogram_buckets: [ 2, 1 ]\npush_interval: soon\npush_url: 'http://me:open-sesame@:x'")
	require.ErrorContains(t, err, "histogram_buckets")
	require.ErrorContains(t, err, "push_interval")
	require.ErrorContains(t, err, "push_url")
	require.NotContains(t, err.Error(), "open-sesame")
}

// gateway is a Pushgateway that keeps what comes.
type gateway struct {
	*httptest.Server

	mu     sync.Mutex
	status int
	bodies []string
	paths  []string
	users  []string
}

func newGateway(t *testing.T) *gateway {
	t.Helper()
	g := &gateway{status: http.StatusOK}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		user, password, _ := r.BasicAuth()
		g.mu.Lock()
		defer g.mu.Unlock()
		g.bodies = append(g.bodies, string(body))
		g.paths = append(g.paths, r.Method+" "+r.URL.Path)
		g.users = append(g.users, user+":"+password)
		w.WriteHeader(g.status)
	}))
	t.Cleanup(g.Close)
	return g
}

func (g *gateway) answer(status int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.status = status
}

func (g *gateway) pushes() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.bodies)
}

func TestPushAtTheEnd(t *testing.T) {
	t.Parallel()

	tests := []struct{ name, auth, want string }{
		{"no account", "", ":"},
		{"an account", "\npush_basic_auth: { username: me, password: open-sesame }", "me:open-sesame"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := newGateway(t)
			e, said := mustBuild(t, "push_job_name: nightly\npush_url: "+g.URL+test.auth)
			e.NewCounterCtor("rows")().Incr(5)
			require.Zero(t, g.pushes())
			require.NoError(t, e.Close(t.Context()))
			require.Equal(t, []string{"PUT /metrics/job/nightly"}, g.paths)
			require.Equal(t, []string{test.want}, g.users)
			require.Contains(t, g.bodies[0], "rows")
			require.Empty(t, said.String())
		})
	}
}

func TestPushWithAccountInTheAddress(t *testing.T) {
	t.Parallel()

	g := newGateway(t)
	e, _ := mustBuild(t, "push_url: "+strings.Replace(g.URL, "http://", "http://me:open-sesame@", 1))
	require.NoError(t, e.Close(t.Context()))
	require.Equal(t, []string{"me:open-sesame"}, g.users)
}

func TestPushFromTimeToTime(t *testing.T) {
	t.Parallel()

	g := newGateway(t)
	e, said := mustBuild(t, "push_interval: 5ms\npush_url: "+g.URL)
	require.Eventually(t, func() bool { return g.pushes() > 1 }, 10*time.Second, time.Millisecond)

	g.answer(http.StatusInternalServerError)
	require.Eventually(t, func() bool { return strings.Contains(said.String(), "not at the Pushgateway") }, 10*time.Second, time.Millisecond)
	g.answer(http.StatusOK)
	require.Eventually(t, func() bool { return strings.Contains(said.String(), "at the Pushgateway again") }, 10*time.Second, time.Millisecond)

	require.NoError(t, e.Close(t.Context()))
	n := g.pushes()
	time.Sleep(20 * time.Millisecond)
	require.Equal(t, n, g.pushes(), "pushed after the end")
}

func TestPushFails(t *testing.T) {
	t.Parallel()

	g := newGateway(t)
	g.Close()
	e, said := mustBuild(t, "push_basic_auth: { username: me, password: open-sesame }\npush_url: "+g.URL)
	err := e.Close(t.Context())
	require.ErrorContains(t, err, "push_url")
	require.NotContains(t, err.Error(), "open-sesame")
	require.Contains(t, said.String(), "pushing the metrics")
}

func TestFileAtTheEnd(t *testing.T) {
	t.Parallel()

	path := filepath.Join(t.TempDir(), "metrics.txt")
	e, _ := mustBuild(t, "file_output_path: "+path)
	e.NewCounterCtor("rows")().Incr(5)
	require.NoFileExists(t, path)
	require.NoError(t, e.Close(t.Context()))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "rows 5\n")

	e, said := mustBuild(t, "file_output_path: "+filepath.Join(path, "no", "folder"))
	require.ErrorContains(t, e.Close(t.Context()), "file_output_path")
	require.Contains(t, said.String(), "file_output_path")
}
