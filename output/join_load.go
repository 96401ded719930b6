package output

import (
	"context"
	"errors"
	"math/bits"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/streamload/decide"
)

// joinedLoad is a load of joined parts, and the loads that it falls apart into.
type joinedLoad struct {
	*output
	load  *joined
	again []*part
	// tries is how many more loads may be made to find out whose rows cannot be loaded.
	tries int
}

// loadJoined loads parts of source batches together. Each gets its own result. Where the load fails for what may be in the rows of some of them, they are
// loaded in halves, and these in halves again: nobody's rows fail for those of another.
func (o *output) loadJoined(ctx context.Context, l *joined) (again []*part) {
	n := len(l.members)
	first := l.members[0]
	o.meters.joined(first.Database, first.Table, n)
	j := &joinedLoad{output: o, load: l, tries: 2*bits.Len(uint(n)) + 8} //nolint:gosec // not negative
	j.run(ctx, l.members, n > 1)
	return j.again
}

// run loads some of the parts. joined is true when the server's word about bad rows shall be taken at once: there are others to be loaded without them, or it has
// said so of these before.
func (j *joinedLoad) run(ctx context.Context, members []*part, joined bool) {
	g := &group{Batch: streamload.Batch{Database: members[0].Database, Table: members[0].Table, Rows: members[0].Rows}}
	if len(members) > 1 {
		g = joinRows(members)
	}
	g.Joined = joined
	var span *loadSpan
	if j.tracing != nil {
		span = j.tracing.load(g.Database, g.Table, contextsOf(members))
	}
	err := j.loadBatch(ctx, g, span)
	if len(members) == 1 {
		members[0].inUse = members[0].inUse || !g.unused
	}
	free([]*group{g})
	var whole *streamload.Error
	if err != nil && !errors.As(err, &whole) {
		whole = &streamload.Error{Class: decide.Unknown, Database: g.Database, Table: g.Table, Message: err.Error(), Err: err}
	}
	var apart []*part
	sure := true
	from := 0
	for _, p := range members {
		to := from + len(p.Rows)
		own := ownError(whole, from, to)
		switch {
		case own == nil:
			j.answer(p, nil)
		case !nothingStored(own, len(p.Rows)):
			j.answer(p, own)
		case ctx.Err() != nil && j.load.stop != nil && !j.join.left(p):
			p.err = own
			j.again = append(j.again, p)
		case len(members) > 1 && j.mayBeOthers(own) && ctx.Err() == nil:
			p.err = own
			apart = append(apart, p)
			sure = sure && own.Class == decide.DataQuality
		default:
			j.answer(p, own)
		}
		from = to
	}
	j.divide(ctx, apart, sure)
}

// mayBeOthers is true when rows may have failed for others of their load.
func (j *joinedLoad) mayBeOthers(e *streamload.Error) bool {
	if e.Class == decide.DataQuality && j.conf.client.IsolateBadRows {
		return false // the client has found out which
	}
	return e.Class.OfRows() && !e.Unresolved
}

// divide loads parts in halves. Unless it is sure that rows are the reason, which may be something that no rows would get past, this is bounded.
func (j *joinedLoad) divide(ctx context.Context, members []*part, sure bool) {
	n := len(members)
	if n == 0 {
		return
	}
	if !sure {
		if j.tries -= 2; j.tries < 0 {
			for _, p := range members {
				j.answer(p, p.err)
			}
			return
		}
	}
	half := (n + 1) / 2
	j.run(ctx, members[:half], sure || half > 1)
	if half < n {
		j.run(ctx, members[half:], sure || n-half > 1)
	}
}

// joinRows makes a group of the rows of several parts.
func joinRows(members []*part) *group {
	n := 0
	for _, p := range members {
		n += len(p.Rows)
	}
	g := &group{Batch: streamload.Batch{Database: members[0].Database, Table: members[0].Table}, buffer: newBuffer(n)}
	g.Rows, g.indices = g.buffer.rows, g.buffer.indices
	for _, p := range members {
		g.Rows = append(g.Rows, p.Rows...)
	}
	return g
}

// answer gives a part its result.
func (j *joinedLoad) answer(p *part, err error) {
	p.unused = !p.inUse
	p.of.res.settle(p.group, err)
	j.join.release(p)
}

// ownError is what an error of a whole load is for some rows of it.
func ownError(whole *streamload.Error, from, to int) *streamload.Error {
	if whole == nil {
		return nil
	}
	return whole.Slice(from, to)
}

// nothingStored is true when no row of those that an error is about is committed.
func nothingStored(e *streamload.Error, rows int) bool {
	for i := range rows {
		if e.Row(i) == nil {
			return false
		}
	}
	return true
}
