package streamload

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/streamload/encode"
)

// A batch is loaded in parts when it is larger than MaxLoadRows or MaxLoadBytes allow, and when a server finds it too large. Parts are loaded one
// after the other, in the order of their rows. Each is a load by itself: with its own label, its own lookup in the ledger, and its own result.

// parts is a batch on its way in several loads, and what became of those that have ended.
type parts struct {
	*Client
	batch Batch
	whole *encode.Body
	// digest is that of the whole batch, "" when it has no Identity.
	digest string

	report  Report
	loads   int
	first   *Error     // the first failure
	failed  []RowError // all rows that failed, each once and with its own reason; in any order before the end
	noFE    bool       // of all failures
	open    bool       // of any
	unsent  bool       // the only failures are rows that are longer than any load may be
	blocked *Error     // why nothing more is sent, nil while there is no reason
}

// loadBody stores the rows of a body in as many loads as it takes.
func (c *Client) loadBody(ctx, alive context.Context, b Batch, body *encode.Body) (Report, *Error) {
	end := body.Rows()
	if c.divisible {
		end = body.Fit(0, c.conf.MaxLoadRows, c.conf.MaxLoadBytes)
	}
	if end == body.Rows() {
		report, failure := c.loadOnce(ctx, alive, b, body)
		if failure == nil || !failure.again(body) {
			return report, failure
		}
		p := c.newParts(b, body)
		p.again(ctx, alive, 0, end, report, failure)
		return p.result()
	}
	if b.Whole && !c.ledger.empty() {
		if failure := c.heldOf(ctx, alive, b, body); failure != nil {
			return Report{Database: b.Database, Table: b.Table}, failure
		}
	}
	p := c.newParts(b, body)
	p.each(func(from, to int) {
		if from == to {
			p.oversize(from)
			return
		}
		p.load(ctx, alive, from, to, false)
	})
	return p.result()
}

func (c *Client) newParts(b Batch, body *encode.Body) *parts {
	p := &parts{Client: c, batch: b, whole: body, noFE: true, unsent: true}
	if b.Identity != "" {
		sum := body.Digest()
		p.digest = hex.EncodeToString(sum[:])
	}
	return p
}

// each calls do with the bounds of each part, which are equal for a row that is longer than any load may be.
func (p *parts) each(do func(from, to int)) {
	for from := 0; from < p.whole.Rows(); {
		to := p.whole.Rows()
		if p.divisible {
			to = p.whole.Fit(from, p.conf.MaxLoadRows, p.conf.MaxLoadBytes)
		}
		do(from, to)
		from = max(to, from+1)
	}
}

// part is what is loaded of the body from one row up to another.
func (p *parts) part(from, to int) (Batch, encode.Body) {
	b := p.batch
	if b.Identity != "" && to-from < p.whole.Rows() {
		// The whole batch and the place in it are part of what a part is, or two parts with equal rows would share a label, and the second
		// would be taken for stored.
		b.part = strconv.Itoa(from) + "-" + strconv.Itoa(to) + " of " + p.digest
	}
	return b, p.whole.Part(from, to)
}

// load loads the rows of the body from one up to another, which may be a part of some that were too large for one load.
func (p *parts) load(ctx, alive context.Context, from, to int, divided bool) {
	if p.blocked != nil {
		p.fail(from, to, p.blocked)
		return
	}
	b, body := p.part(from, to)
	b.divided = divided
	report, failure := p.loadOnce(ctx, alive, b, &body)
	if failure != nil && failure.again(&body) {
		p.again(ctx, alive, from, to, report, failure)
		return
	}
	p.count(report)
	if failure == nil {
		return
	}
	p.unsent = false
	p.fail(from, to, failure)
	if ctx.Err() != nil || failure.NoFE || b.Whole {
		p.blocked = failure.notSent()
	}
}

// again is true when the rows of a body are worth other loads.
func (e *Error) again(body *encode.Body) bool { return e.divide || e.refused && body.Rows() > 1 }

// again loads rows that one load could not store in others.
func (p *parts) again(ctx, alive context.Context, from, to int, report Report, failure *Error) {
	p.tried(report)
	if failure.refused {
		p.isolate(ctx, alive, from, to, failure)
		return
	}
	p.halve(ctx, alive, from, to)
}

// halve loads rows that were too large for one load in two.
func (p *parts) halve(ctx, alive context.Context, from, to int) {
	body := p.whole.Part(from, to)
	middle := from + max(body.Fit(0, (body.Lines()+1)/2, body.Len()/2), 1)
	p.load(ctx, alive, from, middle, true)
	p.load(ctx, alive, middle, to, true)
}

// oversize fails a row that is longer than any load may be.
func (p *parts) oversize(i int) {
	row, what := p.whole.Part(i, i+1), "row"
	if p.encoding.ManyRows {
		what = "message"
	}
	p.fail(i, i+1, &Error{
		Class: decide.TooLarge, Stage: StageLimit, Database: p.batch.Database, Table: p.batch.Table,
		Message: fmt.Sprintf("a %s alone makes a load of %d bytes, and max_load_bytes is %d", what, row.Len(), p.conf.MaxLoadBytes), Reason: "not sent",
	})
}

// fail notes the rows of a part that are not stored.
func (p *parts) fail(from, to int, failure *Error) {
	if p.first == nil {
		p.first = failure
	}
	p.noFE = p.noFE && failure.NoFE
	p.open = p.open || failure.Unresolved
	for i := from; i < to; i++ {
		at := p.whole.Index(i)
		if err := failure.Row(at); err != nil {
			p.failed = append(p.failed, RowError{Index: at, Err: err})
		}
	}
}

// handedBack is the failure of rows that are stored, and come again because of this one.
func (e *Error) handedBack() *Error {
	also := e.notSent()
	also.Message = "these rows are stored, and will be acknowledged when they come again with the others of the batch, which could not be: " + e.Message
	return also
}

// notSent is the failure of rows that are not sent because of this one.
func (e *Error) notSent() *Error {
	then := *e
	then.Attempts, then.Label, then.LabelState, then.Unresolved = 0, "", "", false
	then.Rejected, then.Held, then.Failed, then.stored, then.Partial = nil, nil, nil, nil, false
	then.Message = "not sent, because rows before these in the batch could not be stored: " + e.Message
	return &then
}

// tried adds up what it took to learn that rows are too large for one load.
func (p *parts) tried(r Report) { p.report.tried(r) }

// tried adds what was tried before, and came to nothing.
func (r *Report) tried(before Report) {
	r.Attempts += before.Attempts
	r.Polls += before.Polls
	r.Took += before.Took
	r.Ambiguous = r.Ambiguous || before.Ambiguous
}

// count adds up what a load of the batch came to.
func (p *parts) count(r Report) {
	p.tried(r)
	sum := &p.report
	sum.HasCounts = r.HasCounts && (sum.HasCounts || p.loads == 0)
	sum.Visible = r.Visible && (sum.Visible || p.loads == 0)
	p.loads++
	sum.Rows, sum.Bytes, sum.AlreadyStored = sum.Rows+r.Rows, sum.Bytes+r.Bytes, sum.AlreadyStored+r.AlreadyStored
	sum.Total, sum.Loaded = sum.Total+r.Total, sum.Loaded+r.Loaded
	sum.Filtered, sum.Unselected = sum.Filtered+r.Filtered, sum.Unselected+r.Unselected
	sum.LabelIgnored, sum.Ungrouped = sum.LabelIgnored || r.LabelIgnored, sum.Ungrouped || r.Ungrouped
	sum.Label, sum.TxnID, sum.Evidence, sum.Timings = r.Label, r.TxnID, r.Evidence, r.Timings
	if r.ErrorURL != "" {
		sum.ErrorURL, sum.ErrorLines = r.ErrorURL, r.ErrorLines
	}
}

// result is that of the batch.
func (p *parts) result() (Report, *Error) {
	p.report.Database, p.report.Table = p.batch.Database, p.batch.Table
	if p.first == nil {
		return p.report, nil
	}
	// Rows that an error page names fail before others of their load, and rows are looked up by index.
	slices.SortFunc(p.failed, func(a, b RowError) int { return a.Index - b.Index })
	e := *p.first
	e.Held, e.stored = nil, nil
	e.Failed, e.Partial, e.NoFE, e.Unresolved = p.failed, true, p.noFE, p.open
	if (p.batch.Whole || p.batch.Identity != "") && !p.unsent {
		e.Failed = p.allFailed()
	}
	return p.report, &e
}

// allFailed fails the rows that are stored as well, and makes them expected. The caller may hand back all of the batch anyway (Whole). With an
// Identity the parts have to be the same when they come again: others have other labels, and a label that was left open would stay so,
// since nothing but its own rows may close it.
func (p *parts) allFailed() []RowError {
	all, failed := make([]RowError, 0, p.whole.Rows()), p.failed
	reason := p.first.handedBack()
	stored := p.whole.Select(func(i int) bool {
		at := p.whole.Index(i)
		if len(failed) > 0 && failed[0].Index == at {
			all, failed = append(all, failed[0]), failed[1:]
			return false
		}
		all = append(all, RowError{Index: at, Err: reason})
		return true
	})
	if stored.Rows() > 0 {
		p.ledger.expect(p.batch, p.expectAge(), digestsOf(&stored))
	}
	return all
}
