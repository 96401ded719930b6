package decide

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

const (
	nothing = `{"TxnId":7,"Status":"Success","NumberTotalRows":0,"NumberLoadedRows":0,"NumberFilteredRows":0,"NumberUnselectedRows":0,"LoadBytes":40}`
	clash   = `{"TxnId":7,"Status":"Success","NumberTotalRows":2,"NumberLoadedRows":2,"LoadBytes":0}`
)

func TestCountsOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, body string
		rows       int64
		want       Counts
	}{
		{"all rows", `{"Status":"Success","NumberTotalRows":2,"NumberLoadedRows":2,"LoadBytes":40}`, 2, CountsFit},
		{"fewer rows are some", `{"Status":"Success","NumberTotalRows":1,"NumberLoadedRows":1,"LoadBytes":40}`, 2, CountsFit},
		{"filtered rows are counted", `{"Status":"Success","NumberTotalRows":2,"NumberLoadedRows":0,"NumberFilteredRows":2,"LoadBytes":40}`, 2, CountsFit},
		{"unselected rows are counted, whatever the total says", `{"Status":"Success","NumberTotalRows":0,"NumberLoadedRows":0,"NumberUnselectedRows":2,"LoadBytes":40}`, 2, CountsFit},
		{"no counts", `{"Status":"Success"}`, 2, CountsFit},
		{"counts that are no numbers", `{"Status":"Success","NumberTotalRows":null,"LoadBytes":"x"}`, 2, CountsFit},
		{"no counts, but bytes", `{"Status":"Success","LoadBytes":40}`, 2, CountsFit},
		{"no rows", nothing, 2, CountsNothing},
		{"no rows, as texts", `{"Status":"Success","NumberTotalRows":"0","LoadBytes":"40"}`, 2, CountsNothing},
		{"negative rows", `{"Status":"Success","NumberTotalRows":-1,"LoadBytes":40}`, 2, CountsNothing},
		{"no rows, visible later", `{"Status":"Publish Timeout","NumberTotalRows":0,"LoadBytes":40}`, 2, CountsNothing},
		{"no rows, no bytes", `{"Status":"Success","NumberTotalRows":0,"LoadBytes":0}`, 2, CountsNothing},
		{"no bytes", `{"Status":"Success","LoadBytes":0}`, 2, CountsNothing},
		{"rows of no bytes", clash, 2, CountsClash},
		{"no rows where none need be", nothing, 0, CountsFit},
		{"a Fail counts nothing", `{"Status":"Fail","NumberTotalRows":0,"LoadBytes":0}`, 2, CountsFit},
		{"nor does a label that exists", finished, 2, CountsFit},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, CountsOf(Attempt{Rows: test.rows, HasAnswer: true, Load: answer.ParseLoad([]byte(test.body))}))
		})
	}
	require.Equal(t, CountsFit, CountsOf(Attempt{Rows: 2}))
}

func TestSuccessThatCountsNothing(t *testing.T) {
	t.Parallel()
	counted := func(ev Event) Event {
		ev.Attempt.Rows = 2
		return ev
	}
	stable := func(p *Policy) { p.StableLabel = true }
	unlabelled := func(p *Policy) { p.Unlabelled = true }
	twoPhases := func(p *Policy) { p.TwoPhase = true }
	tainted := nack(NothingCounted, true)
	tainted.Outcome.Debt = Debt{Stable: true, Tainted: true}
	for _, test := range []struct {
		name   string
		policy func(*Policy)
		turns  []turn
	}{
		{"it is no ack, and the rows may be loaded anew", nil, []turn{
			{0, counted(saying(200, nothing)), nack(NothingCounted, false)},
		}},
		{"an earlier request that was lost cannot land under that label any more", nil, []turn{
			{0, lostAnswer(), pollAction(0, poll0)},
			{1, state(answer.StateUnknown), resendAction(0, backoff0)},
			{2, counted(saying(200, nothing)), nack(NothingCounted, false)},
		}},
		{"a stable label must not be taken for the rows", stable, []turn{
			{0, counted(saying(200, nothing)), tainted},
		}},
		{"without a label", unlabelled, []turn{
			{0, counted(saying(200, nothing)), nack(NothingCounted, false)},
		}},
		{"with an error status nobody knows whose words they are", nil, []turn{
			{0, counted(saying(502, nothing)), pollAction(0, poll0)},
			{1, state(answer.StateVisible), nack(StillOpen, true)},
		}},
		{"in two phases it is not committed", twoPhases, []turn{
			{0, counted(saying(200, nothing)), abortAction(7)},
			{0, Event{Kind: LabelCancelled}, pollAction(0, poll0)},
			{0, state(answer.StateAborted), resendAction(1, backoff0)},
		}},
		{"rows of no bytes: nobody can tell", nil, []turn{
			{0, counted(saying(200, clash)), pollAction(0, poll0)},
			{1, state(answer.StateVisible), nack(StillOpen, true)},
		}},
		{"rows of no bytes, aborted: again under the same label", nil, []turn{
			{0, counted(saying(200, clash)), pollAction(0, poll0)},
			{1, state(answer.StateAborted), resendAction(0, backoff0)},
			{2, saying(200, success), ack(BySuccess)},
		}},
		{"rows of no bytes, without a label", unlabelled, []turn{
			{0, counted(saying(200, clash)), nack(NoLabel, true)},
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
