package emulator

import (
	"fmt"
	"time"
)

// CreateTable adds a table, and its database when that is new. It is an error
// when the table exists.
func (e *Emulator) CreateTable(t Table) error {
	s, err := newSchema(t)
	if err != nil {
		return err
	}
	if err := e.profile.checkModel(s); err != nil {
		return fmt.Errorf("table %s.%s: %w", t.Database, t.Name, err)
	}
	e.cat.mu.Lock()
	defer e.cat.mu.Unlock()
	if _, created := e.cat.add(s); !created {
		return fmt.Errorf("table %s.%s exists already", t.Database, t.Name)
	}
	return nil
}

// CreateDatabase adds a database; nothing happens when it exists.
func (e *Emulator) CreateDatabase(name string) {
	e.cat.mu.Lock()
	defer e.cat.mu.Unlock()
	e.cat.database(name, true)
}

// Truncate removes the rows of a table, and nothing else.
func (e *Emulator) Truncate(db, table string) {
	e.cat.mu.Lock()
	defer e.cat.mu.Unlock()
	if t := e.cat.table(db, table); t != nil {
		fresh := newTable(t.schema)
		t.rows, t.byKey, t.dead = fresh.rows, fresh.byKey, 0
	}
}

// Rows gives the visible rows of a table in the order in which they, or their
// keys, came; nil when there is no such table. The values are nil, bool, int64,
// float64, string, json.Number (LARGEINT, DECIMAL) and json.RawMessage (JSON,
// ARRAY); do not change the latter.
func (e *Emulator) Rows(db, table string) []map[string]any { return e.RowsPage(db, table, -1, 0) }

// RowsPage gives at most limit rows (negative: all) after offset.
func (e *Emulator) RowsPage(db, table string, limit, offset int) []map[string]any {
	t := e.lockedTable(db, table)
	defer e.cat.mu.Unlock()
	if t == nil {
		return nil
	}
	return t.page(limit, offset)
}

// lockedTable returns the table with the catalog locked and up to date.
func (e *Emulator) lockedTable(db, table string) *table {
	e.cat.mu.Lock()
	if d := e.cat.dbs[db]; d != nil {
		e.cat.sweep(d)
	}
	return e.cat.table(db, table)
}

// Count is the number of visible rows of a table; 0 when there is no such
// table.
func (e *Emulator) Count(db, table string) int {
	t := e.lockedTable(db, table)
	defer e.cat.mu.Unlock()
	if t == nil {
		return 0
	}
	return t.count()
}

// TableInfo describes a table.
type TableInfo struct {
	Table
	Rows int `json:"rows"`
}

// Tables lists the tables by database and name.
func (e *Emulator) Tables() []TableInfo {
	e.cat.mu.Lock()
	defer e.cat.mu.Unlock()
	out := []TableInfo{}
	for _, db := range sorted(e.cat.dbs) {
		e.cat.sweep(e.cat.dbs[db])
		for _, name := range sorted(e.cat.dbs[db].tables) {
			t := e.cat.dbs[db].tables[name]
			out = append(out, TableInfo{Table: t.Table, Rows: t.count()})
		}
	}
	return out
}

// Loads gives the load requests that reached a BE, in the order in which they
// ended. A load is listed before its answer is sent.
func (e *Emulator) Loads() []Load {
	list := e.rec.allLoads()
	e.cat.mu.Lock()
	defer e.cat.mu.Unlock()
	for i := range list {
		list[i] = e.current(list[i])
	}
	return list
}

// current fills in the state that the transaction of a load has now. It wants the lock of the catalog held.
func (e *Emulator) current(l Load) Load {
	if l.txn != nil {
		e.cat.sweep(l.txn.db)
		l.State = e.profile.stateName(l.txn.state)
	}
	return l
}

// Requests gives the requests of all nodes, in the order in which they came.
func (e *Emulator) Requests() []Request { return e.rec.allRequests() }

// FEBodyBytes is the number of bytes that clients sent to FEs as bodies of
// loads. It waits until connections that are being closed after an answer are
// closed (a quarter of a second at most), so that late bytes are counted.
func (e *Emulator) FEBodyBytes() int64 { return e.rec.feBodyBytes() }

// LabelState is what get_load_state would answer.
func (e *Emulator) LabelState(db, label string) State {
	e.cat.mu.Lock()
	defer e.cat.mu.Unlock()
	d := e.cat.dbs[db]
	if d == nil {
		return Unknown
	}
	e.cat.sweep(d)
	if t := d.newest(label); t != nil {
		return e.profile.stateName(t.state)
	}
	return Unknown
}

// withLabel runs do on the newest transaction of a label.
func (e *Emulator) withLabel(db, label string, do func(*txn) error) error {
	e.cat.mu.Lock()
	defer e.cat.mu.Unlock()
	d := e.cat.dbs[db]
	if d == nil {
		return fmt.Errorf("no database %q", db)
	}
	e.cat.sweep(d)
	t := d.newest(label)
	if t == nil {
		return fmt.Errorf("label %q is not known in %q", label, db)
	}
	return do(t)
}

// CommitLabel commits the transaction of a label whose rows are complete: one
// in PRECOMMITTED, or one that a fault with Keep left in PREPARE at
// be.before-commit.
func (e *Emulator) CommitLabel(db, label string) error {
	return e.withLabel(db, label, func(t *txn) error {
		if t.state == Prepare && !t.ready {
			return fmt.Errorf("label %q has no complete rows to commit", label)
		}
		return e.cat.doCommit(t, false, time.Time{})
	})
}

// AbortLabel aborts the transaction of a label in PREPARE or PRECOMMITTED.
func (e *Emulator) AbortLabel(db, label, reason string) error {
	return e.withLabel(db, label, func(t *txn) error {
		if err := e.cat.live(t, Prepare, Precommitted); err != nil {
			return err
		}
		e.cat.abort(t, reason)
		return nil
	})
}

// PublishLabel makes a COMMITTED transaction visible, as soon as those before
// it are.
func (e *Emulator) PublishLabel(db, label string) error {
	return e.withLabel(db, label, func(t *txn) error {
		if t.state != Committed {
			return fmt.Errorf("label %q is %s, not COMMITTED", label, t.state)
		}
		t.hold = false
		e.cat.publish(t.table)
		return nil
	})
}

// BeginLabel begins a transaction that no request belongs to, as another
// client would: it stays in PREPARE until AbortLabel, its timeout or _cancel.
// It returns the id of the transaction.
func (e *Emulator) BeginLabel(db, label string) (int64, error) {
	e.cat.mu.Lock()
	defer e.cat.mu.Unlock()
	t, err := e.cat.begin(e.cat.database(db, true), nil, label, 0, e.opt.DefaultTimeout)
	if err != nil {
		return 0, err
	}
	return t.id, nil
}

// EvictLabels forgets the finished transactions of a database: their labels
// become UNKNOWN and can be used again.
func (e *Emulator) EvictLabels(db string) {
	e.cat.mu.Lock()
	defer e.cat.mu.Unlock()
	if d := e.cat.dbs[db]; d != nil {
		e.cat.sweep(d)
		e.cat.evict(d)
	}
}

// Inject puts a fault in place. It panics when the fault is not valid.
func (e *Emulator) Inject(f Fault) *Injected {
	if err := f.Validate(); err != nil {
		panic(err)
	}
	return e.faults.add(f)
}

// ClearFaults removes all faults. Those that hold something now go on.
func (e *Emulator) ClearFaults() { e.faults.clear() }

// SwitchMaster makes the next FE the master. Transactions in PREPARE are
// forgotten: their labels read UNKNOWN and their commits fail.
func (e *Emulator) SwitchMaster() {
	e.cat.mu.Lock()
	defer e.cat.mu.Unlock()
	for _, t := range e.cat.prepared(-1) {
		e.cat.forget(t)
	}
	e.coord.clear()
	e.master.Store((e.master.Load() + 1) % int64(len(e.fes)))
}

// Master is the index of the FE that is the master.
func (e *Emulator) Master() int { return int(e.master.Load()) }

// StopFE takes FE i off the network: its connections are reset and new ones
// refused. The transactions live on. StartFE brings it back on the same port.
func (e *Emulator) StopFE(i int) { e.fes[i].down(true) }

// StartFE brings FE i back.
func (e *Emulator) StartFE(i int) error { return e.up(e.fes[i]) }

// StopBE takes BE i off the network: connections are reset, new ones refused,
// FEs do not redirect to it, and its transactions in PREPARE are aborted.
func (e *Emulator) StopBE(i int) {
	e.abortPrepared(i, "coordinate BE is down")
	e.bes[i].down(true)
}

// StartBE brings BE i back.
func (e *Emulator) StartBE(i int) error { return e.up(e.bes[i]) }

// MoveBE takes BE i off the network as StopBE does, and brings it back on another
// port of its host, as a BE that was started anew elsewhere: FEs redirect to it
// there, and at its old address nobody listens.
func (e *Emulator) MoveBE(i int) error {
	e.abortPrepared(i, "coordinate BE is down")
	return e.move(e.bes[i])
}

// RestartBE resets the connections of BE i and aborts its transactions in
// PREPARE.
func (e *Emulator) RestartBE(i int) {
	e.abortPrepared(i, "coordinate BE restart")
	e.bes[i].cut()
}

func (e *Emulator) abortPrepared(be int, reason string) {
	e.cat.mu.Lock()
	defer e.cat.mu.Unlock()
	for _, t := range e.cat.prepared(be) {
		e.cat.abort(t, reason)
	}
	e.bes[be].streams.clear()
}
