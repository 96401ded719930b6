package decide

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// Where servers take no fence a settlement never sends one: what cannot be closed stays open.
func TestADebtThatCannotBeFenced(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		unanswered bool
		state      answer.LabelState
		want       Settled
	}{
		{"visible", true, answer.StateVisible, SettledCommitted},
		{"committed", true, answer.StateCommitted, SettledCommitted},
		{"aborted, and every request was answered", false, answer.StateAborted, SettledClosed},
		{"aborted, and a request may still come", true, answer.StateAborted, Unsettled},
		{"unknown", true, answer.StateUnknown, Unsettled},
		{"unknown, and every request was answered", false, answer.StateUnknown, Unsettled},
		{"prepared, by nobody", true, answer.StatePrecommitted, Unsettled},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			debt := Debt{Unanswered: test.unanswered, NoFence: true}
			s, act := StartSettlement(debt)
			require.Equal(t, SettleAsk, act.Kind)
			_, act = StepSettlement(s, SettleEvent{Kind: SettlePolled, Poll: Poll{State: test.state}})
			require.Equal(t, SettleAction{Kind: SettleDone, Result: test.want, Debt: debt}, act)
		})
	}
}

// A running transaction is aborted, and that ends it only if nothing else can come.
func TestADebtThatCannotBeFencedIsCancelled(t *testing.T) {
	t.Parallel()
	for _, unanswered := range []bool{false, true} {
		s, _ := StartSettlement(Debt{Unanswered: unanswered, NoFence: true})
		s, act := StepSettlement(s, SettleEvent{Kind: SettlePolled, Poll: Poll{State: answer.StatePrepare}})
		require.Equal(t, SettleCancel, act.Kind)
		s, act = StepSettlement(s, SettleEvent{Kind: SettleCancelled})
		require.Equal(t, SettleAsk, act.Kind)
		_, act = StepSettlement(s, SettleEvent{Kind: SettlePolled, Poll: Poll{State: answer.StateAborted}})
		require.Equal(t, map[bool]Settled{false: SettledClosed, true: Unsettled}[unanswered], act.Result)
	}
}

// A load that a server merged with others may be stored although it failed: the label is the server's, so nobody can look.
func TestAMergedLoadWhoseFateIsOpen(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]ActionKind{
		"Load has not been published before timeout. txn_id: 7":         Done,
		"Load status is unknown: UNKNOWN":                               Done,
		"load timeout, txn status: PREPARED":                            Done,
		"Load is aborted, reason: too many filtered rows":               Send,
		"Failed to load data into tablet, because of too many versions": Send,
	} {
		s, _ := Start(Policy{Unlabelled: true, MaxRetries: 3, Backoff: Backoff{Initial: time.Second, Max: time.Second}})
		_, act := Step(s, Event{Kind: Attempted, Attempt: Attempt{
			Sent: Answered, WholeBody: true, HasAnswer: true, HTTPStatus: 200,
			Load: answer.Load{Readable: true, Word: answer.Failure, Status: "Fail", Message: message},
		}})
		require.Equal(t, want, act.Kind, message)
		if want == Done {
			require.Equal(t, NoLabel, act.Outcome.Reason)
		}
	}
}
