package emulator

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// State is the state of a label, as get_load_state names it.
type State string

// The states. Unknown is no information: never begun, or forgotten.
const (
	Unknown      State = "UNKNOWN"
	Prepare      State = "PREPARE"
	Precommitted State = "PRECOMMITTED"
	// Prepared is how StarRocks names PRECOMMITTED.
	Prepared  State = "PREPARED"
	Committed State = "COMMITTED"
	Visible   State = "VISIBLE"
	Aborted   State = "ABORTED"
)

// jobStatus is the ExistingJobStatus of a label whose transaction is in s
// (LabelAlreadyUsedException.java).
func (p *profile) jobStatus(s State) string {
	switch {
	case s == Committed, s == Visible:
		return "FINISHED"
	case s == Precommitted && !p.starrocks():
		return "PRECOMMITTED"
	}
	return "RUNNING"
}

const maxTimeout = 259200 * time.Second

// txn is a transaction; the lock of the catalog guards it.
type txn struct {
	id     int64
	db     *database
	table  *table
	label  string
	be     int
	state  State
	reason string // of the abort

	begin, finish time.Time // finish: when it became VISIBLE or ABORTED
	precommit     time.Time
	timeout       time.Duration

	staged    *batch
	ready     bool          // staged is complete, it can be committed
	twoPhase  bool          // its load ends with PRECOMMITTED
	prepared  time.Duration // how long it may stay PRECOMMITTED; 0: as the Options say
	commitAt  time.Time     // a commit, or the first phase of one, that lands by itself
	visibleAt time.Time     // zero with hold: by PublishLabel only
	hold      bool          // committed, but must not become visible before visibleAt
}

// begin starts a transaction. The caller has checked the user, the database
// and the table; tab may be nil for a table that the load will create.
func (c *catalog) begin(db *database, tab *table, label string, be int, timeout time.Duration) (*txn, error) {
	if timeout < time.Second || timeout > maxTimeout {
		return nil, analysis("Invalid timeout: %d. Timeout should between 1 and 259200 seconds", int64(timeout/time.Second))
	}
	if !c.profile.label.MatchString(label) {
		return nil, analysis("Label format error. regex: %s, label: %s", c.profile.label, label)
	}
	c.sweep(db)
	for _, old := range db.labels[label] {
		if old.state != Aborted {
			return nil, &labelUsed{label, old.id, old.state}
		}
	}
	if limit := c.opt.MaxRunningTxns; limit > 0 && len(db.running) >= limit {
		return nil, runningLimit(db, limit)
	}
	c.nextTxn++
	t := &txn{id: c.nextTxn, db: db, table: tab, label: label, be: be, state: Prepare, begin: c.opt.Now(), timeout: timeout}
	db.labels[label] = append(db.labels[label], t)
	db.running[t.id], db.ids[t.id] = t, t
	return t, nil
}

func runningLimit(db *database, limit int) error {
	return analysis("current running txns on db %d is %d, larger than limit %d", db.id, max(len(db.running), limit), limit)
}

// live says whether t still exists and is in one of the states; when not, the
// error is the FE's answer to an operation on it.
func (c *catalog) live(t *txn, states ...State) error {
	c.sweep(t.db)
	switch {
	case t.db.ids[t.id] != t:
		return analysis("transaction [%d] not found", t.id)
	case t.state == Aborted:
		return analysis("transaction [%d] is already aborted. abort reason: %s", t.id, t.reason)
	case !slices.Contains(states, t.state):
		return analysis("transaction [%d] is already %s", t.id, t.state)
	}
	return nil
}

func (c *catalog) doPrecommit(t *txn) error {
	if err := c.live(t, Prepare); err != nil {
		return err
	}
	t.state, t.precommit = Precommitted, c.opt.Now()
	return nil
}

// doCommit commits t and makes it visible unless it is held back, or a
// transaction of its table that was committed earlier is.
func (c *catalog) doCommit(t *txn, hold bool, visibleAt time.Time) error {
	if err := c.live(t, Prepare, Precommitted); err != nil {
		return err
	}
	c.commitNow(t, hold, visibleAt)
	return nil
}

func (c *catalog) commitNow(t *txn, hold bool, visibleAt time.Time) {
	t.state, t.hold, t.visibleAt = Committed, hold, visibleAt
	delete(t.db.running, t.id)
	if t.table == nil { // a load without rows into a table that was never created
		c.finish(t, Visible)
		return
	}
	t.table.pending = append(t.table.pending, t)
	c.publish(t.table)
}

// publish makes committed transactions visible, in the order of their commits.
func (c *catalog) publish(tab *table) {
	for len(tab.pending) > 0 {
		t := tab.pending[0]
		if t.hold && (t.visibleAt.IsZero() || c.opt.Now().Before(t.visibleAt)) {
			return
		}
		tab.pending = tab.pending[1:]
		tab.apply(t.staged)
		c.finish(t, Visible)
	}
}

func (c *catalog) abort(t *txn, reason string) {
	if t.state != Prepare && t.state != Precommitted {
		return
	}
	t.reason = reason
	c.finish(t, Aborted)
}

func (c *catalog) finish(t *txn, s State) {
	t.state, t.finish, t.staged = s, c.opt.Now(), nil
	delete(t.db.running, t.id)
	t.db.done = append(t.db.done, t)
}

// forget removes every trace of t.
func (c *catalog) forget(t *txn) {
	delete(t.db.running, t.id)
	delete(t.db.ids, t.id)
	list := slices.DeleteFunc(t.db.labels[t.label], func(o *txn) bool { return o == t })
	if len(list) == 0 {
		delete(t.db.labels, t.label)
	} else {
		t.db.labels[t.label] = list
	}
}

// sweep does what time has made due: timeouts, late commits, late visibility,
// retention. The server does this every some seconds, the emulator before it
// looks at the database.
func (c *catalog) sweep(db *database) {
	now := c.opt.Now()
	var late []*txn
	for _, t := range db.running {
		switch {
		case t.state == Precommitted && now.Sub(t.precommit) > cmp.Or(t.prepared, c.opt.PrecommitTimeout),
			t.state == Prepare && now.Sub(t.begin) > t.timeout && (t.commitAt.IsZero() || t.commitAt.After(now)):
			c.abort(t, "timeout by txn manager")
		case t.state == Prepare && !t.commitAt.IsZero() && !t.commitAt.After(now):
			late = append(late, t)
		}
	}
	slices.SortFunc(late, func(a, b *txn) int {
		return cmp.Or(a.commitAt.Compare(b.commitAt), cmp.Compare(a.id, b.id))
	})
	for _, t := range late {
		if t.twoPhase {
			t.state, t.precommit = Precommitted, now
			continue
		}
		c.commitNow(t, false, time.Time{})
	}
	for _, tab := range db.tables {
		c.publish(tab)
	}
	for len(db.done) > 0 {
		tooMany := c.opt.LabelKeepCount >= 0 && len(db.done) > c.opt.LabelKeepCount
		tooOld := c.opt.LabelKeepMax >= 0 && now.Sub(db.done[0].finish) > c.opt.LabelKeepMax
		if !tooMany && !tooOld {
			break
		}
		c.forget(db.done[0])
		db.done = db.done[1:]
	}
}

// newest returns the transaction of the label with the largest id, nil for none.
func (db *database) newest(label string) *txn {
	list := db.labels[label]
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

// byLabel finds the transaction of a label that is in one of the states.
func (c *catalog) byLabel(db *database, label string, states ...State) (*txn, error) {
	c.sweep(db)
	list := db.labels[label]
	if len(list) == 0 {
		return nil, analysis("transaction not found, label=%s", label)
	}
	for _, t := range list {
		if slices.Contains(states, t.state) {
			return t, nil
		}
	}
	return nil, analysis("running transaction not found, label=%s", label)
}

func (c *catalog) byID(db *database, id int64) (*txn, error) {
	c.sweep(db)
	if t := db.ids[id]; t != nil {
		return t, nil
	}
	return nil, analysis("transaction [%d] not found", id)
}

// twoPhase commits or aborts t as a _stream_load_2pc call does.
func (c *catalog) twoPhase(t *txn, commit bool) error {
	switch {
	case t.state == Aborted:
		return analysis("transaction [%d] is already aborted, abort reason: %s", t.id, t.reason)
	case commit && t.state == Precommitted:
		c.commitNow(t, false, time.Time{})
	case commit && t.state == Prepare:
		return analysis("transaction [%d] is prepare, not pre-committed.", t.id)
	case commit:
		state := string(t.state)
		if c.profile.lowerStates() {
			state = strings.ToLower(state)
		}
		return analysis("transaction [%d] is already %s, not pre-committed.", t.id, state)
	case t.state == Committed || t.state == Visible:
		return analysis("transaction [%d] is already %s, could not abort.", t.id, t.state)
	default:
		c.abort(t, "User Abort")
	}
	return nil
}
