package streamload

import (
	"fmt"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// watcher notes which FEs went up and down.
type watcher struct {
	NopObserver

	seen []string
}

func (w *watcher) FE(address string, up bool) { w.seen = append(w.seen, fmt.Sprint(address, " ", up)) }

func twoFEs() (*frontends, *watcher) {
	w := &watcher{}
	return newFrontends([]*url.URL{{Host: "fe0"}, {Host: "fe1"}}, w), w
}

// uses counts at which FE so many loads begin.
func (f *frontends) uses(loads int) (at [2]int) {
	for range loads {
		at[f.first()]++
	}
	return at
}

func TestADeadFEIsTriedByOneLoadAtATimeAndLessAndLessOften(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, w := twoFEs()
		require.Equal(t, [2]int{5, 5}, f.uses(10))
		f.report(0, false)
		f.report(0, false) // of a load that began before: nothing new
		for _, seconds := range []int{5, 10, 20, 40, 60, 60} {
			pause := time.Duration(seconds) * time.Second
			time.Sleep(pause - time.Millisecond)
			require.Equal(t, [2]int{0, 10}, f.uses(10), "passed over for %s", pause)
			require.Equal(t, []int{1, 0}, f.order(0), "and asked last")
			time.Sleep(time.Millisecond)
			require.Equal(t, [2]int{1, 9}, f.uses(10), "one load tries it")
			f.report(0, false)
		}
		require.Equal(t, []string{"fe0 false"}, w.seen)
		time.Sleep(time.Minute)
		require.Equal(t, [2]int{1, 1}, f.uses(2))
		f.report(0, true)
		require.Equal(t, [2]int{5, 5}, f.uses(10), "back in turn")
		require.Equal(t, []string{"fe0 false", "fe0 true"}, w.seen)
		f.report(0, false)
		time.Sleep(5 * time.Second)
		require.Equal(t, [2]int{1, 9}, f.uses(10), "after a recovery the first pause is short again")
	})
}

// A try whose answer takes long, or never comes, does not draw other loads to the dead FE.
func TestATryThatHangsIsNotFollowedByOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, _ := twoFEs()
		f.report(0, false)
		time.Sleep(5 * time.Second)
		require.Equal(t, [2]int{1, 9}, f.uses(10))
		time.Sleep(4 * time.Second)
		require.Equal(t, [2]int{0, 10}, f.uses(10))
		time.Sleep(time.Second)
		require.Equal(t, [2]int{1, 9}, f.uses(10), "the next try does not wait for it for ever")
	})
}

func TestWithNoFEUpEachIsTriedInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, _ := twoFEs()
		f.report(0, false)
		f.report(1, false)
		require.Equal(t, [2]int{5, 5}, f.uses(10), "somebody has to find out")
		require.Equal(t, 1, f.after(0))
	})
}

func TestTheClockStandsStillWhileNoFECanBeReached(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, _ := twoFEs()
		time.Sleep(time.Minute)
		f.report(0, false)
		time.Sleep(time.Minute)
		require.Equal(t, 2*time.Minute, f.lit(), "one is up")
		f.report(1, false)
		time.Sleep(time.Hour)
		f.report(1, false)
		require.Equal(t, 2*time.Minute, f.lit())
		f.report(0, true)
		require.Equal(t, 2*time.Minute, f.lit())
		time.Sleep(time.Minute)
		require.Equal(t, 3*time.Minute, f.lit())
	})
}
