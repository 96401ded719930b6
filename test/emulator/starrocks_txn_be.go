package emulator

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The transaction interface of StarRocks at a BE (transaction_mgr.cpp,
// transaction_stream_load.cpp).

// beTxn is /api/transaction/{op} at a BE.
func (x *exchange) beTxn(op string) {
	h := x.r.Header
	x.op, x.db, x.table, x.label = strings.ToLower(op), h.Get("db"), h.Get("table"), h.Get("label")
	if x.op == opLoad {
		x.txnLoad()
		return
	}
	if f, v := x.at(TwoPhase); v == over {
		return
	} else if v == special {
		x.answer(http.StatusOK, jsonType, x.txnReply(&beError{"INTERNAL_ERROR", f.Message}, nil))
		return
	}
	switch {
	case x.label == "":
		x.txnAnswer(&beError{"INVALID_ARGUMENT", "empty label"}, nil)
	case h.Get("transaction_type") != "":
		x.txnAnswer(errMultiAtBE, nil)
	case x.op == opBegin:
		x.txnBegin()
	case x.op == opPrepare, x.op == opCommit:
		x.txnFinish()
	case x.op == opRollback:
		x.txnRollback()
	default:
		x.txnAnswer(&beError{"INVALID_ARGUMENT", "unsupport transaction operation " + op}, nil)
	}
}

var errMultiAtBE = &beError{"INVALID_ARGUMENT", "Multi-statement transaction requests can only be sent to FE nodes, not BE nodes"}

// txnAnswer answers in the form of StreamLoadContext::to_resp_json; more adds the
// keys of a success.
func (x *exchange) txnAnswer(err error, more func(*object)) {
	if f, v := x.at(TwoPhaseAnswer); v == over {
		return
	} else if v == special {
		err, more = &beError{"INTERNAL_ERROR", f.Message}, nil
	}
	x.answer(http.StatusOK, jsonType, x.txnReply(err, more))
}

func (x *exchange) txnReply(err error, more func(*object)) []byte {
	var o object
	if err == nil {
		o.add("Status", "OK")
		o.add("Message", "")
		o.add("Label", x.label)
	} else {
		code, text := x.e.profile.codeAndText(err)
		o.add("Status", code)
		if used, ok := errors.AsType[*labelUsed](err); ok {
			o.add("ExistingJobStatus", x.e.profile.jobStatus(used.state))
		} else if errors.Is(err, errLabelHeld) {
			o.add("ExistingJobStatus", "")
		}
		if code == "TXN_IN_PROCESSING" {
			o.add("Label", x.label)
		}
		o.add("Message", text)
	}
	if more != nil {
		more(&o)
	}
	return o.end()
}

// errLabelHeld says that the BE holds the label already; the server says no more.
var errLabelHeld = &beError{"LABEL_ALREADY_EXISTS", ""}

func (x *exchange) txnBegin() {
	start := time.Now()
	if s := x.n.streams.get(x.label); s != nil && !x.expired(s) {
		x.txnAnswer(errLabelHeld, nil)
		return
	}
	s, err := x.newStream()
	if err == nil {
		x.txn = s.txn.id
		x.n.streams.put(s)
	}
	x.txnAnswer(err, func(o *object) {
		if err == nil {
			o.add("TxnId", s.txn.id)
			o.add("BeginTxnTimeMs", time.Since(start))
		}
	})
}

func (x *exchange) newStream() (*stream, error) {
	h := x.r.Header
	seconds := func(name string, def time.Duration) (time.Duration, error) {
		text := h.Get(name)
		if text == "" {
			return def, nil
		}
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 0 {
			return 0, &beError{"INVALID_ARGUMENT", "Invalid timeout format"}
		}
		return time.Duration(n) * time.Second, nil
	}
	timeout, err := seconds("timeout", x.e.opt.DefaultTimeout)
	if err != nil {
		return nil, err
	}
	idle, err := seconds("idle_transaction_timeout", 0)
	if err != nil {
		return nil, err
	}
	user, password, ok := beAuth(h.Get("Authorization"))
	if !ok {
		return nil, &beError{"INTERNAL_ERROR", "no valid Basic authorization"}
	}
	l := &load{
		x: x, spec: &loadSpec{label: x.label, user: user, password: password, timeout: timeout, h: h},
		rec: &Load{Label: x.label, TxnID: -1, DB: x.db, Table: x.table, BE: x.n.name, User: user, Start: time.Now()},
	}
	if err := l.begin(); err != nil {
		return nil, err
	}
	return &stream{label: x.label, txn: l.txn, load: l, idle: idle, active: x.e.opt.Now()}, nil
}

func (x *exchange) txnRollback() {
	s, err := x.stream()
	if err != nil {
		x.txnAnswer(err, nil)
		return
	}
	x.rollback(s, "transaction is aborted by user.")
	s.busy.Unlock()
	x.txnAnswer(nil, nil)
}
