package streamload

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/streamload/encode"
)

// Messages that are delivered again carry nothing that says which load they were in, and may come back split, merged or in another
// order. So a load whose delivery ended with its fate open stays in the ledger: its label, and the digests of its rows. Rows that
// come in while the ledger is not empty are looked up in it before they are loaded. While it is empty it costs one atomic load a batch.
//
// Rows that are known to be stored and to come back all the same (Client.Expect) are in it too, as loads that are committed.

// digest identifies a row by its bytes. At 128 bits two different rows of any real amount never share one.
type digest [16]byte

func digestOf(row []byte) digest { return xxh3.Hash128(row).Bytes() }

func digestsOf(body *encode.Body) []digest {
	digests := make([]digest, body.Rows())
	for i := range digests {
		digests[i] = digestOf(body.Row(i))
	}
	return digests
}

// ledger is the loads whose fate is open, and those found committed whose rows have not all come back yet.
type ledger struct {
	limits LedgerLimits
	// clock is what ages are measured by. It stands still while nobody could be asked about a load, so that none is forgotten for
	// that, and its rows come back first.
	clock func() time.Duration
	count atomic.Int64 // of entries
	// forgotten is told of loads that are dropped unsettled. It is called without the lock.
	forgotten func(SettleInfo)

	mu      sync.Mutex
	entries []*entry     // by age, the oldest first
	rows    int          // digests of all entries
	untold  []SettleInfo // for forgotten
}

// entry is one load, or rows of several that are expected.
type entry struct {
	database, table, label string // no label: rows that are expected, or a load without one
	born                   time.Time
	bornAt                 time.Duration // by the ledger's clock
	maxAge                 time.Duration // 0: no bound
	owed                   decide.Debt   // at first; settling changes only that of a random label

	// Under the ledger's lock:
	rows    map[digest]int // how many of each row have not been claimed
	left    int            // sum of rows
	pending int            // claims that may be given back
	settled decide.Settled
	gone    bool // no longer in the ledger

	// gate is held by the one goroutine that settles the entry; the fields below belong to it.
	gate  chan struct{}
	debt  decide.Debt
	tries int
	next  time.Time
}

// fate is what the ledger says about a row.
type fate uint8

const (
	fateFree   fate = iota // nothing is known of it: load it
	fateStored             // it is stored already: acknowledge it
	fateOpen               // it may be stored: neither
)

func newLedger(limits LedgerLimits, clock func() time.Duration, forgotten func(SettleInfo)) *ledger {
	return &ledger{limits: limits, clock: clock, forgotten: forgotten}
}

// unlock gives the lock back and then tells what was dropped while it was held.
func (l *ledger) unlock() {
	untold := l.untold
	l.untold = nil
	l.mu.Unlock()
	for _, info := range untold {
		l.forgotten(info)
	}
}

func (l *ledger) empty() bool { return l.count.Load() == 0 }

// expected is true for rows that are stored and will come again.
func (e *entry) expected() bool { return e.label == "" && !e.owed.Forever }

// add remembers a load. An entry of the same label (a stable one, sent again) is replaced.
func (l *ledger) add(b Batch, label string, body *encode.Body, debt decide.Debt) {
	e := l.newEntry(b, label, l.limits.MaxAge)
	e.owed, e.debt = debt, debt
	rows := digestsOf(body)
	l.mu.Lock()
	defer l.unlock()
	if label != "" {
		l.forget(label)
	}
	l.entries = append(l.entries, e)
	l.fill(e, rows)
	l.sweep()
}

func (l *ledger) newEntry(b Batch, label string, maxAge time.Duration) *entry {
	return &entry{
		database: b.Database, table: b.Table, label: label, born: time.Now(), bornAt: l.clock(), maxAge: maxAge,
		rows: map[digest]int{}, gate: make(chan struct{}, 1),
	}
}

// fill adds rows to an entry. It wants the lock held.
func (l *ledger) fill(e *entry, rows []digest) {
	for _, d := range rows {
		e.rows[d]++
	}
	e.left += len(rows)
	l.rows += len(rows)
}

// forget removes the entry of a label. It wants the lock held.
func (l *ledger) forget(label string) {
	for i, e := range l.entries {
		if e.label == label {
			l.remove(i)
			return
		}
	}
}

func (l *ledger) remove(i int) {
	e := l.entries[i]
	l.rows -= e.left
	e.gone = true
	l.entries = append(l.entries[:i], l.entries[i+1:]...)
	l.count.Store(int64(len(l.entries)))
}

// drop removes the i-th entry although it is not done with. One that is known to be committed is dropped with a word too: its rows are not
// known any more when they come back.
func (l *ledger) drop(i int, why string) {
	e := l.entries[i]
	l.untold = append(l.untold, SettleInfo{
		Database: e.database, Table: e.table, Label: e.label, Expected: e.expected(), Age: time.Since(e.born), Rows: e.left, Result: why,
	})
	l.remove(i)
}

// sweep removes what is done with, too old, or too much. It wants the lock held.
func (l *ledger) sweep() {
	l.count.Store(int64(len(l.entries)))
	if len(l.entries) == 0 {
		return
	}
	now := l.clock()
	for i := 0; i < len(l.entries); {
		e := l.entries[i]
		switch {
		case e.settled == decide.SettledClosed, e.left == 0 && e.pending == 0:
			l.remove(i)
		case e.owed.Stable && e.owed.Tainted:
			i++ // whoever knows nothing of it would take the label's commit for the rows: it lasts as long as there is room
		case e.maxAge > 0 && now-e.bornAt > e.maxAge && e.expected():
			l.drop(i, "they have not come back in time")
		case e.maxAge > 0 && now-e.bornAt > e.maxAge:
			l.drop(i, "it is older than max_age")
		default:
			i++
		}
	}
	for len(l.entries) > 0 && l.rows > l.limits.MaxRows {
		l.drop(0, "there are more rows than max_rows")
	}
}

// matching is the entries that hold rows of a body.
func (l *ledger) matching(database, table string, digests []digest) (found []*entry) {
	l.mu.Lock()
	defer l.unlock()
	return l.find(database, table, digests)
}

// find is matching with the lock held.
func (l *ledger) find(database, table string, digests []digest) (found []*entry) {
	l.sweep()
	for _, e := range l.entries {
		if e.database != database || e.table != table {
			continue
		}
		for _, d := range digests {
			if e.rows[d] > 0 {
				found = append(found, e)
				break
			}
		}
	}
	return found
}

// owed is the debt of a label that the ledger has an entry of.
func (l *ledger) owed(label string) (decide.Debt, bool) {
	if label == "" || l.empty() {
		return decide.Debt{}, false
	}
	if e := l.of(label); e != nil {
		return e.owed, true
	}
	return decide.Debt{}, false
}

// of is the entry of a label, nil if there is none.
func (l *ledger) of(label string) *entry {
	l.mu.Lock()
	defer l.unlock()
	for _, e := range l.entries {
		if e.label == label {
			return e
		}
	}
	return nil
}

// settle removes the entry of a label that a delivery has found committed, or closed.
func (l *ledger) settle(label string) {
	if l.empty() {
		return
	}
	l.mu.Lock()
	defer l.unlock()
	l.forget(label)
}

// claim is rows of a batch that were found to be stored. They are taken out of the ledger, each once; giveBack puts them back when
// the batch fails as a whole, so that they are found again.
type claim struct {
	ledger *ledger
	taken  []claimed
}

type claimed struct {
	e *entry
	d digest
}

// judge says what is to be done with each row, once the entries have been settled as far as they can be. It looks for them anew: a load that was sent
// again meanwhile, and is still open, is another entry.
func (l *ledger) judge(database, table string, digests []digest) (fates []fate, labels []string, c *claim) {
	l.mu.Lock()
	defer l.unlock()
	entries := l.find(database, table, digests)
	fates, labels = make([]fate, len(digests)), make([]string, len(digests))
	c = &claim{ledger: l}
	type use struct {
		e *entry
		d digest
	}
	open := map[use]int{} // rows of open entries seen in this batch: each holds back no more rows than it has
	for i, d := range digests {
		// A stored row is looked for first: if a row is in both, it does not matter which copy is which.
		for _, e := range entries {
			if !e.gone && e.settled == decide.SettledCommitted && e.rows[d] > 0 {
				e.rows[d]--
				e.left--
				e.pending++
				l.rows--
				c.taken = append(c.taken, claimed{e, d})
				fates[i], labels[i] = fateStored, e.label
				break
			}
		}
		if fates[i] == fateStored {
			continue
		}
		for _, e := range entries {
			if !e.gone && e.settled == decide.Unsettled && e.rows[d] > open[use{e, d}] {
				open[use{e, d}]++
				fates[i], labels[i] = fateOpen, e.label
				break
			}
		}
	}
	return fates, labels, c
}

// keep ends a claim: its rows are acknowledged.
func (c *claim) keep() {
	c.ledger.mu.Lock()
	defer c.ledger.unlock()
	for _, t := range c.taken {
		t.e.pending--
	}
	c.taken = nil
	c.ledger.sweep()
}

// giveBack ends a claim: its rows will come again.
func (c *claim) giveBack() {
	c.ledger.mu.Lock()
	defer c.ledger.unlock()
	for _, t := range c.taken {
		t.e.pending--
		if t.e.gone {
			continue // dropped by a limit meanwhile
		}
		t.e.rows[t.d]++
		t.e.left++
		c.ledger.rows++
	}
	c.taken = nil
}

// set keeps what became of an entry, and gives the number of its rows that have not come back yet.
func (l *ledger) set(e *entry, s decide.Settled) (left int) {
	l.mu.Lock()
	defer l.unlock()
	e.settled = s
	left = e.left
	l.sweep()
	return left
}

// state is how an entry is settled.
func (l *ledger) state(e *entry) decide.Settled {
	l.mu.Lock()
	defer l.unlock()
	return e.settled
}

// size is the number of entries and of their rows.
func (l *ledger) size() (entries, rows int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries), l.rows
}
