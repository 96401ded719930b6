package wire

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/dorisload/benthos-doris/test/cases/internal/script"
)

// serve answers the request. It tells whether the connection stays open.
func (x *exchange) serve() bool {
	if x.cluster.mayNeedBody(x.req.On) {
		x.readBody(nil)
	}
	chosen := x.cluster.choose(x)
	if chosen == nil {
		return x.give(x.fallback())
	}
	if ms := chosen.CancelAfterMS; ms != nil && x.firstUse {
		x.cluster.interruptAfter(time.Duration(*ms) * time.Millisecond)
	}
	if chosen.Fault != "" {
		return x.fail(chosen)
	}
	body, err := script.Expand(chosen.Reply.Body, x.tokens(false))
	if err != nil {
		x.cluster.complain("step %d: %v", chosen.index, err)
	}
	return x.give(answer{step: chosen, reply: chosen.Reply, body: body, stores: stores(chosen.Stores, body)})
}

// stores tells whether an answer makes the rows of its request durable.
func stores(told *bool, body string) bool {
	if told != nil {
		return *told
	}
	return succeeded(statusWord(body))
}

// answer is a reply that is ready to be given.
type answer struct {
	step   *step // nil for the defaults
	reply  *script.Reply
	body   string
	stores bool
	// late makes the body when the request's own body is there.
	late func(body []byte) string
}

// fallback answers what no step scripts.
func (x *exchange) fallback() answer {
	jsonReply := func(status int) *script.Reply {
		return &script.Reply{Status: status, Headers: map[string]string{"Content-Type": "application/json"}}
	}
	switch {
	case x.req.ToFrontend():
		return answer{reply: redirectToBackend()}
	case x.req.ToBackend():
		return answer{
			reply: jsonReply(http.StatusOK), stores: true,
			late: func(body []byte) string { return x.cluster.loadAnswer(x, body) },
		}
	case x.req.StatePoll():
		state := x.cluster.state(x.req.Label)
		body := asJSON(map[string]any{"msg": "success", "code": 0, "data": state, "count": 0})
		if x.cluster.opts.StarRocks {
			body = asJSON(map[string]any{"state": state, "reason": "", "status": "OK", "msg": "Success"})
		}
		return answer{reply: jsonReply(http.StatusOK), body: body}
	case x.req.On == OnCancel:
		body := asJSON(map[string]any{"msg": "success", "code": 0, "data": nil, "count": 0})
		if !x.cluster.abort(x.req.Label) {
			body = asJSON(map[string]any{"msg": "Error", "code": 1, "data": "the transaction is already VISIBLE, could not abort", "count": 0})
		}
		return answer{reply: jsonReply(http.StatusOK), body: body}
	case x.req.On == script.OnTxn:
		verb := strings.TrimSpace(x.head.Header.Get("txn_operation"))
		body := asJSON(map[string]any{"status": "Success", "msg": fmt.Sprintf("transaction %s successfully.", verb)})
		return answer{reply: jsonReply(http.StatusOK), body: body, stores: true}
	default:
		body := asJSON(map[string]any{"msg": "Not Found", "code": 404, "data": nil, "count": 0})
		return answer{reply: jsonReply(http.StatusNotFound), body: body}
	}
}

// redirectToBackend is what a frontend does with a load.
func redirectToBackend() *script.Reply {
	return &script.Reply{Status: http.StatusTemporaryRedirect, Headers: map[string]string{
		"Content-Type": "text/html;charset=utf-8",
		"Location":     "http://{{USER}}:{{PASS}}@{{BE}}{{PATH}}?",
	}}
}

// wantsBody tells whether the body is read before the answer: by a backend
// unless the reply says otherwise, by a frontend only where something depends
// on it.
func (x *exchange) wantsBody(a answer) bool {
	switch {
	case a.reply.BeforeBody:
		return false
	case !x.req.ToFrontend() || a.reply.ConsumeBody || a.stores:
		return true
	}
	return a.step != nil && a.step.Check.NeedBody()
}

func (x *exchange) give(a answer) bool {
	if x.wantsBody(a) && !x.readBody(a.reply) {
		x.note("the client left before the end of the body")
		return false
	}
	x.check(a.step)
	if a.late != nil {
		a.body = a.late(x.body)
		a.stores = succeeded(statusWord(a.body))
	}
	x.settle(a.step, a.stores, a.body)
	if !x.cluster.sleep(time.Duration(a.reply.DelayMS) * time.Millisecond) {
		return false
	}
	x.note(fmt.Sprintf("%d %s", a.reply.Status, excerpt(a.body)))
	x.cluster.answered(x, a.body)
	closes := x.send(a)
	switch {
	case closes:
		x.linger()
		return false
	case x.consumed || a.reply.KeepAliveNoDrain:
		x.closeIdleAfter = time.Duration(a.reply.CloseIdleAfterMS) * time.Millisecond
		return true
	default:
		return x.drain()
	}
}

// settle does to the rows what the answer says of them.
func (x *exchange) settle(s *step, stores bool, body string) {
	switch {
	case x.req.On == script.OnTxn:
		if stores {
			x.cluster.settle(x, !strings.EqualFold(x.head.Header.Get("txn_operation"), "abort"))
		}
	case !x.req.Load() || !x.req.BodyComplete || !x.consumed:
	case x.twoPhase() && (s == nil || s.Stores == nil || !*s.Stores):
		if succeeded(statusWord(body)) {
			x.cluster.precommit(x.req.Label, x.body)
		}
	case stores:
		x.cluster.store(x.req.Label, x.body)
	}
}

// check makes the tests of expect_request; a miss goes on record.
func (x *exchange) check(s *step) {
	if s == nil {
		return
	}
	x.cluster.mu.Lock()
	misses := x.cluster.misses(s.Check, x)
	x.cluster.mu.Unlock()
	for _, miss := range misses {
		x.cluster.complain("step %d expects of the request at %s: %s", s.index, x.server.role, miss)
	}
}

func (x *exchange) note(text string) {
	x.cluster.mu.Lock()
	defer x.cluster.mu.Unlock()
	x.req.Answer = text
}

// fail does what the fault says. No connection survives it.
func (x *exchange) fail(s *step) bool {
	x.note(s.Fault)
	told := s.Stores != nil && *s.Stores
	takeBody := func() bool {
		complete := x.readBody(s.Reply)
		x.check(s)
		if complete {
			x.settle(s, told, "")
		}
		return complete
	}
	switch s.Fault {
	case script.FaultRefuse:
		if s.Times == -1 {
			x.server.close(x.tcp)
		}
		x.reset()
	case script.FaultResetAfterHeaders:
		x.check(s)
		x.reset()
	case script.FaultResetAfterBody:
		takeBody()
		x.reset()
	case script.FaultCloseOnReuse:
		x.check(s)
	case script.FaultHang:
		takeBody()
		x.wait()
	case script.FaultStall:
		if x.expects100() {
			x.sendContinue()
		}
		<-x.cluster.ctx.Done() // nothing is read, so nothing tells when the client leaves
	case script.FaultRedirectReset:
		x.check(s)
		x.redirectAndReset(s)
	case script.FaultSendRaw:
		takeBody()
		raw, err := hex.DecodeString(s.RawHex)
		if err != nil || len(raw) == 0 {
			x.cluster.complain("step %d: raw_hex is %q", s.index, s.RawHex)
		}
		x.write(string(raw))
		x.linger()
	}
	return false
}

func (x *exchange) redirectAndReset(s *step) {
	reply := s.Reply
	if reply == nil {
		reply = redirectToBackend()
	}
	x.send(answer{step: s, reply: reply})
	// A client that waits for 100 Continue sends nothing now; one that does not
	// is cut off while it writes.
	_ = x.conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if x.rest != nil {
		one := make([]byte, 1)
		n, _ := x.rest.Read(one)
		x.unasked(one[:n])
	}
	x.reset()
}

func excerpt(body string) string {
	const most = 160
	body = strings.TrimSpace(body)
	if len(body) > most {
		return body[:most] + "…"
	}
	return body
}
