package streamload

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/streamload/encode"
	"github.com/dorisload/benthos-doris/streamload/internal/answer"
	"github.com/dorisload/benthos-doris/streamload/internal/transport"
)

// maxFenceTimeout bounds a fence at the server: it has no rows, and is of no use when it comes late.
const maxFenceTimeout = 30 * time.Second

// fenceTimeout is that of a load, where that is shorter: all batches with rows of the label wait for the fence.
func (c *Client) fenceTimeout() time.Duration { return min(maxFenceTimeout, c.conf.Timeout) }

// settled is what the ledger says about the rows of a body.
type settled struct {
	fates  []fate
	labels []string // of the load that a stored or open row was in
	claim  *claim
	stored int  // rows of the table
	open   int  // the same
	noFE   bool // some of it is open, and no FE answered the last question for it
}

// settle looks the rows of a body up in the ledger, after settling the loads that they were in. It is nil when the ledger knows none of
// them, and when the very same batch left its stable label open: Doris itself finds that.
func (c *Client) settle(ctx, alive context.Context, b Batch, body *encode.Body) *settled {
	if b.Identity != "" {
		if _, again := c.ledger.owed(stableLabel(c.conf.LabelPrefix, b, body)); again {
			return nil
		}
	}
	digests := digestsOf(body)
	entries := c.ledger.matching(b.Database, b.Table, digests)
	if len(entries) == 0 {
		return nil
	}
	s := &settled{}
	for _, e := range entries {
		if e.owed.Forever {
			continue // nobody could be asked
		}
		if !c.settleEntry(ctx, alive, e) {
			s.noFE = true
		}
	}
	s.fates, s.labels, s.claim = c.ledger.judge(b.Database, b.Table, digests)
	for i, f := range s.fates {
		switch f {
		case fateStored:
			s.stored += body.LinesOf(i)
		case fateOpen:
			s.open += body.LinesOf(i)
		}
	}
	return s
}

// settleEntry learns the fate of a load, unless somebody else does: then it waits for that. A load that stays open is not asked for more often than
// label_poll allows, however often its rows come back. It is false when no FE answered the last question.
func (c *Client) settleEntry(ctx, alive context.Context, e *entry) (answered bool) {
	select {
	case e.gate <- struct{}{}:
		defer func() { <-e.gate }()
	case <-ctx.Done():
		return true
	}
	if c.ledger.state(e) != decide.Unsettled || !sleep(ctx, time.Until(e.next)) {
		return true
	}
	answered = true
	s, act := decide.StartSettlement(e.debt)
	for act.Kind != decide.SettleDone {
		e.debt = act.Debt // before the action is done: it may be done even if nothing is learned of it
		ev := decide.SettleEvent{Kind: decide.SettleStopped}
		if ctx.Err() == nil && (!act.Wait || sleep(ctx, c.conf.LabelPoll.Initial)) {
			ev, answered = c.settleStep(ctx, alive, e, act)
		}
		s, act = decide.StepSettlement(s, ev)
	}
	e.debt = act.Debt
	e.tries++
	e.next = time.Now().Add(decide.Backoff(c.conf.LabelPoll).Wait(e.tries))
	c.conf.Observer.Settled(SettleInfo{
		Database: e.database, Table: e.table, Label: e.label, Age: time.Since(e.born),
		Rows: c.ledger.set(e, act.Result), Result: settledWord(act.Result),
	})
	return answered
}

// settleOwn settles a load whose caller waits, as often as a load is tried and for as long as one may take. It is false when the load is still open.
func (c *Client) settleOwn(ctx, alive context.Context, e *entry) bool {
	for left := max(c.conf.MaxRetries, 0); ; left-- {
		c.settleEntry(ctx, alive, e)
		switch most := c.conf.Backoff.MaxElapsed; {
		case c.ledger.state(e) != decide.Unsettled:
			return true
		case left == 0, ctx.Err() != nil, most > 0 && time.Since(e.born) > most:
			return false
		}
	}
}

func settledWord(s decide.Settled) string {
	switch s {
	case decide.SettledCommitted:
		return "committed"
	case decide.SettledClosed:
		return "closed"
	default:
		return "open"
	}
}

// settleStep does one step of a settlement. answered is false for a question that no FE answered.
func (c *Client) settleStep(caller, ctx context.Context, e *entry, act decide.SettleAction) (ev decide.SettleEvent, answered bool) {
	fe := c.frontends.first()
	switch act.Kind {
	case decide.SettleAsk:
		p := c.askState(caller, ctx, fe, e.database, e.label)
		return decide.SettleEvent{Kind: decide.SettlePolled, Poll: p.facts}, p.answered
	case decide.SettleCancel:
		_ = c.abort(caller, ctx, fe, e.database, e.label, 0, e.debt.Fenced || e.debt.TwoPhase) // what came of it shows in the state
		return decide.SettleEvent{Kind: decide.SettleCancelled}, true
	case decide.SettleFence:
		ctx, cancel := context.WithTimeout(ctx, attemptTimeout(c.fenceTimeout()))
		defer cancel()
		// No rows are no rows in any format, and CSV has no layout that could be missing.
		fence := Options{Format: "csv", Headers: c.conf.Options.Headers}
		fence.setDefaults()
		header := fence.header(c.fenceTimeout())
		header["label"] = []string{e.label}
		header["two_phase_commit"] = []string{"true"} // only this spelling is understood (be stream_load.cpp)
		header["group_commit"] = []string{"off_mode"}
		servers := c.loaders()
		a := c.transport.Load(ctx, servers.urls[servers.first()], transport.Load{
			Database: e.database, Table: e.table, Header: header, Body: noRows{}, Direct: c.bes != nil,
		})
		return decide.SettleEvent{Kind: decide.SettleFenced, Attempt: a.Attempt}, true
	default: // SettleCommit
		servers := c.loaders()
		ctx, cancel := context.WithTimeout(ctx, attemptTimeout(c.fenceTimeout()))
		defer cancel()
		r, err := c.transport.CommitTxn(ctx, servers.urls[servers.first()], e.database, act.Txn)
		if err != nil || r.HTTPStatus != http.StatusOK {
			return decide.SettleEvent{Kind: decide.SettleCommitted}, r.HTTPStatus != 0
		}
		return decide.SettleEvent{Kind: decide.SettleCommitted, Commit: answer.ParseLoad(r.Body)}, true
	}
}

// noRows is the body of a fence.
type noRows struct{}

func (noRows) Len() int64          { return 0 }
func (noRows) Open() io.ReadCloser { return http.NoBody }

// sleep waits; it is false when the context ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
