package decide

import "time"

// resend sends again, under a fresh label if the current one is closed, unless a bound is reached.
func (s State) resend(now time.Duration, closed bool) (State, Action) {
	if s.policy.dividedBy(s.class) && !s.cancelled {
		switch {
		case !s.open():
			return s.fail(Divide)
		case s.fenceable():
			return s.fail(SettleFirst)
		}
	}
	after, atLeast := s.resendWait(now)
	bound := NoReason
	switch {
	case s.cancelled:
		bound = Stopped
	case s.resends >= s.policy.MaxRetries:
		bound = RetriesUsed
	case over(now+after, s.policy.Backoff.MaxElapsed):
		bound = TimeUsed
	}
	if bound != NoReason {
		if s.open() && !s.polling && !s.policy.Unlabelled {
			return s.startPoll(now, 0) // an earlier request may have landed meanwhile
		}
		return s.fail(bound)
	}
	s.polling = false
	s.txn = 0
	s.resends++
	if closed && !s.policy.StableLabel && !s.policy.Unlabelled {
		s.label++
		s.used, s.unanswered, s.doubtful, s.unasked, s.tainted = false, 0, false, false, false
	}
	return s.send(Action{After: after, AtLeast: atLeast, NextFE: true})
}

func (s State) send(a Action) (State, Action) {
	s.sending = true
	a.Kind, a.Label = Send, s.label
	return s, a
}

// resendWait is how long to wait before a resend, and how much of that may not be shortened.
func (s State) resendWait(now time.Duration) (after, atLeast time.Duration) {
	if s.refusals > 0 && s.refusals < s.policy.FEs && !s.capacity {
		return 0, 0 // the next FE has not been tried yet
	}
	after = s.policy.Backoff.Wait(s.resends)
	if s.capacity {
		after = min(2*after, s.policy.Backoff.Max)
	}
	wait, limit := s.retryWait, s.policy.Backoff.MaxElapsed
	if over(now+wait, limit) {
		// There is less time left than the server asks for. That is no reason to give up at once: it may be well before then.
		wait = max(min(s.policy.Backoff.Max, limit-now), 0)
	}
	return max(after, wait), wait
}

// fenceable is true when nothing but a request that was never answered keeps the label open, and a fence can close it (see Debt). To send the same rows
// again under it would only fail again.
func (s State) fenceable() bool {
	p := s.policy
	return s.unanswered > 0 && !s.doubtful && !s.unasked && !s.tainted && !p.StableLabel && !p.Unlabelled && !p.NoFence && !p.LabelOnce
}
