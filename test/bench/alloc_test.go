//go:build linux

package bench

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tests in this file count the allocations of the process. They do not run
// in parallel.

// garbage is what one load of a workload allocates, in the mean of loads
// enough to have asked an FE as often as it is asked in the long run.
func garbage(t *testing.T, w workload) (allocs, bytes float64) {
	t.Helper()
	loads := 64 // two rounds of a BE that an FE named
	if w.rows*w.size > 1<<20 {
		loads = 8 // the same for 20 MB
	}
	s := startSink(t)
	p := alone(t, w, s.FEKeep, nil)
	b := batch(w.content())
	load := func() {
		for range loads {
			require.NoError(t, p.load(t.Context(), b))
		}
	}
	load() // connections and pools
	// A garbage collection in between would empty pools, which is right, and not what is counted here.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	load()
	runtime.ReadMemStats(&after)
	n := float64(loads)
	return float64(after.Mallocs-before.Mallocs) / n, float64(after.TotalAlloc-before.TotalAlloc) / n
}

// maxAllocs is how many allocations a load may make, of however many rows.
const maxAllocs = 250

func TestAllocationsDoNotDependOnRows(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates too")
	}
	many := w1
	few := workload{name: "10 rows", format: "json", rows: 10, size: 2_000_000, inFlight: 1}
	ofMany, bytesOfMany := garbage(t, many)
	ofFew, bytesOfFew := garbage(t, few)
	t.Logf("%d rows: %.0f allocations, %.0f bytes; %d rows: %.0f allocations, %.0f bytes", many.rows, ofMany, bytesOfMany, few.rows, ofFew, bytesOfFew)
	require.LessOrEqual(t, ofMany, float64(maxAllocs))
	require.LessOrEqual(t, ofFew, float64(maxAllocs))
	require.InDelta(t, ofFew, ofMany, 10)
}

func TestAllocationsOfAWorkload(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates too")
	}
	for _, w := range []workload{w1, w2, w3, w4, w5} {
		t.Run(w.name, func(t *testing.T) {
			w := w.oneAtATime()
			allocs, bytes := garbage(t, w)
			size := 0
			for _, row := range w.content() {
				size += len(row) + 1
			}
			most := 0.05 * float64(size)
			if size < 1<<20 { // the heads of requests and answers are a part of it
				most = 16 << 10
			}
			t.Logf("%.0f allocations, %.0f bytes for %d bytes of rows", allocs, bytes, size)
			require.LessOrEqual(t, allocs, float64(maxAllocs))
			require.LessOrEqual(t, bytes, most)
		})
	}
}
