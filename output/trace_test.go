package output

import (
	"context"
	"log/slog"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// traced is an output whose spans are recorded.
func traced(t *testing.T, yaml string) (*built, *tracetest.SpanRecorder, trace.Tracer) {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder))
	b := build(t, yaml)
	out, ok := b.BatchOutput.(*output)
	require.True(t, ok)
	require.Nil(t, out.tracing, "nobody looks at spans")
	out.tracing = newTracing(provider)
	return b, recorder, provider.Tracer("test")
}

// spansOf gives messages a context with a span each: the i-th message belongs to the trace that is named i-th.
func spansOf(t *testing.T, tracer trace.Tracer, batch service.MessageBatch, traces ...int) (service.MessageBatch, []trace.SpanContext) {
	t.Helper()
	byTrace := map[int]context.Context{}
	var all []trace.SpanContext
	for i, m := range batch {
		ctx, known := byTrace[traces[i]]
		if !known {
			var span trace.Span
			ctx, span = tracer.Start(t.Context(), "message")
			byTrace[traces[i]] = ctx
			all = append(all, span.SpanContext())
		}
		batch[i] = m.WithContext(ctx)
	}
	return batch, all
}

func attributes(span sdk.ReadOnlySpan) map[string]any {
	out := map[string]any{}
	for _, a := range span.Attributes() {
		out[string(a.Key)] = a.Value.AsInterface()
	}
	return out
}

func TestASpanOfALoad(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{{At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions, Times: 1}}})
	b, recorder, tracer := traced(t, fields(e.FEURL(), target+"max_retries: 5"))
	batch, from := spansOf(t, tracer, batchOf(`{"id":1}`, `{"id":2}`, `{"id":3}`), 0, 0, 0)
	require.NoError(t, b.WriteBatch(within(t), batch))

	require.Len(t, recorder.Ended(), 1)
	span := recorder.Ended()[0]
	require.Equal(t, "doris_stream_load", span.Name())
	require.Equal(t, trace.SpanKindClient, span.SpanKind())
	require.Equal(t, codes.Unset, span.Status().Code)
	require.Equal(t, from[0].SpanID(), span.Parent().SpanID(), "messages of one span have the load as its child")
	require.Equal(t, from[0].TraceID(), span.SpanContext().TraceID())
	require.Empty(t, span.Links())
	got := attributes(span)
	require.Positive(t, got["doris.txn_id"])
	delete(got, "doris.txn_id")
	loads := e.Loads()
	require.Equal(t, map[string]any{
		"db.system.name": "doris", "doris.table": "d.t", "doris.outcome": "success", "doris.label": loads[len(loads)-1].Label,
		"doris.rows": int64(3), "doris.bytes": int64(26), "doris.attempts": int64(2), "doris.label_polls": int64(1),
		"doris.rows_loaded": int64(3), "doris.rows_filtered": int64(0),
	}, got)
	require.NotZero(t, got["doris.label"])
}

func TestALoadOfSeveralTracesHasLinks(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	b, recorder, tracer := traced(t, fields(e.FEURL(), "database: d\ntable: ${! this.t }"))
	batch, from := spansOf(t, tracer, batchOf(`{"t":"a","id":1}`, `{"t":"b","id":2}`, `{"t":"a","id":3}`, `{"t":"a","id":4}`), 0, 1, 2, 0)
	require.NoError(t, b.WriteBatch(within(t), batch))
	spans := map[any]sdk.ReadOnlySpan{}
	for _, span := range recorder.Ended() {
		spans[attributes(span)["doris.table"]] = span
	}
	require.Len(t, spans, 2)
	require.False(t, spans["d.a"].Parent().IsValid())
	require.Len(t, spans["d.a"].Links(), 2)
	for i, want := range []trace.SpanContext{from[0], from[2]} {
		require.Equal(t, want.SpanID(), spans["d.a"].Links()[i].SpanContext.SpanID())
	}
	require.Equal(t, from[1].SpanID(), spans["d.b"].Parent().SpanID())
}

func TestLinksAreBounded(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	b, recorder, tracer := traced(t, fields(e.FEURL(), target))
	batch := service.MessageBatch{}
	traces := []int{}
	for i := range 3 * maxLinks {
		batch = append(batch, batchOf(`{"id":1}`)...)
		traces = append(traces, i)
	}
	batch, _ = spansOf(t, tracer, batch, traces...)
	require.NoError(t, b.WriteBatch(within(t), batch))
	require.Len(t, recorder.Ended()[0].Links(), maxLinks)
}

func TestSpansOfLoadsThatFail(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{
		{At: emulator.BEBegin, Do: emulator.TxnLimit, Table: "full"},
		{At: emulator.BEAnswer, Do: emulator.Reset, Table: "silent"},
		{At: emulator.StateQuery, Do: emulator.HTTP, Status: 404},
	}})
	b, recorder, _ := traced(t, fields(e.FEURL(), "database: d\ntable: ${! this.t }"))
	_, err := write(within(t), t, b, batchOf(`{"t":"full","id":1}`, `{"t":"silent","id":2}`, `{"t":"fine","id":3}`, `{"t":"fine","id":`))
	require.Error(t, err)
	spans := map[any]sdk.ReadOnlySpan{}
	for _, span := range recorder.Ended() {
		spans[attributes(span)["doris.table"]] = span
	}
	for table, want := range map[string][2]string{"d.full": {"failed", "capacity"}, "d.silent": {"unresolved", "unavailable"}} {
		got := attributes(spans[table])
		require.Equal(t, want[0], got["doris.outcome"], table)
		require.Equal(t, want[1], got["doris.class"], table)
		require.Equal(t, codes.Error, spans[table].Status().Code)
		require.Contains(t, spans[table].Status().Description, want[1]+": ")
		require.NotEmpty(t, got["doris.label"])
	}
	require.Equal(t, "success", attributes(spans["d.fine"])["doris.outcome"])
}

// What Benthos hands on as the tracer of a config is what spans go to, and the spans of its inputs are what they belong to.
func TestSpansInAPipeline(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	recorder := tracetest.NewSpanRecorder()
	env := service.NewEnvironment()
	require.NoError(t, env.RegisterOtelTracerProvider("recorder", service.NewConfigSpec(), func(*service.ParsedConfig) (trace.TracerProvider, error) {
		return sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder)), nil
	}))
	builder := env.NewStreamBuilder()
	builder.SetLogger(slog.New(slog.DiscardHandler))
	require.NoError(t, builder.SetYAML(`
input:
  batched:
    child: { generate: { count: 2, interval: "", mapping: 'root.id = 1' } }
    policy: { count: 2 }
output:
  doris_stream_load:
`+indent(2, fields(e.FEURL(), target))))
	require.NoError(t, builder.SetTracerYAML("recorder: {}"))
	stream, err := builder.Build()
	require.NoError(t, err)
	require.NoError(t, stream.Run(within(t)))
	var loads []sdk.ReadOnlySpan
	others := map[trace.SpanID]bool{}
	for _, span := range recorder.Ended() {
		if span.Name() == "doris_stream_load" {
			loads = append(loads, span)
		} else {
			others[span.SpanContext().SpanID()] = true
		}
	}
	require.Len(t, loads, 1)
	require.Len(t, loads[0].Links(), 2)
	for _, link := range loads[0].Links() {
		require.True(t, others[link.SpanContext.SpanID()], "a link to the span of a message")
	}
}
