package decide

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

const neverBegun = `{"Status":"Fail","TxnId":-1}`

// Found by chaos. A proxy sent the load twice: the first copy was committed, its answer was lost, and the second copy failed before its begin, which is
// what the client heard. No FE told the label's state, and no resend got through. The delivery ended as one that left nothing behind, and the
// rows were stored again under another label.
func TestARefusedBeginIsBelievedOnceTheStateIsKnown(t *testing.T) {
	t.Parallel()
	p := Policy{MaxRetries: 1, FEs: 1, LabelPoll: Backoff{Initial: time.Second, Max: time.Second, MaxElapsed: time.Second}}
	silence := state(answer.NoState)
	late := silence
	late.Now = time.Minute
	for _, test := range []struct {
		name   string
		events []Event
		want   Outcome
	}{
		{"the state is never told", []Event{saying(200, neverBegun), silence, late, unreachable(), silence, late}, Outcome{Reason: RetriesUsed, Open: true}},
		{"it is told at last", []Event{saying(200, neverBegun), silence, late, unreachable(), state(answer.StateVisible)}, Outcome{Committed: true, Evidence: ByStateVisible}},
		{"nobody knows the label", []Event{saying(200, neverBegun), state(answer.StateUnknown), unreachable()}, Outcome{Reason: RetriesUsed}},
		{"nobody may ask", []Event{saying(200, neverBegun), stateRefused(), unreachable()}, Outcome{Reason: RetriesUsed}},
		{"cancelled meanwhile", []Event{saying(200, neverBegun), {Kind: Interrupted}, silence}, Outcome{Reason: Stopped, Open: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, act := Start(p)
			require.Equal(t, test.want, follow(t, s, act, test.events...))
		})
	}
}
