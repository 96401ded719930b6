package output

import (
	"context"
	"sync"
	"time"
)

// Without batching by Benthos, source batches that wait are joined into loads here. What waits for a table is ready when the last load into it began linger ago, when
// it is as much as one load may hold or half of the source batches that there may be, or when there is no use in waiting because no more can arrive. So what
// comes to an idle table is loaded at once, and a busy one gets few loads. A load begins when a slot is free. The tables that are ready take turns, so that one
// for which there is always enough keeps no other waiting for long.

// joiner forms loads out of the source batches that wait.
type joiner struct {
	joinLimits
	// slots is how many loads may run at a time now.
	slots func() int
	// load loads parts in one load, or as many as it takes, and answers each by release. It returns those that are to be loaded again because
	// the context has ended, which was that of others.
	load func(ctx context.Context, l *joined) (again []*part)
	// changed is told how many source batches wait, with the lock held.
	changed func(waiting int)

	loads sync.WaitGroup

	mu        sync.Mutex
	lanes     map[tableKey]*lane // in which something waits
	lingering lanesByDue
	begun     begun
	ready     []*lane // in the order of their turns; empty ones are passed over
	last      uint64  // number of the last part
	waiting   int     // parts
	present   int     // source batches that have not been answered
	running   int     // loads
	loading   int     // parts in loads
	timer     *time.Timer
	timerAt   time.Time // zero: not set
}

// joinLimits say what becomes one load.
type joinLimits struct {
	linger  time.Duration
	pending int   // source batches at a time
	rows    int   // of a load; 0: no bound
	bytes   int64 // of a load; 0: no bound
}

// sourced is a source batch on its way.
type sourced struct {
	res  *result
	done chan struct{} // closed when every part is answered

	// Under the lock of the joiner:
	parts []part
	left  int // parts that are not answered
	gone  bool
}

// part is what of a source batch goes to one table.
type part struct {
	*group
	of    *sourced
	bytes int64
	err   error // of the last load, when it is to be loaded again
	inUse bool  // a connection that was given up may still look at the rows

	// Under the lock of the joiner:
	number uint64    // in the order of arrival
	since  time.Time // it waits
	lane   *lane     // while it waits
	load   *joined   // while it is in one
}

func (p *part) table() tableKey { return tableKey{p.Database, p.Table} }

// joined is a load of parts that were joined.
type joined struct {
	members []*part
	// stop ends the load when one of its members has to end; nil when it runs with the context of its only one.
	stop context.CancelFunc
}

func newJoiner(limits joinLimits) *joiner {
	return &joiner{joinLimits: limits, lanes: map[tableKey]*lane{}, begun: begun{keep: limits.linger, at: map[tableKey]time.Time{}}, changed: func(int) {}}
}

// write loads the groups of a source batch, with what else waits for the same tables. It returns when each of them has its result: soon after the context has
// ended, when those that are in no load yet are not loaded any more. A batch that is late has lingered elsewhere.
func (j *joiner) write(ctx context.Context, groups []*group, res *result, late bool) {
	if err := ctx.Err(); err != nil || len(groups) == 0 {
		for _, g := range groups {
			res.settle(g, stopped(g, err))
		}
		return
	}
	s := &sourced{res: res, done: make(chan struct{}), parts: make([]part, len(groups)), left: len(groups)}
	for i, g := range groups {
		s.parts[i] = part{group: g, of: s}
		for _, row := range g.Rows {
			s.parts[i].bytes += int64(len(row)) + 1 // and what stands between two rows
		}
	}
	if own := j.submit(s, late); own != nil {
		j.run(ctx, own)
	}
	select {
	case <-s.done:
	case <-ctx.Done():
		j.withdraw(s, ctx.Err())
		<-s.done
	}
}

// submit takes a source batch in. It returns a load that the caller has to run, if its only part can be loaded at once.
func (j *joiner) submit(s *sourced, late bool) *joined {
	now := time.Now()
	since := now
	if late {
		since = now.Add(-j.linger)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.present++
	if p := &s.parts[0]; len(s.parts) == 1 && j.waiting == 0 && j.running < j.slots() {
		lingers := now.Before(j.begun.last(p.table()).Add(j.linger))
		if late || !lingers || j.enough(1, len(p.Rows), p.bytes) {
			return j.begin([]*part{p}, now)
		}
	}
	for i := range s.parts {
		p := &s.parts[i]
		j.last++
		p.number, p.since = j.last, since
		j.push(p)
	}
	j.dispatch(now)
	return nil
}

// withdraw takes what still waits of a source batch out, and ends the loads that the rest is in. What they have in common with others is loaded again.
func (j *joiner) withdraw(s *sourced, cause error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	s.gone = true
	for i := range s.parts {
		switch p := &s.parts[i]; {
		case p.lane != nil:
			j.remove(p)
			s.res.settle(p.group, stopped(p.group, cause))
			j.answered(p)
		case p.load != nil && p.load.stop != nil:
			p.load.stop()
		}
	}
	j.dispatch(time.Now())
}

// release tells that a part of a load has its result.
func (j *joiner) release(p *part) {
	j.mu.Lock()
	defer j.mu.Unlock()
	p.load = nil
	j.loading--
	j.answered(p)
}

// left is true when the source batch of a part has ended meanwhile.
func (j *joiner) left(p *part) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return p.of.gone
}

// run runs a load, and begins others in its place.
func (j *joiner) run(ctx context.Context, l *joined) {
	again := j.load(ctx, l)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.running--
	for _, p := range again {
		p.load = nil
		j.loading--
		if p.of.gone {
			p.of.res.settle(p.group, p.err)
			j.answered(p)
			continue
		}
		p.since = p.since.Add(-j.linger) // it has lingered
		j.push(p)
	}
	j.dispatch(time.Now())
}

// wake begins what is due by now.
func (j *joiner) wake() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.timerAt = time.Time{}
	j.dispatch(time.Now())
}

// close waits until no goroutine is left. No source batch may be on its way any more.
func (j *joiner) close() {
	j.loads.Wait()
}

// The methods below want the lock held.

// answered counts a part that has its result.
func (j *joiner) answered(p *part) {
	if p.of.left--; p.of.left == 0 {
		j.present--
		close(p.of.done)
	}
}

// dispatch begins the loads that are due, and sees to it that it is called when the next one is.
func (j *joiner) dispatch(now time.Time) {
	for j.running < j.slots() {
		l := j.next(now)
		if l == nil {
			break
		}
		load := j.begin(j.take(l, now), now)
		ctx, cancel := context.WithCancel(context.Background())
		load.stop = cancel
		j.loads.Go(func() {
			defer cancel()
			j.run(ctx, load)
		})
	}
	j.changed(j.waiting)
	j.arm(now)
}

// begin makes a load of parts.
func (j *joiner) begin(members []*part, now time.Time) *joined {
	l := &joined{members: members}
	for _, p := range members {
		p.load = l
	}
	j.running++
	j.loading += len(members)
	j.begun.note(members[0].table(), now)
	return l
}

// arm sets the timer for what has to begin without anything else happening.
func (j *joiner) arm(now time.Time) {
	var at time.Time
	if len(j.lingering) > 0 && j.running < j.slots() {
		at = j.lingering[0].due
	}
	if at.Equal(j.timerAt) {
		return
	}
	j.timerAt = at
	switch {
	case j.timer == nil:
		j.timer = time.AfterFunc(at.Sub(now), j.wake)
	case at.IsZero():
		j.timer.Stop()
	default:
		j.timer.Reset(at.Sub(now))
	}
}
