package decide

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// world is a Doris that a delivery's requests go to, as far as labels and transactions go: at most one transaction of a
// label is not aborted, an aborted label can be begun again, requests may be late, answers may be lost or untrue in the ways
// that real ones are. It knows what is stored, so it can tell whether the outcome of a delivery is the truth.
type world struct {
	source
	labels map[int]*txn // the last transaction of each label
	late   []*late
	stored int // commits that hold the rows
	policy Policy
}

type txn struct {
	state answer.LabelState
	rows  bool // holds the rows, all of them
}

// late is a request, or the part of one, that somebody still works on.
type late struct {
	label int
	txn   *txn // nil: not begun yet
	never bool // does not commit: the body was cut, or the BE gave up
}

func (w *world) state(label int) answer.LabelState {
	if t := w.labels[label]; t != nil {
		return t.state
	}
	return answer.StateUnknown
}

// begin is the FE's beginTransaction: nil when the label belongs to a transaction that is not aborted.
func (w *world) begin(label int, rows bool) *txn {
	if t := w.labels[label]; t != nil && t.state != answer.StateAborted {
		return nil
	}
	t := &txn{state: answer.StatePrepare, rows: rows}
	w.labels[label] = t
	return t
}

// commit is refused when the transaction was aborted meanwhile.
func (w *world) commit(t *txn) bool {
	if t.state != answer.StatePrepare {
		return false
	}
	t.state = pick[answer.LabelState](w, answer.StateVisible, answer.StateCommitted)
	if t.rows {
		w.stored++
	}
	return true
}

func (w *world) abort(t *txn) {
	if t.state == answer.StatePrepare {
		t.state = answer.StateAborted
	}
}

// advance lets late requests go one step further, each with some chance.
func (w *world) advance(oneIn int) {
	kept := w.late[:0]
	for _, l := range w.late {
		if !chance(w, oneIn) {
			kept = append(kept, l)
			continue
		}
		switch {
		case l.txn == nil:
			if l.txn = w.begin(l.label, true); l.txn != nil {
				kept = append(kept, l)
			}
		case l.never, chance(w, 3):
			w.abort(l.txn)
		default:
			w.commit(l.txn)
		}
	}
	w.late = kept
}

// settle lets everything that is late come to its end.
func (w *world) settle() {
	for len(w.late) > 0 {
		w.advance(1)
	}
}

func says(word answer.Word, txnID int64) answer.Load {
	return answer.Load{Readable: true, Word: word, TxnID: txnID}
}

func answered(httpStatus int, l answer.Load) Attempt {
	return Attempt{Sent: Answered, WholeBody: true, HasAnswer: true, HTTPStatus: httpStatus, Load: l}
}

func (w *world) exists(t *txn) answer.Load {
	if chance(w, 5) {
		return answer.Load{Readable: true, Word: answer.Failure, TxnID: -1, Message: "Label [b] has already been used"}
	}
	l := says(answer.LabelExists, -1)
	if t.state == answer.StateVisible || t.state == answer.StateCommitted {
		l.Existing = answer.ExistingFinished
	}
	return l
}

// load answers a request under a label.
func (w *world) load(label int) Attempt {
	gone := Attempt{Sent: MaybeReceived, Trouble: pick(w, ConnectionLost, TimedOut, Garbled)}
	refusal := func(l answer.Load) Attempt { return Attempt{HasAnswer: true, HTTPStatus: 200, Load: l} }
	switch w.below(16) {
	case 0:
		return Attempt{Trouble: pick(w, Unreachable, TLSFailed, TimedOut, BadRedirect)}
	case 1:
		return Attempt{Trouble: ConnectionLost, Stale: true}
	case 2: // the FE refuses, or something before it
		return refusal(pick(w, says(answer.Failure, 0), answer.Load{}))
	case 3: // late: nobody has begun it yet
		w.late = append(w.late, &late{label: label})
		return pick(w, gone, answered(504, answer.Load{}), answered(502, says(answer.Failure, 0)), answered(408, says(answer.Failure, 0)),
			answered(403, answer.Load{}), answered(200, answer.Load{}))
	case 4: // the BE cannot begin; sometimes the begin arrives at the FE all the same, without a body ever to follow
		if chance(w, 2) {
			if t := w.begin(label, false); t != nil {
				w.late = append(w.late, &late{label: label, txn: t, never: true})
			}
		}
		return pick(w, refusal(says(answer.Failure, -1)), answered(200, says(answer.Failure, -1)))
	case 5: // the server claims a success and has stored no rows, or does so later
		t := w.begin(label, false)
		if t == nil {
			return refusal(w.exists(w.labels[label]))
		}
		if chance(w, 2) {
			w.commit(t)
		} else {
			delete(w.labels, label)
		}
		return refusal(says(pick(w, answer.Success, answer.PublishTimeout), 0))
	}
	t := w.begin(label, true)
	if t == nil {
		// The refusal of a begin may come before the body, after it, or be lost.
		return pick(w, refusal(w.exists(w.labels[label])), answered(200, w.exists(w.labels[label])), gone)
	}
	switch w.below(8) {
	case 0: // the plan fails
		w.abort(t)
		return pick(w, refusal(says(answer.Failure, 7)), answered(200, says(answer.Failure, 7)))
	case 1: // the rows are bad
		w.abort(t)
		return answered(200, says(answer.Failure, 7))
	case 2: // the body is cut
		w.late = append(w.late, &late{label: label, txn: t, never: true})
		return gone
	case 3: // slow
		w.late = append(w.late, &late{label: label, txn: t})
		return gone
	case 4: // the commit's RPC times out at the BE, which answers Fail; at the FE it may pass, or pass later
		if chance(w, 2) {
			w.commit(t)
		} else {
			w.late = append(w.late, &late{label: label, txn: t})
		}
		return answered(200, says(answer.Failure, 7))
	case 5: // committed, and the answer is lost
		w.commit(t)
		return pick(w, gone, answered(502, answer.Load{}), answered(200, answer.Load{}), answered(200, says(answer.Unclear, 7)))
	case 6:
		w.commit(t)
		return answered(200, says(answer.PublishTimeout, 7))
	default:
		w.commit(t)
		return answered(200, says(answer.Success, 7))
	}
}

func (w *world) poll(label int) Poll {
	switch w.below(8) {
	case 0:
		return Poll{}
	case 1:
		return Poll{Rejected: chance(w, 3)}
	default:
		return Poll{State: w.state(label)}
	}
}

// deliver plays a whole delivery and returns what is wrong with its outcome.
func (w *world) deliver(step stepFunc) error {
	state, act := Start(w.policy)
	before := w.stored > 0 || len(w.late) > 0
	var now time.Duration
	cancelled := false
	for range 3000 {
		if act.Kind == Done {
			break
		}
		w.advance(4)
		now += passed(w, act)
		cancelled = cancelled || chance(w, 60)
		ev := Event{Now: now, Cancelled: cancelled}
		switch {
		case cancelled && (act.Kind != AskState || act.After > 0):
			ev.Kind = Interrupted
		case act.Kind == Send:
			ev.Kind, ev.Attempt = Attempted, w.load(act.Label)
		case act.Kind == AskState:
			ev.Kind, ev.Poll = Polled, w.poll(act.Label)
		default:
			ev.Kind = LabelCancelled
			if t := w.labels[act.Label]; t != nil && !chance(w, 3) {
				w.abort(t)
			}
		}
		state, act = step(state, ev)
	}
	atEnd := w.stored
	w.settle()
	switch {
	case act.Kind != Done:
		return errors.New("no end")
	case w.stored > 1:
		return fmt.Errorf("the rows are stored %d times", w.stored)
	case act.Outcome.Committed && atEnd != 1:
		return fmt.Errorf("acked by %s, but the rows are stored %d times", act.Outcome.Evidence, atEnd)
	case !act.Outcome.Committed && !act.Outcome.Open && !before && w.stored > 0:
		return errors.New("said not to be stored, but they are")
	}
	return nil
}

func randomWorld(s source) *world {
	w := &world{source: s, labels: map[int]*txn{}, policy: randomPolicy(s)}
	w.policy.Unlabelled = false // then nothing is promised
	if w.policy.Backoff.MaxElapsed == 0 {
		w.policy.Backoff.MaxElapsed = time.Hour
	}
	if w.policy.LabelPoll.MaxElapsed == 0 {
		w.policy.LabelPoll.MaxElapsed = time.Minute
	}
	if w.policy.StableLabel && chance(s, 2) { // a process before this one has been here
		switch t := w.begin(0, true); s.below(3) {
		case 0:
			w.commit(t)
		case 1:
			w.abort(t)
		default:
			w.late = append(w.late, &late{txn: t})
		}
	}
	return w
}

func TestRowsAreStoredOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(sequences(15000)) { //nolint:gosec // positive
		w := randomWorld(fromSeed(seed))
		require.NoError(t, w.deliver(Step), "seed %d, policy %+v", seed, w.policy)
	}
}

// A step that breaks a rule of the labels must store rows twice, or lie about them, in this world.
func TestWorldPunishesBrokenSteps(t *testing.T) {
	t.Parallel()
	harmful := []string{
		"a fresh label after UNKNOWN",
		"a fresh label for every resend",
		"a fresh label after ABORTED although a request is unanswered",
		"an ack for an answer that is not understood",
		"an ack for Success to a body that was not sent",
		"an ack for a label that an empty load may own",
		"Fail is believed",
		"an open outcome is called closed",
	}
	for _, name := range harmful {
		at := slices.IndexFunc(brokenSteps, func(b brokenStep) bool { return b.name == name })
		require.GreaterOrEqual(t, at, 0, name)
		b := brokenSteps[at]
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(20000) {
				if err := randomWorld(fromSeed(seed)).deliver(b.step); err != nil {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			require.Fail(t, "20000 deliveries, and no harm was done")
		})
	}
}
