package streamload

import (
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// someBackends have a clock that the test moves.
func someBackends() (*backends, func(time.Duration)) {
	b := newBackends(10 * time.Second)
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	b.now = func() time.Time { return now }
	return b, func(d time.Duration) { now = now.Add(d) }
}

func be(host string) *url.URL { return &url.URL{Scheme: "http", Host: host} }

// taken counts what so many loads of a size get; "" is a load that asks an FE.
func (b *backends) taken(loads int, size int64) map[string]int {
	got := map[string]int{}
	for range loads {
		if base := b.take(size); base != nil {
			got[base.Host]++
		} else {
			got[""]++
		}
	}
	return got
}

func TestABackendGetsSoManyLoads(t *testing.T) {
	t.Parallel()
	b, _ := someBackends()
	require.Equal(t, map[string]int{"": 3}, b.taken(3, 1), "nothing is known")
	b.learn(be("a"))
	require.Equal(t, map[string]int{"a": answerLoads, "": 9}, b.taken(40, 1))
	b.learn(nil)
	require.Equal(t, map[string]int{"": 1}, b.taken(1, 1), "an answer that named none")
	b.learn(be("a"))
	b.learn(be("a"))
	require.Equal(t, map[string]int{"a": 2 * answerLoads, "": 1}, b.taken(2*answerLoads+1, 1), "so many for each time it was named")
}

func TestBackendsTakeTurns(t *testing.T) {
	t.Parallel()
	b, _ := someBackends()
	for _, host := range []string{"a", "b", "c"} {
		b.learn(be(host))
	}
	var order strings.Builder
	for range 6 {
		order.WriteString(b.take(1).Host)
	}
	require.Contains(t, []string{"abcabc", "bcabca", "cabcab"}, order.String())
	require.Equal(t, map[string]int{"a": 5, "b": 5, "c": 5}, b.taken(15, 1))

	// One that FEs name twice as often gets twice as much, as far as there is a choice.
	b.learn(be("a"))
	left := b.taken(1000, 1)
	delete(left, "")
	require.Equal(t, map[string]int{"a": 2*answerLoads - 7, "b": answerLoads - 7, "c": answerLoads - 7}, left)
}

func TestLargeLoadsAskAnFE(t *testing.T) {
	t.Parallel()
	b, _ := someBackends()
	b.learn(be("a"))
	require.Equal(t, map[string]int{"": 5}, b.taken(5, answerBytes+1))
	require.Equal(t, map[string]int{"a": 1, "": 1}, b.taken(2, answerBytes), "a load of that size is all it gets")
	require.Equal(t, map[string]int{"": 1}, b.taken(1, 1))
	b.learn(be("a"))
	require.Equal(t, map[string]int{"a": 3, "": 2}, b.taken(5, answerBytes/3))
	require.Equal(t, map[string]int{"a": 1}, b.taken(1, 1), "a small one still fits")

	b.learn(be("b"))
	require.Equal(t, map[string]int{"b": 1}, b.taken(1, answerBytes), "it goes where it fits")
}

func TestABackendIsLeftWhenFEsNameItNoMore(t *testing.T) {
	t.Parallel()
	b, pass := someBackends()
	b.learn(be("gone"))
	pass(10*time.Second - 1)
	b.learn(be("here"))
	require.Equal(t, map[string]int{"gone": 1, "here": 1}, b.taken(2, 1))
	pass(1)
	require.Equal(t, map[string]int{"here": 5}, b.taken(5, 1))
	pass(10 * time.Second)
	require.Equal(t, map[string]int{"": 5}, b.taken(5, 1))

	// What was left of its loads is not added to the new ones.
	b.learn(be("gone"))
	require.Equal(t, map[string]int{"gone": answerLoads, "": 1}, b.taken(answerLoads+1, 1))
	require.Len(t, b.known, 1, "those that are over are not kept")
}

func TestAForgottenBackendGetsNothing(t *testing.T) {
	t.Parallel()
	b, _ := someBackends()
	b.learn(&url.URL{Scheme: "http", Host: "a", Path: "/one"})
	b.learn(&url.URL{Scheme: "https", Host: "a", Path: "/two"})
	b.learn(be("b"))
	b.forget("a")
	require.Equal(t, map[string]int{"b": 5}, b.taken(5, 1), "whatever its path and scheme")
	b.forget("b")
	b.forget("nobody")
	require.Equal(t, map[string]int{"": 5}, b.taken(5, 1))
	b.learn(be("a"))
	require.Equal(t, map[string]int{"a": 1}, b.taken(1, 1), "until an FE names it again")
}

func TestBackendsCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	b := newBackends(0)
	b.learn(be("a"))
	require.Equal(t, map[string]int{"": 5}, b.taken(5, 1))
}

func TestBackendsAtTheSameTime(t *testing.T) {
	t.Parallel()
	b := newBackends(time.Minute)
	var wg sync.WaitGroup
	for _, host := range []string{"a", "b", "c", "d"} {
		wg.Go(func() {
			for range 1000 {
				b.learn(be(host))
				b.take(1000)
				b.take(1 << 40)
				b.forget(host)
			}
		})
	}
	wg.Wait()
	require.Empty(t, b.known)
}
