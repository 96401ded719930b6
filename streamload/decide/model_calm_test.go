package decide

import (
	"fmt"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// calm is what becomes of the late requests once there are no faults any more.
type calm uint8

const (
	gone    calm = iota // they are lost; a transaction of theirs stays in PREPARE
	arrive              // they all come to their end first
	slower              // they stay on their way, behind everything that the client does
	calmEnd             // the number of them
)

func (c calm) String() string {
	return [...]string{"lost", "arriving first", "on their way for ever"}[c]
}

// The rows must be acked within so many settlements and deliveries, and steps, after the last fault.
const (
	calmRounds = 4
	calmSteps  = 80
)

// peace follows nodes to the ack when nothing fails any more.
type peace struct {
	*model
	calm
	rounds map[node]int // to the ack, of nodes whose way is known
	most   int
}

func newPeace(m *model, c calm) *peace { return &peace{model: m, calm: c, rounds: map[node]int{}} }

// check is an error when a node is stuck.
func (p *peace) check(n node) error {
	var path []node
	rounds, ends := 0, make([]int, 0, calmSteps)
	for {
		if known, ok := p.rounds[n]; ok {
			rounds += known
			break
		}
		if p.clients[n.client].phase == acked {
			break
		}
		if len(path) > calmSteps {
			return fmt.Errorf("no ack after %d steps without a fault, late requests %s: %+v", calmSteps, p.calm, p.clients[n.client])
		}
		path, ends = append(path, n), append(ends, rounds)
		before := p.ends
		n = p.step(n)
		rounds += p.ends - before
	}
	for i, n := range path {
		p.rounds[n] = rounds - ends[i]
		p.most = max(p.most, p.rounds[n])
	}
	if rounds > calmRounds {
		return fmt.Errorf("an ack only after %d more deliveries and settlements", rounds)
	}
	return nil
}

// step is the one thing that happens next.
func (p *peace) step(n node) (next node) {
	c, d := p.clients[n.client], n.doris
	d = p.still(d)
	// Where the rows may come again in several ways, the first is as the same batch; that is what a stable label needs.
	first := true
	take := func(m node) {
		if first {
			next = m
		}
		first = false
	}
	if c.phase == settling {
		p.calmSettling(c, d, take)
	} else {
		p.calmDelivery(c, d, take)
	}
	return next
}

// still is Doris once the late requests have done what they will do.
func (p *peace) still(d doris) doris {
	s := &d.slots[0]
	switch p.calm {
	case gone:
		s.rows, s.fences, s.commit = 0, 0, false
		if s.runner == unwaited {
			s.runner, s.holds = nobody, hollow
		}
	case arrive:
		for moved := true; moved; {
			moved = false
			d.ticks(p.phases(), func(next doris, _ bool, what string) {
				if !moved && (what == lateLoad || what == lateFence || what == lateEnd || what == lateCommit) {
					d, moved = next.normal(), true
				}
			})
		}
	}
	return d
}

func (p *peace) calmDelivery(c client, d doris, take func(node)) {
	tell := func(ev Event) {
		ev.Cancelled = c.state.cancelled
		p.told(c, d, ev, take)
	}
	s := d.slots[0].state
	switch {
	case c.state.cancelled && (c.act.Kind == Send || c.act.After > 0):
		tell(Event{Kind: Interrupted})
	case c.act.Kind == AskState:
		ev := Event{Kind: Polled, Poll: Poll{State: s}}
		if s == answer.StatePrepare || s == answer.StatePrecommitted {
			ev.Now = pollOver
		}
		tell(ev)
	case c.act.Kind == CancelLabel:
		if s == answer.StatePrepare || s == answer.StatePrecommitted {
			c = c.withoutTxn()
			d.end(0, answer.StateAborted)
		}
		tell(Event{Kind: LabelCancelled})
	case c.act.Kind == CommitTxn:
		var l answer.Load
		d, l = d.calmCommit(c.act.Txn)
		tell(Event{Kind: TxnCommitted, Commit: l})
	case d.wait == doomed && d.twin, d.wait == doubled && !d.slots[0].free():
		tell(Event{Kind: Attempted, Attempt: noAnswer})
	case d.wait == doomed:
		tell(Event{Kind: Attempted, Attempt: answered(200, says(answer.Failure, 7))})
	case d.wait == underway || d.begin(0, theRows, waited):
		d.finish(0, p.phases())
		tell(Event{Kind: Attempted, Attempt: answered(200, says(answer.Success, txnHere))})
	default:
		tell(Event{Kind: Attempted, Attempt: answered(200, d.slots[0].taken()[0])})
	}
}

func (p *peace) calmSettling(c client, d doris, take func(node)) {
	tell := func(ev SettleEvent) { p.toldSettling(c, d, ev, take) }
	s := d.slots[0].state
	switch c.todo.Kind {
	case SettleAsk:
		tell(SettleEvent{Kind: SettlePolled, Poll: Poll{State: s}})
	case SettleCancel:
		if s == answer.StatePrepare || s == answer.StatePrecommitted {
			d.end(0, answer.StateAborted)
			c = c.withoutTxn()
		}
		tell(SettleEvent{Kind: SettleCancelled})
	case SettleFence:
		a := answered(200, says(answer.Failure, 7))
		switch {
		case d.wait == doomed:
		case d.wait == underway || d.begin(0, theFence, waited):
			d.finish(0, p.phases())
			a.Load = says(answer.Success, txnHere)
		default:
			a.Load = d.slots[0].taken()[0]
		}
		tell(SettleEvent{Kind: SettleFenced, Attempt: a})
	default:
		var l answer.Load
		d, l = d.calmCommit(c.todo.Txn)
		tell(SettleEvent{Kind: SettleCommitted, Commit: l})
	}
}

// calmCommit commits a transaction, and says what came of it.
func (d doris) calmCommit(txn int64) (doris, answer.Load) {
	switch {
	case txn == txnGone:
		return d, answer.Load{Readable: true, Word: answer.Failure, Message: fmt.Sprintf("transaction [%d] is already aborted", txn)}
	case d.slots[0].state == answer.StateCommitted:
		return d, answer.Load{Readable: true, Word: answer.Failure, Message: fmt.Sprintf("transaction [%d] is already visible, not pre-committed.", txn)}
	default:
		d.commit(0)
		return d, says(answer.Success, 0)
	}
}
