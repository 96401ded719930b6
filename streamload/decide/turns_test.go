package decide

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// policyOfTests has the defaults of the client.
func policyOfTests() Policy {
	return Policy{
		MaxRetries: 3,
		Backoff:    Backoff{500 * time.Millisecond, 10 * time.Second, 10 * time.Minute},
		LabelPoll:  Backoff{200 * time.Millisecond, 5 * time.Second, 5 * time.Minute},
		FEs:        2,
	}
}

// turn is an event and what must follow from it.
type turn struct {
	at    time.Duration // since the delivery began
	event Event
	want  Action
}

func play(t *testing.T, p Policy, turns []turn) State {
	t.Helper()
	s, act := Start(p)
	require.Equal(t, Action{Kind: Send}, act)
	for i, turn := range turns {
		ev := turn.event
		ev.Now = turn.at
		s, act = Step(s, ev)
		want := turn.want
		want.Outcome.Debt = act.Outcome.Debt // which the oracle judges
		require.Equal(t, want, act, "turn %d: %+v", i, ev)
	}
	return s
}

// Events.

func attempt(a Attempt) Event { return Event{Kind: Attempted, Attempt: a} }

// saying is an answer to a body that was sent whole.
func saying(httpStatus int, body string) Event {
	return attempt(Attempt{Sent: Answered, WholeBody: true, HasAnswer: true, HTTPStatus: httpStatus, Load: answer.ParseLoad([]byte(body))})
}

// refusing is an answer before any of the body was sent.
func refusing(httpStatus int, body string) Event {
	return attempt(Attempt{HasAnswer: true, HTTPStatus: httpStatus, Load: answer.ParseLoad([]byte(body))})
}

func unreachable() Event { return attempt(Attempt{Trouble: Unreachable}) }
func lostAnswer() Event  { return attempt(Attempt{Sent: MaybeReceived, Trouble: ConnectionLost}) }

func state(s answer.LabelState) Event { return Event{Kind: Polled, Poll: Poll{State: s}} }
func noState() Event                  { return Event{Kind: Polled} }
func stateRefused() Event             { return Event{Kind: Polled, Poll: Poll{Rejected: true}} }

// Actions.

func resendAction(label int, after time.Duration) Action {
	return Action{Kind: Send, Label: label, After: after, NextFE: true}
}

func pollAction(label int, after time.Duration) Action {
	return Action{Kind: AskState, Label: label, After: after}
}

func ack(e Evidence) Action {
	return Action{Kind: Done, Outcome: Outcome{Committed: true, Evidence: e}}
}

func nack(r Reason, open bool) Action {
	return Action{Kind: Done, Outcome: Outcome{Reason: r, Open: open}}
}

const (
	success      = `{"TxnId":7,"Status":"Success","Message":"OK","NumberTotalRows":2}`
	publish      = `{"TxnId":7,"Status":"Publish Timeout","Message":"[PUBLISH_TIMEOUT]TStatus: transaction commit successfully, BUT data will be visible later"}`
	finished     = `{"TxnId":-1,"Status":"Label Already Exists","ExistingJobStatus":"FINISHED","Message":"[LABEL_ALREADY_EXISTS]TStatus: errCode = 2, detailMessage = Label [b] has already been used, relate to txn [7]"}`
	running      = `{"TxnId":-1,"Status":"Label Already Exists","ExistingJobStatus":"RUNNING","Message":"[LABEL_ALREADY_EXISTS]TStatus: errCode = 2, detailMessage = Label [b] has already been used, relate to txn [7]"}`
	precommitted = `{"TxnId":-1,"Status":"Label Already Exists","ExistingJobStatus":"PRECOMMITTED","Message":"Label [b] has already been used"}`
	usedByFail   = `{"TxnId":-1,"Status":"Fail","Message":"errCode = 2, detailMessage = Label [b] has already been used, relate to txn [7]"}`
	fail         = `{"TxnId":7,"Status":"Fail","Message":"[INTERNAL_ERROR]tablet writer write failed"}`
	neverBegan   = `{"TxnId":-1,"Status":"Fail","Message":"[ANALYSIS_ERROR]TStatus: errCode = 2, detailMessage = unknown table, tableName=t"}`
	feFailed     = `{"status":"FAILED","msg":"There is no 100-continue header"}`
	feDenied     = `{"msg":"Unauthorized","code":401,"data":"Access denied for user 'root@10.0.0.1' (using password: YES)","count":0}`
	html         = `<html><body>502 Bad Gateway</body></html>`
)

const (
	ms = time.Millisecond
	// The first waits of the policy of these tests.
	backoff0, backoff1, backoff2 = 500 * ms, time.Second, 2 * time.Second
	poll0, poll1                 = 200 * ms, 400 * ms
)
