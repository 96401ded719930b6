package emulator

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The transaction interface of StarRocks at an FE (TransactionLoadAction.java,
// TransactionWithoutChannelHandler.java): it sends begin, load and prepare to the
// BE that coordinates the label, and does commit and rollback itself when the
// transaction is past PREPARE.

// defaultTxnTimeout is what an FE takes for the header timeout when there is none:
// the time that a commit waits for its rows to be visible.
const defaultTxnTimeout = 20 * time.Second

// coordinators is the leader's memory of which BE coordinates a label. The key is
// the label alone, whatever the database.
type coordinators struct {
	mu sync.Mutex
	be map[string]int
}

func (c *coordinators) set(label string, be int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.be[label] = be
}

func (c *coordinators) get(label string) (int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	be, ok := c.be[label]
	return be, ok
}

func (c *coordinators) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.be)
}

func (x *exchange) starrocksFailed(msg string) {
	x.txnResult("FAILED", "class com.starrocks.common.StarRocksException: "+msg, nil, "")
}

// starrocksTxn is /api/transaction/{op} at an FE.
func (x *exchange) starrocksTxn(op string) {
	h := x.r.Header
	x.op, x.db, x.table, x.label = strings.ToLower(op), h.Get("db"), h.Get("table"), h.Get("label")
	switch {
	case x.r.Method != http.MethodPost && x.r.Method != http.MethodPut:
		x.springError(http.StatusMethodNotAllowed)
		return
	case !x.e.profile.txnInterface():
		x.rest(http.StatusOK, struct {
			Status string `json:"status"`
			Msg    string `json:"msg"`
		}{"FAILED", "Not implemented"})
		return
	}
	if f, v := x.at(FEBeforeAnswer); v == over {
		return
	} else if v == special {
		x.starrocksFailed(f.Message)
		return
	}
	u, ok := x.starrocksLogin()
	if !ok || x.toLeader() {
		return
	}
	timeout, err := headerSeconds(h.Get("timeout"), defaultTxnTimeout)
	switch {
	case x.op != opBegin && x.op != opLoad && x.op != opPrepare && x.op != opCommit && x.op != opRollback:
		x.starrocksFailed("Unknown transaction operation: " + op)
	case x.db == "":
		x.starrocksFailed("No database selected.")
	case x.label == "":
		x.starrocksFailed("Empty label.")
	case err != nil:
		x.txnResult("FAILED", "class java.lang.NumberFormatException: "+err.Error(), nil, "")
	case h.Get("transaction_type") != "" && x.e.profile.since(4, 0, 0):
		x.starrocksFailed("transaction_type is not supported by the emulator")
	case h.Get("channel_id") != "" || h.Get("channel_num") != "":
		x.starrocksFailed("channel_id and channel_num are not supported by the emulator")
	case !x.databaseExists():
		x.starrocksFailed("Database[" + x.db + "] does not exist.")
	case !u.mayLoad(x.db):
		x.unauthorized(x.e.profile.needLoad())
	case x.op == opCommit || x.op == opRollback:
		x.endTxn(timeout)
	default:
		x.toCoordinator()
	}
}

// headerSeconds reads a number of seconds as Long.parseLong does.
func headerSeconds(text string, def time.Duration) (time.Duration, error) {
	if text == "" {
		return def, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("For input string: %q", text) //nolint:staticcheck // the server's words
	}
	return time.Duration(max(min(n, 1<<31), -1<<31)) * time.Second, nil
}

func (x *exchange) databaseExists() bool {
	c := x.e.cat
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.database(x.db, c.opt.AutoCreate && namePattern.MatchString(x.db)) != nil
}

// toCoordinator sends the request to the BE of the label. A begin chooses one, also
// when the label has one already.
func (x *exchange) toCoordinator() {
	if x.op == opBegin {
		index, host, ok := x.starrocksBE()
		if !ok {
			return
		}
		if index >= 0 {
			x.e.coord.set(x.label, index)
		}
		x.redirect("http", host)
		return
	}
	be, ok := x.e.coord.get(x.label)
	if !ok {
		if t := x.newestTxn(); t != nil {
			be, ok = t.be, true
		}
	}
	if !ok {
		x.starrocksFailed(fmt.Sprintf("Can't find the transaction with db [%s] and label[%s]. The possible reasons: 1. FE leader is started or switched; 2. the transaction has not been begun, or it was forgotten.", x.db, x.label))
		return
	}
	if f, v := x.at(FERedirect); v == over {
		return
	} else if v == special && f.Do == DeadBE {
		x.redirect("http", x.e.dead.addr)
		return
	} else if v == special {
		x.starrocksFailed(f.Message)
		return
	}
	x.redirect("http", x.e.bes[be].at())
}

// newestTxn is the transaction of the label with the largest id, nil for none.
func (x *exchange) newestTxn() *txn {
	c := x.e.cat
	c.mu.Lock()
	defer c.mu.Unlock()
	db := c.dbs[x.db]
	if db == nil {
		return nil
	}
	c.sweep(db)
	return db.newest(x.label)
}

// endTxn is a commit or rollback.
func (x *exchange) endTxn(timeout time.Duration) {
	t := x.newestTxn()
	if t == nil {
		x.starrocksFailed(fmt.Sprintf("No transaction found by label %s", x.label))
		return
	}
	c := x.e.cat
	c.mu.Lock()
	prepare := t.state == Prepare
	c.mu.Unlock()
	if prepare {
		x.toCoordinator()
		return
	}
	if f, v := x.at(TwoPhase); v == over {
		return
	} else if v == special {
		x.starrocksFailed(f.Message)
		return
	}
	end := x.e.rollbackPrepared
	if x.op == opCommit {
		end = x.e.commitPrepared
	}
	message, err := end(t, timeout)
	if f, v := x.at(TwoPhaseAnswer); v == over {
		return
	} else if v == special {
		x.starrocksFailed(f.Message)
		return
	}
	if err != nil {
		x.starrocksFailed(x.e.profile.detail(err))
		return
	}
	x.txnResult("OK", message, t, "")
}

// commitPrepared commits t and waits for its rows to be visible. When they are not
// in time the answer is a failure, although the transaction is committed.
func (e *Emulator) commitPrepared(t *txn, timeout time.Duration) (message string, err error) {
	c := e.cat
	c.mu.Lock()
	c.sweep(t.db)
	switch t.state {
	case Committed, Visible:
		message = fmt.Sprintf("Transaction %d has already committed, label is %s", t.id, t.label)
	case Precommitted:
		c.commitNow(t, false, time.Time{})
	default:
		err = analysis("Can not commit %s transaction %d, label is %s", e.profile.stateName(t.state), t.id, t.label)
	}
	c.mu.Unlock()
	if err != nil || message != "" {
		return message, err
	}
	if e.awaitVisible(t, e.opt.Now().Add(timeout)) == Committed {
		return "", analysis("publish timeout: %d", timeout.Milliseconds())
	}
	return "", nil
}

// rollbackPrepared aborts t.
func (e *Emulator) rollbackPrepared(t *txn, _ time.Duration) (message string, err error) {
	c := e.cat
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweep(t.db)
	switch t.state {
	case Aborted:
		return fmt.Sprintf("Transaction %d has already aborted, label is %s", t.id, t.label), nil
	case Committed, Visible:
		return "", analysis("Can not abort %s transaction %d, label is %s", t.state, t.id, t.label)
	default:
		c.abort(t, "User Aborted")
		return "", nil
	}
}
