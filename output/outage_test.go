package output

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// weather is an outage whose FE is up or not as a test says. A look takes a tenth of a second.
type weather struct {
	*outage
	up    atomic.Bool
	looks atomic.Int64
}

func newWeather(most int) *weather {
	w := &weather{}
	w.outage = &outage{most: most, reach: func(ctx context.Context) error {
		w.looks.Add(1)
		select {
		case <-time.After(100 * ms):
		case <-ctx.Done():
			return ctx.Err()
		}
		if !w.up.Load() {
			return errors.New("no answer")
		}
		return nil
	}}
	return w
}

func TestOneOfManyFindsTheOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWeather(3)
		var told atomic.Int64
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				tell, err := w.suspect(t.Context(), false)
				require.Error(t, err)
				if tell {
					told.Add(1)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, told.Load())
		require.EqualValues(t, 1, w.looks.Load(), "they share one look")
	})
}

func TestFewBatchesAreGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWeather(3)
		back := []service.MessageBatch{}
		var waiting sync.WaitGroup
		for i := range 10 {
			batch := batchOf(strconv.Itoa(i))
			if i < 3 {
				require.False(t, w.arrive(t.Context(), batch))
				tell, err := w.suspect(t.Context(), false)
				require.Error(t, err)
				require.True(t, tell)
				w.giveBack(batch)
				back = append(back, batch)
				continue
			}
			waiting.Go(func() { w.arrive(t.Context(), batch) })
		}
		synctest.Wait()

		// Those that Benthos has are told each time.
		for range 3 {
			for _, batch := range back {
				require.True(t, w.arrive(t.Context(), batch))
				tell, err := w.suspect(t.Context(), true)
				require.Error(t, err)
				require.True(t, tell)
				w.giveBack(batch)
			}
		}

		began := time.Now()
		time.Sleep(10 * time.Second)
		looks := w.looks.Load()
		w.up.Store(true)
		w.end() // by Connect
		waiting.Wait()
		require.Equal(t, 10*time.Second, time.Since(began))
		require.LessOrEqual(t, looks, int64(3+9+10), "one of those that wait looks now and then")
		for _, batch := range back {
			require.True(t, w.arrive(t.Context(), batch))
			require.False(t, w.arrive(t.Context(), batch), "it is another write")
		}
		require.Empty(t, w.back)
	})
}

// Those that wait do not depend on somebody else to connect.
func TestAnOutageEndsByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWeather(1)
		_, err := w.suspect(t.Context(), false)
		require.Error(t, err)
		began := time.Now()
		var waiting sync.WaitGroup
		for range 5 {
			waiting.Go(func() { w.pass(t.Context()) })
		}
		time.Sleep(2500 * ms)
		w.up.Store(true)
		waiting.Wait()
		require.Less(t, time.Since(began), 2500*ms+outageLook+100*ms)
		require.LessOrEqual(t, w.looks.Load(), int64(5))
	})
}

func TestTheOneThatLooksMayLeave(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]time.Duration{"while it waits": 2500 * ms, "while it looks": 2150 * ms} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWeather(1)
				_, err := w.suspect(t.Context(), false)
				require.Error(t, err)
				first, cancel := context.WithTimeout(t.Context(), stop)
				defer cancel()
				began := time.Now()
				var waiting sync.WaitGroup
				waiting.Go(func() {
					w.pass(first)
					require.Equal(t, stop, time.Since(began))
				})
				synctest.Wait()
				waiting.Go(func() { w.pass(t.Context()) })
				time.Sleep(3 * time.Second)
				w.up.Store(true)
				waiting.Wait()
				require.LessOrEqual(t, time.Since(began), 3*time.Second+outageLook+100*ms)
			})
		})
	}
	t.Run("while all share its look", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWeather(1)
			ctx, cancel := context.WithTimeout(t.Context(), 50*ms)
			defer cancel()
			var all sync.WaitGroup
			all.Go(func() {
				tell, err := w.suspect(ctx, false)
				require.Error(t, err)
				require.False(t, tell, "it knows nothing")
			})
			synctest.Wait()
			var told atomic.Int64
			for range 5 {
				all.Go(func() {
					tell, err := w.suspect(t.Context(), false)
					require.Error(t, err)
					if tell {
						told.Add(1)
					}
				})
			}
			all.Wait()
			require.EqualValues(t, 1, told.Load())
		})
	})
}

// Benthos writes batches that were given back one after the other. With many of them waiting, an outage must not end slowly for that.
func TestManyBatchesOutlastAnOutage(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{FEs: 2})
	b := build(t, fields(e.FEURLs()[0]+","+e.FEURLs()[1], target+"linger: 1s\nmax_in_flight: 4"))
	prime(t, b)
	e.StopFE(0)
	e.StopFE(1)
	e.StopBE(0) // where loads would go without asking an FE
	const n = 300
	var back atomic.Int64
	var connecting sync.Mutex // as in Benthos
	var all sync.WaitGroup
	for i := range n {
		batch := singles(i)[0]
		all.Go(func() {
			err := b.WriteBatch(within(t), batch)
			if errors.Is(err, service.ErrNotConnected) {
				back.Add(1)
				connecting.Lock()
				defer connecting.Unlock()
				for errors.Is(err, service.ErrNotConnected) {
					for b.Connect(within(t)) != nil {
						time.Sleep(10 * ms)
					}
					err = b.WriteBatch(within(t), batch)
				}
			}
			require.NoError(t, err)
		})
	}
	require.Eventually(t, func() bool { return len(b.logs.lines("messages wait until an FE can be reached")) > 0 }, patience, ms)
	time.Sleep(100 * ms)
	require.NoError(t, e.StartBE(0))
	require.NoError(t, e.StartFE(1))
	all.Wait()
	require.Equal(t, n+1, e.Count("d", "t"))
	require.LessOrEqual(t, back.Load(), int64(4))
	require.LessOrEqual(t, len(e.Loads()), 1+4+8)
}
