package emulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// be2PC is _stream_load_2pc.
func (x *exchange) be2PC() {
	x.label, x.op = x.r.Header.Get("label"), strings.ToLower(x.r.Header.Get("txn_operation"))
	if f, v := x.at(TwoPhase); v == over {
		return
	} else if v == special {
		x.twoPhaseAnswer("INTERNAL_ERROR", f.Message)
		return
	}
	msg, err := x.twoPhase()
	if f, v := x.at(TwoPhaseAnswer); v == over {
		return
	} else if v == special {
		x.twoPhaseAnswer("INTERNAL_ERROR", f.Message)
		return
	}
	if err != nil {
		code, text := x.e.profile.codeAndText(err)
		x.twoPhaseAnswer(x.e.profile.twoPhaseStatus(code), text)
		return
	}
	x.twoPhaseAnswer("Success", msg)
}

func (x *exchange) twoPhaseAnswer(status, msg string) {
	body, _ := json.Marshal(struct {
		Status string `json:"status"`
		Msg    string `json:"msg"`
	}{status, msg})
	x.answer(http.StatusOK, replyType, x.gzipped(body))
}

func (x *exchange) twoPhase() (string, error) {
	h := x.r.Header
	op, idText, label := strings.ToLower(h.Get("txn_operation")), h.Get("txn_id"), h.Get("label")
	if !x.e.profile.labels2PC() {
		label = ""
	}
	if op != "commit" && op != "abort" {
		return "", &beError{"INTERNAL_ERROR", "transaction operation should be 'commit' or 'abort'"}
	}
	if idText == "" && label == "" {
		return "", &beError{"INVALID_ARGUMENT", "transaction id or label is empty"}
	}
	id, err := strconv.ParseInt(idText, 10, 64)
	if idText != "" && err != nil {
		return "", &beError{"INVALID_ARGUMENT", fmt.Sprintf("convert txn_id [%s] failed, reason=invalid number", idText)}
	}
	name, password, ok := beAuth(h.Get("Authorization"))
	if !ok {
		return "", &beError{"NOT_AUTHORIZED", "no valid Basic authorization"}
	}
	c := x.e.cat
	c.mu.Lock()
	defer c.mu.Unlock()
	u := x.e.opt.user(name, password)
	switch {
	case u == nil:
		return "", analysis("%s", x.e.profile.accessDenied(name, x.clientIP(), password))
	case !u.mayLoad(x.db):
		return "", analysis("%s", x.e.profile.needLoad())
	}
	db := c.dbs[x.db]
	if db == nil {
		return "", analysis("unknown database, database=%s", x.db)
	}
	var t *txn
	switch {
	case idText != "":
		t, err = c.byID(db, id)
	case op == "commit":
		t, err = c.byLabel(db, label, Precommitted)
	default:
		t, err = c.byLabel(db, label, Precommitted, Prepare)
	}
	if err == nil {
		err = c.twoPhase(t, op == "commit")
	}
	if err != nil {
		return "", err
	}
	what := ""
	if label != "" {
		what = "label [" + label + "] "
	}
	if idText != "" {
		what += "transaction [" + idText + "] "
	}
	return what + op + " successfully.", nil
}
