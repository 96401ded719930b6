package streamload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/streamload/encode"
	"github.com/dorisload/benthos-doris/streamload/internal/answer"
	"github.com/dorisload/benthos-doris/streamload/internal/transport"
)

// delivery is one batch on its way. What to do next is decided by decide.Step; this only does it.
type delivery struct {
	*Client
	batch Batch
	body  *encode.Body
	wire  transport.Body // the body as it is sent: compressed, or just that
	base  string         // of the labels; "" when the server makes them
	begun time.Time

	counted counted // how the server's counts compare with the rows

	direct    *url.URL // a BE that the first request goes to without asking an FE; nil: none
	fe        int      // the FE that is asked for states
	to        int      // the server that loads are sent to: the same FE, or a BE of the config
	attempts  int
	polls     int
	last      transport.Attempt // the last request to load
	lastTook  time.Duration
	lastLabel string // the last label sent, "" if none
	unclear   bool   // some request did not tell its fate
	noFE      bool   // no FE answered the last request
	lastPoll  poll
	page      []byte // the start of the last answer's error page, nil if it was not read
	lastTxn   string // why the last second phase did not commit, "" if there was none
	previous  Class  // of the attempt before, as it was reported
}

// deliver sends a body until its fate is known or a bound is reached. Waits end with ctx, requests a part of the grace later, and all with alive.
func (c *Client) deliver(ctx, alive context.Context, b Batch, body *encode.Body) (Report, *Error) {
	d := &delivery{Client: c, batch: b, body: body, wire: body, begun: time.Now()}
	if c.compressor != nil {
		switch packed, err := c.compressor.Compress(body, ctx.Done()); {
		case err == nil:
			defer packed.Release()
			d.wire = packed
		case ctx.Err() == nil: // no encoder fails that writes into memory
			return Report{Database: b.Database, Table: b.Table}, notSent(decide.Unknown, b, err)
		}
		// Once the caller has cancelled, nothing is sent any more, and how it would have been sent does not matter.
	}
	d.counted = c.counting.of(int64(body.Lines()))
	policy := c.policy
	policy.Divisible = c.divisible && (body.Rows() > 1 || b.divided)
	policy.Joined = b.Joined || c.conf.IsolateBadRows
	switch {
	case policy.Unlabelled:
	case b.Identity != "":
		policy.StableLabel = true
		d.base = stableLabel(c.conf.LabelPrefix, b, body)
	case b.again != "":
		policy.StableLabel = true
		d.base = b.again
	default:
		d.base = randomLabel(c.conf.LabelPrefix)
	}
	if d.base != "" && !policy.LabelOnce { // without a label nothing tells what became of a request, so it takes the way that is sure
		d.direct = c.backends.take(d.wire.Len())
	}
	if d.direct != nil {
		d.fe = c.frontends.current()
	} else {
		d.fe = c.frontends.first()
	}
	d.to = d.fe
	if c.bes != nil {
		d.to = c.bes.first()
	}
	c.conf.Observer.Started(b.Database, b.Table)
	state, act := decide.Start(policy)
	if debt, open := c.ledger.owed(d.base); open && policy.StableLabel {
		state, act = decide.StartAgain(policy, debt)
	}
	for act.Kind != decide.Done {
		ev := decide.Event{Kind: decide.Interrupted}
		if d.wait(ctx, act) {
			if act.NextFE {
				d.next()
			}
			label := d.label(act)
			switch act.Kind {
			case decide.Send:
				if c.pace.enter(ctx) {
					ev = d.send(ctx, alive, label)
				}
			case decide.AskState:
				ev = d.ask(ctx, alive, label)
			case decide.CancelLabel:
				// What came of it shows in the state, which is asked for next.
				_ = c.abort(ctx, alive, d.fe, b.Database, label, act.Txn, policy.TwoPhase)
				ev = decide.Event{Kind: decide.LabelCancelled}
			case decide.CommitTxn:
				ev = d.commit(ctx, alive, act.Txn)
			}
		}
		ev.Now, ev.Cancelled = time.Since(d.begun), ctx.Err() != nil
		state, act = decide.Step(state, ev)
		d.unclear = state.Ambiguous()
		d.tell(ev, act)
	}
	return d.finish(alive, act)
}

// next goes on to another FE, and another BE of the config.
func (d *delivery) next() {
	d.fe = d.frontends.after(d.fe)
	if d.bes == nil {
		d.to = d.fe
		return
	}
	d.to = d.bes.after(d.to)
}

// wait waits before an action. It is false when the caller cancelled meanwhile, and always when nothing may be sent any more.
// The wait is shortened by chance by up to a half.
func (d *delivery) wait(ctx context.Context, act decide.Action) bool {
	if ctx.Err() != nil {
		return act.Kind != decide.Send && act.After == 0
	}
	if act.After <= 0 {
		return true
	}
	after := max(act.After/2+rand.N(act.After/2+1), act.AtLeast) //nolint:gosec // spreads load, hides nothing
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (d *delivery) label(act decide.Action) string {
	if d.base == "" {
		return ""
	}
	return attemptLabel(d.base, act.Label)
}

func (d *delivery) send(caller, alive context.Context, label string) decide.Event {
	if label != "" {
		if label != d.lastLabel {
			d.lastPoll = poll{} // it was about another label
		}
		d.lastLabel = label
	}
	// A server that is silent must not take all of the grace: the state of the label is to be asked for after it.
	ctx, cancel := context.WithTimeout(alive, attemptTimeout(d.conf.Timeout))
	defer endAfter(caller, ctx, cancel, d.conf.Grace/2)()
	l := transport.Load{Database: d.batch.Database, Table: d.batch.Table, Header: d.header, Label: label, Body: d.wire, Rows: d.counted.least}
	servers := d.loaders()
	to := servers.urls[d.to]
	l.Direct = d.bes != nil
	if d.attempts == 0 { // a resend takes the way that is sure
		l.Eager = label != ""
		if d.direct != nil {
			to, l.Direct = d.direct, true
		}
	}
	d.attempts++
	began := time.Now()
	var a transport.Attempt
	if d.policy.LabelOnce {
		a = d.transport.LoadTxn(ctx, to, l, d.conf.Timeout+time.Minute)
	} else {
		a = d.transport.Load(ctx, to, l)
	}
	a.Miscounted = a.HasAnswer && d.counted.unaccounted(a.Load) != 0
	switch {
	case l.Direct && (a.Base == nil || a.Hops > 0):
		d.backends.forget(to.Host)
	case a.Hops > 0 && a.Base == nil:
		d.backends.forget(a.Server)
	case a.Hops > 0:
		d.backends.learn(a.Base)
	}
	// Only a failure of the first hop says something about the FE, unless it was we who did not wait.
	d.noFE = !l.Direct && a.Hops == 0 && a.HTTPStatus == 0 && a.Sent == decide.NotSent
	if unreached := a.Hops == 0 && a.HTTPStatus == 0 && a.Sent == decide.NotSent; to == servers.urls[d.to] && (!unreached || !errors.Is(ctx.Err(), context.Canceled)) {
		servers.report(d.to, !unreached)
	}
	d.last, d.lastTook = a, time.Since(began)
	d.pace.leave(began, a.HasAnswer && a.Base == nil && a.Class().Slow(), a.HasAnswer && a.Load.Word == answer.Success)
	ev := decide.Event{Kind: decide.Attempted, Attempt: a.Attempt}
	ev.Attempt.Direct = l.Direct && d.bes == nil // no FE is to be asked instead
	return ev
}

func (d *delivery) ask(ctx, alive context.Context, label string) decide.Event {
	d.polls++
	d.lastPoll = d.askState(ctx, alive, d.fe, d.batch.Database, label)
	d.noFE = !d.lastPoll.answered
	return decide.Event{Kind: decide.Polled, Poll: d.lastPoll.facts}
}

// tell reports an event and what follows from it.
func (d *delivery) tell(ev decide.Event, next decide.Action) {
	switch ev.Kind {
	case decide.Attempted:
		stored := next.Kind == decide.Done && next.Outcome.Committed || next.Kind == decide.CommitTxn
		info := AttemptInfo{
			Database: d.batch.Database, Table: d.batch.Table, Label: d.lastLabel, Attempt: d.attempts, Previous: d.previous, Server: d.last.Server,
			Bytes: d.wire.Len(), Took: d.lastTook, Sent: ev.Attempt.Sent.String(), Stored: stored, Next: nextWord(next, d.body.Rows()), After: next.After,
		}
		if !stored {
			info.Class, info.Message = ev.Attempt.Class(), d.lastMessage()
		}
		d.previous = info.Class
		d.conf.Observer.Attempted(info)
	case decide.TxnCommitted:
		d.conf.Observer.SecondPhase(SecondPhaseInfo{
			Database: d.batch.Database, Table: d.batch.Table, Label: d.lastLabel, TxnID: d.last.Load.TxnID,
			Committed: next.Kind == decide.Done && next.Outcome.Evidence == decide.ByCommit, Message: d.lastTxn, Next: next.Kind.String(), After: next.After,
		})
	case decide.Polled:
		d.conf.Observer.Polled(PollInfo{
			Database: d.batch.Database, Table: d.batch.Table, Label: d.lastLabel,
			State: d.lastPoll.state, Message: d.lastPoll.message, Next: next.Kind.String(), After: next.After,
		})
	}
}

// nextWord is what follows, in words.
func nextWord(next decide.Action, rows int) string {
	if next.Kind == decide.Done && next.Outcome.Reason == decide.Divide && rows > 1 {
		return "send the rows in smaller loads"
	}
	return next.Kind.String()
}

// lastMessage is what the last request to load came to, in words, without secrets.
func (d *delivery) lastMessage() string {
	a := d.last
	var text string
	switch {
	case a.Err != nil:
		text = a.Err.Error()
	case a.HasAnswer && !a.Load.Readable:
		text = fmt.Sprintf("%s answered HTTP %d (%s), which is no Stream Load result: %s", a.Server, a.HTTPStatus, orNone(a.ContentType), orNone(a.Load.Excerpt))
	case a.HasAnswer:
		text = a.Load.Status
		if a.HTTPStatus != http.StatusOK {
			text = fmt.Sprintf("HTTP %d: %s", a.HTTPStatus, text)
		}
		if stored := a.Load.Word == answer.Success || a.Load.Word == answer.PublishTimeout; stored && !a.WholeBody {
			text = a.Server + " did not take the rows, and yet answered " + text
		}
		if a.Load.ExistingWord != "" {
			text += " (" + a.Load.ExistingWord + ")"
		}
		if a.Load.Message != "" {
			text += ": " + a.Load.Message
		}
		if a.Load.FirstError != "" {
			text += firstErrorMark + a.Load.FirstError
		}
		switch l := a.Load; decide.CountsOf(a.Attempt) {
		case decide.CountsNothing:
			text = fmt.Sprintf("%s counted %d rows of the %d that were sent (%d of %d bytes), so nothing is stored, and yet it answered %s; "+
				"do json_root, jsonpaths and columns fit the rows?", a.Server, l.Total, d.counted.rows, l.LoadBytes, d.body.Len(), text)
		case decide.CountsClash:
			text = fmt.Sprintf("%s counted %d rows, but says that it received %d bytes of %d, and yet it answered %s", a.Server, l.Total, l.LoadBytes, d.body.Len(), text)
		}
	default:
		text = "nothing was sent"
	}
	return d.secrets.Text(text, maxMessage)
}

func orNone(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}
