package emulator

import "time"

// finish turns the body into rows, judges them, commits and answers.
func (l *load) finish(p *plan, body []byte) {
	start := time.Now()
	body, err := l.plainBody(p, body)
	if err != nil {
		l.fail(err)
		return
	}
	if err := l.bind(p, body); err != nil {
		l.fail(err)
		return
	}
	page := &errorPage{}
	rows := l.convert(p, body, page)
	l.took.read = time.Since(start)
	if page.rows > 0 {
		file := l.x.e.logs.put(randomHex(8)+"-"+randomHex(8), page.text.String())
		l.rec.ErrorURL = "http://" + l.x.n.public + "/api/_load_error_log?file=" + file
	}
	if selected := l.rec.Total - l.rec.Unselected; selected > 0 && float64(l.rec.Filtered)/float64(selected) > p.ratio {
		l.fail(&beError{"DATA_QUALITY_ERROR", "too many filtered rows"})
		return
	}
	l.rec.Loaded = l.rec.Total - l.rec.Filtered - l.rec.Unselected
	l.commit(rows)
}

func (l *load) commit(rows []write) {
	c := l.x.e.cat
	if l.txn != nil {
		c.mu.Lock()
		l.txn.staged, l.txn.ready, l.txn.table = rows, true, l.tab
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
	state, err := l.commitTxn(rows, hold, visibleIn)
	l.took.commit = time.Since(start)
	if err != nil {
		l.fail(err)
		return
	}
	l.rec.Status, l.rec.Message = statusSuccess, "OK"
	if state == Committed {
		l.rec.Status, l.rec.Message = statusPublishTimeout, publishTimeoutMessage
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
				f.Message = "[THRIFT_RPC_ERROR]failed to call frontend service"
			}
			l.answerFail(f.Message)
			return
		}
	}
	l.conclude()
}

// commitTxn commits, or for 2PC pre-commits, and returns the new state.
func (l *load) commitTxn(rows []write, hold bool, visibleIn time.Duration) (State, error) {
	c := l.x.e.cat
	c.mu.Lock()
	defer c.mu.Unlock()
	t := l.txn
	if l.spec.grouped() {
		// The real server merges the loads of an interval; here each is an
		// interval of its own.
		l.rec.Label = "group_commit_" + randomHex(8) + "_" + randomHex(8)
		var err error
		if t, err = c.begin(l.db, l.tab, l.rec.Label, l.x.n.index, l.spec.timeout); err != nil {
			return Unknown, err
		}
		t.staged, t.ready = rows, true
		l.txn, l.rec.TxnID = t, t.id
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
