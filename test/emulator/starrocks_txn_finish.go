package emulator

import (
	"fmt"
	"strconv"
	"time"
)

// txnFinish is a prepare, or a commit of what was not prepared.
func (x *exchange) txnFinish() {
	prepared, err := preparedTimeout(x)
	if err != nil {
		x.txnAnswer(err, nil)
		return
	}
	s, err := x.stream()
	if err != nil {
		x.txnAnswer(err, nil)
		return
	}
	l := s.load
	end := x.finishStream(s, prepared)
	if end.over {
		s.busy.Unlock()
		return
	}
	switch err = end.err; {
	case err == nil:
		x.n.streams.remove(s)
	case !end.keep:
		x.rollback(s, x.e.profile.message(err))
	}
	rec, took := *l.rec, l.took
	s.busy.Unlock()
	x.txnAnswer(err, func(o *object) {
		if err == nil {
			rowCounts(o, &rec, took)
		}
		if rec.ErrorURL != "" {
			o.add("ErrorURL", rec.ErrorURL)
		}
	})
}

func preparedTimeout(x *exchange) (time.Duration, error) {
	text := x.r.Header.Get("prepared_timeout")
	if text == "" || x.op != opPrepare || !x.e.profile.since(3, 5, 4) {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n <= 0 {
		return 0, &beError{"INVALID_ARGUMENT", "Invalid prepared_timeout: " + text}
	}
	return time.Duration(n) * time.Second, nil
}

// ending is how a prepare or commit ended. over: a fault has ended the exchange.
// keep: it failed, but the transaction is not to be rolled back.
type ending struct {
	err        error
	over, keep bool
}

// finishStream judges the rows of all loads and prepares or commits.
func (x *exchange) finishStream(s *stream, prepared time.Duration) ending {
	if s.plan == nil {
		return ending{err: &beError{"INTERNAL_ERROR", fmt.Sprintf("transaction id=%s, job_id=-1, txn_id: %d, label=%s, db=%s hasn't send any data yet", uuid(), s.txn.id, s.label, x.db)}}
	}
	l, c := s.load, x.e.cat
	l.rec.Total, l.rec.Filtered, l.rec.Unselected = 0, 0, 0
	staged, err := l.judge(s.plan, s.bodies)
	if err != nil {
		return ending{err: err}
	}
	c.mu.Lock()
	s.txn.staged, s.txn.ready, s.txn.table = staged, true, l.tab
	s.txn.twoPhase = x.op == opPrepare
	c.mu.Unlock()
	hold, visibleIn := false, time.Duration(0)
	if f, ok := x.pick(BEBeforeCommit); ok {
		if f.Do == PublishTimeout {
			hold, visibleIn = true, f.For
		} else if end := x.txnFault(s, f); end.over || end.err != nil {
			return end
		}
	}
	start := time.Now()
	defer func() { l.took.commit = time.Since(start) }()
	c.mu.Lock()
	if x.op == opPrepare {
		s.txn.prepared = prepared
		err = c.doPrecommit(s.txn)
		c.mu.Unlock()
		return ending{err: err}
	}
	var visibleAt time.Time
	if visibleIn > 0 {
		visibleAt = c.opt.Now().Add(visibleIn)
	}
	err = c.doCommit(s.txn, hold, visibleAt)
	c.mu.Unlock()
	if err == nil && x.e.awaitVisible(s.txn, s.txn.begin.Add(s.txn.timeout)) == Committed {
		err = &beError{"PUBLISH_TIMEOUT", x.e.profile.publishTimeout()}
	}
	return ending{err: err}
}

// txnFault does a fault before the prepare or commit. The transaction is rolled
// back unless the fault keeps it.
func (x *exchange) txnFault(s *stream, f Fault) ending {
	settle := func() {
		if s.load.settle(f); !f.Keep {
			x.n.streams.remove(s)
		}
	}
	switch f.Do {
	case Delay, Evict, MasterSwitch, FEDown:
		return ending{over: x.do(f) == over}
	case Hang:
		x.hang(f.For, settle)
		return ending{over: true}
	}
	settle()
	if x.do(f) != special {
		return ending{over: true}
	}
	if f.Do == TooManyVersions {
		f.Message = x.e.profile.tooManyVersions()
	}
	return ending{err: &beError{"INTERNAL_ERROR", f.Message}, keep: f.Keep}
}

// rowCounts adds the keys that only prepare and commit have.
func rowCounts(o *object, r *Load, took phases) {
	o.add("TxnId", r.TxnID)
	o.add("NumberTotalRows", r.Total)
	o.add("NumberLoadedRows", r.Loaded)
	o.add("NumberFilteredRows", r.Filtered)
	o.add("NumberUnselectedRows", r.Unselected)
	o.add("LoadBytes", r.Bytes)
	o.add("LoadTimeMs", time.Since(r.Start))
	o.add("StreamLoadPlanTimeMs", took.put)
	o.add("ReceivedDataTimeMs", took.receive)
	o.add("WriteDataTimeMs", took.write)
	o.add("CommitAndPublishTimeMs", took.commit)
}
