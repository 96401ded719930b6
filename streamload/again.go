package streamload

import (
	"context"
	"maps"
	"time"

	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/streamload/encode"
)

// Where a label cannot be fenced (decide.Debt.NoFence), a load that is open can still be settled by sending it again under its own label, whenever its
// rows come back as they were: of all requests under one label at most one is committed, whatever became of those before.

// whole is an open load of which a body has all the rows, and no other rows; nil if there is none. One whose label may be committed without its
// rows is none, since its commit proves nothing.
func (l *ledger) whole(database, table string, digests []digest) *entry {
	var counts map[digest]int
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		if e.database != database || e.table != table || !e.owed.NoFence || e.owed.Forever || e.owed.TwoPhase || e.owed.Tainted || e.settled != decide.Unsettled || e.left != len(digests) {
			continue
		}
		if counts == nil {
			counts = make(map[digest]int, len(digests))
			for _, d := range digests {
				counts[d]++
			}
		}
		if maps.Equal(counts, e.rows) {
			return e
		}
	}
	return nil
}

// holds is true while an entry is in the ledger and open.
func (l *ledger) holds(e *entry) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !e.gone && e.settled == decide.Unsettled
}

// loadAgain loads a body under the label of an open load with the very same rows. It is not ok when there is none: then nothing was sent. Of two
// batches with the same rows one is that load and the other is not, whichever.
func (c *Client) loadAgain(ctx, alive context.Context, b Batch, body *encode.Body) (r Report, failure *Error, ok bool) {
	if !c.policy.NoFence || b.Identity != "" {
		return r, nil, false
	}
	digests := digestsOf(body)
	for {
		e := c.ledger.whole(b.Database, b.Table, digests)
		if e == nil {
			return r, nil, false
		}
		select {
		case e.gate <- struct{}{}:
		case <-ctx.Done():
			return r, nil, false
		}
		if c.ledger.holds(e) && sleep(ctx, time.Until(e.next)) {
			b.again = e.label
			r, failure = c.deliver(ctx, alive, b, body)
			<-e.gate
			return r, failure, true
		}
		<-e.gate
		if ctx.Err() != nil {
			return r, nil, false
		}
	}
}
