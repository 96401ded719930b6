package decide

import (
	"cmp"
	"slices"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// The model of Doris that the policy is checked against, in every interleaving (model_test.go says with what bounds).
//
// A label is UNKNOWN, or has a last transaction; earlier ones of it are aborted or forgotten, so they can do nothing any more
// (fe DatabaseTransactionMgr.beginTransaction: one lock, and a transaction that is not aborted refuses every other begin).
// A request that the client no longer waits for is "late": not begun, or running. What is lost is not modelled apart from what is
// late for ever, and a cancellation that is late not apart from the server's own abort, which may come at any time.
// Not in the model: a committed label that the server has forgotten (retention). Nothing can be decided about it.

// holder is what a transaction holds.
type holder uint8

const (
	hollow   holder = iota // nothing: its begin arrived, its body never will
	theRows                // the rows of the batch
	theFence               // a load of no rows, in two phases
	noRows                 // a load of no rows that somebody took for the batch
)

// runner is who works on a transaction in PREPARE.
type runner uint8

const (
	nobody   runner = iota
	unwaited        // a request that the client does not wait for
	waited          // the request that the client waits for
)

// slot is a label.
type slot struct {
	state  answer.LabelState // COMMITTED stands for VISIBLE, too
	holds  holder
	runner runner
	rows   uint8 // late requests to load the rows, not begun yet
	fences uint8 // late fences, not begun yet
	commit bool  // a late second phase of the transaction that is PRECOMMITTED
}

// wait is how far the request that the client waits for has come.
type progress uint8

const (
	unbegun progress = iota // or there is none
	doubled                 // not begun, but a proxy has taken all of it, and has sent a copy already
	underway
	doomed // its transaction was taken from it
)

// doris is all that the model knows. The zero value has no labels; use newDoris.
type doris struct {
	// slots are labels: the first is the current one, the others are those given up that rows may still land under.
	slots  [3]slot
	wait   progress
	stored uint8 // commits that hold the rows
	twins  uint8 // requests that a proxy has doubled
	twin   bool  // the request that the client waits for is one of them
}

func newDoris() doris {
	d := doris{}
	for i := range d.slots {
		d.slots[i].state = answer.StateUnknown
	}
	return d
}

// free is true when a begin is not refused.
func (s slot) free() bool { return s.state == answer.StateUnknown || s.state == answer.StateAborted }

// alive is true while rows of a late request can still land under the label.
func (s slot) alive() bool {
	return s.state != answer.StateCommitted && (s.rows > 0 || s.holds == theRows && (s.runner != nobody || s.commit))
}

// storable is true while something that was sent can still store the rows under the label. In two phases a late load cannot: what waits for its
// second phase is committed by its number, which nobody has sent.
func (s slot) storable(twoPhase bool) bool {
	if twoPhase {
		return s.commit && s.holds == theRows
	}
	return s.alive()
}

func (d doris) inFlight() int {
	n := 0
	for _, s := range d.slots {
		n += int(s.rows) + int(s.fences)
	}
	return n
}

// begin is asked for by a request; it is false when the label is taken.
func (d *doris) begin(i int, h holder, r runner) bool {
	s := &d.slots[i]
	if !s.free() {
		return false
	}
	s.state, s.holds, s.runner = answer.StatePrepare, h, r
	return true
}

// phases says which requests are in two phases.
type phases struct {
	rows, fence bool
}

// finish is the end of a request that runs: one phase is committed, of two the first is only prepared for that.
func (d *doris) finish(i int, two phases) {
	s := &d.slots[i]
	s.runner = nobody
	if s.holds == theFence && two.fence || s.holds != theFence && two.rows {
		s.state = answer.StatePrecommitted
		return
	}
	d.commit(i)
}

// commit makes what a label holds visible.
func (d *doris) commit(i int) {
	s := &d.slots[i]
	s.state = answer.StateCommitted
	if s.holds == theRows {
		d.stored++
	}
}

// end takes a transaction away, by an abort or by a master that has never heard of it.
func (d *doris) end(i int, as answer.LabelState) {
	s := &d.slots[i]
	if s.runner == waited {
		d.wait = doomed
	}
	s.state, s.holds, s.runner, s.commit = as, hollow, nobody, false
}

// shift begins a new label. If more labels than there are slots have been left alive (no sound policy leaves one), what is late under
// the quietest of them never lands.
func (d doris) shift() doris {
	d = d.normal()
	copy(d.slots[1:], d.slots[:len(d.slots)-1])
	d.slots[0] = slot{state: answer.StateUnknown}
	return d
}

// normal makes states equal that cannot be told apart from here on.
func (d doris) normal() doris {
	for i := range d.slots {
		s := &d.slots[i]
		if s.state == answer.StateCommitted {
			s.rows, s.fences = 0, 0 // refused for ever
		}
		s.commit = s.commit && s.state == answer.StatePrecommitted
		if i == 0 {
			continue
		}
		s.fences, s.commit = 0, s.commit && s.holds == theRows
		if !s.alive() {
			*s = slot{state: answer.StateUnknown}
		}
	}
	old := d.slots[1:]
	slices.SortFunc(old, func(a, b slot) int {
		return cmp.Or(cmp.Compare(b.rows, a.rows), cmp.Compare(b.runner, a.runner), cmp.Compare(bit(b.commit), bit(a.commit)), cmp.Compare(a.state, b.state), cmp.Compare(a.holds, b.holds))
	})
	return d
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// What late requests do.
const (
	lateLoad   = "a late load begins"
	lateFence  = "a late fence begins"
	lateEnd    = "what runs late comes to its end"
	lateCommit = "the late second phase is done"
)

// ticks are the things that happen by themselves: late requests move, transactions are taken away. txnGone is true when a
// transaction of the current label that had been prepared for its commit is among the latter.
func (d doris) ticks(two phases, emit func(next doris, txnGone bool, what string)) {
	for i, s := range d.slots {
		if s.rows > 0 {
			next := d
			next.slots[i].rows--
			next.begin(i, theRows, unwaited) // or is refused
			emit(next, false, lateLoad)
		}
		if s.fences > 0 {
			next := d
			next.slots[i].fences--
			next.begin(i, theFence, unwaited)
			emit(next, false, lateFence)
		}
		if s.runner == unwaited {
			next := d
			next.finish(i, two)
			emit(next, false, lateEnd)
		}
		if s.commit {
			next := d
			next.commit(i)
			emit(next, false, lateCommit)
		}
		if s.state == answer.StatePrepare || s.state == answer.StatePrecommitted {
			next := d
			next.end(i, answer.StateAborted)
			txnGone := i == 0 && s.state == answer.StatePrecommitted
			emit(next, txnGone, "the server aborts")
			next = d
			next.end(i, answer.StateUnknown)
			emit(next, txnGone, "a new master has forgotten the transaction")
		}
	}
}
