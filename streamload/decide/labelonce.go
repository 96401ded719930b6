package decide

import "time"

// StarRocks commits a transaction by its label, not by its id (TransactionLoadAction.java). A commit that comes late would be about whatever is under the
// label by then: a second transaction of ours that is half loaded, say, or one whose counts were wrong. A load that comes late would go into that
// transaction too. So with LabelOnce no label is begun twice:
//
//   - As long as no commit was sent under a label, nothing under it can ever become visible, whatever is still on its way: nobody else commits. So
//     the next request has a fresh label at once, and what may run or wait under the old one is rolled back, which costs nothing when it fails.
//   - A commit is sent only after begin, load and prepare were answered, so nothing that could fill or begin a transaction is on its way under its
//     label. There is one transaction, it holds exactly the rows, and a late commit can commit nothing else. When it was rolled back, a late
//     commit is refused ("Can not commit ABORTED transaction"), and the label is closed.
//
// A proxy that sends requests twice could break this only by holding back a copy of the begin, one of the load and one of the commit, and
// letting them go in this order after the rollback.
//
// That is why a stable label does not go with it: a redelivery would begin it again.

// attemptedOnce follows a request that left nothing to commit: its label is left behind.
func (s State) attemptedOnce(a Attempt, now time.Duration) (State, Action) {
	if a.Sent == NotSent {
		s.refusals++
	}
	if a.Sent == NotSent && !a.Begun {
		return s.resend(now, true)
	}
	s.ambiguous = s.ambiguous || a.Sent != NotSent && !answeredFailure(a)
	s.givingUp = true
	return s, Action{Kind: CancelLabel, Label: s.label}
}
