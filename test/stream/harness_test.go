package stream

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
	"github.com/dorisload/benthos-doris/test/transcript"
)

const (
	db       = "shop"
	user     = "loader"
	password = "s3cr3t-of:the@loader"
	ended    = 45 * time.Second
)

// cluster is an emulator with the table orders and one account.
type cluster struct {
	*emulator.Emulator
	t *testing.T
	// user is known to this cluster only. The port of an FE that is down may be taken by the cluster of another test meanwhile; it
	// must not take the rows too.
	user string
}

var clusters atomic.Int64

func orders(name string) emulator.Table {
	return emulator.Table{Database: db, Name: name, Columns: []emulator.Column{
		{Name: "id", Type: "BIGINT", NotNull: true}, {Name: "note", Type: "VARCHAR(64)"},
	}}
}

func newCluster(t *testing.T, opt emulator.Options) *cluster {
	t.Helper()
	if opt.Tables == nil {
		opt.Tables = []emulator.Table{orders("orders")}
	}
	name := fmt.Sprintf("%s%d", user, clusters.Add(1))
	opt.Users = []emulator.User{{Name: name, Password: password, Load: []string{"*"}}}
	return &cluster{emulator.New(t, opt), t, name}
}

func with(t *testing.T, faults ...emulator.Fault) *cluster {
	t.Helper()
	return newCluster(t, emulator.Options{Faults: faults})
}

// stored are the ids in a table, sorted; one that was stored twice is there twice.
func (c *cluster) stored(table string) []int {
	c.t.Helper()
	out := []int{}
	for _, r := range c.Rows(db, table) {
		id, err := strconv.Atoi(fmt.Sprint(r["id"]))
		require.NoError(c.t, err)
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// output is the output's YAML, indented for below "output:". More fields may replace those that are set here.
func (c *cluster) output(more ...string) string {
	return output(c.FEURLs(), append([]string{"username: " + c.user}, more...)...)
}

func output(fes []string, more ...string) string {
	fields := [][2]string{
		{"fe_urls", "[ " + strings.Join(fes, ", ") + " ]"},
		{"database", db},
		{"table", "orders"},
		{"username", user},
		{"password", strconv.Quote(password)},
		{"max_retries", "3"},
		{"backoff", "{ initial_interval: 1ms, max_interval: 5ms, max_elapsed_time: 20s }"},
		{"label_poll", "{ initial_interval: 1ms, max_interval: 5ms, max_elapsed_time: 10s }"},
		{"timeout", "20s"},
		{"linger", "0s"},
	}
	for _, m := range more {
		key, value, _ := strings.Cut(m, ": ")
		i := slices.IndexFunc(fields, func(f [2]string) bool { return f[0] == key })
		if i < 0 {
			fields = append(fields, [2]string{key, value})
			continue
		}
		fields[i][1] = value
	}
	var b strings.Builder
	b.WriteString("  doris_stream_load:\n")
	for _, f := range fields {
		fmt.Fprintf(&b, "    %s: %s\n", f[0], f[1])
	}
	return b.String()
}

// ids are the numbers 1 to n.
func ids(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i + 1
	}
	return out
}

func order(id int) string { return fmt.Sprintf(`{"id":%d,"note":"order %d"}`, id, id) }

// linesOf is a file of orders 1 to n.
func linesOf(t *testing.T, n int) string {
	t.Helper()
	var b strings.Builder
	for _, id := range ids(n) {
		b.WriteString(order(id) + "\n")
	}
	path := filepath.Join(t.TempDir(), "orders.ndjson")
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path
}

func fromFile(path string) string {
	return "input:\n  file:\n    paths: [ " + strconv.Quote(path) + " ]\n    scanner: { lines: {} }\n"
}

// logs keeps log lines of all levels.
type logs struct{ transcript.Text }

// secrets are the forms in which the password could get out.
var secrets = []string{
	password,
	"s3cr3t",
	// As basic auth: in base64 the password comes out in one of three ways, by the length of the user before it.
	base64.StdEncoding.EncodeToString([]byte(password))[:20],
	base64.StdEncoding.EncodeToString([]byte(":" + password))[4:24],
	base64.StdEncoding.EncodeToString([]byte("x:" + password))[4:24],
}

func requireNoSecrets(t *testing.T, text string) {
	t.Helper()
	for _, s := range secrets {
		require.NotContains(t, text, s)
	}
}

// pipeline is a stream that is being built, and its log.
type pipeline struct {
	t    *testing.T
	b    *service.StreamBuilder
	logs *logs
}

// newPipeline makes a pipeline of a YAML config. No line of its log may hold a secret.
func newPipeline(t *testing.T, yaml string) *pipeline {
	t.Helper()
	p := &pipeline{t: t, b: service.NewEnvironment().NewStreamBuilder(), logs: &logs{}}
	require.NoError(t, p.b.SetYAML("http: { enabled: false }\n"+yaml))
	p.b.SetLogger(slog.New(slog.NewTextHandler(p.logs, &slog.HandlerOptions{Level: slog.Level(-100)})))
	t.Cleanup(func() { requireNoSecrets(t, p.logs.String()) })
	return p
}

// running is a stream that runs in a goroutine.
type running struct {
	t    *testing.T
	logs *logs
	*service.Stream
	end chan error
}

func (p *pipeline) start(ctx context.Context) *running {
	p.t.Helper()
	s, err := p.b.Build()
	require.NoError(p.t, err)
	r := &running{t: p.t, logs: p.logs, Stream: s, end: make(chan error, 1)}
	go func() { r.end <- s.Run(ctx) }()
	return r
}

// wait waits for the end of the stream.
func (r *running) wait() error {
	r.t.Helper()
	select {
	case err := <-r.end:
		return err
	case <-time.After(ended):
		require.FailNow(r.t, "the pipeline does not end", r.logs.tail())
		return nil
	}
}

// run runs the pipeline to its own end.
func (p *pipeline) run() {
	p.t.Helper()
	require.NoError(p.t, p.start(p.t.Context()).wait(), p.logs.tail())
}

// wait waits for what must happen soon.
func wait[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(ended):
		require.FailNow(t, "it does not end")
	}
	return v
}

// tail is the end of the log, for failures.
func (l *logs) tail() string {
	text := l.String()
	return text[max(0, len(text)-4000):]
}

// eventually waits for a condition.
func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, ended, 2*time.Millisecond)
}
