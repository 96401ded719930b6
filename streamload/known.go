package streamload

import (
	"context"

	"github.com/dorisload/benthos-doris/streamload/encode"
)

// loadKnown loads a batch while the ledger is not empty: rows that an earlier load has stored are acknowledged, rows that one may still store
// fail alone, and the others are loaded.
func (c *Client) loadKnown(ctx, alive context.Context, b Batch, body *encode.Body) (Report, *Error) {
	if r, failure, again := c.loadAgain(ctx, alive, b, body); again {
		return r, failure
	}
	known := c.settle(ctx, alive, b, body)
	if known == nil || known.stored == 0 && known.open == 0 {
		return c.deliver(ctx, alive, b, body)
	}
	if b.Whole && known.open > 0 {
		known.claim.giveBack()
		return Report{Database: b.Database, Table: b.Table}, known.held(b)
	}

	report := Report{Database: b.Database, Table: b.Table}
	var failure *Error
	free := body.Select(func(i int) bool { return known.fates[i] == fateFree })
	if free.Rows() > 0 {
		report, failure = c.deliver(ctx, alive, b, &free)
	}
	if failure != nil && (b.Whole || failure.divide || failure.settle || failure.refused && free.Rows() > 1) { // all of it will be loaded again
		known.claim.giveBack()
		return report, failure
	}
	if failure != nil {
		failure.refused = false // it was that one row; the others, which are stored or held, are not to be looked through
	}
	known.claim.keep()
	report.AlreadyStored = known.stored
	if failure == nil && known.open > 0 {
		failure = known.held(b)
		failure.Partial = true
	}
	if failure == nil {
		return report, nil
	}
	reasons := map[string]*Error{}
	for i, f := range known.fates {
		switch f {
		case fateOpen:
			label := known.labels[i]
			if reasons[label] == nil {
				reasons[label] = known.heldBy(b, label)
			}
			failure.Held = append(failure.Held, RowError{Index: body.Index(i), Err: reasons[label], Lines: linesOf(body, i)})
		case fateStored:
			failure.stored = append(failure.stored, body.Index(i))
		}
	}
	return report, failure
}

// linesOf is RowError.Lines of the i-th row of a body.
func linesOf(body *encode.Body, i int) int {
	if n := body.LinesOf(i); n > 1 {
		return n
	}
	return 0
}
