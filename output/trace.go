package output

import (
	"context"
	"errors"
	"iter"

	"github.com/redpanda-data/benthos/v4/public/service"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/dorisload/benthos-doris/streamload"
)

// maxLinks is how many spans of messages a load points to; exporters keep no more by default (OTEL_SPAN_LINK_COUNT_LIMIT).
const maxLinks = 128

// tracing makes a span for each load. nil makes none.
type tracing struct{ tracer trace.Tracer }

// newTracing is nil when nobody looks at spans, so that they cost nothing.
func newTracing(provider trace.TracerProvider) *tracing {
	if provider == nil {
		return nil
	}
	if _, off := provider.(noop.TracerProvider); off {
		return nil
	}
	return &tracing{provider.Tracer("github.com/dorisload/benthos-doris/output", trace.WithInstrumentationVersion(moduleVersion()))}
}

// load begins the span of a load of some messages, given by their contexts. When all of them belong to one span it is a child of that; a load
// that joins messages of several traces is a trace of its own, with a link to each.
func (t *tracing) load(database, table string, messages iter.Seq[context.Context]) *loadSpan {
	if t == nil {
		return nil
	}
	var from []trace.SpanContext
	seen := map[trace.SpanID]bool{}
	for ctx := range messages {
		of := trace.SpanContextFromContext(ctx)
		if !of.IsValid() || seen[of.SpanID()] {
			continue
		}
		seen[of.SpanID()] = true
		if from = append(from, of); len(from) == maxLinks {
			break
		}
	}
	ctx := context.Background()
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("db.system.name", "doris"),
		attribute.String("doris.table", database+"."+table),
	)}
	if len(from) == 1 {
		ctx = trace.ContextWithSpanContext(ctx, from[0])
	} else {
		for _, of := range from {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: of}))
		}
	}
	_, span := t.tracer.Start(ctx, "doris_stream_load", options...)
	return &loadSpan{span}
}

// loadSpan is the span of one load; nil is none.
type loadSpan struct{ span trace.Span }

// end ends the span with what became of the load.
func (s *loadSpan) end(r streamload.Report, err error) {
	if s == nil {
		return
	}
	defer s.span.End()
	if !s.span.IsRecording() {
		return
	}
	failure, _ := errors.AsType[*streamload.Error](err)
	lost := failure // unless all that was sent is stored
	if failure != nil && failure.Partial {
		lost = nil
	}
	outcome := outcomeOf(r, lost)
	if outcome == "" {
		outcome = "already_stored" // nothing was sent
	}
	label := r.Label
	if label == "" && failure != nil {
		label = failure.Label
	}
	s.span.SetAttributes(
		attribute.String("doris.outcome", outcome),
		attribute.String("doris.label", label),
		attribute.Int("doris.rows", r.Rows),
		attribute.Int64("doris.bytes", r.Bytes),
		attribute.Int("doris.attempts", r.Attempts),
		attribute.Int("doris.label_polls", r.Polls),
	)
	if r.TxnID > 0 {
		s.span.SetAttributes(attribute.Int64("doris.txn_id", r.TxnID))
	}
	if r.HasCounts {
		s.span.SetAttributes(attribute.Int64("doris.rows_loaded", r.Loaded), attribute.Int64("doris.rows_filtered", r.Filtered))
	}
	if r.AlreadyStored > 0 {
		s.span.SetAttributes(attribute.Int("doris.rows_already_stored", r.AlreadyStored))
	}
	if failure == nil {
		return
	}
	s.span.SetAttributes(attribute.String("doris.class", string(failure.Class)))
	if n := len(failure.Rejected); n > 0 {
		s.span.SetAttributes(attribute.Int("doris.rows_rejected", n))
	}
	// The headline quotes no rows.
	s.span.SetStatus(codes.Error, failure.Headline())
}

// contexts are those of some messages of a batch.
func contexts(batch service.MessageBatch, indices []int) iter.Seq[context.Context] {
	return func(yield func(context.Context) bool) {
		for _, i := range indices {
			if !yield(batch[i].Context()) {
				return
			}
		}
	}
}

// contextsOf are those of the messages of several parts.
func contextsOf(members []*part) iter.Seq[context.Context] {
	return func(yield func(context.Context) bool) {
		for _, p := range members {
			for ctx := range contexts(p.of.res.batch, p.indices) {
				if !yield(ctx) {
					return
				}
			}
		}
	}
}
