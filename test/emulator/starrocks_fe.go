package emulator

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// starrocksRoutes are the calls that FEs of StarRocks answer.
var starrocksRoutes = []route{
	{http.MethodPut, 4, "_stream_load", (*exchange).starrocksLoad},
	{http.MethodGet, 3, "get_load_state", (*exchange).starrocksState},
	{http.MethodPost, 4, "_cancel", (*exchange).starrocksCancel},
	{http.MethodGet, 2, "bootstrap", (*exchange).starrocksBootstrap},
	{http.MethodGet, 2, "health", (*exchange).starrocksHealth},
}

// restResult is one form of an FE's answer (RestBaseResult.java).
type restResult struct {
	Status  string `json:"status"`
	Code    string `json:"code"`
	Msg     string `json:"msg"`
	Message string `json:"message"`
}

var restOK = restResult{"OK", "0", "Success", "OK"}

func restFailed(msg string) restResult { return restResult{"FAILED", "1", msg, msg} }

// rest answers with one line of JSON. The body of the request is not read.
func (x *exchange) rest(status int, v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	x.unread(status, jsonType, "", bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// unread answers without reading the body of the request, when it has one.
func (x *exchange) unread(status int, contentType, location string, body []byte) {
	if x.r.ContentLength != 0 {
		x.rawAnswer(status, contentType, location, body)
		return
	}
	if location != "" {
		x.w.Header().Set("Location", location)
	}
	x.answer(status, contentType, body)
}

// txnResult is the other form (TransactionResult.java): loads that are refused
// and everything of the transaction interface. The server does not keep an order
// of the keys.
func (x *exchange) txnResult(status, message string, t *txn, existing string) {
	var o object
	o.add("Status", status)
	o.add("Message", message)
	if t != nil {
		o.add("TxnId", t.id)
		o.add("Label", t.label)
	}
	if existing != "" {
		o.add("ExistingJobStatus", existing)
	}
	x.unread(http.StatusOK, jsonType, "", o.end())
}

// ddlFailed refuses a load.
func (x *exchange) ddlFailed(msg string) {
	x.txnResult("FAILED", "class com.starrocks.common.DdlException: "+msg, nil, "")
}

// unauthorized refuses the account with HTTP 401.
func (x *exchange) unauthorized(msg string) {
	x.challenge = true
	x.rest(http.StatusUnauthorized, restFailed(msg))
}

// starrocksLogin checks the account; when it is refused the answer has been sent.
func (x *exchange) starrocksLogin() (*User, bool) {
	name, password, ok := basic(x.r.Header.Get("Authorization"))
	if !ok {
		x.unauthorized("Need auth information.")
		return nil, false
	}
	u := x.e.opt.user(name, password)
	if u == nil {
		x.unauthorized(x.e.profile.accessDenied(name, x.clientIP(), password))
		return nil, false
	}
	return u, true
}

// redirect sends the client to another node: the same path and query, and never
// an account (RestBaseAction.redirectTo).
func (x *exchange) redirect(scheme, host string) {
	target := scheme + "://" + host + x.r.URL.EscapedPath()
	if x.r.URL.RawQuery != "" {
		target += "?" + x.r.URL.RawQuery
	}
	x.unread(http.StatusTemporaryRedirect, "text/html", target, nil)
}

// toLeader sends a call that only the leader answers on to it; true means that
// the answer has been sent.
func (x *exchange) toLeader() bool {
	leader := x.e.fes[x.e.master.Load()]
	if leader == x.n {
		return false
	}
	scheme := "http"
	if x.e.opt.FETLS != nil {
		scheme = "https"
	}
	x.redirect(scheme, leader.at())
	return true
}

// starrocksLoad is _stream_load at an FE (LoadAction.java).
func (x *exchange) starrocksLoad() {
	h := x.r.Header
	x.label, x.op = h.Get("label"), opLoad
	if f, v := x.at(FEBeforeAnswer); v == over {
		return
	} else if v == special {
		x.ddlFailed(f.Message)
		return
	}
	u, ok := x.starrocksLogin()
	if !ok {
		return
	}
	merge := x.e.profile.mergeCommit() && strings.EqualFold(h.Get("enable_merge_commit"), "true")
	switch {
	case len(h.Values("Expect")) == 0 && x.r.ProtoAtLeast(1, 1):
		x.ddlFailed("There is no 100-continue header")
	case merge && x.toLeader():
	case x.db == "":
		x.ddlFailed("No database selected.")
	case x.table == "":
		x.ddlFailed("No table selected.")
	case !u.mayLoad(x.db):
		x.unauthorized(x.e.profile.needLoad())
	case merge && !x.mergeParams():
	default:
		if _, host, ok := x.starrocksBE(); ok {
			x.redirect("http", host)
		}
	}
}

// mergeParams checks what a load that is merged with others must say; when it
// does not, the answer has been sent (BatchWriteMgr.java).
func (x *exchange) mergeParams() bool {
	for _, one := range [][2]string{{"merge_commit_interval_ms", "interval"}, {"merge_commit_parallel", "parallel"}} {
		text := x.r.Header.Get(one[0])
		if n, err := strconv.Atoi(text); err == nil && n > 0 {
			continue
		}
		if text == "" {
			text = "null"
		}
		msg := "Batch write " + one[1] + " must be set positive, but is " + text
		x.rest(http.StatusOK, restResult{"FAILED", "INVALID_ARGUMENT", msg, msg})
		return false
	}
	return true
}

// starrocksBE chooses the BE of a load; without one the answer has been sent. The
// index is -1 for an address that is no BE.
func (x *exchange) starrocksBE() (index int, host string, ok bool) {
	f, v := x.at(FERedirect)
	switch {
	case v == over:
		return -1, "", false
	case v == special && f.Do == DeadBE:
		return -1, x.e.dead.addr, true
	case v == special && f.Do == Fail:
		x.ddlFailed(f.Message)
		return -1, "", false
	case v == goOn:
		if n := x.e.pickBE(x.n); n != nil {
			return n.index, n.at(), true
		}
	}
	x.ddlFailed("No backend alive.")
	return -1, "", false
}

// starrocksState is get_load_state (GetStreamLoadState.java).
func (x *exchange) starrocksState() {
	if _, ok := x.starrocksLogin(); !ok || x.toLeader() {
		return
	}
	x.label = x.r.URL.Query().Get("label")
	f, v := x.at(StateQuery)
	switch {
	case v == over:
		return
	case v == special && f.Do == SetState:
		x.rest(http.StatusOK, stateResult{f.Message, "", restOK})
		return
	case v == special:
		x.rest(http.StatusOK, restFailed(f.Message))
		return
	case x.db == "":
		x.rest(http.StatusOK, restFailed("No database selected."))
		return
	case x.label == "":
		x.rest(http.StatusOK, restFailed("No label selected."))
		return
	}
	c := x.e.cat
	c.mu.Lock()
	answer := any(restFailed("unknown database, database=" + x.db))
	if db := c.database(x.db, c.opt.AutoCreate); db != nil {
		c.sweep(db)
		result := stateResult{State: string(Unknown), restResult: restOK}
		if t := db.newest(x.label); t != nil {
			result.State, result.Reason = string(c.profile.stateName(t.state)), t.reason
		}
		answer = result
	}
	c.mu.Unlock()
	x.rest(http.StatusOK, answer)
}

// stateResult is the answer of get_load_state. Older versions have no reason.
type stateResult struct {
	State  string `json:"state"`
	Reason string `json:"reason"`
	restResult
}

// starrocksCancel is _cancel: the label is in the path, or in the query (where the
// server's own clients put it).
func (x *exchange) starrocksCancel() {
	if _, ok := x.starrocksLogin(); !ok || x.toLeader() {
		return
	}
	if x.label = x.r.URL.Query().Get("label"); x.label == "" {
		x.label = x.table
	}
	if f, v := x.at(CancelCall); v == over {
		return
	} else if v == special {
		x.rest(http.StatusOK, restFailed(f.Message))
		return
	}
	if x.db == "" || x.label == "" {
		x.rest(http.StatusOK, restFailed(map[bool]string{true: "No database selected.", false: "No label selected."}[x.db == ""]))
		return
	}
	c := x.e.cat
	c.mu.Lock()
	answer := restOK
	if db := c.database(x.db, c.opt.AutoCreate); db == nil {
		answer = restFailed("unknown database, database=" + x.db)
	} else if t, err := c.byLabel(db, x.label, Prepare, Precommitted); err != nil {
		answer = restFailed(c.profile.detail(err))
	} else {
		c.abort(t, "user cancel")
	}
	c.mu.Unlock()
	x.rest(http.StatusOK, answer)
}

// starrocksBootstrap is /api/bootstrap for who has no token.
func (x *exchange) starrocksBootstrap() {
	x.rest(http.StatusOK, struct {
		ReplayedJournalID int `json:"replayedJournalId"`
		QueryPort         int `json:"queryPort"`
		RPCPort           int `json:"rpcPort"`
		FEStartTime       int `json:"feStartTime"`
		restResult
	}{restResult: restOK})
}

func (x *exchange) starrocksHealth() {
	x.rest(http.StatusOK, struct {
		Online int `json:"online_backend_num"`
		Total  int `json:"total_backend_num"`
		restResult
	}{x.e.upBEs(), len(x.e.bes), restOK})
}
