package streamload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/streamload/internal/answer"
	"github.com/dorisload/benthos-doris/streamload/internal/transport"
)

// publishWait is how long StarRocks may wait for the rows of a commit to be visible before it answers. They are committed before; what it says
// after that is a failure, and the label's state tells better.
const publishWait = 5 * time.Second

// commit sends the second phase of a transaction, to the servers in turn until one answers for it. A commit may be repeated.
func (d *delivery) commit(caller, alive context.Context, txn int64) decide.Event {
	ev := decide.Event{Kind: decide.TxnCommitted}
	d.lastTxn = fmt.Sprintf("transaction %d was not committed: stopping", txn)
	servers, first, parse := d.loaders(), d.to, answer.ParseLoad
	if d.policy.LabelOnce {
		servers, first, parse = d.frontends, d.fe, answer.ParseTxn
	}
	d.each(caller, alive, servers, first, func(ctx context.Context, i int) (done bool) {
		var r transport.Reply
		var err error
		if d.policy.LabelOnce {
			r, err = d.transport.CommitLabel(ctx, servers.urls[i], d.batch.Database, d.lastLabel, publishWait)
		} else {
			r, err = d.transport.CommitTxn(ctx, servers.urls[i], d.batch.Database, txn)
		}
		d.noFE = !servers.heard(ctx, i, r, err) && d.bes == nil
		said := parse(r.Body)
		switch {
		case err == nil && d.policy.LabelOnce && said.TxnID > 0 && said.TxnID != txn:
			d.lastTxn = fmt.Sprintf("commit of transaction %d: %s answered about transaction %d", txn, r.Server, said.TxnID)
			return false
		case err != nil:
			d.lastTxn = d.secrets.Text(fmt.Sprintf("commit of transaction %d: %v", txn, err), maxMessage)
			return false
		case r.HTTPStatus != http.StatusOK || !said.Readable:
			d.lastTxn = d.secrets.Text(fmt.Sprintf("commit of transaction %d: %s answered HTTP %d: %s", txn, r.Server, r.HTTPStatus, answer.Excerpt(r.Body)), maxMessage)
			return false
		}
		d.lastTxn = d.secrets.Text(fmt.Sprintf("commit of transaction %d: %s: %s", txn, said.Status, said.Message), maxMessage)
		ev.Commit = said
		return true
	})
	return ev
}

// abort ends what is open under a label. An FE's own call for that is for a transaction that runs; for one that may wait for its second
// phase there is another call, which servers before Doris 2.0 take only with the transaction's id.
func (c *Client) abort(caller, alive context.Context, first int, database, label string, txn int64, twoPhase bool) error {
	if !twoPhase {
		return c.askCancel(caller, alive, first, database, label)
	}
	if c.policy.LabelOnce {
		done := false
		c.each(caller, alive, c.frontends, first, func(ctx context.Context, i int) bool {
			r, err := c.transport.RollbackLabel(ctx, c.frontends.urls[i], database, label)
			done = err == nil && r.HTTPStatus == http.StatusOK && answer.ParseTxn(r.Body).Word == answer.Success
			return err == nil
		})
		if done {
			return nil
		}
		return c.askCancel(caller, alive, first, database, label)
	}
	if c.abortTxn(caller, alive, first, database, label, txn) == nil {
		return nil
	}
	return c.askCancel(caller, alive, first, database, label)
}

// abortTxn aborts a transaction in two phases at the servers in turn until one answers: the one with the number or, where that is 0, the one of the label.
func (c *Client) abortTxn(caller, alive context.Context, first int, database, label string, txn int64) error {
	last := errors.New("stopping")
	servers := c.loaders()
	c.each(caller, alive, servers, first, func(ctx context.Context, i int) (done bool) {
		r, err := c.transport.AbortTxn(ctx, servers.urls[i], database, txn, label)
		if err != nil {
			last = c.clean(err)
			return false
		}
		last = nil
		if said := answer.ParseLoad(r.Body); r.HTTPStatus != http.StatusOK || said.Word != answer.Success {
			last = errors.New(c.secrets.Text(fmt.Sprintf("HTTP %d: %s %s", r.HTTPStatus, said.Status, said.Message), maxMessage))
		}
		return true
	})
	return last
}
