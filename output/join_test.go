package output

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
)

// station is a joiner whose loads take a second each and are written down. It runs in the fake time of a synctest bubble.
type station struct {
	*joiner
	t     *testing.T
	began time.Time
	takes time.Duration

	mu    sync.Mutex
	log   []string // "at seconds table rows"
	count int      // loads that run
	most  int
	all   sync.WaitGroup
}

func newStation(t *testing.T, limits joinLimits, slots int) *station {
	t.Helper()
	s := &station{joiner: newJoiner(limits), t: t, began: time.Now(), takes: time.Second}
	s.slots = func() int { return slots }
	s.load = s.run
	return s
}

func (s *station) run(ctx context.Context, l *joined) (again []*part) {
	s.mu.Lock()
	s.count++
	s.most = max(s.most, s.count)
	rows := []string{}
	for _, p := range l.members {
		for _, row := range p.Rows {
			rows = append(rows, string(row))
		}
	}
	s.log = append(s.log, fmt.Sprintf("%s %s %s", time.Since(s.began), l.members[0].Table, strings.Join(rows, "")))
	s.mu.Unlock()
	var err error
	timer := time.NewTimer(s.takes)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		err = &streamload.Error{Class: "unavailable", Message: "stopped", Stage: streamload.StageStopped}
	}
	s.mu.Lock()
	s.count--
	s.mu.Unlock()
	for _, p := range l.members {
		if err != nil && l.stop != nil && !s.left(p) {
			p.err = err
			again = append(again, p)
			continue
		}
		p.of.res.settle(p.group, err)
		s.release(p)
	}
	return again
}

// rowsFor is a group of rows of one letter each.
func rowsFor(table string, rows string) *group {
	g := &group{Batch: streamload.Batch{Database: "d", Table: table}}
	for i := range len(rows) {
		g.Rows = append(g.Rows, []byte(rows[i:i+1]))
		g.indices = append(g.indices, i)
	}
	return g
}

func messages(n int) service.MessageBatch {
	batch := make(service.MessageBatch, n)
	for i := range batch {
		batch[i] = service.NewMessage(nil)
	}
	return batch
}

// send writes a source batch in a goroutine after a while, and tells its error on the channel.
func (s *station) send(ctx context.Context, after time.Duration, groups ...*group) <-chan error {
	ended := make(chan error, 1)
	n := 0
	for _, g := range groups {
		for i := range g.indices {
			g.indices[i] = n
			n++
		}
	}
	s.all.Go(func() {
		time.Sleep(after)
		res := newResult(messages(n))
		s.write(ctx, groups, res, false)
		ended <- res.err()
	})
	return ended
}

// finish waits for all source batches and returns the loads that were made.
func (s *station) finish() []string {
	s.t.Helper()
	s.all.Wait()
	s.close()
	began := func(load string) time.Duration {
		at, _, _ := strings.Cut(load, " ")
		d, err := time.ParseDuration(at)
		require.NoError(s.t, err)
		return d
	}
	// Those that began at the same time may have come in any order.
	slices.SortFunc(s.log, func(a, b string) int { return cmp.Or(cmp.Compare(began(a), began(b)), cmp.Compare(a, b)) })
	require.Zero(s.t, s.waiting)
	require.Zero(s.t, s.present)
	require.Zero(s.t, s.running)
	require.Zero(s.t, s.loading)
	require.Empty(s.t, s.lanes)
	require.Empty(s.t, s.lingering)
	require.Empty(s.t, s.ready)
	require.True(s.t, s.timerAt.IsZero(), "no timer is left")
	return s.log
}

const ms = time.Millisecond

func TestLoadsFormThemselves(t *testing.T) {
	t.Parallel()
	type sending struct {
		at    time.Duration
		table string
		rows  string
	}
	limits := joinLimits{linger: time.Second, pending: 1000}
	without := func(change func(*joinLimits)) joinLimits {
		l := limits
		change(&l)
		return l
	}
	noLinger := without(func(l *joinLimits) { l.linger = 0 })
	for _, c := range []struct {
		name   string
		limits joinLimits
		slots  int
		sends  []sending
		want   []string
	}{
		{"what comes within linger is one load", limits, 2, []sending{{0, "t", "a"}, {300 * ms, "t", "bc"}, {999 * ms, "t", "d"}, {1001 * ms, "t", "e"}}, []string{
			"0s t a", "1s t bcd", "2s t e",
		}},
		{"what comes to an idle table is loaded at once", limits, 2, []sending{{0, "t", "a"}, {1001 * ms, "t", "b"}, {5 * time.Second, "t", "c"}}, []string{
			"0s t a", "1.001s t b", "5s t c",
		}},
		{"one load for each table", limits, 2, []sending{{0, "t", "a"}, {100 * ms, "u", "b"}, {200 * ms, "t", "c"}, {300 * ms, "t", "d"}}, []string{
			"0s t a", "100ms u b", "1s t cd",
		}},
		{"what comes while all loads are busy is joined too", without(func(l *joinLimits) { l.linger = 10 * ms }), 1, []sending{
			{0, "t", "a"}, {100 * ms, "t", "b"}, {900 * ms, "t", "c"}, {1500 * ms, "t", "d"},
		}, []string{
			"0s t a", "1s t bc", "2s t d",
		}},
		{"without linger a load begins at once", noLinger, 2, []sending{{0, "t", "a"}, {1 * ms, "t", "b"}}, []string{
			"0s t a", "1ms t b",
		}},
		{"and joins only while all are busy", noLinger, 1, []sending{{0, "t", "a"}, {1 * ms, "t", "b"}, {2 * ms, "u", "x"}, {3 * ms, "t", "c"}}, []string{
			"0s t a", "1s t bc", "2s u x",
		}},
		{"rows of one load are bounded", without(func(l *joinLimits) { l.rows = 3 }), 2, []sending{{0, "t", "a"}, {1 * ms, "t", "b"}, {2 * ms, "t", "cd"}, {3 * ms, "t", "e"}}, []string{
			"0s t a", "2ms t bcd", "1.002s t e",
		}},
		{"bytes too", without(func(l *joinLimits) { l.bytes = 7 }), 2, []sending{{0, "t", "a"}, {1 * ms, "t", "b"}, {2 * ms, "t", "cd"}, {3 * ms, "t", "e"}}, []string{
			"0s t a", "2ms t bcd", "1.002s t e",
		}},
		{"a batch that is more than a load may hold goes alone", without(func(l *joinLimits) { l.rows = 3 }), 3, []sending{{0, "t", "a"}, {1 * ms, "t", "b"}, {2 * ms, "t", "cdefg"}, {3 * ms, "t", "h"}}, []string{
			"0s t a", "2ms t b", "2ms t cdefg", "1.002s t h",
		}},
		{"a batch that is a load by itself waits for nothing", without(func(l *joinLimits) { l.rows = 3 }), 2, []sending{{0, "t", "abc"}, {1 * ms, "t", "def"}}, []string{
			"0s t abc", "1ms t def",
		}},
		{"half of the places are enough", without(func(l *joinLimits) { l.pending = 4 }), 2, []sending{{0, "t", "a"}, {1 * ms, "t", "b"}, {2 * ms, "t", "c"}, {3 * ms, "t", "d"}}, []string{
			"0s t a", "2ms t bc", "1.002s t d",
		}},
		{"nothing waits when no more can come", joinLimits{linger: 10 * time.Second, pending: 4}, 4, []sending{
			{0, "t", "a"},
			{0, "u", "b"},
			{0, "v", "c"},
			{0, "w", "d"},
			{2000 * ms, "t", "e"},
			{2001 * ms, "u", "f"},
			{2002 * ms, "v", "g"},
			{2003 * ms, "w", "h"},
		}, []string{
			"0s t a", "0s u b", "0s v c", "0s w d", "2.003s t e", "2.003s u f", "10s v g", "10s w h",
		}},
		{"tables take turns", noLinger, 1, []sending{
			{0, "t", "a"},
			{1 * ms, "u", "x"},
			{2 * ms, "t", "b"},
			{3 * ms, "v", "y"},
			{4 * ms, "t", "c"},
			{5 * ms, "u", "z"},
			{1500 * ms, "t", "d"},
		}, []string{
			"0s t a", "1s u xz", "2s t bcd", "3s v y",
		}},
		{"also one for which there is more than one load", without(func(l *joinLimits) { l.rows = 2 }), 1, []sending{
			{0, "t", "aa"},
			{1 * ms, "t", "bb"},
			{2 * ms, "t", "cc"},
			{3 * ms, "u", "xx"},
			{4 * ms, "t", "dd"},
			{5 * ms, "v", "y"},
		}, []string{
			"0s t aa", "1s t bb", "2s u xx", "3s v y", "4s t cc", "5s t dd",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStation(t, c.limits, c.slots)
				for _, send := range c.sends {
					s.send(t.Context(), send.at, rowsFor(send.table, send.rows))
				}
				require.Equal(t, c.want, s.finish())
				require.LessOrEqual(t, s.most, c.slots)
			})
		})
	}
}

// A table in which there is always enough for the next load does not keep another waiting.
func TestABusyTableDoesNotStarveOthers(t *testing.T) {
	t.Parallel()
	for name, linger := range map[string]time.Duration{"with linger": time.Second, "without": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStation(t, joinLimits{linger: linger, pending: 100, rows: 5}, 2)
				for i := range 300 {
					s.send(t.Context(), time.Duration(i)*50*ms, rowsFor("busy", "abcde"))
				}
				quiet := s.send(t.Context(), 5*time.Second, rowsFor("quiet", "x"))
				at := time.Now()
				require.NoError(t, <-quiet)
				require.LessOrEqual(t, time.Since(at), 5*time.Second+linger+time.Second+time.Second, "one load of the other table, and its own")
				s.finish()
			})
		})
	}
}

// A batch never waits for longer than linger while a load is free.
func TestWaitsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStation(t, joinLimits{linger: 700 * ms, pending: 1024}, 8)
		for range 5 {
			time.Sleep(3 * time.Second)
			at := time.Now()
			first := s.send(t.Context(), 0, rowsFor("t", "a"))
			second := s.send(t.Context(), 1*ms, rowsFor("t", "b"))
			require.NoError(t, <-first)
			require.Equal(t, time.Second, time.Since(at), "one load")
			require.NoError(t, <-second)
			require.Equal(t, 1700*ms, time.Since(at), "linger and one load")
		}
		s.finish()
	})
}

// inUse is a station with tables into which a load began a second ago, and linger of ten.
func inUse(t *testing.T, slots int, tables ...string) *station {
	t.Helper()
	s := newStation(t, joinLimits{linger: 10 * time.Second, pending: 1024}, slots)
	for _, table := range tables {
		s.send(t.Context(), 0, rowsFor(table, "-"))
	}
	time.Sleep(1001 * ms)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began, s.log = time.Now(), nil
	return s
}

// What waits when its context ends leaves; what is in a load ends with it, and what was with it in the load is loaded again.
func TestContextsThatEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		play func(t *testing.T)
	}{
		{"while it waits", func(t *testing.T) {
			s := inUse(t, 2, "t", "u")
			ctx, cancel := context.WithTimeout(t.Context(), 500*ms)
			defer cancel()
			first, second, third := s.send(t.Context(), 0, rowsFor("t", "a")), s.send(ctx, 1*ms, rowsFor("t", "b"), rowsFor("u", "c")), s.send(t.Context(), 2*ms, rowsFor("t", "d"))
			err := <-second
			require.ErrorContains(t, err, "unavailable: 2 of 2 messages were not loaded")
			require.ErrorContains(t, err, "stopped before anything was sent")
			require.Equal(t, 500*ms, time.Since(s.began))
			require.NoError(t, <-first)
			require.NoError(t, <-third)
			require.Equal(t, []string{"8.999s t ad"}, s.finish())
		}},
		{"while it waits for its turn", func(t *testing.T) {
			s := newStation(t, joinLimits{pending: 1024}, 1)
			ctx, cancel := context.WithTimeout(t.Context(), 500*ms)
			defer cancel()
			s.send(t.Context(), 0, rowsFor("t", "a"))
			gone := s.send(ctx, 1*ms, rowsFor("u", "b"))
			s.send(t.Context(), 2*ms, rowsFor("v", "c"))
			s.send(t.Context(), 600*ms, rowsFor("u", "d"))
			require.Error(t, <-gone)
			require.Equal(t, []string{"0s t a", "1s v c", "2s u d"}, s.finish())
		}},
		{"all that wait", func(t *testing.T) {
			s := inUse(t, 1, "t")
			ctx, cancel := context.WithCancel(t.Context())
			var ends []<-chan error
			for range 100 {
				ends = append(ends, s.send(ctx, 0, rowsFor("t", "a")))
			}
			synctest.Wait()
			cancel()
			for _, end := range ends {
				require.Error(t, <-end)
			}
			require.Empty(t, s.finish())
		}},
		{"in a load", func(t *testing.T) {
			s := inUse(t, 1, "t")
			ctx, cancel := context.WithTimeout(t.Context(), 9500*ms)
			defer cancel()
			first, second, third := s.send(t.Context(), 0, rowsFor("t", "a")), s.send(ctx, 1*ms, rowsFor("t", "b")), s.send(t.Context(), 2*ms, rowsFor("t", "c"))
			late := s.send(t.Context(), 9400*ms, rowsFor("t", "d"))
			require.Error(t, <-second)
			require.Equal(t, 9500*ms, time.Since(s.began))
			require.NoError(t, <-first)
			require.NoError(t, <-third)
			require.NoError(t, <-late)
			require.Equal(t, []string{"8.999s t abc", "9.5s t acd"}, s.finish())
		}},
		{"in a load of its own", func(t *testing.T) {
			s := newStation(t, joinLimits{pending: 1024}, 1)
			ctx, cancel := context.WithTimeout(t.Context(), 500*ms)
			defer cancel()
			require.Error(t, <-s.send(ctx, 0, rowsFor("t", "a")))
			require.Equal(t, []string{"0s t a"}, s.finish())
		}},
		{"before", func(t *testing.T) {
			s := newStation(t, joinLimits{pending: 1024}, 1)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			require.Error(t, <-s.send(ctx, 0, rowsFor("t", "a")))
			require.Empty(t, s.finish())
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, c.play)
		})
	}
}

// A batch that has waited elsewhere begins a load at once, with what else there is.
func TestALateBatchDoesNotLinger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inUse(t, 8, "t", "u")
		s.send(t.Context(), 0, rowsFor("u", "x"))
		s.send(t.Context(), 0, rowsFor("t", "a"))
		time.Sleep(100 * ms)
		res := newResult(messages(1))
		s.write(t.Context(), []*group{rowsFor("t", "b")}, res, true)
		require.NoError(t, res.err())
		require.Equal(t, []string{"100ms t ba", "8.999s u x"}, s.finish())
	})
}

// While there are fewer slots, loads are fewer and larger.
func TestFewerSlotsMakeLargerLoads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStation(t, joinLimits{pending: 1024}, 0)
		var slots atomic.Int64
		slots.Store(4)
		s.slots = func() int { return int(slots.Load()) }
		for i := range 12 {
			s.send(t.Context(), time.Duration(i)*99*ms, rowsFor("t", string(rune('a'+i))))
		}
		time.Sleep(50 * ms)
		slots.Store(1)
		require.Equal(t, []string{"0s t a", "1s t bcdefghijk", "2s t l"}, s.finish())
	})
}

func TestRowsStayInTheOrderOfArrival(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStation(t, joinLimits{pending: 1000, rows: 7}, 1)
		for i := range 26 {
			s.send(t.Context(), time.Duration(i)*ms, rowsFor("t", string(rune('a'+i))))
		}
		var rows strings.Builder
		for _, load := range s.finish() {
			rows.WriteString(load[strings.LastIndex(load, " ")+1:])
		}
		require.Equal(t, "abcdefghijklmnopqrstuvwxyz", rows.String())
	})
}
