package decide

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// follow plays events after the first action of a delivery, and gives the end.
func follow(t *testing.T, s State, act Action, events ...Event) Outcome {
	t.Helper()
	require.Equal(t, Send, act.Kind)
	for _, ev := range events {
		require.NotEqual(t, Done, act.Kind)
		s, act = Step(s, ev)
	}
	require.Equal(t, Done, act.Kind)
	return act.Outcome
}

// Found by the model. The first delivery of a batch with a stable label ends open: a request was never answered. The same batch comes again, its one
// request fails, and the label is ABORTED. That closed the label, so its rows could be loaded under others, and the first request landed
// after all.
func TestARedeliveryDoesNotCloseAStableLabel(t *testing.T) {
	t.Parallel()
	p := Policy{StableLabel: true, LabelPoll: Backoff{Initial: time.Second, Max: time.Second, MaxElapsed: time.Minute}}
	s, act := Start(p)
	first := follow(t, s, act, lostAnswer(), state(answer.StateUnknown))
	require.True(t, first.Open)

	s, act = StartAgain(p, first.Debt)
	again := follow(t, s, act, saying(200, `{"Status":"Fail","TxnId":7}`), state(answer.StateAborted))
	require.Equal(t, Outcome{Reason: RetriesUsed, Open: true, Debt: first.Debt}, again)

	s, act = StartAgain(p, again.Debt)
	require.Equal(t, Outcome{Committed: true, Evidence: BySuccess}, follow(t, s, act, saying(200, `{"Status":"Success","TxnId":8}`)))
}

// An answered failure leaves less behind: ABORTED under the redelivery closes the label.
func TestARedeliveryClosesAStableLabelOfAnsweredRequests(t *testing.T) {
	t.Parallel()
	p := Policy{StableLabel: true, LabelPoll: Backoff{Initial: time.Second, Max: time.Second, MaxElapsed: time.Minute}}
	s, act := Start(p)
	first := follow(t, s, act, saying(200, `{"Status":"Fail","TxnId":7}`), state(answer.StateUnknown))
	require.Equal(t, Outcome{Reason: RetriesUsed, Open: true, Debt: Debt{Stable: true}}, first)

	s, act = StartAgain(p, first.Debt)
	nothing := follow(t, s, act, unreachable(), state(answer.StateUnknown))
	require.Equal(t, first, nothing, "what is not sent tells nothing")
	s, act = StartAgain(p, first.Debt)
	closed := follow(t, s, act, saying(200, `{"Status":"Fail","TxnId":8}`), state(answer.StateAborted))
	require.Equal(t, Outcome{Reason: RetriesUsed}, closed)
}

// Found by the model. A server claimed to have stored a body that it had not taken, and then the delivery ended, as one that left nothing
// behind. The same batch came again and took the load of no rows, FINISHED under its label, for its own.
func TestAClaimUnderAStableLabelOutlivesTheDelivery(t *testing.T) {
	t.Parallel()
	p := Policy{StableLabel: true, LabelPoll: Backoff{Initial: time.Second, Max: time.Second, MaxElapsed: time.Minute}}
	s, act := Start(p)
	first := follow(t, s, act, refusing(200, `{"Status":"Success","TxnId":7}`), state(answer.StateUnknown))
	require.Equal(t, Outcome{Reason: RetriesUsed, Open: true, Debt: Debt{Stable: true, Tainted: true}}, first)

	s, act = StartAgain(p, first.Debt)
	again := follow(t, s, act, refusing(200, `{"Status":"Label Already Exists","ExistingJobStatus":"FINISHED"}`))
	require.False(t, again.Committed)
	require.Equal(t, Debt{Stable: true, Tainted: true}, again.Debt)
}
