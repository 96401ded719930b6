package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// totals are what many runs came to.
type totals struct {
	mu           sync.Mutex
	runs, faults int
	took         time.Duration
	modes        map[string]*counts
	kinds        map[string]int // of faults
	places       *places
	total        counts
	spared       spared
}

// counts are of rows, but for the runs and loads.
type counts struct{ runs, rows, loads, lost, twice, stuck, excused, both, given, joined, waited, dropped int }

func (c *counts) add(r *report) {
	c.runs++
	c.rows += r.rows
	c.loads += r.loads
	c.lost += len(r.lost)
	c.twice += len(r.twice)
	c.stuck += len(r.stuck)
	c.excused += len(r.excused)
	c.both += len(r.both)
	c.given += len(r.givenUp)
	c.joined += r.joined
	c.waited += r.waited
	c.dropped += len(r.dropped)
}

func newTotals(d emulator.Dialect) *totals {
	return &totals{modes: map[string]*counts{}, kinds: map[string]int{}, places: newPlaces(d)}
}

// mode is one of the ways in which the output is used, of which each must be seen.
func (s scenario) mode() string {
	joined, rows := "each source batch by itself", "good rows only"
	switch {
	case s.batching:
		joined = "with batching"
	case s.joins():
		joined = "source batches joined"
	}
	if s.bad {
		rows = "some bad rows"
	}
	return joined + ", " + rows
}

func (s *totals) add(r *report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs++
	s.faults += r.faults
	s.took += r.took
	mode := r.mode()
	if s.modes[mode] == nil {
		s.modes[mode] = &counts{}
	}
	s.modes[mode].add(r)
	s.total.add(r)
	s.spared.add(r.spared)
	for what, n := range r.weather.kinds {
		s.kinds[what] += n
	}
	s.places.add(r.weather.places)
}

// requireModes fails the test unless the output was used in all ways.
func (s *totals) requireModes(t *testing.T) {
	t.Helper()
	for _, batching := range []bool{false, true} {
		for _, bad := range []bool{false, true} {
			mode := scenario{batching: batching, bad: bad, inFlight: 8}.mode()
			require.NotNil(t, s.modes[mode], mode)
			if !batching {
				require.Positive(t, s.modes[mode].joined, mode)
			}
		}
	}
	require.NotNil(t, s.modes[scenario{label: true}.mode()])
}

func (s *totals) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%d runs: %d rows in %d loads, %d faults, %s a run; lost %d, stuck %d, twice %d\n", s.runs, s.total.rows, s.total.loads, s.faults,
		(s.took / time.Duration(max(s.runs, 1))).Round(time.Millisecond), s.total.lost, s.total.stuck, s.total.twice)
	b.WriteString("    runs     rows    loads   joined     lost    stuck    twice  excused  letters   waited  dropped   hopeless\n")
	for _, mode := range slices.Sorted(maps.Keys(s.modes)) {
		c := s.modes[mode]
		fmt.Fprintf(&b, "%8d %8d %8d %8d %8d %8d %8d %8d %8d %8d %8d %10d  %s\n", c.runs, c.rows, c.loads, c.joined, c.lost, c.stuck, c.twice, c.excused, c.both, c.waited, c.dropped, c.given, mode)
	}
	b.WriteString("  joined: loads with rows of several source batches\n" +
		"  hopeless: can never be stored\n" +
		"  excused: stored twice because the framework failed a source batch as a whole, as docs/delivery.md says\n" +
		"  letters: the same, and so stored as well as in the dead letters\n" +
		"  waited: not loaded before the ledger had forgotten the load that they were in, which no fence could close, as docs/starrocks.md says\n" +
		"  dropped: stored twice because they did not come again before that, as docs/delivery.md says of the limits of the ledger\n")
	b.WriteString(s.spared.String())
	b.WriteString(s.places.String())
	for _, what := range slices.Sorted(maps.Keys(s.kinds)) {
		fmt.Fprintf(&b, "%8d %s\n", s.kinds[what], what)
	}
	return b.String()
}
