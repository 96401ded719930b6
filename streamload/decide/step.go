package decide

import (
	"strings"
	"time"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// looksAfterCancel is how often the state is asked for after the label was cancelled. An FE aborts at once, so more than
// a few looks only help when the question itself fails.
const looksAfterCancel = 3

// maxRetryAfter caps what a server may ask us to wait.
const maxRetryAfter = 5 * time.Minute

// State is everything that Step knows about a delivery. The zero value is not valid; use Start.
type State struct {
	policy Policy

	label   int // number of the current label
	resends int
	// used is true once a body may have reached a server under the current label.
	used bool
	// unanswered counts requests under the current label whose fate their own answer did not tell. Nothing but a commit
	// settles them: each could still be on its way.
	unanswered int
	ambiguous  bool // some request of the whole delivery was one of those
	// doubtful is true when a transaction of the current label may hold the rows and has not been followed by ABORTED: an
	// answered failure, because "Fail" does not prove that nothing was committed (be stream_load_executor.cpp: a commit
	// whose RPC timed out is answered with Fail), or a transaction that was seen to be running.
	doubtful bool
	// unasked is true when a request was answered with a refusal of its begin, and nobody has told the label's state since. What answered may
	// have sent the request before: the refusal is then that of a second copy, and the first one stored the rows.
	unasked bool
	// tainted is true when a server claimed to have stored a request of the current label whose body it had not got whole, or of which it counted
	// nothing: whatever is committed under the label may be that load of no rows, or too few.
	tainted bool

	// With LabelOnce: committing is true while a commit of the current label is sent and its fate is not known; givingUp while a request that was
	// never committed is being rolled back.
	committing, givingUp bool

	// txn is the transaction that holds exactly the rows and waits for its second phase; 0: none.
	txn int64

	sending   bool // the last action was to send
	polling   bool
	pollSince time.Duration
	polls     int // of this series
	sawOpen   bool
	looks     int  // left after a cancelled label; 0 means not cancelled
	refusals  int  // requests in a row that were refused before the body
	stale     bool // the last request met a kept connection that was closed already
	astray    bool // a request that no FE was asked for was not taken
	capacity  bool
	class     Class         // of the last attempt's answer, "" without one
	retryWait time.Duration // asked for by the last answer

	cancelled bool
	done      bool
	outcome   Outcome
}

// Start begins a delivery: the first action is to send under the base label.
func Start(p Policy) (State, Action) {
	return State{policy: p, sending: true}, Action{Kind: Send}
}

// StartAgain begins a delivery under a label that an earlier one has left open: only a stable label is used again. Its requests may
// still land under it, so this delivery cannot close it by its own requests alone.
func StartAgain(p Policy, d Debt) (State, Action) {
	s, act := Start(p)
	s.used, s.ambiguous, s.doubtful, s.tainted = true, true, true, d.Tainted
	if d.Unanswered {
		s.unanswered = 1
	}
	return s, act
}

// Resends is how often the load was sent again so far.
func (s State) Resends() int { return s.resends }

// Ambiguous is true when some request of the delivery got no answer that told its fate.
func (s State) Ambiguous() bool { return s.ambiguous }

// Step is told what happened and says what to do. It is total and deterministic: any event may come at any time, the end
// is final, and once an event says Cancelled nothing is sent any more.
func Step(s State, ev Event) (State, Action) {
	if s.done {
		return s, s.finished()
	}
	before := s.cancelled
	s.cancelled = s.cancelled || ev.Cancelled || ev.Kind == Interrupted
	if s.sending && ev.Kind != Attempted && ev.Kind != Interrupted {
		s = s.lost() // nobody said what became of the request that was to be sent
	}
	s.sending = false
	switch {
	case ev.Kind == Attempted:
		return s.attempted(ev)
	case ev.Kind == Interrupted && before:
		return s.fail(Stopped) // the last look was interrupted as well
	case ev.Kind == Interrupted:
		return s.stop(ev.Now)
	case s.policy.Unlabelled:
		return s.fail(NoLabel) // there is no label that could have been asked for
	case ev.Kind == Polled:
		return s.polled(ev)
	case ev.Kind == TxnCommitted:
		return s.txnCommitted(ev)
	case s.givingUp:
		s.givingUp = false
		return s.resend(ev.Now, true)
	default: // LabelCancelled
		return s.look(s.policy.LabelPoll.Wait(0))
	}
}

// attempted judges one request.
func (s State) attempted(ev Event) (State, Action) {
	a := ev.Attempt
	s.polling, s.sawOpen, s.looks = false, false, 0
	s.retryWait = min(a.RetryAfter, maxRetryAfter)
	s.class = ""
	if a.HasAnswer {
		s.class = Classify(a.HTTPStatus, a.Load)
	}
	s.capacity = s.class.Slow()
	stale := a.Stale && a.Sent == NotSent && !a.HasAnswer
	// The BE that an earlier load went to is gone, or is none any more. No FE has sent this load there, so an FE is to be asked now.
	astray := a.Direct && a.Sent == NotSent && !(a.HasAnswer && a.Load.Readable)
	again := (stale && !s.stale || astray && !s.astray) && !s.cancelled && !over(ev.Now, s.policy.Backoff.MaxElapsed)
	s.stale, s.astray = stale, s.astray || astray
	if a.Sent != NotSent {
		s.used = true
		s.refusals = 0
	}
	said, ok := answer.Unclear, a.HTTPStatus >= 200 && a.HTTPStatus < 300
	if a.HasAnswer {
		said = a.Load.Word
	}
	// An answer to a body that was not sent whole cannot be about these rows, and what it says is stored is not them.
	stored, whole := said == answer.Success || said == answer.PublishTimeout, a.Sent == Answered && a.WholeBody
	counts := CountsOf(a)
	waits := said == answer.Success && whole && ok && s.policy.TwoPhase && !a.Load.OnePhase
	s.tainted = s.tainted || stored && !waits && (!whole || counts != CountsFit)
	switch {
	case waits && !(s.policy.LabelOnce && unusable(a, counts)):
		return s.preCommitted(a, counts, ev.Now)
	case s.policy.LabelOnce:
		return s.attemptedOnce(a, ev.Now)
	case stored && whole && ok && counts == CountsNothing:
		return s.nothing()
	case stored && counts == CountsClash && a.Sent != NotSent:
		return s.unclear(ev.Now)
	case said == answer.Success && whole && ok:
		return s.commit(BySuccess)
	case said == answer.PublishTimeout && whole && ok:
		return s.commit(ByPublishTimeout)
	case saysLabelExists(a) && !s.policy.Unlabelled && (a.Sent == NotSent || answeredFailure(a)):
		return s.labelExists(said == answer.LabelExists && a.Load.Existing == answer.ExistingFinished && ok, ev.Now)
	case stored && a.Sent == NotSent:
		// If no body ever left under the label, it is left behind: nothing of ours can land under it.
		s.refusals++
		return s.resend(ev.Now, !s.used)
	case again:
		return s.send(Action{}) // no attempt was made yet, so it does not count as one: once in a row, or once at all without an FE
	case a.Sent == NotSent:
		s.refusals++
		return s.resend(ev.Now, false)
	case s.policy.Unlabelled && answeredFailure(a) && !mergeOpen(a.Load.Message) && !(s.policy.RejectUnknown && s.class.ofServers()):
		return s.resend(ev.Now, false)
	case answeredFailure(a) && !s.policy.Unlabelled:
		// A BE that never began a transaction says so with transaction -1 (be stream_load_context.cpp), which is believed when
		// the label's state does not say otherwise; any other failure has to be followed by ABORTED before it is.
		s.unasked = true
		if a.Load.TxnID != -1 {
			s.doubtful = true
		}
		return s.startPoll(ev.Now, 0)
	default:
		return s.unclear(ev.Now)
	}
}

// nothing ends a delivery whose load was committed without a row. Nothing else can be committed under its label any more, so a random label is
// closed, and the rows may be loaded anew. Sending them again at once would do the same once more. A stable label stays tainted.
func (s State) nothing() (State, Action) {
	s.unanswered, s.doubtful, s.unasked = 0, false, false
	return s.fail(NothingCounted)
}

// unclear follows a request that may be on its way, or stored.
func (s State) unclear(now time.Duration) (State, Action) {
	s = s.lost()
	if s.policy.Unlabelled {
		return s.fail(NoLabel)
	}
	return s.startPoll(now, s.policy.LabelPoll.Wait(0))
}

// lost notes a request that may be on its way, or stored.
func (s State) lost() State {
	s.used, s.ambiguous = true, true
	s.unanswered++
	return s
}

// answeredFailure is true when a Doris server itself said that this request failed. HTML, cut JSON, a word that nobody
// knows, a success that comes with an error status, or a 408 or 5xx may stem from something in between, behind which the
// request lives on.
func answeredFailure(a Attempt) bool {
	if a.Sent != Answered || !a.HasAnswer || !a.Load.Readable || a.HTTPStatus >= 500 || a.HTTPStatus == 408 {
		return false
	}
	return a.Load.Word == answer.Failure || a.Load.Word == answer.LabelExists
}

// mergeOpen is true for what StarRocks says of a load that it merged with others and whose fate it does not know, or knows to be committed but
// not visible (be isomorphic_batch_write.cpp): all with the word "Fail".
func mergeOpen(message string) bool {
	message = strings.ToLower(message)
	return strings.Contains(message, "has not been published") || strings.Contains(message, "load status is unknown") ||
		strings.Contains(message, "txn status: ")
}

// saysLabelExists is true for "Label Already Exists", and for a Fail whose text says the same.
func saysLabelExists(a Attempt) bool {
	if !a.HasAnswer {
		return false
	}
	return a.Load.Word == answer.LabelExists || a.Load.Word == answer.Failure && labelUsed(a.Load.Message)
}

// labelExists judges "Label Already Exists": the begin of this request was refused because another one owns the label.
func (s State) labelExists(finished bool, now time.Duration) (State, Action) {
	if !s.used && !s.policy.StableLabel {
		// The label is random and no body ever left under it, so whoever owns it, the rows are not ours. Nothing of ours
		// can land under it either, so it is closed.
		return s.resend(now, true)
	}
	if finished {
		return s.commit(ByLabelFinished)
	}
	s.doubtful = true
	return s.startPoll(now, s.policy.LabelPoll.Wait(0))
}

func (s State) startPoll(now, after time.Duration) (State, Action) {
	s.polling, s.pollSince, s.polls, s.sawOpen, s.looks = true, now, 0, false, 0
	return s.look(after)
}

// look asks for the label's state. After a cancellation it is the last look, and at once.
func (s State) look(after time.Duration) (State, Action) {
	if s.cancelled {
		after = 0
	}
	s.polls++
	return s, Action{Kind: AskState, After: after, Label: s.label}
}

// polled judges a label's state.
func (s State) polled(ev Event) (State, Action) {
	switch ev.Poll.State {
	case answer.StateVisible:
		return s.commit(ByStateVisible)
	case answer.StateCommitted:
		return s.commit(ByStateCommitted)
	case answer.StateAborted:
		s.doubtful, s.unasked, s.committing = false, false, false
		return s.resend(ev.Now, s.unanswered == 0)
	case answer.StateUnknown:
		if s.committing {
			return s.pollOn(ev.Now) // what was prepared is not unknown, unless it was forgotten
		}
		// No information: it never arrived, was not begun yet, or was forgotten. Only the same label is safe.
		s.unasked = false
		return s.resend(ev.Now, false)
	case answer.StatePrecommitted:
		s.sawOpen, s.doubtful = true, true
		if s.policy.TwoPhase && s.looks == 0 {
			return s.secondPhase(ev.Now)
		}
		return s.pollOn(ev.Now)
	case answer.StatePrepare:
		s.sawOpen, s.doubtful = true, true
		return s.pollOn(ev.Now)
	default:
		if ev.Poll.Rejected {
			s.unasked = false // nobody will ever tell
			if s.unanswered == 0 && !s.committing {
				return s.resend(ev.Now, false)
			}
			return s.fail(StateRefused)
		}
		return s.pollOn(ev.Now)
	}
}

// pollOn asks again, until the time for it is over.
func (s State) pollOn(now time.Duration) (State, Action) {
	if s.cancelled {
		return s.fail(Stopped)
	}
	if s.looks > 0 {
		if s.looks--; s.looks == 0 {
			return s.fail(StillOpen)
		}
		return s.look(s.policy.LabelPoll.Wait(0))
	}
	after := s.policy.LabelPoll.Wait(s.polls)
	if over(now-s.pollSince+after, s.policy.LabelPoll.MaxElapsed) || over(now+after, s.policy.Backoff.MaxElapsed) {
		switch {
		case s.sawOpen:
			return s.cancelLabel(looksAfterCancel)
		case s.unanswered == 0 && !s.committing:
			// Every request was answered, so sending under the same label is safe whatever the state is.
			return s.resend(now, false)
		default:
			return s.fail(StillOpen)
		}
	}
	return s.look(after)
}

// stop answers the caller's cancellation of a wait: with one last look where the fate of the label is open.
func (s State) stop(now time.Duration) (State, Action) {
	if !s.policy.Unlabelled && (s.polling || s.open()) {
		return s.startPoll(now, 0)
	}
	return s.fail(Stopped)
}

// open is true while rows sent under the current label may be stored, or may still be. A stable label that is tainted is as good as that:
// whoever sends the rows under it next, knowing nothing of this, would take a load of no rows for them.
func (s State) open() bool {
	if s.policy.LabelOnce {
		return s.committing
	}
	return s.unanswered > 0 || s.doubtful || s.unasked || s.tainted && s.policy.StableLabel && !s.policy.Unlabelled
}

func (s State) commit(e Evidence) (State, Action) {
	if s.tainted && !e.ByAnswer() {
		s.doubtful = true
		return s.fail(StillOpen)
	}
	s.done = true
	s.outcome = Outcome{Committed: true, Evidence: e}
	return s, s.finished()
}

func (s State) fail(r Reason) (State, Action) {
	s.done = true
	s.outcome = Outcome{Reason: r, Open: s.open()}
	switch {
	case s.open() && s.policy.RejectUnknown:
		s.outcome.Debt = Debt{Forever: true}
	case s.open():
		s.outcome.Debt = Debt{Unanswered: s.unanswered > 0, Stable: s.policy.StableLabel, Tainted: s.tainted, TwoPhase: s.policy.TwoPhase, NoFence: s.policy.NoFence}
	}
	return s, s.finished()
}

func (s State) finished() Action { return Action{Kind: Done, Label: s.label, Outcome: s.outcome} }

func over(d, limit time.Duration) bool { return limit > 0 && d > limit }
