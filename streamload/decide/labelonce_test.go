package decide

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

func labelled(n int, a Action) Action {
	a.Label = n
	return a
}

// Transactions that are committed by their label: no label is begun twice, and only a commit leaves it open.
func TestLabelOnce(t *testing.T) {
	t.Parallel()
	miscounted := saying(200, success)
	miscounted.Attempt.Miscounted = true
	begun := attempt(Attempt{Trouble: TimedOut, Begun: true})
	for _, test := range []struct {
		name   string
		policy func(*Policy)
		turns  []turn
	}{
		{"prepared, then committed: ack", nil, []turn{
			{0, saying(200, success), commitAction(7, 0)},
			{0, committed(`{"Status":"Success"}`), ack(ByCommit)},
		}},
		{"the answer to the load is lost: rolled back, and a fresh label", nil, []turn{
			{0, lostAnswer(), abortAction(0)},
			{0, Event{Kind: LabelCancelled}, resendAction(1, backoff0)},
			{1, saying(200, success), labelled(1, commitAction(7, 0))},
			{1, committed(`{"Status":"Success"}`), labelled(1, ack(ByCommit))},
		}},
		{"wrong counts: rolled back, and a fresh label", nil, []turn{
			{0, miscounted, abortAction(0)},
			{0, Event{Kind: LabelCancelled}, resendAction(1, backoff0)},
		}},
		{"the answer to the begin is lost: the same", nil, []turn{
			{0, begun, abortAction(0)},
			{0, Event{Kind: LabelCancelled}, resendAction(1, 0)},
		}},
		{"no FE: nothing to roll back", nil, []turn{{0, unreachable(), resendAction(1, 0)}, {0, unreachable(), resendAction(2, backoff1)}}},
		{"the label is somebody's, committed: it cannot be ours", nil, []turn{{0, refusing(200, finished), resendAction(1, 0)}}},
		{"the commit is lost, VISIBLE: ack", nil, []turn{
			{0, saying(200, success), commitAction(7, 0)},
			{0, commitLost(), pollAction(0, 0)},
			{0, state(answer.StateVisible), ack(ByStateVisible)},
		}},
		{"the commit is lost, and it waits: again", nil, []turn{
			{0, saying(200, success), commitAction(7, 0)},
			{0, commitLost(), pollAction(0, 0)},
			{0, state(answer.StatePrecommitted), commitAction(7, poll1)},
			{1, committed(`{"Status":"Success"}`), ack(ByCommit)},
		}},
		{"the commit is lost, ABORTED: a fresh label", nil, []turn{
			{0, saying(200, success), commitAction(7, 0)},
			{0, commitLost(), pollAction(0, 0)},
			{0, state(answer.StateAborted), resendAction(1, backoff0)},
		}},
		{"the commit is lost, UNKNOWN: nothing is sent, and it stays open", func(p *Policy) { p.LabelPoll.MaxElapsed = 1 }, []turn{
			{0, saying(200, success), commitAction(7, 0)},
			{0, commitLost(), pollAction(0, 0)},
			{0, state(answer.StateUnknown), nack(StillOpen, true)},
		}},
		{"the commit is lost, and nobody tells: it stays open", func(p *Policy) { p.LabelPoll.MaxElapsed = 1 }, []turn{
			{0, saying(200, success), commitAction(7, 0)},
			{0, commitLost(), pollAction(0, 0)},
			{0, noState(), nack(StillOpen, true)},
		}},
		{"the commit is lost, and the state is refused: it stays open", nil, []turn{
			{0, saying(200, success), commitAction(7, 0)},
			{0, commitLost(), pollAction(0, 0)},
			{0, stateRefused(), nack(StateRefused, true)},
		}},
		{"no retries: what was not committed is not open", func(p *Policy) { p.MaxRetries = 0 }, []turn{
			{0, lostAnswer(), abortAction(0)},
			{0, Event{Kind: LabelCancelled}, nack(RetriesUsed, false)},
		}},
		{"cancelled: the same, and what may run is rolled back", nil, []turn{
			{0, cancelledAt(lostAnswer()), abortAction(0)},
			{0, Event{Kind: LabelCancelled}, nack(Stopped, false)},
		}},
		{"cancelled while it is rolled back", nil, []turn{
			{0, lostAnswer(), abortAction(0)},
			{0, Event{Kind: Interrupted}, nack(Stopped, false)},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := policyOfTests()
			p.TwoPhase, p.LabelOnce, p.NoFence = true, true, true
			if test.policy != nil {
				test.policy(&p)
			}
			play(t, p, test.turns)
		})
	}
}

// Whatever happens: a label is sent once, it is left only when no commit of it can come about, and an ack follows a commit.
func TestLabelsAreUsedOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20_000) {
		src := fromSeed(seed)
		p := randomPolicy(src)
		p.TwoPhase, p.LabelOnce, p.StableLabel, p.Unlabelled = true, true, false, false
		s, act := Start(p)
		label, commits, now := -1, false, time.Duration(0)
		for range 200 {
			ev := Event{Kind: Interrupted}
			switch act.Kind {
			case Send:
				require.Equal(t, label+1, act.Label, "each request has a label of its own")
				require.False(t, commits, "nothing is sent while a commit is open")
				label = act.Label
				ev = Event{Kind: Attempted, Attempt: randomAttempt(src)}
			case CommitTxn:
				require.Equal(t, label, act.Label)
				commits = true
				ev = Event{Kind: TxnCommitted, Commit: randomLoad(src)}
			case CancelLabel:
				ev = Event{Kind: LabelCancelled}
			case AskState:
				ev = Event{Kind: Polled, Poll: Poll{State: answer.LabelState(src.below(7)), Rejected: chance(src, 9)}} //nolint:gosec // below 7
				commits = commits && ev.Poll.State != answer.StateAborted
			case Done:
			}
			if act.Kind == Done {
				require.Equal(t, commits && !act.Outcome.Committed, act.Outcome.Open)
				require.False(t, act.Outcome.Committed && !commits, "nothing was committed")
				break
			}
			now += act.After
			ev.Now, ev.Cancelled = now, chance(src, 40)
			s, act = Step(s, ev)
		}
		require.Equal(t, Done, act.Kind, "it does not end")
	}
}
