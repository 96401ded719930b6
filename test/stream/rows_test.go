package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

func TestAFiniteFileIsLoadedAndThePipelineEnds(t *testing.T) {
	t.Parallel()
	for name, more := range map[string][]string{
		"one message a load": {},
		"batches":            {"batching: { count: 100, period: 20ms }"},
		"large batches":      {"batching: { byte_size: 1000000, period: 20ms }"},
		"in order":           {"max_in_flight: 1", "batching: { count: 7, period: 20ms }"},
		"arrays":             {"read_json_by_line: false", "strip_outer_array: true", "batching: { count: 50, period: 20ms }"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := with(t)
			n := 500
			newPipeline(t, fromFile(linesOf(t, n))+"output:\n"+c.output(more...)).run()
			require.Equal(t, ids(n), c.stored("orders"))
			require.Zero(t, c.FEBodyBytes())
		})
	}
}

func TestGeneratedMessages(t *testing.T) {
	t.Parallel()
	c := with(t)
	newPipeline(t, `
input:
  generate:
    count: 300
    interval: ""
    batch_size: 30
    mapping: |
      root.id = counter()
      root.note = "line one\nline two, \"quoted\""
output:
`+c.output()).run()
	require.Equal(t, ids(300), c.stored("orders"))
	require.LessOrEqual(t, len(c.Loads()), 10, "a batch of the input is one load at most")
	require.Equal(t, "line one\nline two, \"quoted\"", c.Rows(db, "orders")[0]["note"])
}

func TestBatchingMakesFewLoads(t *testing.T) {
	t.Parallel()
	c := with(t)
	newPipeline(t, fromFile(linesOf(t, 1000))+"output:\n"+c.output("batching: { count: 200, period: 1h }", "max_in_flight: 1")).run()
	require.Equal(t, ids(1000), c.stored("orders"))
	loads := c.Loads()
	require.Len(t, loads, 5)
	for _, l := range loads {
		require.EqualValues(t, 200, l.Loaded)
	}
}

func TestManyTables(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{AutoCreate: true})
	newPipeline(t, `
input:
  generate:
    count: 120
    interval: ""
    batch_size: 24
    mapping: root.id = counter()
pipeline:
  processors:
    - mapping: |
        root = this
        meta tenant = this.id % 2
output:
`+c.output("database: 'tenant_${! @tenant }'", `table: 'kind_${! json("id") % 3 }'`)).run()
	seen := map[string]bool{}
	for tenant := range 2 {
		for kind := range 3 {
			for _, r := range c.Rows(fmt.Sprintf("tenant_%d", tenant), fmt.Sprintf("kind_%d", kind)) {
				id := fmt.Sprint(r["id"])
				require.False(t, seen[id], id)
				seen[id] = true
				var n int
				_, err := fmt.Sscan(id, &n)
				require.NoError(t, err)
				require.Equal(t, tenant, n%2)
				require.Equal(t, kind, n%3)
			}
		}
	}
	require.Len(t, seen, 120)
	require.LessOrEqual(t, len(c.Loads()), 5*6, "one load a table and batch at most")
}

// fallbackTo is an output that loads into c, and writes what fails into a file of lines with the reason.
func fallbackTo(c *cluster, path string, more ...string) string {
	return "output:\n  fallback:\n    - label: main\n" + indent(c.output(more...), "    ") + `    - file:
        path: ` + fmt.Sprintf("%q", path) + `
        codec: lines
      processors:
        - mapping: 'root = {"raw": content().string(), "why": @fallback_error}'
`
}

func indent(text, by string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := range lines {
		lines[i] = by + lines[i]
	}
	return strings.Join(lines, "\n") + "\n"
}

type dead struct{ Raw, Why string }

func readDead(t *testing.T, path string) (out []dead) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	requireNoSecrets(t, string(text))
	for line := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
		var d dead
		require.NoError(t, json.Unmarshal([]byte(line), &d), line)
		out = append(out, d)
	}
	return out
}

// feed sends one batch through a pipeline, waits for its ack, and stops the pipeline.
func feed(t *testing.T, yaml string, batch service.MessageBatch) error {
	t.Helper()
	p := newPipeline(t, yaml)
	send, err := p.b.AddBatchProducerFunc()
	require.NoError(t, err)
	s := p.start(t.Context())
	ctx, cancel := context.WithTimeout(t.Context(), ended)
	defer cancel()
	sent := send(ctx, batch)
	require.NoError(t, s.StopWithin(ended))
	require.NoError(t, s.wait())
	return sent
}

func TestBadMessagesOfABatchGoToTheFallbackWithTheirReasons(t *testing.T) {
	t.Parallel()
	c := with(t)
	path := filepath.Join(t.TempDir(), "dead.ndjson")
	bad := map[string]string{`{"id":`: "cut off", `[1,2]`: "array", `17`: "number", `{"id":5}{"id":6}`: "more than one"}
	var batch service.MessageBatch
	for id := range 40 {
		batch = append(batch, service.NewMessage([]byte(order(id+1))))
	}
	for text := range bad {
		batch = append(batch, service.NewMessage([]byte(text)))
	}
	require.NoError(t, feed(t, fallbackTo(c, path), batch))
	require.Equal(t, ids(40), c.stored("orders"))
	got := readDead(t, path)
	require.Len(t, got, len(bad))
	for _, d := range got {
		require.Contains(t, d.Why, "data_quality: ")
		require.Contains(t, d.Why, bad[d.Raw])
	}
}

func TestMessagesOfOneTableGoToTheFallback(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{Tables: []emulator.Table{orders("table_0"), orders("table_2")}})
	path := filepath.Join(t.TempDir(), "dead.ndjson")
	var batch service.MessageBatch
	for id := range 30 {
		batch = append(batch, service.NewMessage([]byte(order(id))))
	}
	require.NoError(t, feed(t, fallbackTo(c, path, `table: 'table_${! json("id") % 3 }'`, "max_retries: -1"), batch))
	require.Equal(t, []int{0, 3, 6, 9, 12, 15, 18, 21, 24, 27}, c.stored("table_0"))
	require.Equal(t, []int{2, 5, 8, 11, 14, 17, 20, 23, 26, 29}, c.stored("table_2"))
	got := readDead(t, path)
	require.Len(t, got, 10)
	for i, d := range got {
		require.Contains(t, d.Why, "not_found: ")
		require.Contains(t, d.Why, "shop.table_1")
		require.JSONEq(t, order(3*i+1), d.Raw)
	}
}

func TestRowsThatDoNotFitGoToTheFallbackWithTheErrorPage(t *testing.T) {
	t.Parallel()
	c := with(t)
	path := filepath.Join(t.TempDir(), "dead.ndjson")
	require.NoError(t, feed(t, fallbackTo(c, path, "max_retries: -1", "strict_mode: true"), service.MessageBatch{
		service.NewMessage([]byte(`{"id":"word"}`)), service.NewMessage([]byte(`{"id":7}`)),
	}))
	got := readDead(t, path)
	require.Len(t, got, 2, "without isolation a load fails whole")
	for _, d := range got {
		require.Contains(t, d.Why, "data_quality: ")
		require.Contains(t, d.Why, "too many filtered rows")
		require.Contains(t, d.Why, "_load_error_log?file=")
		require.Contains(t, d.Why, "Reason: ")
	}
	require.Empty(t, c.stored("orders"))
}

// The producer of a message learns what became of it.
func TestProducersAtTheSameTime(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{FEs: 2, BEs: 2, Seed: 3, Faults: []emulator.Fault{
		{At: emulator.BEAfterCommit, Do: emulator.Reset, Probability: 0.1},
		{At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions, Probability: 0.1},
	}})
	p := newPipeline(t, "output:\n"+c.output("max_retries: 100", "batching: { count: 10, period: 5ms }"))
	send, err := p.b.AddProducerFunc()
	require.NoError(t, err)
	s := p.start(t.Context())
	ctx, cancel := context.WithTimeout(t.Context(), ended)
	defer cancel()
	const producers, each = 20, 20
	var all sync.WaitGroup
	errs := make(chan error, producers*each)
	for i := range producers {
		all.Go(func() {
			for k := range each {
				errs <- send(ctx, service.NewMessage([]byte(order(1+i*each+k))))
			}
		})
	}
	all.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	require.NoError(t, s.StopWithin(ended))
	require.NoError(t, s.wait())
	require.Equal(t, ids(producers*each), c.stored("orders"))
}

// The one documented place where rows come twice (docs/delivery.md): with batching of the output, Benthos hands on the whole source batch
// of a message that fails, also what is stored. Without it only the message itself.
func TestASourceBatchWithABadMessage(t *testing.T) {
	t.Parallel()
	batch := func() service.MessageBatch {
		return service.MessageBatch{
			service.NewMessage([]byte(order(1))), service.NewMessage([]byte("bad")), service.NewMessage([]byte(order(2))),
		}
	}
	for name, c := range map[string]struct {
		more []string
		dead int
	}{
		"with batching":    {[]string{"batching: { count: 100, period: 5ms }"}, 3},
		"without batching": {nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doris := with(t)
			path := filepath.Join(t.TempDir(), "dead.ndjson")
			require.NoError(t, feed(t, fallbackTo(doris, path, c.more...), batch()))
			require.Equal(t, ids(2), doris.stored("orders"))
			require.Len(t, readDead(t, path), c.dead)
		})
	}
}
