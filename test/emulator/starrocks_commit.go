package emulator

import "time"

// The BEs of StarRocks do not answer Publish Timeout as soon as the FE says so:
// they ask for the state of the transaction until it is visible, or until the
// time of the load is over (StreamLoadExecutor::commit_txn).

// publishPoll is how often the state is asked for. The server takes seconds.
const publishPoll = 5 * time.Millisecond

// awaitVisible waits until t, which is committed, is visible, or until the clock
// of the Options is past the deadline. It returns the state then.
func (e *Emulator) awaitVisible(t *txn, deadline time.Time) State {
	tick := time.NewTicker(publishPoll)
	defer tick.Stop()
	for {
		e.cat.mu.Lock()
		e.cat.sweep(t.db)
		state := t.state
		e.cat.mu.Unlock()
		if state != Committed || !e.opt.Now().Before(deadline) {
			return state
		}
		select {
		case <-tick.C:
		case <-e.ctx.Done():
			return state
		}
	}
}

// publishTimeout is the message of an answer with Publish Timeout.
func (p *profile) publishTimeout() string {
	if p.starrocks() {
		return "Publish timeout. The data will be visible after a while, "
	}
	return "[PUBLISH_TIMEOUT]TStatus: transaction commit successfully, BUT data will be visible later"
}

// commitLost is the message when the answer to the commit did not reach the BE.
func (p *profile) commitLost() string {
	if p.starrocks() {
		return "Commit transaction fail cause Rpc error: THRIFT_EAGAIN (timed out), Transaction status unknown, you can retry with same label."
	}
	return "[THRIFT_RPC_ERROR]failed to call frontend service"
}

// tooManyVersions is the message of a write that compaction cannot keep up with.
func (p *profile) tooManyVersions() string {
	if p.starrocks() {
		return "Failed to load data into tablet 10086, because of too many versions, current/limit: 1001/1000. You can reduce the loading job concurrency, or increase loading data batch size."
	}
	return "[E-235]tablet error: [E-235]failed to init rowset builder. version count: 2001, exceed limit: 2000, tablet: 10086. Please reduce the frequency of loading data or adjust the max_tablet_version_num in be.conf to a larger value."
}
