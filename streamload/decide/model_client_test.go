package decide

import (
	"fmt"
	"time"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// The model's client: a delivery, then settlements of what it left open, then the same rows again, until they are acked. It does
// what streamload's driver does, and judges what the policy makes of it.

// rules are the functions of the policy, and what a broken one may do besides.
type rules struct {
	step       stepFunc
	again      func(Policy, Debt) (State, Action)
	start      func(Debt) (Settlement, SettleAction)
	settle     func(Settlement, SettleEvent) (Settlement, SettleAction)
	onePhase   bool // a fence is a load of no rows in one phase
	endByLabel bool // the second phase names the label, not the transaction
}

func ourRules() rules {
	return rules{step: Step, again: StartAgain, start: StartSettlement, settle: StepSettlement}
}

// bounds are what is explored.
type bounds struct {
	retries int
	stable  bool
	late    int // requests at a time that the client no longer waits for
	// twins is how many requests a proxy doubles. Without replays it answers with no failure of one copy, and that the label is taken only
	// when the other copy has begun; with them it answers whatever became of one copy, while the other is on its way or has stored the rows.
	twins   uint8
	replays bool
	crashes bool // the process may die at any time; its successor knows nothing and gets the same batch
	hollows bool // a begin may arrive without a body ever to follow
	empties bool // a server or proxy may claim a success for a body that it did not take
	cancels bool // the caller may cancel
	// twoPhase stores the rows in two phases. What waits for its second phase can be committed by a request that is late.
	twoPhase bool
}

// The model has three times: soon, when a series of polls is over, and when the delivery is.
const (
	soon     time.Duration = 0
	pollOver               = 2 * time.Hour
	allOver                = 20 * time.Hour
)

func (b bounds) policy() Policy {
	return Policy{
		MaxRetries: b.retries, StableLabel: b.stable, TwoPhase: b.twoPhase, FEs: 1,
		Backoff:   Backoff{Initial: 1, Max: 1, MaxElapsed: 10 * time.Hour},
		LabelPoll: Backoff{Initial: 1, Max: 1, MaxElapsed: time.Hour},
	}
}

type phase uint8

const (
	delivering phase = iota
	settling
	acked
)

// client is what the client knows and is about to do.
type client struct {
	phase  phase
	state  State
	act    Action
	settle Settlement
	todo   SettleAction
}

// Transactions that wait for their second phase have two numbers: one that is the current transaction of the label, and any that is gone.
const (
	txnHere int64 = 1
	txnGone int64 = 2
)

// withoutTxn is the client after the transaction that it knows was aborted.
func (c client) withoutTxn() client {
	for _, txn := range []*int64{&c.state.txn, &c.act.Txn, &c.settle.debt.FenceTxn, &c.todo.Debt.FenceTxn, &c.todo.Txn} {
		if *txn == txnHere {
			*txn = txnGone
		}
	}
	return c
}

// phases says which requests the model's client makes in two phases.
func (m *model) phases() phases { return phases{rows: m.twoPhase, fence: !m.onePhase} }

// node is a state of the whole.
type node struct {
	client uint32 // into model.clients
	doris  doris
}

// model is an exploration.
type model struct {
	bounds
	rules
	// harm looks for nothing but harm: rows stored twice, acks for rows that are not stored, rows given up as not stored that are. Otherwise
	// a label that is left although rows may still land under it is a fault at once.
	harm bool

	clients []client
	ids     map[client]uint32
	fault   string
	ends    int // deliveries and settlements that came to their end
}

func newModel(b bounds, r rules) *model {
	return &model{bounds: b, rules: r, ids: map[client]uint32{}}
}

func (m *model) node(c client, d doris) node {
	id, ok := m.ids[c]
	if !ok {
		id = uint32(len(m.clients)) //nolint:gosec // far below
		m.clients, m.ids[c] = append(m.clients, c), id
	}
	return node{id, d.normal()}
}

func (m *model) first() node {
	s, a := Start(m.policy())
	return m.node(client{state: s, act: a}, newDoris())
}

func (m *model) fail(format string, args ...any) {
	if m.fault == "" {
		m.fault = fmt.Sprintf(format, args...)
	}
}

// told is the client after an event of a delivery.
func (m *model) told(c client, d doris, ev Event, emit func(node)) {
	d.wait, d.twin = unbegun, false
	label := c.state.label
	c.state, c.act = m.step(c.state, ev)
	// Waits do not depend on these, as all are equal; nor does anything else.
	c.state.polls, c.state.pollSince, c.state.refusals, c.state.ambiguous = 0, 0, 0, false
	if c.act.Kind == Done {
		m.ends++
	}
	switch {
	case c.act.Kind != Done:
		if c.act.Label != label {
			m.leaves(d, "a fresh label")
			d = d.shift()
		}
		emit(m.node(c, d))
	case c.act.Outcome.Committed:
		m.acks(d, "the delivery", emit)
	case !c.act.Outcome.Open:
		if !m.crashes { // what a process that died has sent is not known to this one
			m.leaves(d, "a delivery that ends closed")
		}
		m.fresh(d, !m.crashes, emit)
	default:
		m.settlement(c.act.Outcome.Debt, d, emit)
	}
}

// toldSettling is the client after an event of a settlement.
func (m *model) toldSettling(c client, d doris, ev SettleEvent, emit func(node)) {
	d.wait, d.twin = unbegun, false
	c.settle, c.todo = m.settle(c.settle, ev)
	if c.todo.Kind == SettleDone {
		m.ends++
	}
	switch {
	case c.todo.Kind != SettleDone:
		emit(m.node(c, d))
	case c.todo.Result == SettledCommitted:
		m.acks(d, "the settlement", emit)
	case c.todo.Result == SettledClosed:
		m.leaves(d, "a settlement that ends closed")
		m.fresh(d, true, emit)
	default:
		m.settlement(c.todo.Debt, d, emit)
	}
}

func (m *model) acks(d doris, who string, emit func(node)) {
	if d.stored != 1 {
		m.fail("%s acks rows that are stored %d times", who, d.stored)
	}
	emit(m.node(client{phase: acked}, d))
}

// leaves judges a label that the client gives up.
func (m *model) leaves(d doris, why string) {
	switch {
	case d.stored > 0:
		m.fail("%s, but the rows are stored", why)
	case d.slots[0].storable(m.twoPhase) && !m.harm:
		m.fail("%s, but rows could still land under the label before", why)
	}
}

// fresh is the rows coming again, with nothing known of them: always under another base label if that is random; a stable one is
// the same for the same batch.
func (m *model) fresh(d doris, regrouped bool, emit func(node)) {
	s, a := Start(m.policy())
	c := client{state: s, act: a}
	if m.stable {
		emit(m.node(c, d))
	}
	if !m.stable || regrouped {
		emit(m.node(c, d.shift()))
	}
}

// settlement is the rows coming again with their label open: it is settled, but for the same batch under a stable label, which is
// sent again.
func (m *model) settlement(debt Debt, d doris, emit func(node)) {
	if m.stable {
		s, a := m.again(m.policy(), debt)
		emit(m.node(client{state: s, act: a}, d))
		if m.crashes {
			return
		}
	}
	s, todo := m.start(debt)
	emit(m.node(client{phase: settling, settle: s, todo: todo}, d))
}

// crash is the process dying: its requests live on, its successor is given the same batch.
func (m *model) crash(d doris, emit func(node)) {
	if d.wait == underway {
		d.slots[0].runner = unwaited
	}
	d.wait, d.twin = unbegun, false
	m.fresh(d, false, emit)
}

// event completes an event of a delivery in all ways that the time and the caller allow.
func (m *model) event(c client, d doris, ev Event, emit func(node)) {
	times := []time.Duration{soon, allOver}
	if ev.Kind == Polled {
		times = []time.Duration{soon, pollOver, allOver}
	}
	for _, ev.Now = range times {
		ev.Cancelled = c.state.cancelled
		m.told(c, d, ev, emit)
		if m.cancels && !ev.Cancelled {
			ev.Cancelled = true
			m.told(c, d, ev, emit)
		}
	}
}

func (m *model) attempted(c client, d doris, a Attempt, emit func(node)) {
	m.event(c, d, Event{Kind: Attempted, Attempt: a}, emit)
}

// The answers that the model's servers and proxies give.
var (
	noAnswer = Attempt{Sent: MaybeReceived, Trouble: ConnectionLost}
	// unclearAnswers tell nothing of a request's fate.
	unclearAnswers = []Attempt{noAnswer, answered(502, answer.Load{}), answered(200, answer.Load{})}
)

// refused is an answer that came before the body was sent.
func refusal(l answer.Load) Attempt { return Attempt{HasAnswer: true, HTTPStatus: 200, Load: l} }

// taken is what Doris says when the label is; older servers put it into words only.
func (s slot) taken() []answer.Load {
	l := says(answer.LabelExists, -1)
	if s.state == answer.StateCommitted {
		l.Existing = answer.ExistingFinished
	}
	return []answer.Load{l, {Readable: true, Word: answer.Failure, TxnID: -1, Message: "Label [b] has already been used"}}
}
