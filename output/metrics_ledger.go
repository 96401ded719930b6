package output

import (
	"errors"

	"github.com/dorisload/benthos-doris/streamload"
)

// rejected counts the rows of a load that were refused before sending.
func (m *meters) rejected(g *group, err error) {
	if e, ok := errors.AsType[*streamload.Error](err); ok {
		m.count(metricRows, rowsOf(e.Rejected), m.table(g.Database, g.Table), "rejected")
	}
}

// rowsOf is how many rows of the table those are.
func rowsOf(rows []streamload.RowError) (n int64) {
	for _, r := range rows {
		n += int64(r.Count())
	}
	return n
}

// known counts the rows of a load that an earlier load has stored, or may still store.
func (m *meters) known(g *group, r streamload.Report, err error) {
	table := m.table(g.Database, g.Table)
	m.count(metricRows, int64(r.AlreadyStored), table, "already_stored")
	m.count(metricDuplicatesAvoided, int64(r.AlreadyStored), table)
	e, ok := errors.AsType[*streamload.Error](err)
	switch {
	case !ok:
	case len(e.Held) > 0:
		m.count(metricRows, rowsOf(e.Held), table, "held")
	case e.Unresolved && r.Rows == 0: // all of them: no delivery was begun
		m.count(metricRows, int64(len(g.Rows)-len(e.Rejected)), table, "held")
	}
}

func (m *meters) settled(s streamload.SettleInfo) {
	m.count(metricSettled, 1, m.table(s.Database, s.Table), s.Result)
}

func (m *meters) forgotten(s streamload.SettleInfo) {
	m.count(metricForgotten, int64(s.Rows), m.table(s.Database, s.Table))
}

// ledger shows how much is in the ledger. It asks with the lock held, so that the last one to show it is the last one to have asked.
func (m *meters) ledger(size func() (loads, rows int)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	loads, rows := size()
	if m.open == [2]int{loads, rows} {
		return
	}
	m.open = [2]int{loads, rows}
	m.gauges[metricLedgerLoads].Set(int64(loads))
	m.gauges[metricLedgerRows].Set(int64(rows))
}

func (m *meters) loadLimit(limit int) { m.gauges[metricLoadLimit].Set(int64(limit)) }
