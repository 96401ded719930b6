package decide

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// What other loads of the same rows may do better is not sent again as it is, once nothing can come of it any more.
func TestDivide(t *testing.T) {
	t.Parallel()
	const (
		tooLarge = `{"TxnId":-1,"Status":"Fail","Message":"[INTERNAL_ERROR]body exceed max size: 10737418240, data: 1"}`
		segments = `{"TxnId":7,"Status":"Fail","Message":"[E-238]too many segments in rowset"}`
		filtered = `{"TxnId":7,"Status":"Fail","Message":"[DATA_QUALITY_ERROR]too many filtered rows"}`
	)
	divisible := func(p *Policy) { p.Divisible = true }
	joined := func(p *Policy) { p.Joined = true }
	for _, test := range []struct {
		name   string
		policy func(*Policy)
		turns  []turn
	}{
		{"too large before a transaction: divided after a look", divisible, []turn{
			{0, saying(200, tooLarge), pollAction(0, 0)},
			{1, state(answer.StateUnknown), nack(Divide, false)},
		}},
		{"too large in a transaction: divided when that is aborted", divisible, []turn{
			{0, saying(200, segments), pollAction(0, 0)},
			{1, state(answer.StateAborted), nack(Divide, false)},
		}},
		{"too large, and stored all the same: ack", divisible, []turn{
			{0, saying(200, segments), pollAction(0, 0)},
			{1, state(answer.StateVisible), ack(ByStateVisible)},
		}},
		{"too large, but the transaction may be there still: the same again", divisible, []turn{
			{0, saying(200, segments), pollAction(0, 0)},
			{1, state(answer.StateUnknown), resendAction(0, backoff0)},
		}},
		{"too large for a proxy that saw no body", divisible, []turn{
			{0, refusing(413, html), nack(Divide, false)},
		}},
		{"too large for a proxy, but an earlier request is unanswered: settled first", divisible, []turn{
			{0, lostAnswer(), pollAction(0, poll0)},
			{1, state(answer.StateUnknown), resendAction(0, backoff0)},
			{2, refusing(413, html), nack(SettleFirst, true)},
		}},
		{"the same with a stable label, which nobody may fence: the same again", func(p *Policy) { p.Divisible, p.StableLabel = true, true }, []turn{
			{0, lostAnswer(), pollAction(0, poll0)},
			{1, state(answer.StateUnknown), resendAction(0, backoff0)},
			{2, refusing(413, html), resendAction(0, 0)}, // the other FE at once
		}},
		{"the same with servers that take no fence", func(p *Policy) { p.Divisible, p.NoFence = true, true }, []turn{
			{0, lostAnswer(), pollAction(0, poll0)},
			{1, state(answer.StateUnknown), resendAction(0, backoff0)},
			{2, refusing(413, html), resendAction(0, 0)},
		}},
		{"bad rows, and an earlier request is unanswered: settled first", joined, []turn{
			{0, lostAnswer(), pollAction(0, poll0)},
			{1, state(answer.StateAborted), resendAction(0, backoff0)},
			{2, saying(200, filtered), pollAction(0, 0)},
			{3, state(answer.StateAborted), nack(SettleFirst, true)},
		}},
		{"bad rows, an unanswered request, and a transaction that may be there still: the same again", joined, []turn{
			{0, lostAnswer(), pollAction(0, poll0)},
			{1, state(answer.StateAborted), resendAction(0, backoff0)},
			{2, saying(200, filtered), pollAction(0, 0)},
			{3, state(answer.StateUnknown), resendAction(0, 2*backoff0)},
		}},
		{"divided also when no retry is allowed", func(p *Policy) { p.MaxRetries, p.Divisible = -1, true }, []turn{
			{0, refusing(413, html), nack(Divide, false)},
		}},
		{"a later failure of another kind is judged by itself", divisible, []turn{
			{0, saying(200, segments), pollAction(0, 0)},
			{1, state(answer.StateUnknown), resendAction(0, backoff0)},
			{2, unreachable(), resendAction(0, 0)},
		}},
		{"a row that is too large alone is tried again like any other", nil, []turn{
			{0, refusing(413, html), resendAction(0, 0)},
		}},
		{"bad rows among those of several callers: divided", joined, []turn{
			{0, saying(200, filtered), pollAction(0, 0)},
			{1, state(answer.StateAborted), nack(Divide, false)},
		}},
		{"bad rows of one caller are tried again", divisible, []turn{
			{0, saying(200, filtered), pollAction(0, 0)},
			{1, state(answer.StateAborted), resendAction(1, backoff0)},
		}},
		{"other failures are tried again, whosever the rows are", func(p *Policy) { p.Divisible, p.Joined = true, true }, []turn{
			{0, saying(200, fail), pollAction(0, 0)},
			{1, state(answer.StateAborted), resendAction(1, backoff0)},
		}},
		{"with the server's labels", func(p *Policy) { p.Unlabelled, p.Divisible = true, true }, []turn{
			{0, saying(200, tooLarge), nack(Divide, false)},
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
	t.Run("nothing is divided after the caller cancelled", func(t *testing.T) {
		t.Parallel()
		p := policyOfTests()
		p.Divisible = true
		s, _ := Start(p)
		ev := refusing(413, html)
		ev.Cancelled = true
		_, act := Step(s, ev)
		require.Equal(t, nack(Stopped, false), act)
	})
}
