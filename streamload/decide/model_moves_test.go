package decide

import (
	"fmt"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// next is everything that can happen in a node.
func (m *model) next(n node, emit func(next node, what string)) {
	c, d := m.clients[n.client], n.doris
	d.ticks(m.phases(), func(next doris, txnLost bool, what string) {
		told := c
		if txnLost {
			told = c.withoutTxn()
		}
		emit(m.node(told, next), what)
	})
	as := func(what string) func(node) { return func(next node) { emit(next, what) } }
	if m.crashes && c.phase != acked {
		m.crash(d, as("the process dies"))
	}
	switch {
	case c.phase == settling:
		m.settleMoves(c, d, as)
	case c.phase == delivering:
		m.deliverMoves(c, d, as)
	}
}

func (m *model) deliverMoves(c client, d doris, as func(string) func(node)) {
	atOnce := c.act.Kind != Send && c.act.After == 0
	if d.wait == unbegun && !atOnce && (m.cancels || c.state.cancelled) {
		m.told(c, d, Event{Kind: Interrupted, Cancelled: true}, as("the caller cancels"))
	}
	if c.state.cancelled && !atOnce && d.wait == unbegun {
		return
	}
	switch c.act.Kind {
	case Send:
		switch d.wait {
		case unbegun:
			m.unsentMoves(c, d, as)
			m.sendMoves(c, d, as)
		case doubled:
			m.sendMoves(c, d, as)
		default:
			m.runMoves(c, d, as)
		}
	case AskState:
		m.event(c, d, Event{Kind: Polled, Poll: Poll{State: d.slots[0].state}}, as("asked for the state: "+d.slots[0].state.String()))
		m.event(c, d, Event{Kind: Polled}, as("the question for the state fails"))
		m.event(c, d, Event{Kind: Polled, Poll: Poll{Rejected: true}}, as("the question for the state is refused"))
	case CancelLabel:
		m.event(c, d, Event{Kind: LabelCancelled}, as("the cancellation is lost"))
		if s := d.slots[0].state; s == answer.StatePrepare || s == answer.StatePrecommitted {
			c = c.withoutTxn()
			d.end(0, answer.StateAborted)
			m.event(c, d, Event{Kind: LabelCancelled}, as("the label is cancelled"))
		}
	case CommitTxn:
		m.commitMoves(c.act.Txn, d, func(next doris, l answer.Load, what string) {
			m.event(c, next, Event{Kind: TxnCommitted, Commit: l}, as(what))
		})
	}
}

// unsentMoves is what can become of a load before its body leaves.
func (m *model) unsentMoves(c client, d doris, as func(string) func(node)) {
	m.attempted(c, d, Attempt{Trouble: Unreachable}, as("no server is reached"))
	m.attempted(c, d, Attempt{Trouble: ConnectionLost, Stale: true}, as("the kept connection was closed"))
	m.attempted(c, d, Attempt{Trouble: Unreachable, Direct: true}, as("the BE of an earlier load is gone"))
	m.attempted(c, d, refusal(says(answer.Failure, 0)), as("the FE refuses"))
	m.attempted(c, d, refusal(says(answer.Failure, -1)), as("the BE refuses before the body"))
	if !d.slots[0].free() {
		for _, l := range d.slots[0].taken() {
			m.attempted(c, d, refusal(l), as("the label is taken, as is said before the body"))
		}
		return
	}
	if m.hollows {
		next := d
		next.begin(0, hollow, nobody)
		m.attempted(c, next, Attempt{Trouble: ConnectionLost}, as("a transaction is begun, but no body is sent"))
	}
	if m.empties {
		m.attempted(c, d, refusal(says(answer.Success, 0)), as("a success is claimed for nothing"))
		next := d
		next.begin(0, noRows, nobody)
		next.finish(0, m.phases())
		m.attempted(c, next, refusal(says(answer.Success, 7)), as("a load of no rows is committed, a success is claimed"))
	}
}

// fails is true when a failure of the request may be answered.
func (m *model) fails(d doris) bool { return !d.twin || m.replays }

// refuses is true when "the label is taken" may be answered.
func (m *model) refuses(d doris) bool { return m.fails(d) || d.slots[0].rows == 0 }

// sendMoves is what can become of a load after that, up to its begin.
func (m *model) sendMoves(c client, d doris, as func(string) func(node)) {
	if m.fails(d) {
		m.attempted(c, d, answered(200, says(answer.Failure, -1)), as("the BE refuses, no transaction was begun"))
	}
	for _, a := range unclearAnswers {
		m.attempted(c, d, a, as("the load is lost"))
	}
	if d.inFlight() < m.late {
		next := d
		next.slots[0].rows++
		for _, a := range unclearAnswers {
			m.attempted(c, next, a, as("the load is late"))
		}
		if d.twins < m.twins {
			next.twins++
			next.twin, next.wait = true, doubled
			as("a proxy doubles the load")(m.node(c, next))
		}
	}
	next := d
	if !next.begin(0, theRows, waited) {
		if !m.refuses(d) {
			return
		}
		for _, l := range d.slots[0].taken() {
			m.attempted(c, d, answered(200, l), as("the label is taken"))
		}
		return
	}
	next.wait = underway
	as("the load begins")(m.node(c, next))
	if m.hollows && m.fails(d) {
		next := d
		next.begin(0, hollow, nobody)
		m.attempted(c, next, answered(200, says(answer.Failure, -1)), as("a transaction is begun that the BE knows nothing of"))
	}
}

// runMoves is what can become of a load that runs.
func (m *model) runMoves(c client, d doris, as func(string) func(node)) {
	if d.wait == doomed {
		if m.fails(d) {
			m.attempted(c, d, answered(200, says(answer.Failure, 7)), as("Fail: the transaction is gone"))
		}
		for _, a := range unclearAnswers {
			m.attempted(c, d, a, as("no answer, and the transaction is gone"))
		}
		return
	}
	next := d
	next.slots[0].runner = unwaited
	if m.fails(d) {
		m.attempted(c, next, answered(200, says(answer.Failure, 7)), as("Fail, and PREPARE is left behind"))
	}
	for _, a := range unclearAnswers {
		m.attempted(c, next, a, as("no answer, and the load runs on"))
	}
	if m.fails(d) {
		next = d
		next.end(0, answer.StateAborted)
		m.attempted(c, next, answered(200, says(answer.Failure, 7)), as("Fail, and aborted"))
	}
	next = d
	next.finish(0, m.phases())
	m.attempted(c, next, answered(200, says(answer.Success, txnHere)), as("Success"))
	if m.fails(d) || !m.twoPhase { // what is committed refuses every copy
		m.attempted(c, next, answered(200, says(answer.Failure, 7)), as("Fail although all is well"))
	}
	for _, a := range unclearAnswers {
		m.attempted(c, next, a, as("all is well, and the answer is lost"))
	}
	if m.twoPhase {
		next = d
		next.commit(0)
		next.slots[0].runner = nobody
		l := says(answer.Success, txnHere)
		l.OnePhase = true
		m.attempted(c, next, answered(200, l), as("a server that knows one phase has committed"))
	} else {
		m.attempted(c, next, answered(200, says(answer.PublishTimeout, 7)), as("Publish Timeout"))
	}
	if m.empties {
		next = d
		next.slots[0].holds = noRows
		next.finish(0, m.phases())
		nothing := says(answer.Success, txnHere)
		nothing.HasCounts = true
		a := answered(200, nothing)
		a.Rows = 2
		m.attempted(c, next, a, as("committed without a row, as is said"))
	}
}

func (m *model) settleMoves(c client, d doris, as func(string) func(node)) {
	tell := func(d doris, ev SettleEvent, what string) { m.toldSettling(c, d, ev, as("settling: "+what)) }
	if d.wait == unbegun {
		tell(d, SettleEvent{Kind: SettleStopped}, "stopped")
	}
	switch c.todo.Kind {
	case SettleAsk:
		tell(d, SettleEvent{Kind: SettlePolled, Poll: Poll{State: d.slots[0].state}}, "the state is "+d.slots[0].state.String())
		tell(d, SettleEvent{Kind: SettlePolled}, "the question for the state fails")
		tell(d, SettleEvent{Kind: SettlePolled, Poll: Poll{Rejected: true}}, "the question for the state is refused")
	case SettleCancel:
		tell(d, SettleEvent{Kind: SettleCancelled}, "the cancellation is lost")
		if s := d.slots[0].state; s == answer.StatePrepare || s == answer.StatePrecommitted {
			c = c.withoutTxn()
			d.end(0, answer.StateAborted)
			m.toldSettling(c, d, SettleEvent{Kind: SettleCancelled}, as("settling: the label is cancelled"))
		}
	case SettleFence:
		m.fenceMoves(c, d, as)
	case SettleCommit:
		m.commitMoves(c.todo.Txn, d, func(next doris, l answer.Load, what string) {
			tell(next, SettleEvent{Kind: SettleCommitted, Commit: l}, what)
		})
	}
}

// fenceMoves is what can become of a fence.
func (m *model) fenceMoves(c client, d doris, as func(string) func(node)) {
	tell := func(d doris, a Attempt, what string) {
		m.toldSettling(c, d, SettleEvent{Kind: SettleFenced, Attempt: a}, as("settling: "+what))
	}
	unclear := func(d doris, what string) {
		for _, a := range unclearAnswers {
			tell(d, a, what)
		}
	}
	failed := answered(200, says(answer.Failure, 7))
	switch d.wait {
	case doomed:
		tell(d, failed, "Fail: the fence's transaction is gone")
		unclear(d, "no answer, and the fence's transaction is gone")
	case underway:
		next := d
		next.slots[0].runner = unwaited
		tell(next, failed, "Fail, and the fence runs on")
		unclear(next, "no answer, and the fence runs on")
		next = d
		next.end(0, answer.StateAborted)
		tell(next, failed, "Fail, and the fence is aborted")
		next = d
		next.finish(0, m.phases())
		success := says(answer.Success, txnHere)
		success.OnePhase = m.onePhase
		tell(next, answered(200, success), "the fence stands")
		tell(next, failed, "Fail although the fence stands")
		unclear(next, "the fence stands, and the answer is lost")
	case unbegun, doubled:
		tell(d, Attempt{Trouble: Unreachable}, "no server is reached")
		tell(d, answered(200, says(answer.Failure, -1)), "the fence is refused")
		unclear(d, "the fence is lost")
		if d.inFlight() < m.late {
			next := d
			next.slots[0].fences++
			unclear(next, "the fence is late")
			if d.twins < m.twins {
				next.twins++
				next.wait = doubled
				as("settling: a proxy doubles the fence")(m.node(c, next))
			}
		}
		next := d
		if !next.begin(0, theFence, waited) {
			for _, l := range d.slots[0].taken() {
				tell(d, answered(200, l), "the label is taken")
			}
			return
		}
		next.wait = underway
		as("settling: the fence begins")(m.node(c, next))
	}
}

// commitMoves is what can become of the second phase of a transaction (fe DatabaseTransactionMgr.java for the texts).
func (m *model) commitMoves(txn int64, d doris, tell func(doris, answer.Load, string)) {
	fails := func(text string) answer.Load {
		return answer.Load{Readable: true, Word: answer.Failure, Message: text}
	}
	about := func(text string) answer.Load { return fails(fmt.Sprintf(text, txn)) }
	state := d.slots[0].state
	if m.endByLabel && state != answer.StatePrecommitted {
		tell(d, fails("running transaction not found, label=b"), "there is nothing to commit under the label")
		tell(d, answer.Load{}, "the answer about the second phase is lost")
		return
	}
	tell(d, answer.Load{}, "the second phase is lost")
	tell(d, fails("OlapTable not found."), "the second phase is refused")
	switch {
	case !m.endByLabel && txn == txnGone:
		tell(d, about("transaction [%d] is already aborted, abort reason: user cancel"), "the transaction was aborted")
		tell(d, about("transaction [%d] not found"), "the transaction is not found")
	case state == answer.StateCommitted:
		tell(d, about("transaction [%d] is already VISIBLE, not pre-committed."), "the transaction is committed already")
		tell(d, about("transaction [%d] is already committed, not pre-committed."), "the transaction is committed already")
	default:
		next := d
		next.slots[0].commit = true
		tell(next, answer.Load{}, "the second phase is late")
		tell(next, fails("transaction [12] not found"), "the second phase is refused, and a copy of it is late")
		next = d
		next.commit(0)
		tell(next, says(answer.Success, 0), "the transaction is committed")
		tell(next, answer.Load{}, "the transaction is committed, and the answer is lost")
	}
}
