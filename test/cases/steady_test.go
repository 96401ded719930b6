package cases

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A case sets times: two seconds for an answer, one and a half for a label. On
// a machine that is busy with other things nothing may run for as long as that,
// and what the case sees then says nothing about the output.
const (
	standstill = 200 * time.Millisecond // after which a result is not trusted
	attempts   = 6
)

// steadily plays something until it is in order. It plays again only after the
// machine stood still meanwhile; the result of a steady run is final. play
// returns what is wrong, or nothing.
func steadily(t *testing.T, play func() string) {
	t.Helper()
	for n := 1; ; n++ {
		longest := watchGaps()
		wrong := play()
		gap := longest()
		if wrong == "" {
			return
		}
		if final(n, gap) {
			t.Errorf("%s\nnothing ran for at most %v meanwhile", wrong, gap)
			return
		}
		t.Logf("played again, because nothing ran for %v", gap)
	}
}

// final tells whether the n-th failure counts, given how long nothing ran.
func final(n int, gap time.Duration) bool { return n >= attempts || gap < standstill }

// beat is how often the watch wakes up.
const beat = 5 * time.Millisecond

// gapWatch finds the longest time for which a goroutine that wants to run every
// beat did not get to.
type gapWatch struct {
	last  time.Time
	worst time.Duration
}

func (g *gapWatch) awake(now time.Time) {
	g.worst = max(g.worst, now.Sub(g.last)-beat)
	g.last = now
}

// watchGaps starts a watch. The function that it returns ends it and tells the
// longest gap.
func watchGaps() (longest func() time.Duration) {
	watch := gapWatch{last: time.Now()}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(beat)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				watch.awake(time.Now())
				return
			case <-tick.C:
				watch.awake(time.Now())
			}
		}
	}()
	return func() time.Duration {
		close(stop)
		<-stopped
		return watch.worst
	}
}

func TestGapsAreMeasured(t *testing.T) {
	t.Parallel()
	began := time.Now()
	watch := gapWatch{last: began}
	watch.awake(began.Add(beat))
	require.Zero(t, watch.worst)
	watch.awake(began.Add(2*beat + 300*time.Millisecond))
	watch.awake(began.Add(3*beat + 300*time.Millisecond))
	require.Equal(t, 300*time.Millisecond, watch.worst)
	require.GreaterOrEqual(t, watchGaps()(), -beat)
}

func TestOnlyAStandstillIsAnExcuse(t *testing.T) {
	t.Parallel()
	require.True(t, final(1, standstill-1))
	require.False(t, final(1, standstill))
	require.True(t, final(attempts, time.Hour))
}
