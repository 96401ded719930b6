//go:build linux

package bench

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redpanda-data/benthos/v4/public/service"
)

// sample is one run of one peer.
type sample struct {
	cpu, wall time.Duration
	p50       time.Duration // of one batch
	batches   int
	bytes     int64 // of the rows, with one byte between two of them
	allocs    float64
	allocated float64 // bytes
}

func (s sample) cpuPerGB() float64       { return s.cpu.Seconds() / float64(s.bytes) * 1e9 }
func (s sample) cpuPerBatch() float64    { return s.cpu.Seconds() / float64(s.batches) }
func (s sample) throughput() float64     { return float64(s.bytes) / s.wall.Seconds() }
func (s sample) latency() float64        { return s.p50.Seconds() }
func (s sample) allocsPerBatch() float64 { return s.allocs / float64(s.batches) }
func (s sample) allocatedPerBatch() float64 {
	return s.allocated / float64(s.batches)
}

// run loads w.batches batches, w.inFlight at a time, and measures all of that.
// The messages are made before.
func run(tb testing.TB, w workload, rows [][]byte, p peer) sample {
	tb.Helper()
	batches := make([]service.MessageBatch, w.batches)
	var size int64
	for _, row := range rows {
		size += int64(len(row)) + 1
	}
	for i := range batches {
		batches[i] = batch(rows)
	}
	took := make([]time.Duration, w.batches)
	var next atomic.Int64
	var wg sync.WaitGroup
	fail := make(chan error, w.inFlight)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, began := cpuTime(), time.Now()
	for range w.inFlight {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(w.batches); i = next.Add(1) - 1 {
				at := time.Now()
				if err := p.load(tb.Context(), batches[i]); err != nil {
					fail <- err
					return
				}
				took[i] = time.Since(at)
			}
		})
	}
	wg.Wait()
	s := sample{wall: time.Since(began), cpu: cpuTime() - cpu, batches: w.batches, bytes: size * int64(w.batches)}
	runtime.ReadMemStats(&after)
	select {
	case err := <-fail:
		require.NoError(tb, err, p.name)
	default:
	}
	runtime.KeepAlive(batches)
	s.allocs = float64(after.Mallocs - before.Mallocs)
	s.allocated = float64(after.TotalAlloc - before.TotalAlloc)
	slices.Sort(took)
	s.p50 = took[len(took)/2]
	return s
}

// cpuTime is what this process has used, in user and system, the garbage
// collector included.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// minRounds is how many rounds a median needs.
const minRounds = 7

// rounds runs all peers against each other until the benchmark's time is over.
type rounds struct {
	samples map[string][]sample
}

// compare goes in rounds. Each round runs every peer once, each time beginning
// with another.
func compare(b *testing.B, w workload, rows [][]byte, peers ...peer) *rounds {
	b.Helper()
	r := &rounds{samples: map[string][]sample{}}
	for _, p := range peers { // connections, pools, and the size of the heap
		run(b, w, rows, p)
	}
	n := 0
	round := func() {
		for i := range peers {
			p := peers[(i+n)%len(peers)]
			r.samples[p.name] = append(r.samples[p.name], run(b, w, rows, p))
		}
		n++
	}
	for b.Loop() {
		round()
	}
	for n < minRounds {
		round()
	}
	b.ReportMetric(0, "ns/op") // a round has no meaning of its own
	return r
}

// ratio is the median over the rounds of what one peer needs, in parts of what
// another needs.
func (r *rounds) ratio(of, to string, what func(sample) float64) float64 {
	all := make([]float64, len(r.samples[of]))
	for i := range all {
		all[i] = what(r.samples[of][i]) / what(r.samples[to][i])
	}
	return median(all)
}

func (r *rounds) median(of string, what func(sample) float64) float64 {
	var all []float64
	for _, s := range r.samples[of] {
		all = append(all, what(s))
	}
	return median(all)
}

func median(all []float64) float64 {
	slices.Sort(all)
	n := len(all)
	if n%2 == 1 {
		return all[n/2]
	}
	return (all[n/2-1] + all[n/2]) / 2
}
