package transport

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// The transaction interface of StarRocks (fe TransactionLoadAction.java, be transaction_mgr.cpp). An FE sends a begin on to its leader, and that to a BE, which
// keeps the transaction until it is prepared. The FEs commit and roll back.

// txnOp is a call of it, which is POST but for the load.
var (
	txnBegin    = []string{"transaction", "begin"}
	txnLoad     = []string{"transaction", "load"}
	txnPrepare  = []string{"transaction", "prepare"}
	txnCommit   = []string{"transaction", "commit"}
	txnRollback = []string{"transaction", "rollback"}
)

// LoadTxn begins a transaction, loads into it and prepares it, as one attempt: a success means that the transaction waits for its commit. One that was not
// begun is NotSent, whatever the reason. The context bounds all of it; lifetime is for how long the transaction may wait, for versions that
// know it (3.5.4).
func (t *Transport) LoadTxn(ctx context.Context, base *url.URL, l Load, lifetime time.Duration) Attempt {
	header := http.Header{"db": {l.Database}, "label": {l.Label}, "table": {l.Table}, "timeout": l.Header["timeout"]} //nolint:staticcheck // names are in lower case here, as everywhere
	short, cancel := context.WithTimeout(ctx, t.conf.FEWait)
	r, at, err := t.callTo(short, http.MethodPost, base, txnBegin, "", header)
	cancel()
	a := Attempt{Server: r.Server, Secure: at.Scheme == "https", Hops: r.Hops}
	a.HTTPStatus, a.Direct, a.Rows = r.HTTPStatus, l.Direct, l.Rows
	if err != nil {
		a.Trouble, a.Err = troubleOf(err), err
		a.Begun = a.Trouble != decide.Unreachable && a.Trouble != decide.TLSFailed
		return a
	}
	a.HasAnswer, a.Load = true, answer.ParseTxn(r.Body)
	if !txnOK(r.HTTPStatus, a.Load) {
		return a
	}
	be := txnBase(at, txnBegin)
	if be == nil {
		a.HasAnswer, a.Trouble, a.Begun = false, decide.BadRedirect, true
		a.Err = fmt.Errorf("a transaction was begun at %s, which is not the address of a server", cutLocation(at.Host))
		return a
	}

	l.Header = l.Header.Clone()
	l.Header["db"], l.Header["table"] = []string{l.Database}, []string{l.Table}
	l.Direct, l.Eager, l.txn = true, false, true
	hops := a.Hops
	a, to := t.put(ctx, be, Path(be, txnLoad...), l, 0)
	a.Base, a.Hops, a.Rows, a.Begun = nil, hops, 0, true
	if to != nil { // a BE sends nobody elsewhere
		a.HasAnswer, a.Trouble, a.Err = false, decide.BadRedirect, fmt.Errorf("the load into a transaction was sent on from %s to %s", be.Host, to.Host)
	}
	if a.Sent != decide.Answered || !a.WholeBody || !a.HasAnswer || !txnOK(a.HTTPStatus, a.Load) {
		if a.HasAnswer && a.Load.Word == answer.Success {
			a.Load.Word = answer.Unclear // what is loaded is not prepared
		}
		return a
	}

	header = http.Header{"db": {l.Database}, "label": {l.Label}, "prepared_timeout": {strconv.FormatInt(int64((lifetime+time.Second-1)/time.Second), 10)}}
	r, err = t.call(ctx, http.MethodPost, be, txnPrepare, "", header)
	a.Server, a.HTTPStatus, a.Load, a.Rows = r.Server, r.HTTPStatus, answer.Load{}, l.Rows
	if err != nil {
		a.Sent, a.HasAnswer, a.Trouble, a.Err = decide.MaybeReceived, false, troubleOf(err), err
		return a
	}
	a.Load = answer.ParseTxn(r.Body)
	return a
}

func txnOK(status int, a answer.Load) bool {
	return status >= 200 && status < 300 && a.Word == answer.Success
}

// txnBase is the base of the address of a call; nil if that says more than the call.
func txnBase(at *url.URL, call []string) *url.URL {
	return baseOf(at, Path(&url.URL{}, call...))
}

// CommitLabel commits the prepared transaction of a label, and may be repeated. It waits for the rows to be visible, but no longer than wait.
func (t *Transport) CommitLabel(ctx context.Context, fe *url.URL, database, label string, wait time.Duration) (Reply, error) {
	return t.call(ctx, http.MethodPost, fe, txnCommit, "", http.Header{
		"db": {database}, "label": {label}, "timeout": {strconv.FormatInt(int64(wait/time.Second), 10)},
	})
}

// RollbackLabel aborts the transaction of a label, whether it is prepared or not. What came of it is to be seen in the label's state.
func (t *Transport) RollbackLabel(ctx context.Context, fe *url.URL, database, label string) (Reply, error) {
	return t.call(ctx, http.MethodPost, fe, txnRollback, "", http.Header{"db": {database}, "label": {label}})
}
