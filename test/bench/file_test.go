//go:build linux

package bench

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var benchFiles = flag.Int("bench.files", 4, "how many files of 20 MB BenchmarkFile loads; 50 are a gigabyte")

// BenchmarkFile is whole pipelines that load files of lines, 100,000 each: with
// a message for each line, and with a message for each file (message_rows:
// many). It reports how many times as many rows a second the latter loads, and
// what part of the CPU it takes for that.
func BenchmarkFile(b *testing.B) {
	s := startSink(b)
	w := w1
	content := append(bytes.Join(w.content(), []byte("\n")), '\n')
	dir := b.TempDir()
	for i := range *benchFiles {
		require.NoError(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d.jsonl", i)), content, 0o600))
	}
	lines := func(more fields) fields {
		return fields{
			"input":  fields{"file": fields{"paths": []string{filepath.Join(dir, "*.jsonl")}, "scanner": fields{"lines": fields{}}}},
			"output": fields{outputName: config(w, s.FEKeep, more)},
		}
	}
	whole := func(more fields) fields {
		more["message_rows"] = "many"
		p := lines(more)
		p["input"].(fields)["file"].(fields)["scanner"] = fields{"to_the_end": fields{}}
		return p
	}
	one, many, unchecked := sample{}, sample{}, sample{}
	for b.Loop() {
		one = pipeline(b, lines(fields{"batching": fields{"count": w.rows, "period": "10s"}}))
		many = pipeline(b, whole(fields{}))
		unchecked = pipeline(b, whole(fields{"validate_json": false}))
	}
	rows := float64(*benchFiles * w.rows)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(rows/one.wall.Seconds(), "rows/s_one")
	b.ReportMetric(rows/many.wall.Seconds(), "rows/s_many")
	b.ReportMetric(one.wall.Seconds()/many.wall.Seconds(), "speed_vs_one")
	b.ReportMetric(one.cpu.Seconds()/many.cpu.Seconds(), "less_cpu_than_one")
	b.ReportMetric(one.wall.Seconds()/unchecked.wall.Seconds(), "unchecked_speed_vs_one")
	b.ReportMetric(one.cpu.Seconds()/unchecked.cpu.Seconds(), "unchecked_less_cpu_than_one")
}

// pipeline runs one to its end.
func pipeline(b *testing.B, config fields) sample {
	b.Helper()
	config["logger"] = fields{"level": "OFF"}
	builder := env(b).NewStreamBuilder()
	text, err := json.Marshal(config)
	require.NoError(b, err)
	require.NoError(b, builder.SetYAML(string(text)))
	builder.SetLogger(slog.New(slog.DiscardHandler))
	stream, err := builder.Build()
	require.NoError(b, err)
	cpu, began := cpuTime(), time.Now()
	require.NoError(b, stream.Run(b.Context()))
	return sample{wall: time.Since(began), cpu: cpuTime() - cpu}
}
