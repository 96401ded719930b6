package decide

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// brokenStep is Step with one fault, and a part of what the oracle says about it.
type brokenStep struct {
	name, seen string
	step       stepFunc
}

// brokenSteps have one fault each. The oracle has to see every one of them, or it would see nothing in Step either.
var brokenSteps = []brokenStep{
	{"a fresh label after UNKNOWN", "could still land", func(s State, ev Event) (State, Action) {
		s, act := Step(s, ev)
		if ev.Kind == Polled && ev.Poll.State == answer.StateUnknown && act.Kind == Send {
			s.label++
			act.Label++
		}
		return s, act
	}},
	{"a fresh label for every resend", "a fresh label", func(s State, ev Event) (State, Action) {
		s, act := Step(s, ev)
		if act.Kind == Send {
			s.label++
			act.Label++
		}
		return s, act
	}},
	{"a fresh label after ABORTED although a request is unanswered", "could still land", func(s State, ev Event) (State, Action) {
		if ev.Kind == Polled && ev.Poll.State == answer.StateAborted {
			s.unanswered = 0
		}
		return Step(s, ev)
	}},
	{"a fresh label although the label is stable", "where there is only one", func(s State, ev Event) (State, Action) {
		s.policy.StableLabel = false
		return Step(s, ev)
	}},
	{"an ack for an answer that is not understood", "what is proved is none", func(s State, ev Event) (State, Action) {
		if a := ev.Attempt; !s.done && ev.Kind == Attempted && a.Sent == Answered && a.HTTPStatus == 200 && a.Load.Word == answer.Unclear {
			return s.commit(BySuccess)
		}
		return Step(s, ev)
	}},
	{"an ack for Success to a body that was not sent", "acked by success, but", func(s State, ev Event) (State, Action) {
		if ev.Attempt.Load.Word == answer.Success {
			ev.Attempt.Sent, ev.Attempt.WholeBody = Answered, true
		}
		return Step(s, ev)
	}},
	{"an ack for a label that an empty load may own", "what is proved is none", func(s State, ev Event) (State, Action) {
		s.tainted = false
		return Step(s, ev)
	}},
	{"an ack for Success that counts nothing", "acked by success, but", func(s State, ev Event) (State, Action) {
		ev.Attempt.Rows = 0
		return Step(s, ev)
	}},
	{"a load that counts no rows is sent again", "nothing was counted is followed by", func(s State, ev Event) (State, Action) {
		if ev.Kind == Attempted && !s.done && CountsOf(ev.Attempt) == CountsNothing {
			ev.Attempt.Load.Word = answer.Failure
		}
		return Step(s, ev)
	}},
	{"an ack for Success with an error status", "but what is proved is none", func(s State, ev Event) (State, Action) {
		if ev.Attempt.HTTPStatus >= 500 {
			ev.Attempt.HTTPStatus = 200
		}
		return Step(s, ev)
	}},
	{"an ack for PRECOMMITTED", "acked by state_committed, but", func(s State, ev Event) (State, Action) {
		if ev.Poll.State == answer.StatePrecommitted {
			ev.Poll.State = answer.StateCommitted
		}
		return Step(s, ev)
	}},
	{"no ack for VISIBLE", "not acked in spite of state_visible", func(s State, ev Event) (State, Action) {
		if ev.Poll.State == answer.StateVisible {
			ev.Poll.State = answer.StateUnknown
		}
		return Step(s, ev)
	}},
	{"a lost request is sent again without a look", "is followed by send", func(s State, ev Event) (State, Action) {
		if ev.Kind == Attempted && ev.Attempt.Sent == MaybeReceived {
			ev.Attempt.Sent = NotSent
		}
		return Step(s, ev)
	}},
	{"an open load is divided", "divided: allowed", func(s State, ev Event) (State, Action) {
		if ev.Kind == Attempted && ev.Attempt.Class() == TooLarge {
			return s.fail(Divide)
		}
		return Step(s, ev)
	}},
	{"a load that is too large is sent again", "what is to be divided", func(s State, ev Event) (State, Action) {
		s.policy.Divisible = false
		return Step(s, ev)
	}},
	{"Fail is believed", "open is false and should be true", func(s State, ev Event) (State, Action) {
		if ev.Attempt.Load.Word == answer.Failure {
			ev.Attempt.Load.TxnID = -1
		}
		return Step(s, ev)
	}},
	{"an open outcome is called closed", "open is false and should be true", func(s State, ev Event) (State, Action) {
		s, act := Step(s, ev)
		act.Outcome.Open = false
		return s, act
	}},
	{"sends after the caller cancelled", "sends after the caller cancelled", func(s State, ev Event) (State, Action) {
		s.cancelled, ev.Cancelled = false, false
		return Step(s, ev)
	}},
	{"one resend too many", "resend ", func(s State, ev Event) (State, Action) {
		s.policy.MaxRetries++
		next, act := Step(s, ev)
		next.policy.MaxRetries--
		return next, act
	}},
	{"polls are counted as resends", "retries used up after", func(s State, ev Event) (State, Action) {
		if ev.Kind == Polled {
			s.resends++
		}
		return Step(s, ev)
	}},
	{"no bound on time", "after the bound of", func(s State, ev Event) (State, Action) {
		s.policy.Backoff.MaxElapsed = 0
		return Step(s, ev)
	}},
	{"no bound on polls", "no end after", func(s State, ev Event) (State, Action) {
		s.pollSince = ev.Now
		limit := s.policy.Backoff.MaxElapsed
		if ev.Kind == Polled {
			s.policy.Backoff.MaxElapsed = 0
		}
		next, act := Step(s, ev)
		next.policy.Backoff.MaxElapsed = limit
		return next, act
	}},
	{"a stale connection is always free", "resend ", func(s State, ev Event) (State, Action) {
		s.stale = false
		return Step(s, ev)
	}},
	{"polls without a label", "without a label", func(s State, ev Event) (State, Action) {
		s.policy.Unlabelled = false
		return Step(s, ev)
	}},
	{"the end is not final", "the end is not final", func(s State, ev Event) (State, Action) {
		s.done = false
		return Step(s, ev)
	}},
	{"chance decides", "not deterministic", func() stepFunc {
		n := 0
		return func(s State, ev Event) (State, Action) {
			n++
			s, act := Step(s, ev)
			act.After += time.Duration(n % 2)
			return s, act
		}
	}()},
}

func TestOracleSeesBrokenSteps(t *testing.T) {
	t.Parallel()
	for _, b := range brokenSteps {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(20000) {
				if _, err := sensible(fromSeed(seed), b.step); err != nil && strings.Contains(err.Error(), b.seen) {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			require.Fail(t, "20000 sequences, and nothing was noticed")
		})
	}
}
