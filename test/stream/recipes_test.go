package stream

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// recipe is the YAML block below a heading of a page of the docs.
func recipe(t *testing.T, page, heading string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## "+heading+"\n")
	require.True(t, found, "no heading %q", heading)
	section, _, _ = strings.Cut(section, "\n## ")
	_, block, found := strings.Cut(section, "```yaml\n")
	require.True(t, found, "no YAML below %q", heading)
	block, _, _ = strings.Cut(block, "```")
	return block
}

// cook runs a recipe from now on, with values for its variables.
func (c *cluster) cook(yaml string, more map[string]string) *pipeline {
	c.t.Helper()
	p := &pipeline{t: c.t, b: service.NewEnvironment().NewStreamBuilder(), logs: &logs{}}
	values := map[string]string{"DORIS_FE": c.FEURL(), "DORIS_USER": c.user, "DORIS_PASSWORD": password}
	maps.Copy(values, more)
	p.b.SetEnvVarLookupFunc(func(name string) (string, bool) { v, ok := values[name]; return v, ok })
	require.NoError(c.t, p.b.SetYAML("logger: { level: NONE }\n"+yaml))
	return p
}

// without is a recipe without one of its lines, which must matter.
func without(t *testing.T, yaml, field string) string {
	t.Helper()
	var kept []string
	for line := range strings.Lines(yaml) {
		if !strings.HasPrefix(strings.TrimSpace(line), field+":") {
			kept = append(kept, line)
		}
	}
	shorter := strings.Join(kept, "")
	require.NotEqual(t, yaml, shorter)
	return shorter
}

// A file that is loaded, and loaded again by a process that knows nothing of the first.
func TestTheRecipeForFiles(t *testing.T) {
	t.Parallel()
	yaml := recipe(t, "stable-labels.md", "Files")
	// Two batches of the same rows are two batches all the same.
	path := filepath.Join(t.TempDir(), "orders.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat(order(1)+"\n", 25_000)), 0o600))
	twice := func(yaml string) int {
		c := with(t)
		for range 2 {
			p := c.cook(yaml, map[string]string{"ORDERS": path})
			p.b.SetHTTPMux(&paths{})
			p.run()
		}
		return c.Count(db, "orders")
	}
	require.Equal(t, 25_000, twice(yaml))
	require.Equal(t, 50_000, twice(without(t, yaml, "label")), "this is what label is for")
}

// What fails at the end of a file is kept by retry. Without it Benthos v4.80.0 loses it; if it does not any more, the page has to change.
func TestTheRecipeForTheEndOfAFile(t *testing.T) {
	t.Parallel()
	yaml := recipe(t, "delivery.md", "The end of a file")
	input, output, _ := strings.Cut(yaml, "  retry:\n    output:\n")
	for name, c := range map[string]struct {
		yaml string
		want []int
	}{
		"with retry": {yaml, ids(3)}, "without": {input + strings.ReplaceAll(output, "\n    ", "\n")[4:], ids(0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doris := with(t, emulator.Fault{At: emulator.FERedirect, Do: emulator.NoBackend, Times: 8}) // two loads, the first time and max_retries
			p := doris.cook(c.yaml, map[string]string{"ORDERS": linesOf(t, 3)})
			p.b.SetHTTPMux(&paths{})
			p.run()
			require.Equal(t, c.want, doris.stored("orders"))
		})
	}
}

// A client that gets no answer sends its request again, to another process.
func TestTheRecipeForHTTP(t *testing.T) {
	t.Parallel()
	yaml := recipe(t, "stable-labels.md", "HTTP")
	requests := func(yaml string) (*cluster, []int) {
		// The first answer of the BE is lost, and nobody tells what became of it.
		c := with(t, emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 1}, emulator.Fault{At: emulator.StateQuery, Do: emulator.HTTP, Status: 403, Times: 1})
		var statuses []int
		for range 2 { // processes
			p := c.cook(yaml, nil)
			mux := &paths{}
			p.b.SetHTTPMux(mux)
			s := p.start(t.Context())
			for _, key := range []string{"key-1", "key-2", ""} {
				status := http.StatusNotFound
				eventually(t, func() bool { // until the path is there
					status = post(t.Context(), mux, key, order(1)+"\n"+order(2)+"\n")
					return status != http.StatusNotFound
				})
				statuses = append(statuses, status)
			}
			require.NoError(t, s.StopWithin(ended))
			require.NoError(t, s.wait())
		}
		return c, statuses
	}
	c, statuses := requests(yaml)
	require.Equal(t, []int{502, 200, 502, 200, 200, 502}, statuses)
	require.Equal(t, []int{1, 1, 2, 2}, c.stored("orders"), "each key once, and nothing without a key")
	c, _ = requests(without(t, yaml, "label"))
	require.Greater(t, c.Count(db, "orders"), 4, "this is what label is for")
}

// paths are the endpoints of a pipeline. Benthos registers one again when it stops, which http.ServeMux does not take.
type paths struct {
	mu       sync.Mutex
	handlers map[string]http.HandlerFunc
}

func (p *paths) HandleFunc(path string, handler func(http.ResponseWriter, *http.Request)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.handlers == nil {
		p.handlers = map[string]http.HandlerFunc{}
	}
	p.handlers[path] = handler
}

func (p *paths) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	handler := p.handlers[r.URL.Path]
	p.mu.Unlock()
	if handler == nil {
		http.NotFound(w, r)
		return
	}
	handler(w, r)
}

func post(ctx context.Context, mux http.Handler, key, body string) int {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/orders", strings.NewReader(body))
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w.Code
}

// Every pipeline that we show is one that our program takes.
func TestPipelinesInDocsAndExamplesLint(t *testing.T) {
	t.Parallel()
	files := []string{}
	for _, pattern := range []string{"../../README.md", "../../docs/*.md", "../../config/*.yaml"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, found, pattern)
		for _, f := range found {
			path, err := filepath.Abs(f)
			require.NoError(t, err)
			files = append(files, path)
		}
	}
	start(t, "benthos-doris", append([]string{"lint"}, files...)...).wait()
}
