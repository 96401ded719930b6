//go:build linux

package bench

import (
	"testing"
)

// unvalidated turns the check of every row off.
var unvalidated = fields{"validate_json": false}

// named gives a peer another name.
func named(name string, p peer) peer {
	p.name = name
	return p
}

// BenchmarkCPU is the CPU time for the same rows: as a user would load them
// without this output, and at the limits of net/http and of a socket.
func BenchmarkCPU(b *testing.B) {
	for _, w := range []workload{w1, w2, w4, w5} {
		b.Run(w.name, func(b *testing.B) {
			s := startSink(b)
			rows := w.content()
			peers := []peer{
				alone(b, w, s.FEKeep, nil), ours(b, w, s.FEKeep, nil), httpClient(b, w, s.FEKeep), dropped(b),
				rawPut(b, w, s.BE, rows), tcp(b, w, s.BE, rows),
			}
			if w.format == "json" {
				peers = append(peers, named("unchecked", alone(b, w, s.FEKeep, unvalidated)))
			}
			r := compare(b, w, rows, peers...)
			b.ReportMetric(r.median("alone", sample.cpuPerGB), "cpu_s/GB")
			b.ReportMetric(r.ratio("alone", "http_client", sample.cpuPerGB), "cpu_vs_http_client")
			b.ReportMetric(r.ratio("ours", "http_client", sample.cpuPerGB), "in_pipeline_cpu_vs_http_client")
			b.ReportMetric(r.ratio("drop", "http_client", sample.cpuPerGB), "drop_cpu_vs_http_client")
			b.ReportMetric(r.ratio("alone", "raw_put", sample.cpuPerGB), "cpu_vs_raw_put")
			b.ReportMetric(r.ratio("alone", "tcp", sample.cpuPerGB), "cpu_vs_tcp")
			if w.format == "json" {
				b.ReportMetric(r.ratio("unchecked", "http_client", sample.cpuPerGB), "unchecked_cpu_vs_http_client")
			}
		})
	}
}

// BenchmarkThroughput is the speed with one batch in flight, rows not checked.
func BenchmarkThroughput(b *testing.B) {
	for _, w := range []workload{w1, w2, w4} {
		b.Run(w.name, func(b *testing.B) {
			s := startSink(b)
			w := w.oneAtATime()
			rows := w.content()
			r := compare(b, w, rows,
				named("unchecked", alone(b, w, s.FEKeep, unvalidated)), alone(b, w, s.FEKeep, nil),
				rawPut(b, w, s.BE, rows), tcp(b, w, s.BE, rows))
			b.ReportMetric(r.median("unchecked", sample.throughput)/1e6, "MB/s")
			b.ReportMetric(r.ratio("unchecked", "raw_put", sample.throughput), "thr_vs_raw_put")
			b.ReportMetric(r.ratio("alone", "raw_put", sample.throughput), "checked_thr_vs_raw_put")
			b.ReportMetric(r.ratio("unchecked", "tcp", sample.throughput), "thr_vs_tcp")
		})
	}
}

// BenchmarkSmall is about latency: ten rows a load, eight in flight.
func BenchmarkSmall(b *testing.B) {
	s := startSink(b)
	w := w3
	rows := w.content()
	r := compare(b, w, rows,
		alone(b, w, s.FEKeep, nil), ours(b, w, s.FEKeep, nil), httpClient(b, w, s.FEKeep),
		rawPut(b, w, s.BE, rows), tcp(b, w, s.BE, rows))
	b.ReportMetric(r.median("alone", sample.latency)*1e6, "p50_us")
	b.ReportMetric(r.median("alone", sample.cpuPerBatch)*1e6, "cpu_us/batch")
	b.ReportMetric(r.ratio("alone", "http_client", sample.latency), "p50_vs_http_client")
	b.ReportMetric(r.ratio("alone", "http_client", sample.cpuPerBatch), "cpu_vs_http_client")
	b.ReportMetric(r.ratio("ours", "http_client", sample.latency), "in_pipeline_p50_vs_http_client")
	b.ReportMetric(r.ratio("ours", "http_client", sample.cpuPerBatch), "in_pipeline_cpu_vs_http_client")
	b.ReportMetric(r.ratio("alone", "raw_put", sample.cpuPerBatch), "cpu_vs_raw_put")
	b.ReportMetric(r.ratio("alone", "raw_put", sample.latency), "p50_vs_raw_put")
	b.ReportMetric(r.median("alone", sample.allocsPerBatch), "allocs/batch")
	b.ReportMetric(r.median("alone", sample.allocatedPerBatch), "B/batch")
}

// BenchmarkAllocations is what the garbage collector gets to do.
func BenchmarkAllocations(b *testing.B) {
	for _, w := range []workload{w1, w2, w4, w5} {
		b.Run(w.name, func(b *testing.B) {
			s := startSink(b)
			rows := w.content()
			r := compare(b, w, rows, alone(b, w, s.FEKeep, nil))
			b.ReportMetric(r.median("alone", sample.allocsPerBatch), "allocs/batch")
			b.ReportMetric(r.median("alone", sample.allocatedPerBatch), "B/batch")
			b.ReportMetric(100*r.median("alone", func(s sample) float64 { return s.allocated / float64(s.bytes) }), "%_of_body")
		})
	}
}

// BenchmarkGzip compresses on both sides.
func BenchmarkGzip(b *testing.B) {
	if !hasField("compression") {
		b.Skip("the output has no field compression")
	}
	s := startSink(b)
	rows := w6.content()
	r := compare(b, w6, rows, ours(b, w6, s.FEKeep, nil), httpClient(b, w6, s.FEKeep))
	b.ReportMetric(r.median("ours", sample.cpuPerGB), "cpu_s/GB")
	b.ReportMetric(r.ratio("ours", "http_client", sample.cpuPerGB), "cpu_vs_http_client")
	b.ReportMetric(1/r.ratio("ours", "http_client", sample.throughput), "wall_vs_http_client")
}

// BenchmarkLabel is what it costs to make the label out of the rows. They are
// not checked here, as that would take ten times as long.
func BenchmarkLabel(b *testing.B) {
	s := startSink(b)
	w := w1
	rows := w.content()
	r := compare(b, w, rows,
		named("random", alone(b, w, s.FEKeep, unvalidated)),
		named("stable", alone(b, w, s.FEKeep, fields{"label": `${! uuid_v4() }`, "validate_json": false})))
	var more []float64
	for i, stable := range r.samples["stable"] {
		more = append(more, stable.cpuPerGB()-r.samples["random"][i].cpuPerGB())
	}
	b.ReportMetric(median(more), "hash_cpu_s/GB")
}

// BenchmarkAlone is the output without peers, to be profiled.
func BenchmarkAlone(b *testing.B) {
	for _, w := range []workload{w1, w2, w3, w4, w5} {
		for name, more := range map[string]fields{"": nil, "_unchecked": unvalidated} {
			b.Run(w.name+name, func(b *testing.B) {
				s := startSink(b)
				rows := w.content()
				p := alone(b, w, s.FEKeep, more)
				for b.Loop() {
					run(b, w, rows, p)
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
