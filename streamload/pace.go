package streamload

import (
	"context"
	"sync"
	"time"
)

// pace holds all loads of a client back while the cluster is short of something: versions, transactions, memory. Retries of each
// load by itself would not do: the next batches would go on at full speed and keep the cluster where it is.
//
// A failure of the class capacity halves how many loads may run at a time and makes all of them wait; each load that gets through
// gives a little back, until there is no limit any more.
type pace struct {
	pause, maxPause time.Duration

	mu      sync.Mutex
	running int
	limit   int       // 0: none
	free    int       // the limit at which it is lifted: what ran at a time before
	thanks  int       // loads that got through since the limit was last changed
	strikes int       // cuts in a row
	until   time.Time // no load begins before
	cutAt   time.Time
	wake    chan struct{} // closed when something has changed; nil while nobody waits
}

func newPace(pause, maxPause time.Duration) *pace {
	return &pace{pause: pause, maxPause: maxPause}
}

// enter waits until a load may begin. It is false when the context ended first. Each true needs a leave.
func (p *pace) enter(ctx context.Context) bool {
	for ctx.Err() == nil {
		p.mu.Lock()
		wait := time.Until(p.until)
		if wait <= 0 && (p.limit == 0 || p.running < p.limit) {
			p.running++
			p.mu.Unlock()
			return true
		}
		if wait <= 0 {
			wait = time.Hour // somebody's leave wakes us
		}
		if p.wake == nil {
			p.wake = make(chan struct{})
		}
		wake := p.wake
		p.mu.Unlock()
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-wake:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	return false
}

// leave ends a load that began at a time. short says that it failed because the cluster is short of something, through that it got through.
func (p *pace) leave(began time.Time, short, through bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	atOnce := p.running
	p.running--
	switch {
	case short && began.After(p.cutAt):
		// Loads that began before the last cut have nothing new to say.
		now := time.Now()
		if p.limit == 0 {
			p.free = atOnce
		}
		p.limit = max(atOnce/2, 1)
		p.cutAt, p.thanks = now, 0
		d := p.pause << min(p.strikes, 20)
		if d <= 0 || d > p.maxPause {
			d = p.maxPause
		}
		p.until = now.Add(d)
		p.strikes++
	case through && p.limit > 0:
		p.strikes = 0
		if p.thanks++; p.thanks >= p.limit {
			p.thanks = 0
			if p.limit++; p.limit > p.free {
				p.limit = 0
			}
		}
	}
	p.changed()
}

// changed wakes all that wait. It wants the lock held.
func (p *pace) changed() {
	if p.wake != nil {
		close(p.wake)
		p.wake = nil
	}
}

// slowed is how many loads may run at a time, 0 for no limit.
func (p *pace) slowed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.limit
}
