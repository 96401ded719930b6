package emulator

import "time"

// finish turns the body into rows, judges them, commits and answers.
func (l *load) finish(p *plan, body []byte) {
	staged, err := l.judge(p, [][]byte{body})
	if err != nil {
		l.fail(err)
		return
	}
	l.commit(staged)
}

// judge turns the bodies of a load, in most cases one, into rows, and fails when
// too many of them are bad. The counts and the URL of the bad rows are in the
// record afterwards.
func (l *load) judge(p *plan, bodies [][]byte) (*batch, error) {
	start := time.Now()
	prof := l.x.e.profile
	page := &errorPage{starrocks: prof.starrocks()}
	staged := &batch{cond: p.cond}
	for _, body := range bodies {
		body, err := l.plainBody(p, body)
		if err != nil {
			return nil, err
		}
		if err := l.bind(p, body); err != nil {
			return nil, err
		}
		staged.rows = append(staged.rows, l.convert(p, body, page)...)
	}
	if p.partial && l.tab != nil {
		if err := l.newKeys(p, staged); err != nil {
			return nil, err
		}
	}
	l.took.read += time.Since(start)
	if prof.stopsUnqualified() && p.ratio <= 0 && page.rows > maxErrorRows {
		return nil, &beError{"DATA_QUALITY_ERROR", "Encountered unqualified data, stop processing"}
	}
	if page.rows > 0 {
		file := l.x.e.logs.put(randomHex(8)+"-"+randomHex(8), page)
		l.rec.ErrorURL = "http://" + l.x.n.at() + "/api/_load_error_log?file=" + file
	}
	if selected := l.rec.Total - l.rec.Unselected; selected > 0 && float64(l.rec.Filtered)/float64(selected) > p.ratio {
		l.firstError = page.first
		return nil, &beError{prof.dataQuality(), "too many filtered rows"}
	}
	l.rec.Loaded = l.rec.Total - l.rec.Filtered - l.rec.Unselected
	if prof.starrocks() && l.rec.Loaded == 0 {
		return nil, &feError{"INTERNAL_ERROR", "all partitions have no load data"}
	}
	return staged, nil
}

func (l *load) commit(staged *batch) {
	c := l.x.e.cat
	if l.txn != nil {
		c.mu.Lock()
		l.txn.staged, l.txn.ready, l.txn.table = staged, true, l.tab
		c.mu.Unlock()
	}
	hold, visibleIn := false, time.Duration(0)
	if f, ok := l.x.pick(BEBeforeCommit); ok {
		if f.Do == PublishTimeout {
			hold, visibleIn = true, f.For
		} else if l.struck(f) {
			return
		}
	}
	start := time.Now()
	state, err := l.commitTxn(staged, hold, visibleIn)
	if err == nil && state == Committed && l.x.e.profile.starrocks() {
		state = l.x.e.awaitVisible(l.txn, l.txn.begin.Add(l.txn.timeout))
	}
	l.took.commit = time.Since(start)
	if err != nil {
		l.fail(err)
		return
	}
	l.rec.Status, l.rec.Message = statusSuccess, "OK"
	if state == Committed {
		l.rec.Status, l.rec.Message = statusPublishTimeout, l.x.e.profile.publishTimeout()
	}
	if f, ok := l.x.pick(BEAfterCommit); ok {
		if f.silent() {
			l.record()
		}
		switch l.x.do(f) {
		case goOn:
		case over:
			return
		case special:
			if f.Message == "" {
				f.Message = l.x.e.profile.commitLost()
			}
			l.answerFail(f.Message)
			return
		}
	}
	l.conclude()
}

// commitTxn commits, or for 2PC pre-commits, and returns the new state.
func (l *load) commitTxn(staged *batch, hold bool, visibleIn time.Duration) (State, error) {
	c := l.x.e.cat
	c.mu.Lock()
	defer c.mu.Unlock()
	t := l.txn
	if l.spec.grouped() {
		// The real server merges the loads of an interval; here each is an
		// interval of its own.
		if l.rec.Label = "group_commit_" + randomHex(8) + "_" + randomHex(8); c.profile.starrocks() {
			l.rec.Label = "merge_commit_" + uuid()
		}
		var err error
		if t, err = c.begin(l.db, l.tab, l.rec.Label, l.x.n.index, l.spec.timeout); err != nil {
			return Unknown, err
		}
		t.staged, t.ready = staged, true
		l.txn, l.rec.TxnID = t, t.id
		if c.profile.starrocks() && l.spec.group == asyncMode {
			l.left = l.spec.interval
			t.commitAt = c.opt.Now().Add(l.left)
			return Prepare, nil // the answer says that the rows were taken, no more
		}
	}
	if l.spec.twoPhase && !l.spec.grouped() {
		return Precommitted, c.doPrecommit(t)
	}
	var visibleAt time.Time
	if visibleIn > 0 {
		visibleAt = c.opt.Now().Add(visibleIn)
	}
	if err := c.doCommit(t, hold, visibleAt); err != nil {
		return Unknown, err
	}
	return t.state, nil
}
