package decide

import (
	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// A load whose delivery ended with its fate open leaves a debt: its rows may be stored, or may still be. Before rows of it
// are loaded in any other way the debt has to be settled: the label is found committed, or it is closed.
//
// An aborted label is not closed while a request under it was never answered, because that request may begin it again. So it is
// fenced: we occupy the label ourselves with a load of no rows in two phases. While our transaction owns the label no other can
// begin, and once it is committed none ever will. Two phases, because the outcome of one could not be told apart from that of the
// lost request when its own answer gets lost. The second phase names the fence's transaction, never the label: its answer is then about the
// fence and nothing else, and a copy of it that arrives late can do nothing. So a label that is VISIBLE while no answer said that the
// fence was committed is that of the rows. (A load of no rows in two phases is also how Doris' Flink connector probes a label,
// DorisStreamLoad.java.)
//
// StarRocks takes no fence (Debt.NoFence). A load of no rows is an error there, "all partitions have no load data", and its transaction is
// aborted (be stream_load_executor.cpp, empty_load_as_error). Its transaction interface does not help: a prepare or a commit without a load
// before it is refused ("hasn't send any data yet"), one after a load of an empty body fails like a load of no rows, and both roll the
// transaction back (transaction_stream_load.cpp). A transaction that is only begun does own its label, but for as long as it runs and no longer:
// its timeout, the end of its BE or of the FE's leader aborts it, and then the label is free. To keep it running for days would also hold up
// changes of the table's schema, which wait for transactions that began before. So nothing there makes a label VISIBLE but rows.

// Debt is what is known of a label whose rows may be stored.
type Debt struct {
	// Unanswered is true when a request under the label was never answered and could still land.
	Unanswered bool
	// Stable is true for a label that a redelivery uses again. It must not be fenced: the next process would take the fence
	// for the rows.
	Stable bool
	// Forever is true for a load without a label (Policy.RejectUnknown): nobody will ever tell what became of it, and its rows are not to be sent
	// again.
	Forever bool
	// NoFence is true for a label of servers that take no fence (StarRocks). It stays open until it is found committed, or aborted with
	// every request answered.
	NoFence bool
	// Tainted is true when a commit under the label may be that of a load that was not whole; it never proves that the rows are stored.
	Tainted bool
	// TwoPhase is true when the load was to be stored in two phases: a transaction that waits for the second one is then ours, and
	// nobody knows any more what is in it.
	TwoPhase bool
	// Fenced is true when a fence of ours may own the label.
	Fenced bool
	// FenceTxn is the transaction of a fence that owns the label and may have been committed; 0: none.
	FenceTxn int64
}

// Settled is what became of a debt.
type Settled uint8

const (
	// Unsettled: still open; nobody may load the rows.
	Unsettled Settled = iota
	// SettledCommitted: the rows are stored.
	SettledCommitted
	// SettledClosed: the rows are not stored and never will be by any request that was sent; they may be loaded anew.
	SettledClosed
)

// SettleKind names what to do next in a settlement.
type SettleKind uint8

// The steps of a settlement.
const (
	// SettleAsk asks for the label's state.
	SettleAsk SettleKind = iota
	// SettleCancel asks the FE to abort the label.
	SettleCancel
	// SettleFence sends a load of no rows in two phases under the label.
	SettleFence
	// SettleCommit commits the fence's transaction.
	SettleCommit
	// SettleDone ends the settlement.
	SettleDone
)

// SettleAction is what to do next. Wait asks for a short wait before it.
type SettleAction struct {
	Kind SettleKind
	Wait bool
	// Txn belongs to SettleCommit.
	Txn    int64
	Result Settled
	// Debt is what to remember of the label for the next settlement.
	Debt Debt
}

// SettleEventKind names what happened in a settlement.
type SettleEventKind uint8

// The events of a settlement.
const (
	// SettlePolled: the label's state was asked for.
	SettlePolled SettleEventKind = iota
	// SettleCancelled: the FE was asked to abort the label, whatever it answered.
	SettleCancelled
	// SettleFenced: the fence was sent; Attempt tells what came of it.
	SettleFenced
	// SettleCommitted: the commit of the fence was sent; Commit tells what came of it.
	SettleCommitted
	// SettleStopped: the caller cancelled, or a bound of time was reached.
	SettleStopped
)

// SettleEvent is one thing that happened in a settlement.
type SettleEvent struct {
	Kind    SettleEventKind
	Poll    Poll
	Attempt Attempt
	Commit  answer.Load
}

// Bounds of one settlement; the debt stays for the next one.
const (
	settleLooks   = 3
	settleFences  = 3
	settleCancels = 2
	settleCommits = 3
)

// Settlement is a debt being settled.
type Settlement struct {
	debt    Debt
	looks   int
	fences  int
	cancels int
	commits int
	done    bool
	result  Settled
}

// StartSettlement begins with a look at the label, or goes on with the commit of a fence. Without a label it ends at once.
func StartSettlement(d Debt) (Settlement, SettleAction) {
	s := Settlement{debt: d}
	if d.Forever {
		return s.end(Unsettled)
	}
	if d.FenceTxn != 0 {
		return s.commit(d.FenceTxn, false)
	}
	return s.look(false)
}

// StepSettlement is told what happened and says what to do. Like Step it is pure, total, and its end is final.
func StepSettlement(s Settlement, ev SettleEvent) (Settlement, SettleAction) {
	if s.done {
		return s, s.finished()
	}
	switch ev.Kind {
	case SettlePolled:
		return s.polled(ev.Poll)
	case SettleCancelled:
		return s.look(true)
	case SettleFenced:
		return s.fenced(ev.Attempt)
	case SettleCommitted:
		return s.committed(ev.Commit)
	default:
		return s.end(Unsettled)
	}
}

func (s Settlement) look(wait bool) (Settlement, SettleAction) {
	if s.looks >= settleLooks+s.fences+s.cancels {
		return s.end(Unsettled)
	}
	s.looks++
	return s, SettleAction{Kind: SettleAsk, Wait: wait, Debt: s.debt}
}

func (s Settlement) polled(p Poll) (Settlement, SettleAction) {
	switch p.State {
	case answer.StateVisible, answer.StateCommitted:
		if s.debt.Tainted {
			return s.end(Unsettled)
		}
		return s.end(SettledCommitted)
	case answer.StatePrecommitted:
		if !s.debt.Fenced && !s.debt.TwoPhase {
			return s.end(Unsettled) // somebody else's second phase
		}
		return s.cancel() // our fence or our rows, but which transaction that is is not known: begin anew
	case answer.StatePrepare:
		return s.cancel() // the delivery has waited for it long enough
	case answer.StateAborted:
		if !s.debt.Unanswered {
			return s.end(SettledClosed)
		}
		return s.fence()
	case answer.StateUnknown:
		return s.fence()
	default:
		if p.Rejected {
			return s.end(Unsettled)
		}
		return s.look(true)
	}
}

// cancel aborts whatever runs under the label, which is safe at any time: what is committed cannot be aborted.
func (s Settlement) cancel() (Settlement, SettleAction) {
	if s.cancels >= settleCancels {
		return s.end(Unsettled)
	}
	s.cancels++
	return s, SettleAction{Kind: SettleCancel, Debt: s.debt}
}

func (s Settlement) fence() (Settlement, SettleAction) {
	if s.debt.Stable || s.debt.NoFence || s.fences >= settleFences {
		return s.end(Unsettled)
	}
	wait := s.fences > 0
	s.fences++
	s.debt.Fenced = true
	return s, SettleAction{Kind: SettleFence, Wait: wait, Debt: s.debt}
}

// fenced judges the answer to a fence.
func (s Settlement) fenced(a Attempt) (Settlement, SettleAction) {
	if !a.HasAnswer || a.HTTPStatus < 200 || a.HTTPStatus > 299 || a.Load.Word != answer.Success {
		return s.look(true) // lost, refused, or the label is taken: the state tells
	}
	if a.Load.OnePhase {
		return s.end(SettledClosed) // no rows were committed at once, which closes the label as well
	}
	if a.Load.TxnID <= 0 {
		return s.look(true)
	}
	return s.commit(a.Load.TxnID, false)
}

func (s Settlement) commit(txn int64, wait bool) (Settlement, SettleAction) {
	if s.commits >= settleCommits {
		return s.end(Unsettled)
	}
	s.commits++
	s.debt.Fenced, s.debt.FenceTxn = true, txn
	return s, SettleAction{Kind: SettleCommit, Wait: wait, Txn: txn, Debt: s.debt}
}

// committed judges the answer to the commit of a fence.
func (s Settlement) committed(a answer.Load) (Settlement, SettleAction) {
	switch saidOf(a, s.debt.FenceTxn) {
	case saidCommitted:
		return s.end(SettledClosed)
	case saidGone:
		// The fence is gone without having been committed, so the label is free again.
		s.debt.FenceTxn = 0
		return s.look(true)
	default:
		return s.commit(s.debt.FenceTxn, true)
	}
}

func (s Settlement) end(r Settled) (Settlement, SettleAction) {
	s.done, s.result = true, r
	return s, s.finished()
}

func (s Settlement) finished() SettleAction {
	return SettleAction{Kind: SettleDone, Result: s.result, Debt: s.debt}
}
