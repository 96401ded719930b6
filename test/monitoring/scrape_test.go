package monitoring

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	_ "github.com/redpanda-data/benthos/v4/public/components/io"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure"
	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/exporter"
	"github.com/dorisload/benthos-doris/output"
	"github.com/dorisload/benthos-doris/test/emulator"
)

const config = `
output:
  label: doris
  doris_stream_load:
    fe_urls: [ FES ]
    database: d
    table: ${! this.t }
    username: root
    max_retries: 2
    max_filter_ratio: 0.9
    strict_mode: true
    validate_json: true
    backoff: { initial_interval: 1ms, max_interval: 2ms, max_elapsed_time: 20s }
    label_poll: { initial_interval: 1ms, max_interval: 2ms, max_elapsed_time: 5s }
metrics:
  prometheus: { add_process_metrics: true, add_go_metrics: true }
`

// families are the metrics of one scrape by name.
type families map[string]*dto.MetricFamily

// labels are the names of the labels that series of a metric have, the ones of Benthos too.
func (f families) labels(name string) []string {
	set := map[string]bool{}
	for _, m := range f[name].GetMetric() {
		for _, pair := range m.GetLabel() {
			set[pair.GetName()] = true
		}
		if m.GetSummary() != nil {
			set["quantile"] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// value adds up the series of a counter or gauge that have these labels.
func (f families) value(name string, labels map[string]string) float64 {
	sum := 0.0
	for _, m := range f[name].GetMetric() {
		have := map[string]string{}
		for _, pair := range m.GetLabel() {
			have[pair.GetName()] = pair.GetValue()
		}
		fits := true
		for k, v := range labels {
			fits = fits && have[k] == v
		}
		if fits {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sum
}

// scraped is what Prometheus sees of a pipeline that went through all kinds of trouble; it runs once for all tests.
var scraped = sync.OnceValues(func() (families, error) {
	var got families
	err := withPipeline(func(cluster *emulator.Emulator, write func(rows ...string), scrape func() (families, error)) error {
		write(`{"t":"good","id":1}`, `{"t":"good","id":"many"}`, `{"t":"good","id":3}`, `nonsense`)

		cluster.Inject(emulator.Fault{At: emulator.BEAnswer, Do: emulator.Reset, Table: "lost", Times: 1})
		write(`{"t":"lost","id":1}`)

		cluster.Inject(emulator.Fault{At: emulator.BEAnswer, Do: emulator.Reset, Table: "silent"})
		cluster.Inject(emulator.Fault{At: emulator.StateQuery, Do: emulator.HTTP, Status: 404})
		write(`{"t":"silent","id":1}`)
		write(`{"t":"silent","id":1}`)
		cluster.ClearFaults()

		cluster.Inject(emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions, Table: "full"})
		write(`{"t":"full","id":1}`)

		// A load that is sent again asks an FE each time.
		cluster.StopFE(1) // not the master, who knows the labels
		cluster.Inject(emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Fail, Message: "no", Table: "good"})
		write(`{"t":"good","id":1}`)

		var err error
		got, err = scrape()
		return err
	})
	return got, err
})

// withPipeline runs a pipeline into an emulator of two FEs while do runs. What write is given is one batch; it returns when that has an outcome.
func withPipeline(do func(cluster *emulator.Emulator, write func(rows ...string), scrape func() (families, error)) error) error {
	table := func(name string) emulator.Table {
		return emulator.Table{Database: "d", Name: name, Columns: []emulator.Column{
			{Name: "t", Type: "VARCHAR(16)"}, {Name: "id", Type: "INT", NotNull: true},
		}}
	}
	cluster, err := emulator.Start(emulator.Options{FEs: 2, Tables: []emulator.Table{table("good"), table("lost"), table("full"), table("silent")}})
	if err != nil {
		return err
	}
	defer func() { _ = cluster.Close() }()

	env := service.GlobalEnvironment().Clone()
	if err := output.Register(env, output.Name); err != nil {
		return err
	}
	if err := exporter.Register(env, exporter.Name, nil); err != nil {
		return err
	}
	builder := env.NewStreamBuilder()
	mux := http.NewServeMux()
	builder.SetHTTPMux(muxer{mux})
	builder.SetLogger(slog.New(slog.DiscardHandler))
	if err := builder.SetYAML(strings.Replace(config, "FES", strings.Join(cluster.FEURLs(), ", "), 1)); err != nil {
		return err
	}
	produce, err := builder.AddBatchProducerFunc()
	if err != nil {
		return err
	}
	stream, err := builder.Build()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- stream.Run(ctx) }()
	server := httptest.NewServer(mux)
	defer server.Close()

	write := func(rows ...string) {
		var batch service.MessageBatch
		for _, row := range rows {
			batch = append(batch, service.NewMessage([]byte(row)))
		}
		_ = produce(ctx, batch) // some are meant to fail
	}
	scrape := func() (families, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/metrics", http.NoBody)
		if err != nil {
			return nil, err
		}
		resp, err := server.Client().Do(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		parser := expfmt.NewTextParser(model.LegacyValidation)
		return parser.TextToMetricFamilies(strings.NewReader(string(text)))
	}
	if err := do(cluster, write, scrape); err != nil {
		return err
	}
	if err := stream.StopWithin(10 * time.Second); err != nil {
		return err
	}
	return <-done
}

type muxer struct{ *http.ServeMux }

// HandleFunc adds a handler as Benthos does.
func (m muxer) HandleFunc(path string, h func(http.ResponseWriter, *http.Request)) {
	m.ServeMux.HandleFunc(path, h)
}

// rare metrics do not come about in the pipeline that is scraped: they need another server, another config, or hours.
var rare = []string{"doris_labels_ignored", "doris_ledger_forgotten_rows", "doris_second_phases"}

// What the output says that it counts is what Prometheus gets, with the same labels and a few more of Benthos.
func TestAllMetricsReachPrometheus(t *testing.T) {
	t.Parallel()

	got, err := scraped()
	require.NoError(t, err)
	types := map[string]dto.MetricType{"counter": dto.MetricType_COUNTER, "gauge": dto.MetricType_GAUGE, "timer": dto.MetricType_SUMMARY}
	for _, m := range output.MetricsTable() {
		if slices.Contains(rare, m.Name) {
			continue
		}
		require.Contains(t, got, m.Name, "make scraped count it, or add it to rare")
		require.Equal(t, types[m.Type], got[m.Name].GetType(), m.Name)
		want := append([]string{"label", "path"}, m.Labels...)
		if m.Type == "timer" {
			want = append(want, "quantile")
		}
		slices.Sort(want)
		require.Equal(t, want, got.labels(m.Name), m.Name)
	}
	for _, name := range []string{"input_received", "output_sent", "output_error", "output_latency_ns", "go_goroutines"} {
		require.Contains(t, got, name)
	}
}

func TestWhatPrometheusCounts(t *testing.T) {
	t.Parallel()

	got, err := scraped()
	require.NoError(t, err)
	for _, c := range []struct {
		name   string
		labels map[string]string
		want   float64
	}{
		{"doris_rows", map[string]string{"table": "d.good", "result": "loaded"}, 2},
		{"doris_rows", map[string]string{"table": "d.good", "result": "filtered"}, 1},
		{"doris_rows", map[string]string{"table": "d.silent", "result": "unresolved"}, 1},
		{"doris_rows", map[string]string{"table": "d.silent", "result": "held"}, 1},
		{"doris_retries", map[string]string{"table": "d.full", "class": "capacity"}, 2},
		{"doris_loads", map[string]string{"table": "d.full", "outcome": "failed"}, 1},
		{"doris_loads", map[string]string{"table": "d.lost", "outcome": "state_visible"}, 1},
		{"doris_ledger_loads", nil, 1},
		{"doris_loads_in_flight", nil, 0},
	} {
		require.InDelta(t, c.want, got.value(c.name, c.labels), 0, "%s%v", c.name, c.labels)
	}
}
