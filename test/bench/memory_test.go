//go:build linux

package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redpanda-data/benthos/v4/public/service"
)

// memoryVariable says what a process of the role "memory" does.
const memoryVariable = "BENCH_MEMORY"

type memoryTask struct{ Peer, FE string }

// memoryFlight is how many batches are in flight, memoryWaves how often.
const (
	memoryFlight = 8
	memoryWaves  = 4
)

// inMemory are the peers whose memory is measured.
func inMemory(tb testing.TB, name, fe string) peer {
	w := w1
	w.inFlight = memoryFlight
	switch name {
	case "ours":
		return ours(tb, w, fe, nil)
	case "alone":
		return alone(tb, w, fe, nil)
	case "http_client":
		return httpClient(tb, w, fe)
	case "drop_plugin":
		return droppedByPlugin(tb)
	default:
		return peer{"nothing", func(context.Context, service.MessageBatch) error { return nil }}
	}
}

// runMemory loads the batches and prints the most memory that the process ever
// had, in bytes.
func runMemory() {
	var task memoryTask
	if err := json.Unmarshal([]byte(os.Getenv(memoryVariable)), &task); err != nil {
		panic(err)
	}
	testing.Init()
	result := testing.Benchmark(func(b *testing.B) {
		if b.N > 1 {
			return
		}
		p := inMemory(b, task.Peer, task.FE)
		rows := w1.content()
		var batches [memoryFlight]service.MessageBatch
		for i := range batches {
			batches[i] = batch(rows)
		}
		for range memoryWaves {
			var wg sync.WaitGroup
			for _, one := range batches {
				wg.Go(func() {
					if err := p.load(b.Context(), one); err != nil {
						fmt.Fprintln(os.Stderr, err)
						os.Exit(1)
					}
				})
			}
			wg.Wait()
		}
	})
	_ = result
	fmt.Println(peakMemory())
}

// peakMemory is VmHWM of this process (proc_pid_status(5)).
func peakMemory() int64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		panic(err)
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err != nil {
				panic(err)
			}
			return kb << 10
		}
	}
	panic("there is no VmHWM")
}

func measureMemory(tb testing.TB, s *sink, name string) float64 {
	tb.Helper()
	task, err := json.Marshal(memoryTask{name, s.FEKeep})
	require.NoError(tb, err)
	cmd, in, out := self(tb, "memory", memoryVariable+"="+string(task))
	require.NoError(tb, cmd.Start())
	var peak float64
	_, err = fmt.Fscan(out, &peak)
	require.NoError(tb, err)
	_ = in.Close()
	require.NoError(tb, cmd.Wait())
	return peak
}

// BenchmarkPeakMemory is the most memory of a process that loads, over that of
// one with the same batches that drops them: without the pipeline and in it.
func BenchmarkPeakMemory(b *testing.B) {
	s := startSink(b)
	rows := w1.content()
	var flight float64
	for _, row := range rows {
		flight += memoryFlight * float64(len(row)+1)
	}
	var own, piped, theirs []float64
	round := func() {
		own = append(own, (measureMemory(b, s, "alone")-measureMemory(b, s, "nothing"))/flight)
		base := measureMemory(b, s, "drop_plugin")
		piped = append(piped, (measureMemory(b, s, "ours")-base)/flight)
		theirs = append(theirs, (measureMemory(b, s, "http_client")-base)/flight)
	}
	for b.Loop() {
		round()
	}
	for len(own) < 5 {
		round()
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(own), "peak_vs_bodies")
	b.ReportMetric(median(piped), "in_pipeline_peak_vs_bodies")
	b.ReportMetric(median(theirs), "http_client_peak_vs_bodies")
}
