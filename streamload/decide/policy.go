package decide

import "time"

// Backoff is a series of waits: Initial, then twice as long each time, up to Max.
type Backoff struct {
	Initial, Max time.Duration
	// MaxElapsed bounds the whole, 0 means no bound.
	MaxElapsed time.Duration
}

// Wait is the n-th wait, n from 0.
func (b Backoff) Wait(n int) time.Duration {
	d := b.Initial
	for range min(n, 32) {
		if d >= b.Max/2 {
			return b.Max
		}
		d *= 2
	}
	return min(d, b.Max)
}

// Policy is what a user configures of a delivery.
type Policy struct {
	// MaxRetries is how often a load is sent again after the first time; 0 and less mean never.
	MaxRetries int
	// Backoff paces resends; its MaxElapsed bounds the whole delivery.
	Backoff Backoff
	// LabelPoll paces the questions for a label's state; its MaxElapsed bounds one series of them.
	LabelPoll Backoff
	// StableLabel keeps one label for every attempt, because it was made from the rows and a redelivery will use it again.
	StableLabel bool
	// Unlabelled means that the server makes the label (group commit): nothing can be asked, nothing is deduplicated.
	Unlabelled bool
	// RejectUnknown means that rows of a load whose fate is not known are never sent again, where there is no label that could tell it: each row is
	// stored once at most. It goes with Unlabelled.
	RejectUnknown bool
	// TwoPhase means that a load is stored in two phases: what "Success" says of a request is then that its transaction waits for our commit.
	TwoPhase bool
	// LabelOnce means that transactions are committed by their label (StarRocks). Then no label is begun twice, see labelonce.go. It goes with
	// TwoPhase, and not with StableLabel.
	LabelOnce bool
	// NoFence means that the servers cannot close a label for us, see Debt.NoFence.
	NoFence bool
	// Divisible means that the rows can also be sent in several smaller loads. A load that is too large is then not sent again as it is.
	Divisible bool
	// Joined means that the rows are those of several callers, who can be served one by one. A load that fails for what is in some rows is
	// then not sent again as it is.
	Joined bool
	// FEs is how many FEs there are: a refusal before the body is tried at each once without a wait.
	FEs int
}

// dividedBy is true for failures after which other loads of the same rows do better than the same load again.
func (p Policy) dividedBy(c Class) bool {
	return p.Divisible && c == TooLarge || p.Joined && c == DataQuality
}
