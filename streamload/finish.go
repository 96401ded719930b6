package streamload

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/dorisload/benthos-doris/streamload/decide"
)

// errorPageWait is how long an error page may take: it explains a result, it must not delay one.
const errorPageWait = 2 * time.Second

// ErrUnresolved is the cause of an Error whose rows may be stored all the same.
var ErrUnresolved = errors.New("outcome unknown")

// ErrDenied is wrapped when an FE refused the user or the password.
var ErrDenied = errors.New("access denied")

// finish makes the result of a delivery.
func (d *delivery) finish(ctx context.Context, end decide.Action) (Report, *Error) {
	r := d.report(end)
	if r.ErrorURL != "" && (r.Filtered > 0 || !end.Outcome.Committed) {
		r.ErrorLines = d.errorLines(ctx)
	}
	var failure *Error
	if !end.Outcome.Committed {
		failure = d.failure(end.Outcome, r)
	}
	switch label := d.label(end); {
	case end.Outcome.Open && (label != "" || end.Outcome.Debt.Forever):
		debt := end.Outcome.Debt
		debt.Stable = debt.Stable && d.batch.again == "" // no other process will use the label
		d.ledger.add(d.batch, label, d.body, debt)
	case d.batch.Identity != "", d.batch.again != "":
		d.ledger.settle(label) // a redelivery under the same label, which is settled now
	}
	d.conf.Observer.Finished(r, failure)
	return r, failure
}

func (d *delivery) report(end decide.Action) Report {
	r := Report{
		Database: d.batch.Database, Table: d.batch.Table, Label: d.lastLabel,
		Rows: d.body.Lines(), Bytes: d.body.Len(), Attempts: d.attempts, Polls: d.polls,
		Ambiguous: d.unclear, Took: time.Since(d.begun),
	}
	if end.Outcome.Committed {
		r.Evidence, r.Visible = end.Outcome.Evidence.String(), end.Outcome.Evidence.Visible()
	}
	a := d.last
	if !a.HasAnswer || end.Outcome.Committed && !end.Outcome.Evidence.ByAnswer() {
		return r // the last answer is not about what was committed
	}
	r.TxnID, r.Timings = max(a.Load.TxnID, 0), a.Load.Timings
	r.HasCounts = a.Load.HasCounts
	r.Total, r.Loaded, r.Filtered, r.Unselected = a.Load.Total, a.Load.Loaded, a.Load.Filtered, a.Load.Unselected
	r.unaccounted = d.counted.unaccounted(a.Load)
	if n := max(r.Total, r.Loaded+r.Filtered+r.Unselected); n > 0 && d.encoding.Format.Whole() {
		r.Rows = int(n) // only the server knows how many are in a file
	}
	r.ErrorURL = d.secrets.Text(a.Load.ErrorURL, maxErrorURL)
	r.LabelIgnored = end.Outcome.Committed && d.base != "" && a.Load.Label != "" && a.Load.Label != r.Label
	r.Ungrouped = end.Outcome.Committed && d.base == "" && !a.Load.GroupCommit
	return r
}

// errorLines reads the first lines of the last answer's error page; none if it cannot be read soon.
func (d *delivery) errorLines(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, errorPageWait)
	defer cancel()
	page, err := d.transport.ErrorLog(ctx, d.last.Load.ErrorURL, d.last)
	if err != nil {
		return nil
	}
	d.page = page
	return firstLines(page, d.secrets)
}

// failure puts a failed delivery into words.
func (d *delivery) failure(o decide.Outcome, r Report) *Error {
	e := &Error{
		Class: d.last.Class(), Stage: d.stage(o), Database: r.Database, Table: r.Table, Label: r.Label, Attempts: d.attempts,
		HTTPStatus: d.last.HTTPStatus, Status: d.secrets.Text(d.last.Load.Status, maxStatus), Message: d.lastMessage(), Reason: o.Reason.String(),
		LabelState: d.lastPoll.state, ErrorURL: r.ErrorURL, ErrorLines: r.ErrorLines, Unresolved: o.Open, NoFE: d.noFE, Err: d.last.Err,
	}
	e.settle = o.Reason == decide.SettleFirst
	e.divide = o.Reason == decide.Divide && e.Class == decide.TooLarge && r.Rows > 1
	if o.Reason == decide.Divide && e.Class == decide.DataQuality && d.conf.IsolateBadRows {
		e.refused, e.filtered, e.page = true, r.Filtered, d.page
		if r.Rows == 1 {
			e.Reason = rowRefused
		}
	}
	if d.attempts == 0 {
		e.Class, e.Message = decide.Unavailable, "stopped before anything was sent"
	}
	if note := d.last.Note(); e.Class == decide.Protocol && d.last.HasAnswer && note != "" {
		e.Message += " (" + strings.TrimSuffix(note, ".") + ")" // what a server says to a request that it does not understand seldom tells what to do
	}
	if d.lastTxn != "" {
		e.Message += "; " + d.lastTxn
	}
	switch {
	case o.Debt.Forever:
		e.Message += "; with group_commit the server makes the label, so whether the rows are stored cannot be looked up: they may be, and are not sent again, because on_unknown_outcome is reject"
	case o.Reason == decide.NoLabel:
		e.Message += "; with group_commit the server makes the label, so whether the rows are stored cannot be looked up: delivering them again may store them twice"
	case o.Open:
		if d.lastPoll.message != "" {
			e.Message += "; " + d.lastPoll.message
		}
		e.Message += "; the rows may be stored: look up the state of the label before loading them again"
	}
	switch {
	case o.Open:
		e.Err = errors.Join(ErrUnresolved, d.last.Err)
	case o.Reason == decide.Stopped:
		e.Err = errors.Join(context.Canceled, d.last.Err)
	}
	return e
}

func (d *delivery) stage(o decide.Outcome) Stage {
	switch a := d.last; {
	case o.Open:
		return StageLabel
	case o.Reason == decide.Stopped:
		return StageStopped
	case a.Trouble == decide.Unreachable || a.Trouble == decide.TLSFailed:
		return StageConnect
	case a.Sent == decide.NotSent && a.Hops == 0 && !a.Direct, a.Trouble == decide.BadRedirect:
		return StageFrontend
	default:
		return StageLoad
	}
}
