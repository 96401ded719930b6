package streamload

import (
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// downTime is how long an FE that could not be reached is passed over while there are others.
const downTime = 10 * time.Second

// frontends are the FEs, and what is known about their health.
type frontends struct {
	urls     []*url.URL
	next     atomic.Uint32
	observer Observer

	mu   sync.Mutex
	down []time.Time // when each was found down; zero: up
}

func newFrontends(urls []*url.URL, o Observer) *frontends {
	return &frontends{urls: urls, observer: o, down: make([]time.Time, len(urls))}
}

// first is where a load starts: a different FE each time.
func (f *frontends) first() int {
	n := uint32(len(f.urls)) //nolint:gosec // a config has few FEs
	return f.up(int(f.next.Add(1) % n))
}

// after is the FE to try after the i-th.
func (f *frontends) after(i int) int { return f.up((i + 1) % len(f.urls)) }

// up is the i-th FE, or the next one that is not known to be down. When all are down it is the i-th: somebody has to find out.
func (f *frontends) up(i int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for k := range f.urls {
		at := (i + k) % len(f.urls)
		if !f.isDown(at) {
			return at
		}
	}
	return i
}

// report keeps what a request said about an FE.
func (f *frontends) report(i int, up bool) {
	f.mu.Lock()
	changed := f.down[i].IsZero() != up
	if up {
		f.down[i] = time.Time{}
	} else {
		f.down[i] = time.Now()
	}
	f.mu.Unlock()
	if changed {
		f.observer.FE(f.urls[i].Host, up)
	}
}

// order is every FE once, beginning with the first-th; those that are down come last.
func (f *frontends) order(first int) []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	up, down := make([]int, 0, len(f.urls)), []int(nil)
	for k := range f.urls {
		at := (first + k) % len(f.urls)
		if f.isDown(at) {
			down = append(down, at)
		} else {
			up = append(up, at)
		}
	}
	return append(up, down...)
}

// isDown wants the lock held.
func (f *frontends) isDown(i int) bool {
	return !f.down[i].IsZero() && time.Since(f.down[i]) <= downTime
}
