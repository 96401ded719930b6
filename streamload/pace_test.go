package streamload

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPaceHoldsAllLoadsBackAndRecovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPace(time.Second, 10*time.Second)
		ctx := t.Context()
		for range 8 {
			require.True(t, p.enter(ctx))
		}
		began := time.Now()
		time.Sleep(time.Millisecond)
		for range 8 {
			p.leave(began, true, false) // all eight fail at once: that is one cut
		}
		require.Equal(t, 4, p.slowed())

		start := time.Now()
		var wg sync.WaitGroup
		var mu sync.Mutex
		most, now := 0, 0
		for range 40 {
			wg.Go(func() {
				if !p.enter(ctx) {
					t.Error("not let in")
					return
				}
				at := time.Now()
				mu.Lock()
				now++
				most = max(most, now)
				mu.Unlock()
				time.Sleep(100 * time.Millisecond)
				mu.Lock()
				now--
				mu.Unlock()
				p.leave(at, false, true)
			})
		}
		synctest.Wait()
		mu.Lock()
		require.Zero(t, now, "nothing begins during the pause")
		mu.Unlock()
		wg.Wait()
		require.GreaterOrEqual(t, time.Since(start), time.Second)
		require.Greater(t, most, 4, "the limit grows")
		require.LessOrEqual(t, most, 40)
		require.Zero(t, p.slowed(), "and is lifted in the end")
	})
}

func TestPaceWaitsLongerWithEachCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPace(time.Second, 5*time.Second)
		for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second} {
			require.True(t, p.enter(t.Context()))
			began := time.Now()
			time.Sleep(time.Millisecond)
			p.leave(began, true, false)
			require.Equal(t, 1, p.slowed())
			start := time.Now()
			require.True(t, p.enter(t.Context()))
			require.Equal(t, want, time.Since(start))
			p.leave(start.Add(-time.Hour), true, false) // began before the cut: says nothing new
			time.Sleep(time.Millisecond)
		}
	})
}

func TestPaceLetsGoWhenTheContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPace(time.Hour, time.Hour)
		require.True(t, p.enter(t.Context()))
		began := time.Now()
		time.Sleep(time.Millisecond)
		p.leave(began, true, false)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.False(t, p.enter(ctx))
		require.False(t, p.enter(ctx), "an ended context is never let in")
	})
}
