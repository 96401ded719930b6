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
				named("ours", ours(b, w, s.FEKeep, nil)), httpClient(b, w, s.FEKeep),
				rawPut(b, w, s.BE, rows), tcp(b, w, s.BE, rows),
			}
			if w.format == "json" && hasField("validate_json") {
				peers = append(peers, named("unchecked", ours(b, w, s.FEKeep, unvalidated)))
			}
			r := compare(b, w, rows, peers...)
			b.ReportMetric(r.median("ours", sample.cpuPerGB), "cpu_s/GB")
			b.ReportMetric(r.ratio("ours", "http_client", sample.cpuPerGB), "cpu_vs_http_client")
			b.ReportMetric(r.ratio("ours", "raw_put", sample.cpuPerGB), "cpu_vs_raw_put")
			b.ReportMetric(r.ratio("ours", "tcp", sample.cpuPerGB), "cpu_vs_tcp")
			if len(r.samples["unchecked"]) > 0 {
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
			var more fields
			if hasField("validate_json") {
				more = unvalidated
			}
			r := compare(b, w, rows,
				named("ours", ours(b, w, s.FEKeep, more)), named("checked", ours(b, w, s.FEKeep, nil)),
				rawPut(b, w, s.BE, rows), tcp(b, w, s.BE, rows))
			b.ReportMetric(r.median("ours", sample.throughput)/1e6, "MB/s")
			b.ReportMetric(r.ratio("ours", "raw_put", sample.throughput), "thr_vs_raw_put")
			b.ReportMetric(r.ratio("checked", "raw_put", sample.throughput), "checked_thr_vs_raw_put")
			b.ReportMetric(r.ratio("ours", "tcp", sample.throughput), "thr_vs_tcp")
		})
	}
}

// BenchmarkSmall is about latency: ten rows a load, eight in flight.
func BenchmarkSmall(b *testing.B) {
	s := startSink(b)
	w := w3
	rows := w.content()
	var more fields
	if hasField("linger") {
		more = fields{"linger": "0s"}
	}
	r := compare(b, w, rows,
		named("ours", ours(b, w, s.FEKeep, more)), httpClient(b, w, s.FEKeep), rawPut(b, w, s.BE, rows), tcp(b, w, s.BE, rows))
	b.ReportMetric(r.median("ours", sample.latency)*1e6, "p50_us")
	b.ReportMetric(r.median("ours", sample.cpuPerBatch)*1e6, "cpu_us/batch")
	b.ReportMetric(r.ratio("ours", "http_client", sample.latency), "p50_vs_http_client")
	b.ReportMetric(r.ratio("ours", "http_client", sample.cpuPerBatch), "cpu_vs_http_client")
	b.ReportMetric(r.ratio("ours", "raw_put", sample.cpuPerBatch), "cpu_vs_raw_put")
	b.ReportMetric(r.median("ours", sample.allocsPerBatch), "allocs/batch")
	b.ReportMetric(r.median("ours", sample.allocatedPerBatch), "B/batch")
}

// BenchmarkAllocations is what the garbage collector gets to do.
func BenchmarkAllocations(b *testing.B) {
	for _, w := range []workload{w1, w2, w4, w5} {
		b.Run(w.name, func(b *testing.B) {
			s := startSink(b)
			rows := w.content()
			r := compare(b, w, rows, named("ours", ours(b, w, s.FEKeep, nil)))
			b.ReportMetric(r.median("ours", sample.allocsPerBatch), "allocs/batch")
			b.ReportMetric(r.median("ours", sample.allocatedPerBatch), "B/batch")
			b.ReportMetric(100*r.median("ours", func(s sample) float64 { return s.allocated / float64(s.bytes) }), "%_of_body")
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
	r := compare(b, w6, rows, named("ours", ours(b, w6, s.FEKeep, nil)), httpClient(b, w6, s.FEKeep))
	b.ReportMetric(r.median("ours", sample.cpuPerGB), "cpu_s/GB")
	b.ReportMetric(r.ratio("ours", "http_client", sample.cpuPerGB), "cpu_vs_http_client")
	b.ReportMetric(1/r.ratio("ours", "http_client", sample.throughput), "wall_vs_http_client")
}

// BenchmarkLabel is what it costs to make the label out of the rows.
func BenchmarkLabel(b *testing.B) {
	s := startSink(b)
	w := w1
	rows := w.content()
	r := compare(b, w, rows,
		named("random", ours(b, w, s.FEKeep, nil)),
		named("stable", ours(b, w, s.FEKeep, fields{"label": `${! uuid_v4() }`})))
	var more []float64
	for i, stable := range r.samples["stable"] {
		more = append(more, stable.cpuPerGB()-r.samples["random"][i].cpuPerGB())
	}
	b.ReportMetric(median(more), "hash_cpu_s/GB")
}
