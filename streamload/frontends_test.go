package streamload

import (
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// heard is an observer that keeps what it is told of FEs.
type heard struct {
	NopObserver
	mu   sync.Mutex
	said []string
}

func (h *heard) FE(address string, up bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if up {
		address += " up"
	} else {
		address += " down"
	}
	h.said = append(h.said, address)
}

func threeFEs() (*frontends, *heard) {
	h := &heard{}
	return newFrontends([]*url.URL{{Host: "a"}, {Host: "b"}, {Host: "c"}}, h), h
}

func TestFrontendsTakeTurns(t *testing.T) {
	t.Parallel()
	f, _ := threeFEs()
	counts := map[int]int{}
	for range 9 {
		counts[f.first()]++
	}
	require.Equal(t, map[int]int{0: 3, 1: 3, 2: 3}, counts)
	for i, want := range []int{1, 2, 0} {
		require.Equal(t, want, f.after(i))
	}
	require.Equal(t, []int{2, 0, 1}, f.order(2))

	one := newFrontends([]*url.URL{{Host: "a"}}, NopObserver{})
	require.Zero(t, one.first())
	require.Zero(t, one.after(0))
	require.Equal(t, []int{0}, one.order(0))

	f.next.Store(1<<32 - 2) // the counter starts over
	for range 5 {
		require.Contains(t, []int{0, 1, 2}, f.first())
	}
}

func TestFrontendsThatAreDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, h := threeFEs()
		f.report(0, true)
		require.Empty(t, h.said, "it was up")
		f.report(1, false)
		f.report(1, false)
		require.Equal(t, []string{"b down"}, h.said, "said once")
		for range 6 {
			require.NotEqual(t, 1, f.first())
		}
		require.Equal(t, 2, f.after(0))
		require.Equal(t, []int{2, 0, 1}, f.order(1), "asked last, but asked")

		f.report(0, false)
		f.report(2, false)
		require.Equal(t, 1, f.after(0), "when all are down somebody has to find out")
		require.Equal(t, []int{1, 2, 0}, f.order(1))

		time.Sleep(downTime / 2)
		f.report(2, false) // found down again: its time begins anew
		time.Sleep(downTime/2 + time.Second)
		require.Equal(t, []int{0, 1, 2}, f.order(0), "a and b are tried again")
		require.Equal(t, 0, f.after(1))
		time.Sleep(downTime)
		require.Equal(t, 2, f.after(1))

		f.report(1, true)
		f.report(1, true)
		require.Equal(t, []string{"b down", "a down", "c down", "b up"}, h.said)
	})
}

func TestFrontendsAtTheSameTime(t *testing.T) {
	t.Parallel()
	f, _ := threeFEs()
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for i := range 500 {
				at := f.first()
				f.report(at, (i+n)%3 > 0)
				f.after(at)
				f.order(at)
			}
		})
	}
	wg.Wait()
}
