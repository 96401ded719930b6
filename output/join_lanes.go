package output

import (
	"container/heap"
	"slices"
	"time"
)

// lane is what waits for a load into one table, the oldest first. It lingers until a load may begin, and is ready from then on.
type lane struct {
	table tableKey
	parts []*part
	rows  int
	bytes int64
	// earliest is linger after the last load into the table began, due when the next one may begin at the latest.
	earliest, due time.Time
	ready         bool // it is in joiner.ready, and else in joiner.lingering
	place         int  // in joiner.lingering
}

func (l *lane) head() *part { return l.parts[0] }

// before is true when a part goes before another.
func (p *part) before(other *part) bool {
	if p.since.Equal(other.since) {
		return p.number < other.number
	}
	return p.since.Before(other.since)
}

// lanesByDue is a heap of lanes. The one that is due next is the first.
type lanesByDue []*lane

func (h lanesByDue) Len() int { return len(h) }
func (h lanesByDue) Less(i, k int) bool {
	if h[i].due.Equal(h[k].due) {
		return h[i].head().before(h[k].head())
	}
	return h[i].due.Before(h[k].due)
}

func (h lanesByDue) Swap(i, k int) {
	h[i], h[k] = h[k], h[i]
	h[i].place, h[k].place = i, k
}

// Push and Pop are for package heap.
func (h *lanesByDue) Push(x any) {
	l := x.(*lane)
	l.place = len(*h)
	*h = append(*h, l)
}

// Pop takes the last.
func (h *lanesByDue) Pop() any {
	old := *h
	l := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return l
}

// push puts a part into its lane. Mostly it is the newest; one that is loaded again goes to where it was.
func (j *joiner) push(p *part) {
	to := p.table()
	l := j.lanes[to]
	if l == nil {
		l = &lane{table: to, earliest: j.begun.last(to).Add(j.linger)}
		j.lanes[to] = l
	}
	at := len(l.parts)
	for at > 0 && p.before(l.parts[at-1]) {
		at--
	}
	l.parts = slices.Insert(l.parts, at, p)
	l.rows += len(p.Rows)
	l.bytes += p.bytes
	p.lane = l
	j.waiting++
	switch {
	case l.ready:
	case len(l.parts) == 1:
		j.delay(l)
	case at == 0:
		j.rewind(l)
	}
	if !l.ready && j.enough(len(l.parts), l.rows, l.bytes) {
		j.makeReady(l)
	}
}

// remove takes a part out of its lane.
func (j *joiner) remove(p *part) {
	l := p.lane
	at := slices.Index(l.parts, p)
	l.parts = slices.Delete(l.parts, at, at+1)
	j.removed(l, p)
	switch {
	case l.ready:
	case len(l.parts) == 0:
		// With no part it cannot be compared any more, so the last one takes its place first.
		place, last := l.place, len(j.lingering)-1
		j.lingering.Swap(place, last)
		j.lingering.Pop()
		if place < last {
			heap.Fix(&j.lingering, place)
		}
	default:
		j.rewind(l)
	}
}

// delay lets a lane linger.
func (j *joiner) delay(l *lane) {
	l.due = j.dueAt(l)
	heap.Push(&j.lingering, l)
}

// rewind is for a lane that lingers, and of which another part is the oldest now.
func (j *joiner) rewind(l *lane) {
	l.due = j.dueAt(l)
	heap.Fix(&j.lingering, l.place)
}

// dueAt is when a load of a lane may begin: linger after the last load into the table began, and no later than linger after its oldest part came.
func (j *joiner) dueAt(l *lane) time.Time {
	if latest := l.head().since.Add(j.linger); latest.Before(l.earliest) {
		return latest
	}
	return l.earliest
}

func (j *joiner) removed(l *lane, p *part) {
	l.rows -= len(p.Rows)
	l.bytes -= p.bytes
	p.lane = nil
	j.waiting--
	if len(l.parts) == 0 {
		delete(j.lanes, l.table)
	}
}

// makeReady queues a lane that lingers for the next load.
func (j *joiner) makeReady(l *lane) {
	heap.Remove(&j.lingering, l.place)
	l.ready = true
	j.ready = append(j.ready, l)
}

// next is the lane of which a load is to begin now; nil when there is none.
func (j *joiner) next(now time.Time) *lane {
	for len(j.lingering) > 0 && (!now.Before(j.lingering[0].due) || len(j.ready) == 0 && j.crowded()) {
		j.makeReady(j.lingering[0])
	}
	for len(j.ready) > 0 {
		l := j.ready[0]
		j.ready[0] = nil
		j.ready = j.ready[1:]
		l.ready = false
		if len(l.parts) > 0 { // or all that waited in it has left
			return l
		}
	}
	return nil
}

// crowded is true when no source batch can come in before some other is answered, and most of them wait: there is nothing to wait for. While
// most of them are in loads their places will soon be free, and what comes in then makes larger loads.
func (j *joiner) crowded() bool { return j.present >= j.pending && 2*j.loading < j.present }

// enough is true when so many parts with so much in them need not wait for more. Half of the source batches are enough because the others
// can then come in while these are loaded.
func (j *joiner) enough(parts, rows int, bytes int64) bool {
	return 2*parts >= j.pending || j.rows > 0 && rows >= j.rows || j.bytes > 0 && bytes+1 >= j.bytes
}

// take takes the first parts out of a lane that fit into one load, and at least one. If something is left it lingers on, or it is its turn again when the others
// that are ready have had theirs.
func (j *joiner) take(l *lane, now time.Time) []*part {
	var n, rows int
	bytes := int64(1)
	for _, p := range l.parts {
		rows, bytes = rows+len(p.Rows), bytes+p.bytes
		if n > 0 && (j.rows > 0 && rows > j.rows || j.bytes > 0 && bytes > j.bytes) {
			break
		}
		n++
	}
	members := slices.Clone(l.parts[:n])
	l.parts = slices.Delete(l.parts, 0, n)
	for _, p := range members {
		j.removed(l, p)
	}
	if len(l.parts) > 0 {
		l.earliest = now.Add(j.linger)
		j.delay(l)
		if j.enough(len(l.parts), l.rows, l.bytes) {
			j.makeReady(l)
		}
	}
	return members
}

// begun remembers when the last loads into tables began, for as long as that matters.
type begun struct {
	keep  time.Duration
	at    map[tableKey]time.Time
	order []beginning // the oldest first
}

type beginning struct {
	table tableKey
	at    time.Time
}

// last is when the last load into a table began; the zero time when that was longer ago than matters.
func (b *begun) last(table tableKey) time.Time { return b.at[table] }

// note notes that a load begins.
func (b *begun) note(table tableKey, now time.Time) {
	if b.keep <= 0 {
		return
	}
	old := 0
	for ; old < len(b.order) && now.Sub(b.order[old].at) >= b.keep; old++ {
		if first := b.order[old]; b.at[first.table].Equal(first.at) {
			delete(b.at, first.table)
		}
	}
	b.order = append(slices.Delete(b.order, 0, old), beginning{table, now})
	b.at[table] = now
}
