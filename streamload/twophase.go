package streamload

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// commit sends the second phase of a transaction, to the servers in turn until one answers for it. A commit may be repeated.
func (d *delivery) commit(caller, alive context.Context, txn int64) decide.Event {
	ev := decide.Event{Kind: decide.TxnCommitted}
	d.lastTxn = fmt.Sprintf("transaction %d was not committed: stopping", txn)
	servers := d.loaders()
	d.each(caller, alive, servers, d.to, func(ctx context.Context, i int) (done bool) {
		r, err := d.transport.CommitTxn(ctx, servers.urls[i], d.batch.Database, txn)
		answered := err == nil || r.HTTPStatus != 0
		if answered || !errors.Is(ctx.Err(), context.Canceled) {
			servers.report(i, answered)
		}
		d.noFE = !answered && d.bes == nil
		said := answer.ParseLoad(r.Body)
		switch {
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
	done := false
	servers := c.loaders()
	c.each(caller, alive, servers, first, func(ctx context.Context, i int) bool {
		r, err := c.transport.AbortTxn(ctx, servers.urls[i], database, txn, label)
		done = err == nil && r.HTTPStatus == http.StatusOK && answer.ParseLoad(r.Body).Word == answer.Success
		return err == nil
	})
	if done {
		return nil
	}
	return c.askCancel(caller, alive, first, database, label)
}
