//go:build !race

package encode

import (
	"io"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a body costs does not depend on how many rows it has. These tests do
// not run in parallel, as they count the allocations of the process, and not with
// the race detector, under which pools forget what they hold at random. `make
// allocations` runs them.

// steadyPools keeps a garbage collection from emptying the pools, which is right,
// and not what is counted here.
func steadyPools(t *testing.T) {
	t.Helper()
	before := debug.SetGCPercent(-1)
	t.Cleanup(func() { debug.SetGCPercent(before) })
}

func TestAllocationsDoNotDependOnRows(t *testing.T) {
	steadyPools(t)
	buf := make([]byte, 32<<10)
	for _, c := range []struct {
		name   string
		o      Options
		mangle func(row []byte) []byte
		atMost float64
	}{
		{name: "json", atMost: 3},
		{name: "json, array", o: Options{StripOuterArray: true}, atMost: 3},
		{name: "json, unvalidated", o: Options{SkipValidation: true}, atMost: 3},
		{name: "csv", o: Options{Format: CSV}, atMost: 6},
		{name: "csv, enclose", o: Options{Format: CSV, Enclose: '"', LineDelimiter: "\x02"}, atMost: 6},
		// All rows trimmed: one slice of rows more.
		{name: "json, trimmed", mangle: func(row []byte) []byte { return append(row, '\n') }, atMost: 4},
		{name: "csv, trimmed", o: Options{Format: CSV}, mangle: func(row []byte) []byte { return append(row, "\r\n"...) }, atMost: 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			var counts [2]float64
			// Both above the length of a small body, which has a buffer of its own.
			for i, rows := range [][][]byte{benchRows(10, 20_000, c.o.Format), benchRows(10_000, 100, c.o.Format)} {
				if c.mangle != nil {
					for k := range rows {
						rows[k] = c.mangle(rows[k])
					}
				}
				counts[i] = testing.AllocsPerRun(3, func() {
					b, rejected := Encode(rows, c.o)
					if len(rejected) > 0 {
						t.Fatal(rejected[0])
					}
					for range 2 {
						r := b.Open()
						for {
							if _, err := r.Read(buf); err == io.EOF {
								break
							}
						}
						// As an HTTP client checks for the end.
						if n, err := r.(io.WriterTo).WriteTo(io.Discard); n != 0 || err != nil {
							t.Fatal(n, err)
						}
						_ = r.Close()
					}
					b.Digest("seed")
				})
			}
			require.InDelta(t, counts[0], counts[1], 0)
			require.LessOrEqual(t, counts[1], c.atMost)
		})
	}
}

func TestSmallBodyAllocations(t *testing.T) {
	steadyPools(t)
	rows := benchRows(10, 200, JSON)
	allocs := testing.AllocsPerRun(100, func() {
		b, _ := Encode(rows, Options{})
		r := b.Open()
		_ = r.Close()
		b.Digest("seed")
	})
	require.LessOrEqual(t, allocs, 4.0)
}

// Only the rows that change are copied, and only once.
func TestMemoryOfChangedRows(t *testing.T) {
	rows := benchRows(1000, 200, JSON)
	rows[500] = append([]byte("{\n"), rows[500][1:]...)
	rows[700] = []byte("no JSON")
	const runs = 10
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		body, rejected := Encode(rows, Options{})
		require.Equal(t, 999, body.Rows())
		require.Len(t, rejected, 1)
	}
	runtime.ReadMemStats(&after)
	// A slice header a row, the copy of one row, one error; a copy of all rows
	// would be 200 kB.
	require.Less(t, (after.TotalAlloc-before.TotalAlloc)/runs, uint64(1000*24+8_000))
}

// What a compressed body costs beside its encoder and its pieces, which are used
// again, is small, and does not depend on its rows.
func TestCompressionAllocations(t *testing.T) {
	steadyPools(t)
	for _, c := range compressions {
		t.Run(c.String(), func(t *testing.T) {
			p, err := NewCompressor(c, 0)
			require.NoError(t, err)
			shapes, runs := [][][]byte{benchRows(100, 20_000, JSON), benchRows(10_000, 200, JSON)}, 5
			if c == Bzip2 { // which is slow
				shapes, runs = [][][]byte{benchRows(10, 20_000, JSON), benchRows(1_000, 200, JSON)}, 2
			}
			for _, rows := range shapes {
				body, _ := Encode(rows, Options{})
				allocs := testing.AllocsPerRun(runs, func() {
					packed, err := p.Compress(&body, nil)
					if err != nil {
						t.Fatal(err)
					}
					r := packed.Open()
					_, _ = r.(io.WriterTo).WriteTo(io.Discard)
					_ = r.Close()
					packed.Release()
				})
				atMost := 30.0
				if c == Bzip2 { // its sorter makes some for each block
					atMost = 120
				}
				require.LessOrEqual(t, allocs, atMost)
			}
		})
	}
}
