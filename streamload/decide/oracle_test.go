package decide

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// stepFunc is Step, or a Step that was broken on purpose.
type stepFunc func(State, Event) (State, Action)

// fate is what an attempt means for the label it was made under, by the words of the design and without a look at Step.
type fate uint8

const (
	nothingLeft fate = iota // no byte of the body left
	stored                  // a server says that it stored the whole body
	barren                  // a server says that it committed the whole body, and counted no row of it
	refused                 // answered: its transaction was never begun
	failed                  // answered, but its transaction may be committed all the same
	lost                    // not answered in a way that tells its fate: it may be on its way
)

// wordOf is what an answer says: Fail with a text that says that the label is used is another way to say that it exists.
func wordOf(a Attempt) answer.Word {
	switch {
	case !a.HasAnswer:
		return answer.Unclear
	case a.Load.Word == answer.Failure && strings.Contains(a.Load.Message, "already been used"):
		return answer.LabelExists
	default:
		return a.Load.Word
	}
}

// countsOf is what the counts say against a success: that there was nothing, or two things at once. Random answers have no odder counts.
func countsOf(a Attempt) (nothing, clash bool) {
	if a.Rows == 0 || !a.HasAnswer {
		return false, false
	}
	empty, deaf := a.Load.HasCounts && a.Load.Total == 0, a.Load.HasBytes && a.Load.LoadBytes == 0
	clash = deaf && a.Load.HasCounts && !empty
	return (empty || deaf) && !clash, clash
}

// waits is true when a claim of success is one of a transaction that waits for its second phase.
func (o *oracle) waits(a Attempt) bool {
	return o.policy.TwoPhase && !a.Load.OnePhase && a.HasAnswer && a.Load.Word == answer.Success && a.HTTPStatus/100 == 2 && a.Sent == Answered && a.WholeBody
}

func fateOf(a Attempt) fate {
	word := wordOf(a)
	good := a.HTTPStatus/100 == 2
	switch {
	case a.Sent == NotSent:
		return nothingLeft
	case a.Sent != Answered:
		return lost
	case (word == answer.Success || word == answer.PublishTimeout) && good && a.WholeBody:
		switch nothing, clash := countsOf(a); {
		case nothing:
			return barren
		case clash:
			return lost
		}
		return stored
	case !a.Load.Readable, a.HTTPStatus >= 500, a.HTTPStatus == 408:
		return lost
	case word == answer.LabelExists, word == answer.Failure && a.Load.TxnID == -1:
		return refused
	case word == answer.Failure:
		return failed
	default:
		return lost
	}
}

// oracle watches a delivery and knows for each request and the current label what may still come of them. It says when an
// action breaks a rule of the design.
type oracle struct {
	policy Policy
	step   stepFunc
	state  State
	act    Action
	now    time.Duration

	cancelled bool
	done      bool
	steps     int

	// Of the whole delivery:
	resends     int  // sends after the first that count
	staleBefore bool // the attempt before was one that met a stale connection
	// astrayBefore: an earlier attempt went to a BE without asking an FE, and was not taken.
	astrayBefore bool
	sawOpenState bool // PREPARE or PRECOMMITTED was polled since the last attempt

	// Of the current label:
	label      int
	left       bool // some of a body left
	unanswered int
	doubt      bool // a transaction of the label may hold the rows: not followed by ABORTED
	unasked    bool // a begin was refused, and no answer about the label's state has followed
	lied       bool // a server claims to have stored what it did not get

	txn int64 // the transaction that waits for its second phase and holds exactly the rows; 0: none

	divide bool // the last answer was a failure that other loads of the same rows may not have
}

func watch(p Policy, step stepFunc) (*oracle, error) {
	o := &oracle{policy: p, step: step}
	o.state, o.act = Start(p)
	if o.act != (Action{Kind: Send}) {
		return o, fmt.Errorf("a delivery must begin with sending under the base label, not with %+v", o.act)
	}
	return o, nil
}

// feed gives an event to Step and judges what comes of it.
func (o *oracle) feed(ev Event) error {
	ev.Now = o.now
	o.steps++
	again, actAgain := o.step(o.state, ev)
	next, act := o.step(o.state, ev)
	if again != next || !reflect.DeepEqual(actAgain, act) {
		return fmt.Errorf("Step is not deterministic: %+v and %+v", act, actAgain)
	}
	before := o.act
	o.state, o.act = next, act
	if o.done {
		if act != before {
			return fmt.Errorf("the end is not final: %+v became %+v", before, act)
		}
		return nil
	}
	staleNow := ev.Kind == Attempted && ev.Attempt.Stale && !ev.Attempt.HasAnswer && ev.Attempt.Sent == NotSent
	astray := ev.Kind == Attempted && ev.Attempt.Direct && ev.Attempt.Sent == NotSent && !(ev.Attempt.HasAnswer && ev.Attempt.Load.Readable)
	free := staleNow && !o.staleBefore || astray && !o.astrayBefore
	if ev.Kind == Attempted {
		o.staleBefore = staleNow
		o.astrayBefore = o.astrayBefore || astray
	}
	evidence := o.learn(ev, before)
	var err error
	switch act.Kind {
	case Send:
		err = o.checkSend(ev, free)
	case AskState:
		err = o.checkAsk()
	case CancelLabel:
		err = o.checkAsk()
		o.txn = 0
	case CommitTxn:
		err = o.checkCommit(ev)
	case Done:
		o.done = true
		err = o.checkDone(evidence)
	default:
		err = fmt.Errorf("no such action: %d", act.Kind)
	}
	if err != nil {
		return err
	}
	if err := o.checkRejected(); err != nil {
		return err
	}
	if evidence != NoEvidence && act.Kind != Done {
		return fmt.Errorf("%s proves that the rows are stored, but %s follows", evidence, act.Kind)
	}
	if ev.Kind == Attempted && !o.policy.Unlabelled {
		switch f := fateOf(ev.Attempt); {
		case o.waits(ev.Attempt):
			if act.Kind != CommitTxn && act.Kind != CancelLabel {
				return fmt.Errorf("a transaction that waits is followed by %s", act.Kind)
			}
		case (f == lost || f == failed) && act.Kind != AskState:
			return fmt.Errorf("a request whose fate is open is followed by %s, not by a look at its label", act.Kind)
		case f == barren && (act.Kind != Done || act.Outcome.Reason != NothingCounted):
			return fmt.Errorf("a load of which nothing was counted is followed by %+v", act)
		}
	}
	return nil
}

// learn updates what is known by an event, and says what it proves.
func (o *oracle) learn(ev Event, before Action) Evidence {
	o.cancelled = o.cancelled || ev.Cancelled || ev.Kind == Interrupted
	if before.Kind == Send && ev.Kind != Attempted && ev.Kind != Interrupted {
		o.left = true // a request of which nothing was heard
		o.unanswered++
	}
	proof := NoEvidence
	switch ev.Kind {
	case Attempted:
		o.sawOpenState = false
		proof = o.learnAttempt(ev.Attempt)
	case Polled:
		proof = o.learnState(ev.Poll.State)
		if ev.Poll.State == answer.StateAborted || ev.Poll.State == answer.StateUnknown {
			o.txn = 0
		}
		o.unasked = o.unasked && ev.Poll.State != answer.StateAborted && ev.Poll.State != answer.StateUnknown && (ev.Poll.State != answer.NoState || !ev.Poll.Rejected)
	}
	if ev.Kind == TxnCommitted && o.txn != 0 && ev.Commit.Readable && (ev.Commit.Word == answer.Success || strings.Contains(ev.Commit.Message, "already visible")) {
		return ByCommit
	}
	if o.policy.Unlabelled && proof != BySuccess && proof != ByPublishTimeout {
		return NoEvidence
	}
	if o.lied && proof != NoEvidence && proof != BySuccess && proof != ByPublishTimeout {
		o.doubt = true
		return NoEvidence
	}
	return proof
}

func (o *oracle) learnAttempt(a Attempt) Evidence {
	f := fateOf(a)
	o.divide = a.HasAnswer && (a.Class() == TooLarge && o.policy.Divisible || a.Class() == DataQuality && o.policy.Joined)
	claims := a.HasAnswer && (a.Load.Word == answer.Success || a.Load.Word == answer.PublishTimeout)
	nothing, clash := countsOf(a)
	o.lied = o.lied || claims && !o.waits(a) && (a.Sent != Answered || !a.WholeBody || nothing || clash)
	o.left = o.left || f != nothingLeft
	o.txn = 0
	if o.waits(a) {
		o.doubt, o.sawOpenState = true, true
		if !a.Miscounted && !nothing && !clash {
			o.txn = max(a.Load.TxnID, 0)
		}
		return NoEvidence
	}
	if o.policy.RejectUnknown && (f == failed || f == refused) && (a.Class() == Timeout || a.Class() == Unavailable || a.Class() == Unknown) {
		f = lost
	}
	switch f {
	case barren: // nothing else can be committed under the label any more
		o.unanswered, o.doubt, o.unasked = 0, false, false
	case lost:
		o.unanswered++
	case failed:
		o.doubt = o.doubt || !o.policy.Unlabelled
	case refused:
		o.unasked = o.unasked || !o.policy.Unlabelled && wordOf(a) == answer.Failure
	case stored:
		if a.Load.Word == answer.Success {
			return BySuccess
		}
		return ByPublishTimeout
	}
	owned := wordOf(a) == answer.LabelExists && f != lost
	if owned && (o.left || o.policy.StableLabel) && !o.policy.Unlabelled {
		if a.Load.Word == answer.LabelExists && a.Load.Existing == answer.ExistingFinished && a.HTTPStatus/100 == 2 {
			return ByLabelFinished
		}
		o.doubt = true
	}
	return NoEvidence
}

func (o *oracle) learnState(s answer.LabelState) Evidence {
	if o.policy.Unlabelled {
		return NoEvidence
	}
	switch s {
	case answer.StateVisible:
		return ByStateVisible
	case answer.StateCommitted:
		return ByStateCommitted
	case answer.StateAborted:
		o.doubt = false
	case answer.StatePrepare, answer.StatePrecommitted:
		o.doubt, o.sawOpenState = true, true
	}
	return NoEvidence
}

func (o *oracle) checkSend(ev Event, free bool) error {
	if o.cancelled {
		return errors.New("sends after the caller cancelled")
	}
	if !free {
		o.resends++
	}
	if o.divide && !free && !o.open() {
		return errors.New("sends again what is to be divided")
	}
	if o.resends > max(o.policy.MaxRetries, 0) {
		return fmt.Errorf("resend %d of at most %d", o.resends, o.policy.MaxRetries)
	}
	if limit := o.policy.Backoff.MaxElapsed; limit > 0 && o.now+o.act.After > limit {
		return fmt.Errorf("a resend at %s, after the bound of %s", o.now+o.act.After, limit)
	}
	if o.act.AtLeast > o.act.After || o.act.After < 0 || o.act.AtLeast < 0 {
		return fmt.Errorf("waits that make no sense: %+v", o.act)
	}
	switch o.act.Label {
	case o.label:
		return nil
	case o.label + 1:
	default:
		return fmt.Errorf("label %d follows on label %d", o.act.Label, o.label)
	}
	nobody := !o.left && ev.Kind == Attempted && ev.Attempt.HasAnswer // somebody else's label, or an empty load
	aborted := ev.Kind == Polled && ev.Poll.State == answer.StateAborted
	switch {
	case o.policy.StableLabel || o.policy.Unlabelled:
		return errors.New("a fresh label where there is only one")
	case o.unanswered > 0:
		return fmt.Errorf("a fresh label while %d request(s) under the old one could still land", o.unanswered)
	case o.doubt:
		return errors.New("a fresh label while the old one may be committed")
	case !nobody && !aborted:
		return errors.New("a fresh label without proof that the old one is closed")
	}
	o.label, o.left, o.lied = o.act.Label, false, false
	return nil
}

// checkCommit judges a second phase: it may only be that of the transaction that was counted, and after the caller's cancellation only
// the one that belongs to the request that was on its way.
// checkRejected is about rows that must not be stored twice, where no label prevents it.
func (o *oracle) checkRejected() error {
	if o.policy.RejectUnknown && o.unanswered > 0 && o.act.Kind != Done {
		return fmt.Errorf("%s although rows that were sent before may be stored", o.act.Kind)
	}
	return nil
}

func (o *oracle) checkCommit(ev Event) error {
	switch {
	case !o.policy.TwoPhase || o.txn == 0 || o.act.Txn != o.txn || o.act.Label != o.label:
		return fmt.Errorf("commits transaction %d of label %d; the one that holds the rows is %d of %d", o.act.Txn, o.act.Label, o.txn, o.label)
	case o.cancelled && (ev.Kind != Attempted || o.act.After != 0):
		return errors.New("commits after the caller cancelled")
	}
	return nil
}

func (o *oracle) checkAsk() error {
	switch {
	case o.policy.Unlabelled:
		return fmt.Errorf("%s without a label", o.act.Kind)
	case o.act.Label != o.label:
		return fmt.Errorf("%s for label %d, the current one is %d", o.act.Kind, o.act.Label, o.label)
	case o.act.Kind == CancelLabel && o.act.Txn != 0 && !o.policy.TwoPhase:
		return errors.New("cancels a transaction in one phase")
	case o.act.Kind == CancelLabel && o.cancelled && !o.policy.TwoPhase:
		return errors.New("cancels a label after the caller cancelled")
	case o.act.Kind == CancelLabel && !o.sawOpenState:
		return errors.New("cancels a label that was not seen to be open")
	case o.cancelled && o.act.After != 0:
		return fmt.Errorf("waits %s before the last look", o.act.After)
	}
	return nil
}

func (o *oracle) open() bool {
	return o.unanswered > 0 || o.doubt || o.unasked || o.lied && o.policy.StableLabel && !o.policy.Unlabelled
}

func (o *oracle) checkDone(evidence Evidence) error {
	out := o.act.Outcome
	open := o.open()
	var debt Debt
	if open && !out.Committed && o.policy.RejectUnknown {
		debt = Debt{Forever: true}
	} else if open && !out.Committed {
		debt = Debt{Unanswered: o.unanswered > 0, Stable: o.policy.StableLabel, Tainted: o.lied, TwoPhase: o.policy.TwoPhase, NoFence: o.policy.NoFence}
	}
	switch {
	case o.act.Label != o.label:
		return fmt.Errorf("ends with label %d, the current one is %d", o.act.Label, o.label)
	case out.Debt != debt:
		return fmt.Errorf("the debt is %+v and should be %+v", out.Debt, debt)
	case out.Committed && (evidence == NoEvidence || out.Evidence != evidence):
		return fmt.Errorf("acked by %s, but what is proved is %s", out.Evidence, evidence)
	case out.Committed && (out.Reason != NoReason || out.Open):
		return fmt.Errorf("committed and yet %+v", out)
	case out.Committed:
		return nil
	case evidence != NoEvidence:
		return fmt.Errorf("not acked in spite of %s", evidence)
	case out.Evidence != NoEvidence || out.Reason == NoReason:
		return fmt.Errorf("an end without a reason: %+v", out)
	case out.Open != open:
		return fmt.Errorf("open is %t and should be %t: %d unanswered, doubt %t, lied %t", out.Open, open, o.unanswered, o.doubt, o.lied)
	case out.Reason == RetriesUsed && o.resends != max(o.policy.MaxRetries, 0):
		return fmt.Errorf("retries used up after %d of %d", o.resends, o.policy.MaxRetries)
	case out.Reason == NothingCounted && (o.unanswered > 0 || o.doubt || o.unasked):
		return errors.New("no row was counted, and yet something is open")
	case out.Reason == TimeUsed && o.policy.Backoff.MaxElapsed == 0, out.Reason == Stopped && !o.cancelled:
		return fmt.Errorf("ends because of %q, which did not happen", out.Reason)
	case out.Reason == Divide && (!o.divide || open || o.cancelled):
		return fmt.Errorf("divided: allowed %t, open %t, cancelled %t", o.divide, open, o.cancelled)
	case out.Reason == SettleFirst && (!o.divide || o.unanswered == 0 || o.doubt || o.unasked || o.lied || o.cancelled || o.policy.StableLabel || o.policy.NoFence):
		return fmt.Errorf("to be settled first: allowed %t, %d unanswered, doubt %t, lied %t, cancelled %t", o.divide, o.unanswered, o.doubt, o.lied, o.cancelled)
	case (out.Reason == StillOpen || out.Reason == StateRefused || out.Reason == NoLabel) && !open:
		return fmt.Errorf("ends because of %q, but nothing is open", out.Reason)
	}
	return nil
}
