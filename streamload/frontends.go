package streamload

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dorisload/benthos-doris/streamload/internal/transport"
)

// An FE that could not be reached is passed over for a while, as long as there are others. Then one load tries it again, and each time that
// fails the while is twice as long: a try may cost that load Config.ConnectTimeout.
const (
	firstDownTime = 5 * time.Second
	maxDownTime   = time.Minute
)

// frontends are the FEs, and what is known about their health.
type frontends struct {
	urls     []*url.URL
	next     atomic.Uint32
	observer Observer

	mu     sync.Mutex
	health []health
	began  time.Time
	dark   time.Duration // how long all FEs were down, without the time since darkAt
	darkAt time.Time     // when the last of them went down; zero while one is up
}

// health is what is known about one FE.
type health struct {
	down time.Duration // how long it is passed over; 0 while it is up
	// until is the end of that. The load that tries it afterwards moves it on, so that the others do not wait for the same answer.
	until time.Time
	tried bool // by the load that moved until
}

func newFrontends(urls []*url.URL, o Observer) *frontends {
	return &frontends{urls: urls, observer: o, health: make([]health, len(urls)), began: time.Now()}
}

// lit is a clock that stands still while no FE can be reached.
func (f *frontends) lit() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if !f.darkAt.IsZero() {
		now = f.darkAt
	}
	return now.Sub(f.began) - f.dark
}

// turn keeps the time of darkness. It wants the lock held.
func (f *frontends) turn() {
	dark := !slices.ContainsFunc(f.health, func(h health) bool { return h.down == 0 })
	switch {
	case dark && f.darkAt.IsZero():
		f.darkAt = time.Now()
	case !dark && !f.darkAt.IsZero():
		f.dark += time.Since(f.darkAt)
		f.darkAt = time.Time{}
	}
}

// first is where a load starts: a different FE each time.
func (f *frontends) first() int {
	n := uint32(len(f.urls)) //nolint:gosec // a config has few FEs
	return f.up(int(f.next.Add(1) % n))
}

// current is the FE that a load would start at, without taking its turn: one that may not need an FE at all.
func (f *frontends) current() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.urls)
	i := int((f.next.Load() + 1) % uint32(n)) //nolint:gosec // a config has few FEs
	for k := range n {
		if at := (i + k) % n; f.health[at].down == 0 {
			return at
		}
	}
	return i
}

// after is the FE to try after the i-th.
func (f *frontends) after(i int) int { return f.up((i + 1) % len(f.urls)) }

// up is the i-th FE, or the next one that is not known to be down. When all are down it is the i-th: somebody has to find out.
func (f *frontends) up(i int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for k := range f.urls {
		at := (i + k) % len(f.urls)
		switch h := &f.health[at]; {
		case h.down == 0:
			return at
		case !time.Now().Before(h.until):
			h.until, h.tried = time.Now().Add(h.down), true
			return at
		}
	}
	return i
}

// report keeps what a request said about an FE.
func (f *frontends) report(i int, up bool) {
	f.mu.Lock()
	h := &f.health[i]
	changed := (h.down == 0) != up
	switch {
	case up:
		*h = health{}
	case h.down == 0:
		*h = health{down: firstDownTime, until: time.Now().Add(firstDownTime)}
	case h.tried:
		h.down = min(2*h.down, maxDownTime)
		h.until, h.tried = time.Now().Add(h.down), false
	}
	if changed {
		f.turn()
	}
	f.mu.Unlock()
	if changed {
		f.observer.FE(f.urls[i].Host, up)
	}
}

// heard reports the i-th FE by what came of a call that began there, and says whether an answer in HTTP did. A follower that sends us on to a master
// that is gone is up itself; of a call that was given up nothing is known.
func (f *frontends) heard(ctx context.Context, i int, r transport.Reply, err error) (answered bool) {
	answered = err == nil || r.HTTPStatus != 0
	if up := answered || r.Hops > 0; up || !errors.Is(ctx.Err(), context.Canceled) {
		f.report(i, up)
	}
	return answered
}

// order is every FE once, beginning with the first-th; those that are down come last.
func (f *frontends) order(first int) []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	up, down := make([]int, 0, len(f.urls)), []int(nil)
	for k := range f.urls {
		at := (first + k) % len(f.urls)
		if f.health[at].down > 0 {
			down = append(down, at)
		} else {
			up = append(up, at)
		}
	}
	return append(up, down...)
}
