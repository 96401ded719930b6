package decide

import (
	"strconv"
	"strings"
	"time"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// In two phases a request of ours never makes rows visible: it ends in a transaction that waits, PRECOMMITTED, and only our own second
// phase commits it. The second phase is sent for one transaction by its id, and only when the answer to the request that filled it said
// that it holds exactly our rows. So a label that is VISIBLE is that of the rows, whatever got lost, and a transaction whose answer was
// lost is aborted, not committed: nobody has counted what is in it.
//
// The label rule holds as in one phase. A request that comes late can begin a transaction under a label that was aborted, which would
// then wait until the server's own timeout; under a label that is used again it is found by its state, and aborted.

// said is what the answer to a second phase says.
type said uint8

const (
	saidNothing   said = iota // nothing, or not about the transaction: the label's state tells
	saidCommitted             // committed, now or before
	saidGone                  // aborted, or forgotten
)

// saidOf reads the answer to a second phase. One that is repeated is answered with an error that names the state (Doris: fe
// DatabaseTransactionMgr.java "transaction [7] is already visible, not pre-committed"; StarRocks: TransactionLoadAction.java with OK).
// An error has to name the transaction: a database, a backend or a page that is not found says nothing about it, and a copy of the
// request, or an earlier one, may still commit it.
func saidOf(a answer.Load, txn int64) said {
	text := strings.ToLower(a.Message)
	switch {
	case !a.Readable:
		return saidNothing
	case a.Word == answer.Success:
		return saidCommitted
	case !names(text, txn):
		return saidNothing
	case strings.Contains(text, "already visible"), strings.Contains(text, "already committed"):
		return saidCommitted
	case strings.Contains(text, "already aborted"), strings.Contains(text, "not found"):
		return saidGone
	default:
		return saidNothing
	}
}

// names is true when a text in lower case names a transaction: "transaction [7]" (Doris) or "transaction 7" (StarRocks).
func names(text string, txn int64) bool {
	id := strconv.FormatInt(txn, 10)
	for rest := text; ; {
		_, after, found := strings.Cut(rest, "transaction ")
		if !found {
			return false
		}
		word, end := strings.TrimPrefix(after, "["), byte(0)
		if word, found = strings.CutPrefix(word, id); found && word != "" {
			end = word[0]
		}
		if found && (end < '0' || end > '9') {
			return true
		}
		rest = after
	}
}

// preCommitted judges a request whose transaction waits for its second phase.
func (s State) preCommitted(a Attempt, c Counts, now time.Duration) (State, Action) {
	s.doubtful = true
	if unusable(a, c) {
		// Not these rows, or nothing to name it by.
		s.polling, s.pollSince, s.polls = true, now, 0
		s.txn = max(a.Load.TxnID, 0)
		return s.cancelLabel(looksAfterCancel)
	}
	s.txn = a.Load.TxnID
	return s.commitTxn(0)
}

// unusable is true for a transaction that does not hold exactly the rows, or that nothing names.
func unusable(a Attempt, c Counts) bool { return a.Miscounted || c != CountsFit || a.Load.TxnID <= 0 }

// commitTxn sends the second phase. It belongs to the request before it, so it is sent once even when the caller has cancelled.
func (s State) commitTxn(after time.Duration) (State, Action) {
	s.committing = s.policy.LabelOnce
	return s, Action{Kind: CommitTxn, After: after, Label: s.label, Txn: s.txn}
}

// txnCommitted judges the answer to a second phase. Whatever is not clear the label's state tells.
func (s State) txnCommitted(ev Event) (State, Action) {
	if s.txn != 0 && saidOf(ev.Commit, s.txn) == saidCommitted {
		return s.commit(ByCommit)
	}
	s.ambiguous = s.ambiguous || !ev.Commit.Readable
	if s.polling {
		return s.look(s.policy.LabelPoll.Wait(0)) // the same series: its time goes on
	}
	return s.startPoll(ev.Now, 0)
}

// secondPhase goes on with a transaction that waits: it is committed again if it is known to hold the rows, and aborted if not, or if
// there is no time left.
func (s State) secondPhase(now time.Duration) (State, Action) {
	after := s.policy.LabelPoll.Wait(s.polls)
	late := over(now-s.pollSince+after, s.policy.LabelPoll.MaxElapsed) || over(now+after, s.policy.Backoff.MaxElapsed)
	if s.txn != 0 && !late && !s.cancelled {
		return s.commitTxn(after)
	}
	if s.cancelled {
		return s.cancelLabel(1)
	}
	return s.cancelLabel(looksAfterCancel)
}

// cancelLabel aborts what is open under the label, and then looks so often.
func (s State) cancelLabel(looks int) (State, Action) {
	act := Action{Kind: CancelLabel, Label: s.label, Txn: s.txn}
	s.looks, s.txn = looks, 0
	return s, act
}
