package decide

import (
	"math/rand/v2"
	"time"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// source is where choices come from: a seeded generator, or the bytes of a fuzzer.
type source interface {
	// below gives a number from 0 to n-1.
	below(n int) int
}

type seeded struct{ *rand.Rand }

func (s seeded) below(n int) int { return s.IntN(n) }

func fromSeed(seed uint64) source { return seeded{rand.New(rand.NewPCG(seed, 17))} }

// fromBytes chooses by the bytes given, and the first choice always when they are used up.
type fromBytes struct{ left *[]byte }

func (s fromBytes) below(n int) int {
	if len(*s.left) == 0 {
		return 0
	}
	b := (*s.left)[0]
	*s.left = (*s.left)[1:]
	return int(b) % n
}

func (s fromBytes) empty() bool { return len(*s.left) == 0 }

func pick[T any](s source, of ...T) T { return of[s.below(len(of))] }

func chance(s source, oneIn int) bool { return s.below(oneIn) == oneIn-1 }

// randomPolicy makes a policy whose waits are short against its bounds, so that bounds are reached within few steps.
func randomPolicy(s source) Policy {
	p := Policy{
		MaxRetries:  s.below(7) - 1,
		Backoff:     Backoff{Initial: 500 * time.Millisecond, Max: pick(s, 500*time.Millisecond, 700*time.Millisecond, 10*time.Second)},
		LabelPoll:   Backoff{Initial: 200 * time.Millisecond, Max: pick(s, 200*time.Millisecond, 5*time.Second)},
		StableLabel: chance(s, 3),
		Unlabelled:  chance(s, 6),
		FEs:         s.below(4),
	}
	p.RejectUnknown = p.Unlabelled && chance(s, 2)
	p.TwoPhase = !p.Unlabelled && chance(s, 3)
	p.NoFence = chance(s, 3)
	p.Divisible, p.Joined = chance(s, 3), chance(s, 4)
	p.Backoff.MaxElapsed = pick(s, 0, time.Second, 10*time.Second, time.Minute)
	p.LabelPoll.MaxElapsed = pick(s, 0, 300*time.Millisecond, 2*time.Second, 5*time.Second)
	return p
}

// randomLoad makes an answer: mostly what servers say, sometimes what none would.
func randomLoad(s source) answer.Load {
	l := answer.Load{
		Readable: !chance(s, 6),
		Word:     answer.Word(s.below(5)), //nolint:gosec // below 5
		Existing: answer.Existing(s.below(2)),
		TxnID:    pick[int64](s, 0, -1, 7),
	}
	l.Message = pick(s, "OK", "[E-235]too many tablet versions", "[DATA_QUALITY_ERROR]too many filtered rows", "failed to call frontend service",
		"Label [b_1] has already been used, relate to txn [7]", "body exceed max size: 10737418240")
	l.OnePhase = chance(s, 5)
	l.HasCounts, l.HasBytes = chance(s, 2), chance(s, 2)
	l.Total, l.LoadBytes = pick[int64](s, 2, 2, 2, 0), pick[int64](s, 40, 40, 40, 0)
	l.Loaded = l.Total
	if !l.Readable {
		l.Word = answer.Unclear // what ParseLoad makes of it
	}
	return l
}

func randomAttempt(s source) Attempt {
	a := Attempt{
		Sent:       Sent(s.below(3)), //nolint:gosec // below 3
		Trouble:    Trouble(s.below(7)),
		WholeBody:  !chance(s, 4),
		HasAnswer:  s.below(4) > 0,
		HTTPStatus: pick(s, 200, 200, 200, 202, 401, 404, 408, 413, 429, 500, 502, 503, 504, 0),
		RetryAfter: pick[time.Duration](s, 0, 0, 0, time.Second, time.Hour),
	}
	a.Stale = a.Sent == NotSent && !chance(s, 3)
	a.Direct = chance(s, 4)
	a.Miscounted = chance(s, 5)
	a.Rows = pick[int64](s, 2, 2, 0)
	if a.HasAnswer {
		a.Load = randomLoad(s)
	}
	return a
}

func randomPoll(s source) Poll {
	p := Poll{State: answer.LabelState(s.below(7))} //nolint:gosec // below 7
	p.Rejected = p.State == answer.NoState && chance(s, 3)
	return p
}

// randomEvent makes an event that answers the action, or any event at all if it is wild.
func randomEvent(s source, to Action, wild bool) Event {
	kind := Attempted
	switch {
	case wild && chance(s, 3):
		kind = pick(s, Attempted, Polled, LabelCancelled, Interrupted, TxnCommitted, EventKind(200))
	case to.Kind == AskState:
		kind = Polled
	case to.Kind == CancelLabel:
		kind = LabelCancelled
	case to.Kind == CommitTxn:
		kind = TxnCommitted
	}
	if chance(s, 40) {
		kind = Interrupted
	}
	ev := Event{Kind: kind, Cancelled: chance(s, 40)}
	switch kind {
	case Attempted:
		ev.Attempt = randomAttempt(s)
	case Polled:
		ev.Poll = randomPoll(s)
	case TxnCommitted:
		ev.Commit = pick(s, answer.Load{}, answer.Load{Readable: true, Word: answer.Success}, answer.Load{Word: answer.Success},
			answer.Load{Readable: true, Word: answer.Failure, Message: "transaction [7] is already visible, not pre-committed."},
			answer.Load{Readable: true, Word: answer.Failure, Message: "transaction [7] is already aborted, abort reason: user"},
			answer.Load{Readable: true, Word: answer.Failure, Message: "transaction [7] not found"},
			answer.Load{Readable: true, Word: answer.Failure, Message: "transaction with op commit label b has no backend"})
	}
	return ev
}

// passed is how long an action takes: its wait, which the driver shortens by up to half, and the work.
func passed(s source, act Action) time.Duration {
	wait := max(act.After/2+act.After/2*time.Duration(s.below(5))/4, act.AtLeast)
	return wait + pick(s, 0, time.Millisecond, 50*time.Millisecond, 50*time.Millisecond, 5*time.Second)
}
