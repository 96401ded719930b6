package decide

import (
	"testing"
	"time"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// The lines of the table of outcomes, one test each: what is known, and what is done.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	stable := func(p *Policy) { p.StableLabel = true }
	for _, test := range []struct {
		name   string
		policy func(*Policy)
		turns  []turn
	}{
		{"Success: ack", nil, []turn{
			{0, saying(200, success), ack(BySuccess)},
		}},
		{"Publish Timeout: ack", nil, []turn{
			{0, saying(200, publish), ack(ByPublishTimeout)},
		}},
		{"Label Already Exists + FINISHED: ack", nil, []turn{
			{0, saying(200, finished), ack(ByLabelFinished)},
		}},
		{"Label Already Exists + FINISHED, stable label, nothing sent by us: ack", stable, []turn{
			{0, refusing(200, finished), ack(ByLabelFinished)},
		}},
		{"Label Already Exists + FINISHED, random label, nothing sent by us: another load's, fresh label", nil, []turn{
			{0, refusing(200, finished), resendAction(1, backoff0)},
		}},
		{"Label Already Exists + RUNNING: poll", nil, []turn{
			{0, saying(200, running), pollAction(0, poll0)},
			{1, state(answer.StateVisible), ack(ByStateVisible)},
		}},
		{"Label Already Exists + PRECOMMITTED: poll", nil, []turn{
			{0, saying(200, precommitted), pollAction(0, poll0)},
		}},
		{"Label Already Exists + nothing: poll", nil, []turn{
			{0, saying(200, `{"Status":"Label Already Exists"}`), pollAction(0, poll0)},
		}},
		{"Label Already Exists + FINISHED with an error status: poll", nil, []turn{
			{0, saying(400, finished), pollAction(0, poll0)},
		}},
		{"Fail whose text says the label is used: poll", nil, []turn{
			{0, saying(200, usedByFail), pollAction(0, poll0)},
		}},
		{"Fail whose text says the label is used, stable label, nothing sent by us: poll", stable, []turn{
			{0, refusing(200, usedByFail), pollAction(0, poll0)},
			{1, state(answer.StateVisible), ack(ByStateVisible)},
		}},
		{"nothing was sent: resend, same label, no poll, next FE", nil, []turn{
			{0, unreachable(), resendAction(0, 0)}, // the other FE at once
			{1, unreachable(), resendAction(0, backoff1)},
			{2, attempt(Attempt{Trouble: TLSFailed}), resendAction(0, backoff2)},
			{3, saying(200, success), ack(BySuccess)},
		}},
		{"nothing was sent, FE refused before a redirect: resend, same label, no poll, next FE", nil, []turn{
			{0, refusing(200, feFailed), resendAction(0, 0)},
			{1, refusing(200, feDenied), resendAction(0, backoff1)},
			{2, refusing(503, html), resendAction(0, backoff2)},
			{3, refusing(200, html), nack(RetriesUsed, false)},
		}},
		{"any other answered failure, non-2xx: look at the label, then resend", nil, []turn{
			{0, saying(400, `{"status":"FAILED","msg":"bad request"}`), pollAction(0, 0)},
			{1, state(answer.StateAborted), resendAction(1, backoff0)},
		}},
		{"any other answered failure, Fail: look at the label, then resend", nil, []turn{
			{0, saying(200, fail), pollAction(0, 0)},
			{1, state(answer.StateAborted), resendAction(1, backoff0)},
			{2, saying(200, success), Action{Kind: Done, Label: 1, Outcome: Outcome{Committed: true, Evidence: BySuccess}}},
		}},
		{"any other answered failure, Fail that was committed all the same: ack", nil, []turn{
			{0, saying(200, fail), pollAction(0, 0)},
			{1, state(answer.StateCommitted), ack(ByStateCommitted)},
		}},
		{"any other answered failure, FAILED of an FE behind a proxy that took the body", nil, []turn{
			{0, saying(200, feFailed), pollAction(0, 0)},
			{1, state(answer.StateUnknown), resendAction(0, backoff0)},
		}},
		{"any other answered failure, code 401", nil, []turn{
			{0, saying(200, feDenied), pollAction(0, 0)},
		}},
		{"connection lost after sending: poll", nil, []turn{
			{0, lostAnswer(), pollAction(0, poll0)},
		}},
		{"timeout: poll", nil, []turn{
			{0, attempt(Attempt{Sent: MaybeReceived, Trouble: TimedOut}), pollAction(0, poll0)},
		}},
		{"unreadable 2xx: poll", nil, []turn{
			{0, saying(200, success[:len(success)-9]), pollAction(0, poll0)},
		}},
		{"2xx without a status: poll", nil, []turn{
			{0, saying(200, `{}`), pollAction(0, poll0)},
		}},
		{"2xx with a word that nobody knows: poll", nil, []turn{
			{0, saying(200, `{"TxnId":7,"Status":"TXN_IN_PROCESSING"}`), pollAction(0, poll0)},
		}},
		{"5xx from something in between: poll", nil, []turn{
			{0, saying(502, html), pollAction(0, poll0)},
		}},
		{"5xx with a readable failure: poll, and no fresh label after ABORTED", nil, []turn{
			{0, saying(504, fail), pollAction(0, poll0)},
			{1, state(answer.StateAborted), resendAction(0, backoff0)},
		}},
		{"5xx with a readable success: poll", nil, []turn{
			{0, saying(500, success), pollAction(0, poll0)},
		}},
		{"408 with a readable failure: poll, and no fresh label after ABORTED", nil, []turn{
			{0, saying(408, fail), pollAction(0, poll0)},
			{1, state(answer.StateAborted), resendAction(0, backoff0)},
		}},
		{"poll: VISIBLE: ack, no resend", nil, []turn{
			{0, lostAnswer(), pollAction(0, poll0)},
			{1, state(answer.StateVisible), ack(ByStateVisible)},
		}},
		{"poll: COMMITTED: ack, no resend", nil, []turn{
			{0, lostAnswer(), pollAction(0, poll0)},
			{1, state(answer.StateCommitted), ack(ByStateCommitted)},
		}},
		{"poll: ABORTED, every request answered: resend, fresh label", nil, []turn{
			{0, saying(200, fail), pollAction(0, 0)},
			{1, state(answer.StateAborted), resendAction(1, backoff0)},
			{2, saying(200, fail), pollAction(1, 0)},
			{3, state(answer.StateAborted), resendAction(2, backoff1)},
		}},
		{"poll: ABORTED, a request unanswered: resend, same label", nil, []turn{
			{0, lostAnswer(), pollAction(0, poll0)},
			{1, state(answer.StateAborted), resendAction(0, backoff0)},
			{2, saying(200, fail), pollAction(0, 0)},
			{3, state(answer.StateAborted), resendAction(0, backoff1)}, // the first may still land
		}},
		{"poll: ABORTED, stable label: resend, same label", stable, []turn{
			{0, saying(200, fail), pollAction(0, 0)},
			{1, state(answer.StateAborted), resendAction(0, backoff0)},
		}},
		{"poll: UNKNOWN after an unanswered request: resend, same label", nil, []turn{
			{0, lostAnswer(), pollAction(0, poll0)},
			{1, state(answer.StateUnknown), resendAction(0, backoff0)},
		}},
		{"poll: UNKNOWN after an answered failure: resend, same label", nil, []turn{
			{0, saying(200, neverBegan), pollAction(0, 0)},
			{1, state(answer.StateUnknown), resendAction(0, backoff0)},
		}},
		{"poll: PREPARE, PRECOMMITTED: poll on", nil, []turn{
			{0, lostAnswer(), pollAction(0, poll0)},
			{1, state(answer.StatePrepare), pollAction(0, poll1)},
			{2, state(answer.StatePrecommitted), pollAction(0, 2*poll1)},
			{3, state(answer.StateVisible), ack(ByStateVisible)},
		}},
		{"poll: PREPARE until the time is over: cancel the label, look again", nil, []turn{
			{0, lostAnswer(), pollAction(0, poll0)},
			{4 * time.Minute, state(answer.StatePrepare), pollAction(0, poll1)},
			{5 * time.Minute, state(answer.StatePrepare), Action{Kind: CancelLabel}},
			{5 * time.Minute, Event{Kind: LabelCancelled}, pollAction(0, poll0)},
			{5 * time.Minute, state(answer.StateAborted), resendAction(0, backoff0)},
		}},
		{"poll: PREPARE after cancelling: still open, no resend", nil, []turn{
			{0, lostAnswer(), pollAction(0, poll0)},
			{5 * time.Minute, state(answer.StatePrepare), Action{Kind: CancelLabel}},
			{5 * time.Minute, Event{Kind: LabelCancelled}, pollAction(0, poll0)},
			{5 * time.Minute, state(answer.StatePrepare), pollAction(0, poll0)},
			{5 * time.Minute, state(answer.StatePrepare), pollAction(0, poll0)},
			{5 * time.Minute, state(answer.StatePrepare), nack(StillOpen, true)},
		}},
		{"poll: PREPARE after an answered failure: its rows may be stored", nil, []turn{
			{0, saying(200, neverBegan), pollAction(0, 0)},
			{1, state(answer.StatePrepare), pollAction(0, poll1)},
			{5*time.Minute + 1, state(answer.StatePrepare), Action{Kind: CancelLabel}},
			{5 * time.Minute, Event{Kind: LabelCancelled}, pollAction(0, poll0)},
			{5 * time.Minute, state(answer.StatePrepare), pollAction(0, poll0)},
			{5 * time.Minute, state(answer.StatePrepare), pollAction(0, poll0)},
			{5 * time.Minute, noState(), nack(StillOpen, true)},
		}},
		{"poll itself fails: poll on until its time is over, unanswered: unresolved", nil, []turn{
			{0, lostAnswer(), pollAction(0, poll0)},
			{1, noState(), pollAction(0, poll1)},
			{5 * time.Minute, noState(), nack(StillOpen, true)},
		}},
		{"poll itself fails: poll on until its time is over, answered: resend, same label", nil, []turn{
			{0, saying(200, fail), pollAction(0, 0)},
			{1, noState(), pollAction(0, poll1)},
			{5 * time.Minute, noState(), resendAction(0, backoff0)},
		}},
		{"poll rejected outright after an answered failure: resend, same label", nil, []turn{
			{0, saying(200, fail), pollAction(0, 0)},
			{1, stateRefused(), resendAction(0, backoff0)},
		}},
		{"poll rejected outright after an unanswered request: unresolved", nil, []turn{
			{0, lostAnswer(), pollAction(0, poll0)},
			{1, stateRefused(), nack(StateRefused, true)},
		}},
		{"still open at the end: fail without a resend", nil, []turn{
			{0, lostAnswer(), pollAction(0, poll0)},
			{1, state(answer.StateUnknown), resendAction(0, backoff0)},
			{2, lostAnswer(), pollAction(0, poll0)},
			{3, state(answer.StateUnknown), resendAction(0, backoff1)},
			{4, lostAnswer(), pollAction(0, poll0)},
			{5, state(answer.StateUnknown), resendAction(0, backoff2)},
			{6, lostAnswer(), pollAction(0, poll0)},
			{7, state(answer.StateUnknown), nack(RetriesUsed, true)},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := policyOfTests()
			if test.policy != nil {
				test.policy(&p)
			}
			play(t, p, test.turns)
		})
	}
}
