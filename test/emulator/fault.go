package emulator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Point is a place in an exchange where a fault can be injected.
type Point string

// The points, in the order in which one load passes them.
const (
	// FEBeforeAnswer is a load request at an FE, before any check.
	FEBeforeAnswer Point = "fe.before-answer"
	// FERedirect is the moment before the FE sends its 307.
	FERedirect Point = "fe.redirect"
	// BEHeaders is a load request at a BE, before any check.
	BEHeaders Point = "be.headers"
	// BEBegin is the moment before the transaction is begun: the label is
	// still UNKNOWN.
	BEBegin Point = "be.begin"
	// BEBody is reached when Fault.Bytes bytes of the body were read, or all
	// of it when it is shorter.
	BEBody Point = "be.body"
	// BEBeforeCommit is reached when the rows are good and the transaction is
	// still PREPARE.
	BEBeforeCommit Point = "be.before-commit"
	// BEAfterCommit is reached when the transaction is committed.
	BEAfterCommit Point = "be.after-commit"
	// BEAnswer is the moment before a BE answers a load, good or bad.
	BEAnswer Point = "be.answer"
	// TwoPhase is a _stream_load_2pc request at a BE, before it is done; with
	// StarRocks a request to /api/transaction other than a load, at the node that
	// does it, FE or BE.
	TwoPhase Point = "be.2pc"
	// TwoPhaseAnswer is the moment before the answer to such a request, good or
	// bad. What it asked for has been done.
	TwoPhaseAnswer Point = "be.2pc-answer"
	// StateQuery is a get_load_state request at an FE.
	StateQuery Point = "state"
	// CancelCall is a _cancel request at an FE, before it is done.
	CancelCall Point = "cancel"
)

// The words that Op may hold.
const (
	opLoad     = "load"
	opBegin    = "begin"
	opPrepare  = "prepare"
	opCommit   = "commit"
	opRollback = "rollback"
)

var points = []Point{FEBeforeAnswer, FERedirect, BEHeaders, BEBegin, BEBody, BEBeforeCommit, BEAfterCommit, BEAnswer, TwoPhase, TwoPhaseAnswer, StateQuery, CancelCall}

// Action is what a fault does.
type Action string

// Actions that work at every point.
const (
	// Reset ends the connection with a TCP RST.
	Reset Action = "reset"
	// Close ends the connection with a FIN, without an answer.
	Close Action = "close"
	// Hang never answers; it ends with the connection, or after Fault.For by
	// closing it.
	Hang Action = "hang"
	// Delay waits for Fault.For (real time) and goes on.
	Delay Action = "delay"
	// HTTP answers with Fault.Status (default 500), Fault.Body,
	// Fault.ContentType and Fault.Location.
	HTTP Action = "http"
	// Evict forgets every finished transaction of the database and goes on.
	Evict Action = "evict"
	// MasterSwitch makes the next FE the master and forgets every transaction
	// that is in PREPARE, then goes on.
	MasterSwitch Action = "master-switch"
	// FEDown takes the FE (the one addressed, or the first) off the network for
	// Fault.For (0: until StartFE): connections are reset, new ones refused.
	FEDown Action = "fe-down"
	// BEDown takes the BE (the one addressed, or the first) off the network for
	// Fault.For (0: until StartBE), as StopBE does.
	BEDown Action = "be-down"
	// BERestart resets all connections of the BE (the one addressed, or the
	// first), aborts its transactions in PREPARE, and serves again.
	BERestart Action = "be-restart"
)

// Actions for some points.
const (
	// Fail answers a load with Status "Fail" and Fault.Message (be.* points;
	// at be.after-commit and be.answer the load stays committed), a state or
	// cancel call with a failure of that text, an FE with FAILED.
	Fail Action = "fail"
	// Truncate cuts the answer after Fault.Bytes bytes and closes the
	// connection (be.answer).
	Truncate Action = "truncate"
	// PublishTimeout commits, answers "Publish Timeout", and makes the rows
	// visible after Fault.For (clock of the Options; 0: by PublishLabel)
	// (be.before-commit).
	PublishTimeout Action = "publish-timeout"
	// TooManyVersions fails the load with the -235 error (be.before-commit).
	TooManyVersions Action = "too-many-versions"
	// TxnLimit fails the begin with the running transaction limit (be.begin).
	TxnLimit Action = "txn-limit"
	// DeadBE redirects to an address where nobody listens (fe.redirect).
	DeadBE Action = "dead-be"
	// NoBackend answers that no backend is available (fe.redirect).
	NoBackend Action = "no-backend"
	// SetState answers a state query with Fault.Message as the state (state).
	SetState Action = "set-state"
)

var anywhere = []Action{Reset, Close, Hang, Delay, HTTP, Evict, MasterSwitch, FEDown, BEDown, BERestart}

var onlyAt = map[Action][]Point{
	Fail:            {FEBeforeAnswer, FERedirect, BEHeaders, BEBegin, BEBody, BEBeforeCommit, BEAfterCommit, BEAnswer, TwoPhase, TwoPhaseAnswer, StateQuery, CancelCall},
	Truncate:        {BEAnswer},
	PublishTimeout:  {BEBeforeCommit},
	TooManyVersions: {BEBeforeCommit},
	TxnLimit:        {BEBegin},
	DeadBE:          {FERedirect},
	NoBackend:       {FERedirect},
	SetState:        {StateQuery},
}

// Fault is one disturbance.
type Fault struct {
	// At is the point, Do the action.
	At Point
	Do Action
	// Times is how often it happens; 0 is without end. Skip is how many
	// matching exchanges pass first.
	Times, Skip int
	// DB, Table, Label and Op restrict it to matching exchanges. A trailing * in
	// Label matches any rest. Empty matches all. Op is what is asked for: load,
	// the commit and abort of _stream_load_2pc, or the begin, load, prepare, commit
	// and rollback of StarRocks' /api/transaction.
	DB, Table, Label, Op string
	// Probability that it happens at a match, in (0, 1]; 0 means 1.
	Probability float64

	// Keep leaves the transaction PREPARE when the fault ends a load before
	// its commit (the default is to abort it). A load that reached
	// be.before-commit can be finished later, by CommitLabel, or by itself
	// after CommitAfter (clock of the Options); one in two phases is then
	// PRECOMMITTED.
	Keep        bool
	CommitAfter time.Duration

	// For is the duration of Delay, Hang, FEDown, BEDown and PublishTimeout.
	For time.Duration
	// Bytes is the position for be.body and the length for Truncate.
	Bytes int64
	// Status, Body, ContentType and Location (the header; empty: none) belong to
	// HTTP.
	Status      int
	Body        string
	ContentType string
	Location    string
	// Message belongs to Fail and SetState.
	Message string
}

// Exchange describes the request that stands at a point.
type Exchange struct {
	Point Point
	// Server is "fe1", "fe2", ..., "be1", ...
	Server string
	// DB, Table and Label as far as they are known; Op as in Fault.
	DB, Table, Label, Op string
	// TxnID is 0 before the begin.
	TxnID int64
	// TwoPhase is true for a load in two phases, Length is how long its body is
	// to be: -1 when that is not known.
	TwoPhase bool
	Length   int64
}

// Injector decides about faults from outside, for example from a seeded plan.
// Inject is called at every point, from many goroutines, and may block until
// ctx is done. At be.body it is called once, before the first byte is read;
// the Bytes of the returned fault say where it strikes. The matching fields,
// Times, Skip, Probability and At of a returned fault are ignored. A fault that
// does not fit the point is an HTTP 500 answer that says so.
type Injector interface {
	Inject(ctx context.Context, e Exchange) (Fault, bool)
}

// InjectorFunc makes an Injector of a function.
type InjectorFunc func(ctx context.Context, e Exchange) (Fault, bool)

// Inject calls f.
func (f InjectorFunc) Inject(ctx context.Context, e Exchange) (Fault, bool) { return f(ctx, e) }

// silent says that a load that meets the fault gets no answer of its own.
func (f Fault) silent() bool {
	return f.Do == Reset || f.Do == Close || f.Do == Hang || f.Do == HTTP || f.Do == BERestart || f.Do == BEDown
}

// Validate says what is wrong with the fault.
func (f Fault) Validate() error {
	if !slices.Contains(points, f.At) {
		return fmt.Errorf("fault: unknown point %q, want one of %v", f.At, points)
	}
	at, special := onlyAt[f.Do]
	switch {
	case special && !slices.Contains(at, f.At):
		return fmt.Errorf("fault: %s does not work at %s, only at %v", f.Do, f.At, at)
	case !special && !slices.Contains(anywhere, f.Do):
		return fmt.Errorf("fault: unknown action %q, want one of %v or %v", f.Do, anywhere, keys(onlyAt))
	case f.Probability < 0 || f.Probability > 1:
		return fmt.Errorf("fault: probability %v is not in 0..1", f.Probability)
	case f.Times < 0 || f.Skip < 0 || f.Bytes < 0 || f.For < 0 || f.CommitAfter < 0:
		return errors.New("fault: times, skip, bytes, for and commit-after cannot be negative")
	case f.Do == Delay && f.For == 0:
		return errors.New("fault: delay needs a duration (for)")
	case f.Status != 0 && (f.Status < 200 || f.Status > 599):
		return fmt.Errorf("fault: status %d is not in 200..599", f.Status)
	}
	return nil
}

func keys(m map[Action][]Point) []Action {
	out := make([]Action, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
