package streamload

import (
	"context"
	"errors"
	"fmt"

	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/streamload/encode"
)

// loadKnown loads a batch while the ledger is not empty: rows that an earlier load has stored are acknowledged, rows that one may still store
// fail alone, and the others are loaded.
func (c *Client) loadKnown(ctx, alive context.Context, b Batch, body *encode.Body, rejected []RowError) (Report, error) {
	var known *settled
	// The same batch under its own stable label needs no ledger: Doris itself finds it.
	again := false
	if b.Identity != "" {
		_, again = c.ledger.owed(stableLabel(c.conf.LabelPrefix, b, body))
	}
	if !again {
		known = c.settle(ctx, alive, b, body)
	}
	if known == nil || known.stored == 0 && known.open == 0 {
		report, failure := c.deliver(ctx, alive, b, body)
		return result(report, failure, rejected)
	}
	if b.Whole && known.open > 0 {
		known.claim.giveBack()
		failure := c.held(b, known.labels[firstOf(known.fates, fateOpen)], known.open)
		return result(Report{Database: b.Database, Table: b.Table}, failure, rejected)
	}

	report := Report{Database: b.Database, Table: b.Table}
	var failure *Error
	free := body.Select(func(i int) bool { return known.fates[i] == fateFree })
	if free.Rows() > 0 {
		report, failure = c.deliver(ctx, alive, b, &free)
	}
	if b.Whole && failure != nil {
		known.claim.giveBack()
		return result(report, failure, rejected)
	}
	known.claim.keep()
	report.AlreadyStored = known.stored
	if failure == nil && known.open > 0 {
		failure = c.held(b, known.labels[firstOf(known.fates, fateOpen)], known.open)
		failure.Partial = true
	}
	if failure == nil {
		return result(report, nil, rejected)
	}
	failure.Rejected = rejected
	for i, f := range known.fates {
		switch f {
		case fateOpen:
			failure.Held = append(failure.Held, RowError{Index: body.Index(i), Err: c.held(b, known.labels[i], known.open)})
		case fateStored:
			failure.stored = append(failure.stored, body.Index(i))
		}
	}
	return report, failure
}

func firstOf(fates []fate, wanted fate) int {
	for i, f := range fates {
		if f == wanted {
			return i
		}
	}
	return 0
}

// held is the error of rows that an earlier load may still store.
func (c *Client) held(b Batch, label string, rows int) *Error {
	return &Error{
		Class: decide.LabelTaken, Stage: StageLabel, Database: b.Database, Table: b.Table, Label: label, Unresolved: true,
		Message: fmt.Sprintf("%d row(s) were in an earlier load whose outcome is still unknown; they are not sent again before it is settled", rows),
		Reason:  "label still open", Err: errors.Join(ErrUnresolved),
	}
}
