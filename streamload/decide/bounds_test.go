package decide

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

func TestBounds(t *testing.T) {
	t.Parallel()
	minute := func(p *Policy) { p.Backoff.MaxElapsed = time.Minute }
	for _, test := range []struct {
		name   string
		policy func(*Policy)
		turns  []turn
	}{
		{"max_retries counts resends", nil, []turn{
			{0, refusing(503, html), resendAction(0, 0)},
			{1, refusing(503, html), resendAction(0, backoff1)},
			{2, refusing(503, html), resendAction(0, backoff2)},
			{3, refusing(503, html), nack(RetriesUsed, false)},
		}},
		{"max_retries -1 sends once", func(p *Policy) { p.MaxRetries = -1 }, []turn{
			{0, refusing(503, html), nack(RetriesUsed, false)},
		}},
		{"max_retries 0 sends once, and still learns the fate of that", func(p *Policy) { p.MaxRetries = 0 }, []turn{
			{0, saying(200, fail), pollAction(0, 0)},
			{1, state(answer.StateVisible), ack(ByStateVisible)},
		}},
		{"polls are not counted", func(p *Policy) { p.MaxRetries = 1 }, []turn{
			{0, saying(200, fail), pollAction(0, 0)},
			{1, noState(), pollAction(0, poll1)},
			{2, state(answer.StatePrepare), pollAction(0, 2*poll1)},
			{3, state(answer.StateAborted), resendAction(1, backoff0)},
		}},
		{"no resend begins after max_elapsed_time", minute, []turn{
			{0, unreachable(), resendAction(0, 0)},
			{59 * time.Second, unreachable(), resendAction(0, backoff1)},
			{60 * time.Second, unreachable(), nack(TimeUsed, false)},
		}},
		{"max_elapsed_time bounds polls as well", minute, []turn{
			{0, lostAnswer(), pollAction(0, poll0)},
			{59 * time.Second, noState(), pollAction(0, poll1)},
			{60 * time.Second, noState(), nack(StillOpen, true)},
		}},
		{"at a bound, a label with an unanswered request is looked at once more", minute, []turn{
			{0, lostAnswer(), pollAction(0, poll0)},
			{1, state(answer.StateUnknown), resendAction(0, backoff0)},
			{61 * time.Second, unreachable(), pollAction(0, 0)},
			{61 * time.Second, state(answer.StateVisible), ack(ByStateVisible)},
		}},
		{"at a bound, a look that finds nothing leaves it open", minute, []turn{
			{0, lostAnswer(), pollAction(0, poll0)},
			{1, state(answer.StateUnknown), resendAction(0, backoff0)},
			{61 * time.Second, unreachable(), pollAction(0, 0)},
			{61 * time.Second, state(answer.StateUnknown), nack(TimeUsed, true)},
		}},
		{"at a bound, ABORTED after an answered failure closes it", func(p *Policy) { p.MaxRetries = 0 }, []turn{
			{0, saying(200, fail), pollAction(0, 0)},
			{1, state(answer.StateAborted), nack(RetriesUsed, false)},
		}},
		{"at a bound, UNKNOWN after a begin that was refused is not open", func(p *Policy) { p.MaxRetries = 0 }, []turn{
			{0, saying(200, neverBegan), pollAction(0, 0)},
			{1, state(answer.StateUnknown), nack(RetriesUsed, false)},
		}},
		{"a stale connection is tried again at once and not counted, once", func(p *Policy) { p.MaxRetries = 1 }, []turn{
			{0, attempt(Attempt{Trouble: ConnectionLost, Stale: true}), Action{Kind: Send}},
			{1, attempt(Attempt{Trouble: ConnectionLost, Stale: true}), resendAction(0, 0)},
			{2, attempt(Attempt{Trouble: ConnectionLost, Stale: true}), nack(RetriesUsed, false)},
		}},
		{"a BE that no FE was asked for is gone: an FE is asked at once and it is not counted, once", func(p *Policy) { p.MaxRetries = 1 }, []turn{
			{0, attempt(Attempt{Trouble: Unreachable, Direct: true}), Action{Kind: Send}},
			{1, attempt(Attempt{Trouble: Unreachable, Direct: true}), resendAction(0, 0)},
			{2, attempt(Attempt{Trouble: Unreachable}), nack(RetriesUsed, false)},
		}},
		{"somebody else has the address of a BE that no FE was asked for", func(p *Policy) { p.MaxRetries = 0 }, []turn{
			{0, attempt(Attempt{Direct: true, HasAnswer: true, HTTPStatus: 404}), Action{Kind: Send}},
			{1, attempt(Attempt{Trouble: Unreachable}), nack(RetriesUsed, false)},
		}},
		{"a refusal in Doris' words counts, also by a BE that no FE was asked for", func(p *Policy) { p.MaxRetries = 0 }, []turn{
			{0, attempt(Attempt{Direct: true, HasAnswer: true, HTTPStatus: 200, Load: answer.ParseLoad([]byte(fail))}), nack(RetriesUsed, false)},
		}},
		{"what may have left counts, also to a BE that no FE was asked for", func(p *Policy) { p.MaxRetries = 0 }, []turn{
			{0, attempt(Attempt{Trouble: ConnectionLost, Direct: true, Sent: MaybeReceived}), pollAction(0, poll0)},
		}},
		{"a stale connection after max_elapsed_time is the end", minute, []turn{
			{61 * time.Second, attempt(Attempt{Trouble: ConnectionLost, Stale: true}), nack(TimeUsed, false)},
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

func TestEmptyLoadIsNeverTheRows(t *testing.T) {
	t.Parallel()
	stable := func(p *Policy) { p.StableLabel = true }
	partly := func(body string) Event {
		return attempt(Attempt{Sent: Answered, HasAnswer: true, HTTPStatus: 200, Load: answer.ParseLoad([]byte(body))})
	}
	for _, test := range []struct {
		name   string
		policy func(*Policy)
		turns  []turn
	}{
		{"Success without a body: fresh label", nil, []turn{
			{0, refusing(200, success), resendAction(1, 0)},
			{1, refusing(200, publish), resendAction(2, backoff1)},
		}},
		{"Success without a body at the end: failed, and not open", func(p *Policy) { p.MaxRetries = 0 }, []turn{
			{0, refusing(200, success), nack(RetriesUsed, false)},
		}},
		{"Success without a body, stable label, then FINISHED: nobody can tell", stable, []turn{
			{0, refusing(200, success), resendAction(0, 0)},
			{1, refusing(200, finished), nack(StillOpen, true)},
		}},
		{"Success without a body while an earlier request is unanswered, then VISIBLE: nobody can tell", nil, []turn{
			{0, lostAnswer(), pollAction(0, poll0)},
			{1, state(answer.StateUnknown), resendAction(0, backoff0)},
			{2, refusing(200, success), resendAction(0, 0)},
			{3, lostAnswer(), pollAction(0, poll0)},
			{4, state(answer.StateVisible), nack(StillOpen, true)},
		}},
		{"Success to a part of the body, then VISIBLE: nobody can tell", nil, []turn{
			{0, partly(success), pollAction(0, poll0)},
			{1, state(answer.StateVisible), nack(StillOpen, true)},
		}},
		{"Success to a part of the body, then to all of it: ack", nil, []turn{
			{0, partly(success), pollAction(0, poll0)},
			{1, state(answer.StateUnknown), resendAction(0, backoff0)},
			{2, saying(200, success), ack(BySuccess)},
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

func TestCancelled(t *testing.T) {
	t.Parallel()
	cancelled := func(ev Event) Event { ev.Cancelled = true; return ev }
	interrupted := Event{Kind: Interrupted, Cancelled: true}
	for name, turns := range map[string][]turn{
		"before anything was sent": {
			{0, interrupted, nack(Stopped, false)},
		},
		"while the request was refused": {
			{0, cancelled(unreachable()), nack(Stopped, false)},
		},
		"while a request was on its way: one last look": {
			{0, cancelled(lostAnswer()), pollAction(0, 0)},
			{1, cancelled(state(answer.StateVisible)), ack(ByStateVisible)},
		},
		"the last look does not help": {
			{0, cancelled(lostAnswer()), pollAction(0, 0)},
			{1, cancelled(state(answer.StatePrepare)), nack(Stopped, true)},
		},
		"the last look fails": {
			{0, cancelled(lostAnswer()), pollAction(0, 0)},
			{1, cancelled(noState()), nack(Stopped, true)},
		},
		"the last look is not allowed": {
			{0, cancelled(lostAnswer()), pollAction(0, 0)},
			{1, cancelled(stateRefused()), nack(StateRefused, true)},
		},
		"the last look is interrupted": {
			{0, cancelled(lostAnswer()), pollAction(0, 0)},
			{1, interrupted, nack(Stopped, true)},
		},
		"the answer that comes in the grace counts": {
			{0, cancelled(saying(200, success)), ack(BySuccess)},
		},
		"between two polls: one last look": {
			{0, lostAnswer(), pollAction(0, poll0)},
			{1, interrupted, pollAction(0, 0)},
			{2, cancelled(state(answer.StateAborted)), nack(Stopped, true)},
		},
		"before a resend, every request answered": {
			{0, saying(200, fail), pollAction(0, 0)},
			{1, state(answer.StateAborted), resendAction(1, backoff0)},
			{2, interrupted, Action{Kind: Done, Label: 1, Outcome: Outcome{Reason: Stopped}}},
		},
		"before a resend, a request unanswered: one last look": {
			{0, lostAnswer(), pollAction(0, poll0)},
			{1, state(answer.StateUnknown), resendAction(0, backoff0)},
			{2, interrupted, pollAction(0, 0)},
			{3, cancelled(state(answer.StateUnknown)), nack(Stopped, true)},
		},
		"instead of cancelling the label: one last look": {
			{0, lostAnswer(), pollAction(0, poll0)},
			{5 * time.Minute, state(answer.StatePrepare), Action{Kind: CancelLabel}},
			{5 * time.Minute, interrupted, pollAction(0, 0)},
		},
		"while the label was being cancelled: one last look, at once": {
			{0, lostAnswer(), pollAction(0, poll0)},
			{5 * time.Minute, state(answer.StatePrepare), Action{Kind: CancelLabel}},
			{5 * time.Minute, Event{Kind: LabelCancelled, Cancelled: true}, pollAction(0, 0)},
			{5 * time.Minute, cancelled(state(answer.StatePrepare)), nack(Stopped, true)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, policyOfTests(), turns)
		})
	}
}

// Group commit: the server makes the label, so nothing can be asked for.
func TestUnlabelled(t *testing.T) {
	t.Parallel()
	for name, turns := range map[string][]turn{
		"Success":           {{0, saying(200, success), ack(BySuccess)}},
		"answered failure":  {{0, saying(200, fail), resendAction(0, backoff0)}},
		"nothing was sent":  {{0, unreachable(), resendAction(0, 0)}},
		"label exists":      {{0, saying(200, finished), resendAction(0, backoff0)}},
		"no answer":         {{0, lostAnswer(), nack(NoLabel, true)}},
		"not understood":    {{0, saying(200, html), nack(NoLabel, true)}},
		"5xx":               {{0, saying(504, fail), nack(NoLabel, true)}},
		"no body was taken": {{0, refusing(200, success), resendAction(0, 0)}},
		"cancelled":         {{0, Event{Kind: Interrupted}, nack(Stopped, false)}},
		"a state that nobody asked for": {
			{0, state(answer.StateVisible), nack(NoLabel, true)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := policyOfTests()
			p.Unlabelled = true
			play(t, p, turns)
		})
	}
}

// The same where rows must not be stored twice: what a server says of its own trouble does not prove that nothing is stored.
func TestRejectUnknown(t *testing.T) {
	t.Parallel()
	failing := func(message string) Event {
		return saying(200, `{"TxnId":7,"Status":"Fail","Message":"`+message+`"}`)
	}
	for name, turns := range map[string][]turn{
		"Success":           {{0, saying(200, success), ack(BySuccess)}},
		"no answer":         {{0, lostAnswer(), forever(NoLabel)}},
		"5xx":               {{0, saying(504, fail), forever(NoLabel)}},
		"trouble of theirs": {{0, failing("[THRIFT_RPC_ERROR]rpc failed"), forever(NoLabel)}},
		"too slow":          {{0, failing("timeout by 10 s"), forever(NoLabel)}},
		"what nobody knows": {{0, failing("nobody has seen this"), forever(NoLabel)}},
		"bad rows":          {{0, failing("[DATA_QUALITY_ERROR]too many filtered rows"), resendAction(0, backoff0)}},
		"too many versions": {{0, failing("[E-235]too many tablet versions"), resendAction(0, 2*backoff0)}},
		"nothing was sent":  {{0, unreachable(), resendAction(0, 0)}},
		"refused before":    {{0, refusing(200, fail), resendAction(0, 0)}},
		"no answer to the second": {
			{0, unreachable(), resendAction(0, 0)},
			{0, lostAnswer(), forever(NoLabel)},
		},
		"cancelled before anything": {{0, Event{Kind: Interrupted}, nack(Stopped, false)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := policyOfTests()
			p.Unlabelled, p.RejectUnknown = true, true
			play(t, p, turns)
		})
	}
	_, act := StartSettlement(Debt{Forever: true})
	require.Equal(t, SettleAction{Kind: SettleDone, Result: Unsettled, Debt: Debt{Forever: true}}, act, "nobody can be asked")
}

// forever is the end of a load whose rows are not to be sent again.
func forever(r Reason) Action {
	a := nack(r, true)
	a.Outcome.Debt = Debt{Forever: true}
	return a
}

func TestPace(t *testing.T) {
	t.Parallel()
	tooMany := `{"TxnId":7,"Status":"Fail","Message":"[INTERNAL_ERROR]tablet error: [E-235]too many tablet versions"}`
	minute := func(p *Policy) { p.Backoff.MaxElapsed = time.Minute }
	longest := policyOfTests().Backoff.Max
	limited := func(wait time.Duration) Event {
		ev := refusing(429, "slow down")
		ev.Attempt.RetryAfter = wait
		return ev
	}
	for _, test := range []struct {
		name   string
		policy func(*Policy)
		turns  []turn
	}{
		{"capacity waits twice as long", nil, []turn{
			{0, saying(200, tooMany), pollAction(0, 0)},
			{1, state(answer.StateAborted), resendAction(1, 2*backoff0)},
		}},
		{"capacity does not hurry to the next FE", nil, []turn{
			{0, limited(0), resendAction(0, 2*backoff0)},
		}},
		{"Retry-After is not shortened", nil, []turn{
			{0, limited(3 * time.Second), Action{Kind: Send, After: 3 * time.Second, AtLeast: 3 * time.Second, NextFE: true}},
		}},
		{"Retry-After does not shorten our own wait", nil, []turn{
			{0, limited(ms), Action{Kind: Send, After: 2 * backoff0, AtLeast: ms, NextFE: true}},
		}},
		{"Retry-After is capped", nil, []turn{
			{0, limited(24 * time.Hour), Action{Kind: Send, After: 5 * time.Minute, AtLeast: 5 * time.Minute, NextFE: true}},
		}},
		{"Retry-After that just fits the bound", minute, []turn{
			{0, limited(time.Minute), Action{Kind: Send, After: time.Minute, AtLeast: time.Minute, NextFE: true}},
		}},
		{"Retry-After beyond the bound waits our longest wait", minute, []turn{
			{0, limited(2 * time.Minute), Action{Kind: Send, After: longest, AtLeast: longest, NextFE: true}},
			{20 * time.Second, limited(time.Hour), Action{Kind: Send, After: longest, AtLeast: longest, NextFE: true}},
		}},
		{"Retry-After beyond the bound waits what is left", minute, []turn{
			{57 * time.Second, limited(2 * time.Minute), Action{Kind: Send, After: 3 * time.Second, AtLeast: 3 * time.Second, NextFE: true}},
			{time.Minute, limited(2 * time.Minute), nack(TimeUsed, false)},
		}},
		{"Retry-After when nothing is left", minute, []turn{
			{61 * time.Second, limited(time.Second), nack(TimeUsed, false)},
		}},
		{"Retry-After without a bound", func(p *Policy) { p.Backoff.MaxElapsed = 0 }, []turn{
			{24 * time.Hour, limited(2 * time.Minute), Action{Kind: Send, After: 2 * time.Minute, AtLeast: 2 * time.Minute, NextFE: true}},
		}},
		{"with one FE the first resend waits", func(p *Policy) { p.FEs = 1 }, []turn{
			{0, unreachable(), resendAction(0, backoff0)},
		}},
		{"with three FEs the first two resends do not wait", func(p *Policy) { p.FEs = 3; p.MaxRetries = 9 }, []turn{
			{0, unreachable(), resendAction(0, 0)},
			{1, unreachable(), resendAction(0, 0)},
			{2, unreachable(), resendAction(0, backoff2)},
			{3, unreachable(), resendAction(0, 2*backoff2)},
		}},
		{"a request that got through begins the round of FEs anew", nil, []turn{
			{0, unreachable(), resendAction(0, 0)},
			{1, saying(200, fail), pollAction(0, 0)},
			{2, state(answer.StateAborted), resendAction(1, backoff1)},
			{3, unreachable(), resendAction(1, 0)},
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

func TestBackoffWaits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		b    Backoff
		want []time.Duration
	}{
		{"doubles up to the maximum", Backoff{Initial: 500 * ms, Max: 10 * time.Second}, []time.Duration{500 * ms, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second, 10 * time.Second}},
		{"more than half of the maximum", Backoff{Initial: 6 * ms, Max: 10 * ms}, []time.Duration{6 * ms, 10 * ms, 10 * ms}},
		{"a maximum below the first", Backoff{Initial: 6 * ms, Max: 2 * ms}, []time.Duration{2 * ms, 2 * ms}},
		{"nothing", Backoff{}, []time.Duration{0, 0}},
		{"no overflow", Backoff{Initial: 1 << 61, Max: 1<<63 - 1}, []time.Duration{1 << 61, 1 << 62, 1<<63 - 1, 1<<63 - 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for n, want := range test.want {
				require.Equal(t, want, test.b.Wait(n), "wait %d", n)
			}
			require.Equal(t, test.b.Wait(100), test.b.Wait(1<<40), "far out")
		})
	}
}

func TestAmbiguous(t *testing.T) {
	t.Parallel()
	require.True(t, play(t, policyOfTests(), []turn{
		{0, lostAnswer(), pollAction(0, poll0)},
		{1, state(answer.StateVisible), ack(ByStateVisible)},
	}).Ambiguous())
	require.False(t, play(t, policyOfTests(), []turn{
		{0, saying(200, fail), pollAction(0, 0)},
		{1, state(answer.StateVisible), ack(ByStateVisible)},
	}).Ambiguous())
	s := play(t, policyOfTests(), []turn{
		{0, saying(200, fail), pollAction(0, 0)},
		{1, state(answer.StateAborted), resendAction(1, backoff0)},
	})
	require.Equal(t, 1, s.Resends())
}

func TestNames(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	add := func(s string) {
		require.NotEmpty(t, s)
		require.False(t, names[s], s)
		names[s] = true
	}
	for k := Send; k <= Done; k++ {
		add(k.String())
	}
	for e := BySuccess; e <= ByStateCommitted; e++ {
		add(e.String())
	}
	for r := RetriesUsed; r <= NothingCounted; r++ {
		add(r.String())
	}
	for s := NotSent; s <= Answered; s++ {
		add(s.String())
	}
	require.True(t, BySuccess.Visible() && ByStateVisible.Visible())
	require.False(t, ByPublishTimeout.Visible() || ByLabelFinished.Visible() || ByStateCommitted.Visible() || NoEvidence.Visible())
}
