package streamload

import (
	"net/url"
	"sync"
	"testing"

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
