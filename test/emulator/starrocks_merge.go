package emulator

// mergeLoad is a load with enable_merge_commit, the cousin of group commit. The
// server merges the loads of an interval into one transaction; here each load is
// an interval of its own. Nothing but the header is checked before the body.
//
// In sync mode the answer says what became of the transaction. In async mode it
// says that the rows were taken: the transaction is committed after
// merge_commit_interval_ms, or it is aborted when the rows were not good.
func (l *load) mergeLoad() {
	body, ok := l.body()
	if !ok {
		return
	}
	staged, err := l.merged(body)
	switch {
	case err == nil:
		l.commit(staged)
	case l.db == nil, l.spec.group == syncMode:
		l.fail(&beError{"ABORTED", "Load is aborted, reason: " + l.x.e.profile.message(err)})
	default:
		l.takenInVain(err)
	}
}

func (l *load) merged(body []byte) (*batch, error) {
	if err := l.begin(); err != nil {
		return nil, err
	}
	p, err := l.plan()
	if err != nil {
		return nil, err
	}
	return l.judge(p, [][]byte{body})
}

// takenInVain answers Success for rows that could not be loaded.
func (l *load) takenInVain(why error) {
	if _, err := l.commitTxn(nil, false, 0); err != nil {
		l.fail(err)
		return
	}
	l.abort(l.x.e.profile.message(why))
	l.rec.Status, l.rec.Message, l.rec.Loaded = statusSuccess, "OK", 0
	l.conclude()
}
