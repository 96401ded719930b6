package emulator

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

const jsonType = "application/json"

// serveFE routes a request at an FE.
func (e *Emulator) serveFE(x *exchange) {
	path := x.r.URL.EscapedPath()
	if x.page(path) {
		return
	}
	if strings.HasPrefix(path, "/emulator/") || path == "/emulator" {
		x.readBack(strings.TrimPrefix(path, "/emulator"))
		return
	}
	seg, ok := segments(path)
	if !ok {
		x.springError(http.StatusBadRequest)
		return
	}
	routes := feRoutes
	if e.profile.starrocks() {
		if len(seg) == 3 && seg[0] == "api" && seg[1] == "transaction" {
			x.starrocksTxn(seg[2])
			return
		}
		routes = starrocksRoutes
	}
	if len(seg) == 4 && seg[0] == "api" && seg[1] == "query" && !e.profile.starrocks() {
		x.feQuery(seg[2], seg[3])
		return
	}
	for _, route := range routes {
		if len(seg) == route.length && seg[0] == "api" && seg[len(seg)-1] == route.last {
			if x.r.Method != route.method && (x.r.Method != http.MethodHead || route.method != http.MethodGet) {
				x.springError(http.StatusMethodNotAllowed)
				return
			}
			if len(seg) > 2 {
				x.db = seg[1]
			}
			if len(seg) > 3 {
				x.table = seg[2]
			}
			route.handle(x)
			return
		}
	}
	x.springError(http.StatusNotFound)
}

// route is a call: the method, and how many segments the path has and the last of
// them.
type route struct {
	method string
	length int
	last   string
	handle func(*exchange)
}

var feRoutes = []route{
	{http.MethodPut, 4, "_stream_load", (*exchange).feLoad},
	{http.MethodPut, 4, "_stream_load_2pc", (*exchange).fe2PC},
	{http.MethodPut, 3, "_stream_load_2pc", (*exchange).fe2PC},
	{http.MethodPut, 2, "_http_stream", (*exchange).feHTTPStream},
	{http.MethodGet, 3, "get_load_state", (*exchange).feState},
	{http.MethodPost, 3, "_cancel", (*exchange).feCancel},
	{http.MethodGet, 4, "_schema", (*exchange).feSchema},
	{http.MethodGet, 2, "bootstrap", (*exchange).feBootstrap},
	{http.MethodGet, 2, "health", (*exchange).feHealth},
	{http.MethodGet, 2, "backends", (*exchange).feBackends},
}

// segments splits an escaped path and unescapes its parts.
func segments(path string) ([]string, bool) {
	seg := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, s := range seg {
		plain, err := url.PathUnescape(s)
		if err != nil {
			return nil, false
		}
		seg[i] = plain
	}
	return seg, true
}

// springError is the answer of the web framework in front of the FE's own code.
func (x *exchange) springError(status int) {
	body, _ := json.Marshal(map[string]any{"status": status, "error": http.StatusText(status), "path": x.r.URL.Path})
	if x.r.ContentLength != 0 {
		x.rawAnswer(status, jsonType, "", body)
		return
	}
	x.answer(status, jsonType, body)
}

// failed answers a load at an FE in the form {"status":"FAILED","msg":...}.
func (x *exchange) failed(msg string) {
	body, _ := json.Marshal(struct {
		Status string `json:"status"`
		Msg    string `json:"msg"`
	}{"FAILED", msg})
	x.rawAnswer(http.StatusOK, jsonType, "", body)
}

// entity is the other form of the FE, always with HTTP 200.
type entity struct {
	Msg   string `json:"msg"`
	Code  int    `json:"code"`
	Data  any    `json:"data"`
	Count int    `json:"count"`
}

func success(data any) entity     { return entity{Msg: "success", Data: data} }
func commonError(d string) entity { return entity{Msg: "Error", Code: 1, Data: d} }
func unauthorized(d string) entity {
	return entity{Msg: "Unauthorized", Code: 401, Data: d}
}
func badRequest(d string) entity { return entity{Msg: "Bad Request", Code: 403, Data: d} }

func (x *exchange) entity(v entity) {
	body, err := json.Marshal(v)
	if err != nil {
		body = []byte(`{"msg":"Internal Error","code":500,"data":"","count":0}`)
	}
	if x.r.Method == http.MethodPut {
		x.rawAnswer(http.StatusOK, jsonType, "", body)
		return
	}
	x.answer(http.StatusOK, jsonType, body)
}

// login checks the account; when it is refused the answer has been sent.
func (x *exchange) login() (*User, bool) {
	header := x.r.Header.Get("Authorization")
	if header == "" {
		x.entity(unauthorized("Need auth information."))
		return nil, false
	}
	name, password, ok := basic(header)
	if !ok {
		x.entity(unauthorized("Need auth information."))
		return nil, false
	}
	u := x.e.opt.user(name, password)
	if u == nil {
		x.entity(unauthorized("errCode = 2, detailMessage = " + x.e.profile.accessDenied(name, x.clientIP(), password)))
		return nil, false
	}
	return u, true
}

// account says whether the request has an account that there is.
func (x *exchange) account() bool {
	name, password, ok := basic(x.r.Header.Get("Authorization"))
	return ok && x.e.opt.user(name, password) != nil
}

// location is a redirect target with the credentials of the request in it, as
// the FE builds it.
func (x *exchange) location(host string) string {
	path := x.r.URL.EscapedPath()
	prof := x.e.profile
	if prof.emptyQuery() {
		path = (&url.URL{Path: x.r.URL.Path}).EscapedPath()
	}
	out := "http://"
	if name, password, ok := basic(x.r.Header.Get("Authorization")); ok && !x.e.opt.PlainLocation {
		if prof.clusterInUser() {
			name += "@default_cluster"
		}
		out += userinfo(name, password) + "@"
	}
	out += host + path
	if query := x.r.URL.RawQuery; query != "" || prof.emptyQuery() && !x.e.opt.NoTrailingQuery {
		out += "?" + query
	}
	return out
}

func (x *exchange) feLoad() {
	x.label, x.op = x.r.Header.Get("label"), opLoad
	if f, v := x.at(FEBeforeAnswer); v == over {
		return
	} else if v == special {
		x.failed(f.Message)
		return
	}
	prof := x.e.profile
	h := prof.heard(x.r.Header)
	mode, err := groupMode(h.Get("group_commit"))
	if err != nil {
		x.failed("Header `group_commit` can only be `sync_mode`, `async_mode` or `off_mode`.")
		return
	}
	if token := h.Get("token"); token != "" && prof.tokenFirst() { // no cluster token fits
		x.entity(unauthorized("Invalid token: " + token))
		return
	}
	if token := h.Get("token"); token != "" && !prof.tokenFirst() && !x.account() {
		x.entity(unauthorized("Invalid token: " + token))
		return
	}
	u, ok := x.login()
	if !ok {
		return
	}
	switch {
	case len(h.Values("Expect")) == 0:
		x.failed("There is no 100-continue header")
	case x.db == "":
		x.failed("No database selected.")
	case x.table == "":
		x.failed("No table selected.")
	case !u.mayLoad(x.db):
		x.failed(x.e.profile.needLoad())
	case mode == "" || mode == offMode:
		x.redirectToBE(false)
	case x.groupTarget():
		x.redirectToBE(prof.groupAffinity())
	}
}

// groupTarget checks what only group commit needs to exist at the FE.
func (x *exchange) groupTarget() bool {
	c := x.e.cat
	c.mu.Lock()
	db, table := c.dbs[x.db], c.table(x.db, x.table)
	c.mu.Unlock()
	switch {
	case x.e.opt.AutoCreate || table != nil:
		return true
	case db == nil:
		x.failed("Database not found.")
	default:
		x.failed("OlapTable not found.")
	}
	return false
}

// redirectToBE chooses the next BE in turn, or the one that the table has for its
// group commits.
func (x *exchange) redirectToBE(affine bool) {
	f, v := x.at(FERedirect)
	if v == over {
		return
	}
	var host, refusal string
	switch {
	case v == special && f.Do == DeadBE:
		host = x.e.dead.addr
	case v == special && f.Do == Fail:
		x.failed(f.Message)
		return
	case v == goOn:
		n := x.e.pickBE(x.n)
		if affine {
			n = x.e.pickGroupBE(x.db, x.table)
		}
		if n != nil {
			host, refusal = x.endpoint(n)
		}
	}
	if refusal != "" {
		x.failed(refusal)
		return
	}
	if host == "" {
		x.failed("errCode = 2, detailMessage = No backend load available., policy: needLoadAvailable")
		return
	}
	x.rawAnswer(http.StatusTemporaryRedirect, "text/html;charset=utf-8", x.location(host), nil)
}

// pickBE takes the next BE in turn that is up.
func (e *Emulator) pickBE(fe *node) *node {
	for range e.bes {
		n := e.bes[int(fe.turn.Add(1)-1)%len(e.bes)]
		if n.isUp() {
			return n
		}
	}
	return nil
}

func (x *exchange) fe2PC() {
	x.label, x.op = x.r.Header.Get("label"), strings.ToLower(x.r.Header.Get("txn_operation"))
	if f, v := x.at(FEBeforeAnswer); v == over {
		return
	} else if v == special {
		x.failed(f.Message)
		return
	}
	if _, ok := x.login(); !ok {
		return
	}
	switch h := x.r.Header; {
	case h.Get("txn_id") == "" && !x.e.profile.labels2PC():
		x.failed("No transaction id selected.")
	case h.Get("txn_id") == "" && h.Get("label") == "":
		x.failed("No transaction id or label selected.")
	case h.Get("txn_operation") == "":
		x.failed("No transaction operation('commit' or 'abort') selected.")
	default:
		x.redirectToBE(false)
	}
}

func (x *exchange) feHTTPStream() {
	if _, ok := x.login(); ok {
		x.failed("the emulator does not support http_stream")
	}
}
