package streamload

import "time"

// Observer is told what happens to loads. Its methods are called from the goroutine that loads, from several at once, and must return fast.
// Embed NopObserver to implement a few of them.
type Observer interface {
	// Started is called when a delivery begins, before anything is sent.
	Started(database, table string)
	// Attempted is called after each request to load.
	Attempted(AttemptInfo)
	// Polled is called after each question for a label's state, all FEs asked.
	Polled(PollInfo)
	// SecondPhase is called after each request to commit a transaction (two_phase_commit).
	SecondPhase(SecondPhaseInfo)
	// FE is called when an FE is found to be down, or up again.
	FE(address string, up bool)
	// Settled is called when the fate of a load whose outcome was unknown was looked into: Result is "committed", "closed" (it is not stored
	// and never will be) or "open".
	Settled(SettleInfo)
	// Forgotten is called when such a load is dropped from the ledger before all its rows have come back, and when rows that were expected
	// (Client.Expect) are: Result says why. Rows of it that are delivered later may be stored twice.
	Forgotten(SettleInfo)
	// Finished is called at the end of a delivery; err is nil when the rows are committed.
	Finished(Report, *Error)
}

// AttemptInfo is one request to load that has ended.
type AttemptInfo struct {
	Database, Table, Label string
	// Attempt counts from 1.
	Attempt int
	// Previous is the class of the attempt before this one, "" for the first.
	Previous Class
	// Server is the host:port that had the last word.
	Server string
	// Took is how long the request took.
	Took time.Duration
	// Bytes of the body as it is sent, compressed or not.
	Bytes int64
	// Sent is "not sent", "maybe received" or "answered".
	Sent string
	// Stored is true when the answer says that the rows are committed.
	Stored bool
	// Class and Message say what went wrong; empty when Stored.
	Class   Class
	Message string
	// Next is what follows ("send", "ask label state", "done"), After how long it waits first at most.
	Next  string
	After time.Duration
}

// PollInfo is one question for a label's state.
type PollInfo struct {
	Database, Table, Label string
	// State is the word that Doris uses, or "" when no FE named one.
	State string
	// Message is why there is no state.
	Message string
	// Next is what follows, After how long it waits first at most.
	Next  string
	After time.Duration
}

// SecondPhaseInfo is one request to commit a transaction.
type SecondPhaseInfo struct {
	Database, Table, Label string
	TxnID                  int64
	// Committed is true when a server answered that the transaction is committed, now or before.
	Committed bool
	// Message is what the server said, or why there is no answer.
	Message string
	// Next is what follows, After how long it waits first at most.
	Next  string
	After time.Duration
}

// SettleInfo is a load whose outcome was unknown when its delivery ended, or rows that were expected.
type SettleInfo struct {
	// Label is "" for rows that were expected.
	Database, Table, Label string
	// Expected is true for rows that are stored and were expected to be delivered again.
	Expected bool
	// Age is the time since the delivery ended.
	Age time.Duration
	// Rows that have not come back yet.
	Rows   int
	Result string
}

// NopObserver does nothing.
type NopObserver struct{}

var _ Observer = NopObserver{}

// Started does nothing.
func (NopObserver) Started(string, string) {}

// Attempted does nothing.
func (NopObserver) Attempted(AttemptInfo) {}

// Polled does nothing.
func (NopObserver) Polled(PollInfo) {}

// SecondPhase does nothing.
func (NopObserver) SecondPhase(SecondPhaseInfo) {}

// FE does nothing.
func (NopObserver) FE(string, bool) {}

// Settled does nothing.
func (NopObserver) Settled(SettleInfo) {}

// Forgotten does nothing.
func (NopObserver) Forgotten(SettleInfo) {}

// Finished does nothing.
func (NopObserver) Finished(Report, *Error) {}
