package output

import (
	"context"
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// pipeline is what a run of a whole Benthos stream left behind.
type pipeline struct {
	// results are what the producer of the batches heard for each of them, "" for success.
	results []string
	// rest are the messages that a fallback got, with its reason.
	rest    []string
	reasons []string
	logs    *logBuffer
	metrics *recorder
}

// run sends batches, one after the other, through a stream whose output has the given fields.
func run(t *testing.T, fields string, batches ...service.MessageBatch) *pipeline {
	t.Helper()
	return runStream(t, "output:\n  doris_stream_load:\n"+indent(2, fields), batches...)
}

// runStream is run for any output, which may hand messages on to `inproc: rest`.
func runStream(t *testing.T, config string, batches ...service.MessageBatch) *pipeline {
	t.Helper()
	ctx := within(t)
	p := &pipeline{logs: &logBuffer{}, metrics: newRecorder()}
	env := service.NewEnvironment()
	require.NoError(t, env.RegisterMetricsExporter("recorder", service.NewConfigSpec(),
		func(*service.ParsedConfig, *service.Logger) (service.MetricsExporter, error) { return p.metrics, nil }))
	require.NoError(t, env.RegisterBatchOutput("rest", service.NewConfigSpec(),
		func(*service.ParsedConfig, *service.Resources) (service.BatchOutput, service.BatchPolicy, int, error) {
			return (*rest)(p), service.BatchPolicy{}, 1, nil
		}))
	builder := env.NewStreamBuilder()
	builder.SetLogger(p.logs.slog())
	require.NoError(t, builder.SetYAML(config))
	require.NoError(t, builder.SetMetricsYAML("recorder: {}"))
	send, err := builder.AddBatchProducerFunc()
	require.NoError(t, err)
	stream, err := builder.Build()
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- stream.Run(ctx) }()
	for _, batch := range batches {
		if err := send(ctx, batch); err != nil {
			p.results = append(p.results, err.Error())
		} else {
			p.results = append(p.results, "")
		}
	}
	require.NoError(t, stream.StopWithin(patience))
	require.NoError(t, <-ended)
	return p
}

// rest is an output that keeps what it gets.
type rest pipeline

func (*rest) Connect(context.Context) error { return nil }

func (r *rest) WriteBatch(_ context.Context, batch service.MessageBatch) error {
	for _, m := range batch {
		row, err := m.AsBytes()
		if err != nil {
			return err
		}
		reason, _ := m.MetaGet("fallback_error")
		r.rest, r.reasons = append(r.rest, string(row)), append(r.reasons, reason)
	}
	return nil
}

func (*rest) Close(context.Context) error { return nil }

func TestFallbackGetsOnlyTheFailedWithTheirReasons(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{{At: emulator.BEBeforeCommit, Do: emulator.Fail, Message: "no luck today", Table: "b"}}})
	p := runStream(t, `
output:
  fallback:
    - doris_stream_load:
`+indent(4, fields(e.FEURL(), "database: d\ntable: ${! this.t }"))+`
    - rest: {}
`, batchOf(`{"t":"a","id":1}`, `{"t":"b","id":2}`, `{"t":"a","id":3}`, `[1]`, `{"id":5}`))
	require.Equal(t, []string{""}, p.results)
	require.Equal(t, []string{`{"t":"b","id":2}`, `[1]`, `{"id":5}`}, p.rest)
	require.Contains(t, p.reasons[0], "unknown: load into d.b failed: Fail: no luck today")
	require.Contains(t, p.reasons[1], "not_found: the table of the message")
	require.Equal(t, `not_found: the table of the message is "null"`, p.reasons[2])
	require.Equal(t, 2, e.Count("d", "a"))
	require.Zero(t, e.Count("d", "b"))
}

func TestDropOnSeesTheClassAtTheStart(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	p := runStream(t, `
output:
  drop_on:
    error_patterns: [ "^data_quality: " ]
    output:
      doris_stream_load:
`+indent(4, fields(e.FEURL(), target)), batchOf(`{"id":1}`, `bad`))
	require.Equal(t, []string{""}, p.results)
	require.Equal(t, 1, e.Count("d", "t"))
}

func TestBatchesAreFormedByThePolicy(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	p := run(t, fields(e.FEURL(), target+"batching: { count: 2, period: 1h }"), batchOf(`{"id":1}`, `{"id":2}`), batchOf(`{"id":3}`, `{"id":4}`))
	require.Equal(t, []string{"", ""}, p.results)
	require.Len(t, e.Loads(), 2)
}

func TestAFiniteStreamEnds(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	builder := service.NewStreamBuilder()
	logs := &logBuffer{}
	builder.SetLogger(logs.slog())
	require.NoError(t, builder.SetYAML(`
input:
  generate: { mapping: 'root = {"id": count("finite_stream")}', interval: "", count: 100 }
output:
  doris_stream_load:
`+indent(2, fields(e.FEURL(), target+"batching: { count: 30, period: 20ms }"))))
	stream, err := builder.Build()
	require.NoError(t, err)
	require.NoError(t, stream.Run(within(t)))
	require.Equal(t, 100, e.Count("d", "t"))
	require.Empty(t, logs.lines("level=ERROR"))
}

func TestMessagesThatFailComeAgainAndAreLoadedOnce(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{{At: emulator.BEBegin, Do: emulator.TxnLimit, Times: 4, Table: "b"}}})
	builder := service.NewStreamBuilder()
	logs := &logBuffer{}
	builder.SetLogger(logs.slog())
	require.NoError(t, builder.SetYAML(`
input:
  generate:
    mapping: |
      let n = count("failing_stream")
      root = {"id": $n, "t": if $n % 2 == 0 { "a" } else { "b" }}
    interval: ""
    batch_size: 10
    count: 20
output:
  doris_stream_load:
`+indent(2, fields(e.FEURL(), "database: d\ntable: ${! this.t }\nmax_in_flight: 1"))))
	stream, err := builder.Build()
	require.NoError(t, err)
	require.NoError(t, stream.Run(within(t)))
	require.Equal(t, 10, e.Count("d", "a"))
	require.Equal(t, 10, e.Count("d", "b"))
	require.NotEmpty(t, logs.lines("level=ERROR", "capacity: 5 of 10 messages were not loaded"))
}

func TestConnectingIsSeenInTheLog(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	p := run(t, fields(e.FEURL(), target), batchOf(`{"id":1}`))
	require.Len(t, p.logs.lines("level=INFO", "loads into d.t through "+strings.TrimPrefix(e.FEURL(), "http://")), 1)
}
