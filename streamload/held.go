package streamload

import (
	"context"
	"fmt"

	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/streamload/encode"
)

// Held looks before anything is loaded whether rows of some batches were in a load whose outcome is still unknown, for callers who want all
// of the batches loaded or none. It is nil when Load would hold none of the rows; otherwise it has an error for every batch, in their
// order, also for those that would be loaded. Nothing is loaded, and no row is taken out of the ledger. While the ledger is empty it costs nothing.
func (c *Client) Held(ctx context.Context, batches []Batch) []*Error {
	if c.ledger.empty() || c.policy.Unlabelled && !c.policy.RejectUnknown {
		return nil
	}
	alive, cancel := c.withGrace(ctx)
	defer cancel()
	errs := make([]*Error, len(batches))
	var first *Error
	for i, b := range batches {
		body, _ := encode.Encode(b.Rows, c.encoding)
		if errs[i] = c.heldOf(ctx, alive, b, &body); first == nil {
			first = errs[i]
		}
	}
	if first == nil {
		return nil
	}
	for i, b := range batches {
		if errs[i] != nil {
			continue
		}
		also := *first
		also.Database, also.Table = b.Database, b.Table
		also.Message = fmt.Sprintf("not sent, because rows for %s that came with these were in an earlier load whose outcome is still unknown", first.target())
		errs[i] = &also
	}
	return errs
}

// heldOf is the error of a batch with rows that an earlier load may still store, nil if there are none.
func (c *Client) heldOf(ctx, alive context.Context, b Batch, body *encode.Body) (failure *Error) {
	p := c.newParts(b, body)
	p.each(func(from, to int) {
		if failure != nil || from == to {
			return
		}
		b, part := p.part(from, to)
		if c.policy.NoFence && c.ledger.whole(b.Database, b.Table, digestsOf(&part)) != nil {
			return // it will be sent again under its own label
		}
		known := c.settle(ctx, alive, b, &part)
		if known == nil {
			return
		}
		known.claim.giveBack()
		if known.open > 0 {
			failure = known.held(b)
		}
	})
	return failure
}

// held is the error of a batch with rows that are open.
func (s *settled) held(b Batch) *Error {
	for i, f := range s.fates {
		if f == fateOpen {
			return s.heldBy(b, s.labels[i])
		}
	}
	return nil
}

// heldBy is the error of rows that were in the load of a label; "" for one that had none.
func (s *settled) heldBy(b Batch, label string) *Error {
	if label == "" {
		return &Error{
			Class: decide.Unknown, Stage: StageLabel, Database: b.Database, Table: b.Table, Unresolved: true,
			Message: fmt.Sprintf("%d row(s) were in an earlier load whose outcome is unknown and cannot be looked up; they may be stored, and are not sent again because on_unknown_outcome is reject", s.open),
			Reason:  decide.NoLabel.String(), Err: ErrUnresolved,
		}
	}
	return &Error{
		Class: decide.LabelTaken, Stage: StageLabel, Database: b.Database, Table: b.Table, Label: label, Unresolved: true, NoFE: s.noFE,
		Message: fmt.Sprintf("%d row(s) were in an earlier load whose outcome is still unknown; they are not sent again before it is settled", s.open),
		Reason:  "label still open", Err: ErrUnresolved,
	}
}
