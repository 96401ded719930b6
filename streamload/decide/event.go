// Package decide holds the policy of a delivery: what to do after each thing that happened to a load. It is pure:
// no clock, no network, no context, no randomness. Step is the only place where that is decided.
//
// The rule that everything here serves: a fresh label is used only when the label before it is closed. A label is closed
// when Doris said that its transaction is aborted (or that none was begun) and every request sent under it has been
// answered. Of all the requests under one label Doris commits at most one (fe DatabaseTransactionMgr.beginTransaction
// runs under one lock), but an aborted label can be begun again, so a request of ours that is still on its way could land
// under it later. As long as that is possible the only safe resend is one under the same label.
package decide

import (
	"time"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// Sent says how far a request got.
type Sent uint8

const (
	// NotSent means that no byte of the body left: whatever server saw the request, it cannot have stored its rows.
	// There may still be an answer, when a server refused before it took the body.
	NotSent Sent = iota
	// MaybeReceived means that some or all of the body left and that no whole answer came back.
	MaybeReceived
	// Answered means that some or all of the body left and that a whole HTTP answer came back.
	Answered
)

func (s Sent) String() string {
	switch s {
	case NotSent:
		return "not sent"
	case MaybeReceived:
		return "maybe received"
	default:
		return "answered"
	}
}

// EventKind names what happened.
type EventKind uint8

const (
	// Attempted: a request to load has ended; the fields of Attempt are set.
	Attempted EventKind = iota
	// Polled: the label's state was asked for; Poll is set.
	Polled
	// LabelCancelled: the FE was asked to abort the label, whatever it answered.
	LabelCancelled
	// Interrupted: the wait before an action was ended by the caller's cancellation; the action was not done.
	Interrupted
	// TxnCommitted: the second phase of a transaction was sent; Commit is set.
	TxnCommitted
)

// Trouble says what went wrong with a request that has no answer, or with its way to a server.
type Trouble uint8

// The kinds of trouble.
const (
	// NoTrouble: there is an answer, or nothing went wrong.
	NoTrouble Trouble = iota
	// Unreachable: a name did not resolve, a connection was refused or could not be made in time.
	Unreachable
	// TLSFailed: the TLS handshake failed, mostly a certificate that is not trusted.
	TLSFailed
	// ConnectionLost: the connection ended before the answer did.
	ConnectionLost
	// TimedOut: no answer came in time.
	TimedOut
	// BadRedirect: a redirect without a usable address, to an address that is not trusted, or too many of them.
	BadRedirect
	// Garbled: what came back was no HTTP.
	Garbled
)

// Attempt is what is known about one request to load.
type Attempt struct {
	Sent Sent
	// Trouble is set when HasAnswer is not.
	Trouble Trouble
	// Stale is true when a kept connection turned out to be closed before anything came of the request: nothing was sent, and a
	// new connection will most likely do.
	Stale bool
	// Direct is true when the request went to a BE without asking an FE for one: to a BE that an FE had named for an earlier load.
	Direct bool
	// Begun is true when a transaction may have been begun for the request although nothing of the body left.
	Begun bool
	// WholeBody is true when every byte of the body left.
	WholeBody bool
	// Rows is how many rows of the body the server has to count; 0 where it may count none and be right.
	Rows int64
	// HasAnswer is true when a whole HTTP answer came.
	HasAnswer bool
	// HTTPStatus of the answer.
	HTTPStatus int
	// Load is the parsed answer.
	Load answer.Load
	// Miscounted is true when the counts of the answer are not those of the rows that were sent.
	Miscounted bool
	// RetryAfter is how long the server asked to wait, 0 if it did not.
	RetryAfter time.Duration
}

// Poll is what is known after all FEs that could be asked for a label's state have been asked.
type Poll struct {
	// State is NoState when no FE named one.
	State answer.LabelState
	// Rejected is true when no FE named a state and one refused the question outright: not allowed, or no such call.
	Rejected bool
}

// Event is one thing that happened.
type Event struct {
	Kind    EventKind
	Attempt Attempt
	Poll    Poll
	// Commit is the answer to a second phase; the zero value when none came.
	Commit answer.Load
	// Now is the time since the delivery began.
	Now time.Duration
	// Cancelled is true once the caller has cancelled; from then on nothing is sent.
	Cancelled bool
}

// ActionKind names what to do next.
type ActionKind uint8

const (
	// Send the load under Action.Label.
	Send ActionKind = iota
	// AskState asks for the label's state.
	AskState
	// CancelLabel asks the server to abort the transaction Action.Txn, or whatever runs under the label.
	CancelLabel
	// CommitTxn asks for the second phase of the transaction Action.Txn.
	CommitTxn
	// Done ends the delivery with Action.Outcome.
	Done
)

func (k ActionKind) String() string {
	return [...]string{"send", "ask label state", "cancel label", "commit transaction", "done"}[k]
}

// Action is what to do next.
type Action struct {
	Kind ActionKind
	// After is how long to wait first. The driver may shorten it by up to half, so that many loads do not return at once.
	After time.Duration
	// AtLeast is what may not be shortened: a server asked for it.
	AtLeast time.Duration
	// Label numbers the label: 0 is the base label, n the base with suffix n.
	Label int
	// Txn is the transaction of CommitTxn, and of CancelLabel where it is known; 0 otherwise.
	Txn int64
	// NextFE asks for another FE than the last one, if there is one.
	NextFE bool
	// Outcome belongs to Done.
	Outcome Outcome
}

// Evidence is why rows are known to be stored.
type Evidence uint8

// The kinds of evidence. Only these make an ack.
const (
	// NoEvidence belongs to failures.
	NoEvidence Evidence = iota
	// BySuccess is an answer "Success" to a request whose whole body was sent, unless it counts no rows.
	BySuccess
	// ByPublishTimeout is the same with "Publish Timeout": committed, visible later.
	ByPublishTimeout
	// ByLabelFinished is "Label Already Exists" with FINISHED: an earlier request under this label was committed.
	ByLabelFinished
	// ByStateVisible is the label state VISIBLE.
	ByStateVisible
	// ByStateCommitted is the label state COMMITTED: durable, visible later.
	ByStateCommitted
	// ByCommit is the answer to the second phase of a transaction that holds exactly the rows: that it is committed, now or already.
	ByCommit
)

func (e Evidence) String() string {
	return [...]string{"none", "success", "publish_timeout", "label_finished", "state_visible", "state_committed", "commit"}[e]
}

// Visible is true when the rows can be queried already; label_finished and commit cover both, so they are not.
func (e Evidence) Visible() bool { return e == BySuccess || e == ByStateVisible }

// ByAnswer is true when the answer to the last request to load is about what is committed, so that its counts are too.
func (e Evidence) ByAnswer() bool { return e == BySuccess || e == ByPublishTimeout || e == ByCommit }

// Reason is why a delivery ended without its rows known to be stored.
type Reason uint8

// The reasons.
const (
	// NoReason belongs to committed deliveries.
	NoReason Reason = iota
	// RetriesUsed: max_retries resends were made, or none are allowed.
	RetriesUsed
	// TimeUsed: the next resend would begin after backoff.max_elapsed_time.
	TimeUsed
	// StillOpen: the label stayed open, or its state could not be learned, until label_poll's time was over.
	StillOpen
	// StateRefused: a request was never answered and no FE lets us ask for the label's state.
	StateRefused
	// NoLabel: a request was never answered and there is no label to ask for (group commit).
	NoLabel
	// Stopped: the caller cancelled.
	Stopped
	// NothingCounted: the load was committed, and the server counted no row of it.
	NothingCounted
	// Divide: nothing is stored, and the rows are to be sent in other loads, with labels of their own.
	Divide
	// SettleFirst: the rows are to be sent in other loads, and a request under the label was never answered. Once the label is settled (see
	// StartSettlement) the rows can be loaded anew.
	SettleFirst
)

func (r Reason) String() string {
	return [...]string{
		"none", "retries used up", "time used up", "label still open", "label state refused", "no label to ask for", "stopped", "no row was counted",
		"the same rows would fail again", "the label has to be settled first",
	}[r]
}

// Outcome is the end of a delivery.
type Outcome struct {
	// Committed is true only with Evidence.
	Committed bool
	Evidence  Evidence
	// Reason is set when not Committed.
	Reason Reason
	// Open is true when the rows may be stored, or may still be: nobody may load them again under another label.
	Open bool
	// Debt is what is known of the label when Open.
	Debt Debt
}
