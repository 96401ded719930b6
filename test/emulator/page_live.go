package emulator

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// livePath is where the page gets its data.
const livePath = "/emulator/live"

// Bounds of what /emulator/live says at a time, so that an open page stays cheap whatever is loaded.
const (
	liveLoads, liveMaxLoads = 50, 200
	liveRows, liveMaxRows   = 4, 20
	liveMaxTables           = 50
	liveMaxColumns          = 16
	liveMaxTxns             = 50
	liveMaxFaults           = 20
	liveMaxCell             = 80  // characters of a value
	liveMaxText             = 400 // characters of a message, and of everything else that clients choose
)

// live is what goes on in the emulator now.
type live struct {
	Dialect Dialect   `json:"dialect"`
	Version string    `json:"version"`
	Time    time.Time `json:"time"`

	Nodes []liveNode `json:"nodes"`
	// Tables by database and name, and how many there are; Rows is the sum over all of them.
	Tables      []liveTable `json:"tables"`
	TablesTotal int         `json:"tables_total"`
	Rows        int         `json:"rows"`
	// Running are the transactions in PREPARE or PRECOMMITTED, the newest first.
	Running      []liveTxn `json:"running"`
	RunningTotal int       `json:"running_total"`
	// Loads are those that ended last, the newest first; LoadsTotal counts all since the start.
	Loads      []Load `json:"loads"`
	LoadsTotal int64  `json:"loads_total"`

	Switches []liveSwitch `json:"switches"`
	// Faults are those that are in place without a switch.
	Faults      []liveFault `json:"faults"`
	FaultsTotal int         `json:"faults_total"`
}

type liveNode struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Up      bool   `json:"up"`
	Master  bool   `json:"master,omitempty"`
	// BackInMS is when the node comes back by itself, in milliseconds; 0: it does not.
	BackInMS int64 `json:"back_in_ms,omitempty"`
}

type liveTable struct {
	Database string `json:"database"`
	Name     string `json:"name"`
	Model    Model  `json:"model"`
	Rows     int    `json:"rows"`
	// Waiting are rows that are committed and not yet visible.
	Waiting int `json:"waiting"`
	// Columns are the first columns, Last the last rows, the newest at the end: the text of each value, null for NULL.
	Columns      []string    `json:"columns"`
	ColumnsTotal int         `json:"columns_total"`
	Last         [][]*string `json:"last"`
}

type liveTxn struct {
	Database string `json:"database"`
	Table    string `json:"table"` // empty for one that its load will create
	Label    string `json:"label"`
	TxnID    int64  `json:"txn"`
	BE       string `json:"be"`
	State    State  `json:"state"`
	AgeMS    int64  `json:"age_ms"`
}

type liveFault struct {
	Fault string `json:"fault"`
	Hits  int    `json:"hits"`
}

// showLive answers with a live.
func (x *exchange) showLive() {
	loads, ok := x.wanted("loads", liveLoads, liveMaxLoads)
	rows, ok2 := x.wanted("rows", liveRows, liveMaxRows)
	if !ok || !ok2 {
		x.answer(http.StatusBadRequest, "text/plain", []byte("loads and rows are whole numbers, 0 or more\n"))
		return
	}
	x.w.Header().Set("Cache-Control", "no-store")
	x.w.Header().Set("X-Content-Type-Options", "nosniff")
	x.show(x.e.live(loads, rows))
}

func (e *Emulator) live(loads, rows int) live {
	l := live{Dialect: e.profile.dialect, Version: e.profile.name, Time: time.Now(), Nodes: e.liveNodes()}
	l.Loads, l.LoadsTotal = e.rec.newestLoads(loads)
	l.Switches = e.liveSwitches()
	l.Faults, l.FaultsTotal = e.otherFaults()

	e.cat.mu.Lock()
	defer e.cat.mu.Unlock()
	l.Tables, l.Running = []liveTable{}, []liveTxn{}
	for _, db := range sorted(e.cat.dbs) {
		e.cat.sweep(e.cat.dbs[db])
		for _, name := range sorted(e.cat.dbs[db].tables) {
			t := e.cat.dbs[db].tables[name]
			l.Rows += t.count()
			if l.TablesTotal++; l.TablesTotal <= liveMaxTables {
				l.Tables = append(l.Tables, t.live(rows))
			}
		}
		for _, t := range e.cat.dbs[db].running {
			l.Running = append(l.Running, e.liveTxn(t))
		}
	}
	slices.SortFunc(l.Running, func(a, b liveTxn) int { return cmp.Compare(b.TxnID, a.TxnID) })
	l.RunningTotal = len(l.Running)
	l.Running = l.Running[:min(len(l.Running), liveMaxTxns)]
	for i := range l.Loads {
		l.Loads[i] = e.current(l.Loads[i])
	}
	return l
}

func (e *Emulator) liveTxn(t *txn) liveTxn {
	out := liveTxn{
		Database: t.db.name, Label: cut(t.label, liveMaxText), TxnID: t.id, BE: e.bes[t.be].name,
		State: e.profile.stateName(t.state), AgeMS: e.opt.Now().Sub(t.begin).Milliseconds(),
	}
	if t.table != nil {
		out.Table = t.table.Name
	}
	return out
}

func (e *Emulator) liveNodes() []liveNode {
	var out []liveNode
	for _, n := range e.nodes() {
		n.mu.Lock()
		one := liveNode{Name: n.name, Address: n.public, Up: n.ln != nil}
		if !n.returns.IsZero() {
			one.BackInMS = max(1, time.Until(n.returns).Milliseconds())
		}
		n.mu.Unlock()
		out = append(out, one)
	}
	out[e.master.Load()].Master = true
	return out
}

// live wants the lock of the catalog held.
func (t *table) live(rows int) liveTable {
	out := liveTable{Database: t.Database, Name: t.Name, Model: t.Model, Rows: t.count(), ColumnsTotal: len(t.cols), Columns: []string{}, Last: [][]*string{}}
	for _, p := range t.pending {
		if p.staged != nil {
			out.Waiting += len(p.staged.rows)
		}
	}
	shown := min(len(t.cols), liveMaxColumns)
	for _, c := range t.cols[:shown] {
		out.Columns = append(out.Columns, cut(c.Name, liveMaxCell))
	}
	for i := len(t.rows) - 1; i >= 0 && len(out.Last) < rows; i-- {
		if t.rows[i].gone {
			continue
		}
		row := make([]*string, shown)
		for c, v := range t.rows[i].vals[:shown] {
			if v != nil {
				text := cellText(v)
				row[c] = &text
			}
		}
		out.Last = append(out.Last, row)
	}
	slices.Reverse(out.Last)
	return out
}

// cellText is the beginning of a value as the server shows it. Numbers are texts too: a browser would round large ones.
func cellText(v any) string {
	if raw, ok := v.(json.RawMessage); ok {
		v = raw[:min(len(raw), 4*liveMaxCell+4)] // it may be long, and is copied
	}
	return cut(valueText(v), liveMaxCell)
}

// cut shortens a text to some characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for i := range text {
		if most--; most < 0 {
			return text[:i] + "…"
		}
	}
	return text
}

// newestLoads gives the loads that ended last, the newest first, and how many there were since the start.
func (r *recorder) newestLoads(n int) ([]Load, int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []Load{}
	for i := len(r.loads) - 1; i >= 0 && len(out) < n; i-- {
		l := *r.loads[i]
		for _, text := range []*string{&l.Label, &l.DB, &l.Table, &l.User, &l.Format, &l.Message, &l.ErrorURL} {
			*text = cut(*text, liveMaxText)
		}
		l.Ignored = nil // the page does not show them
		out = append(out, l)
	}
	return out, r.loadsTotal
}

// otherFaults are the faults in place that no switch put there.
func (e *Emulator) otherFaults() ([]liveFault, int) {
	out := []liveFault{}
	total := 0
	for _, i := range e.faults.all() {
		if e.switches.owns(i) {
			continue
		}
		if total++; total <= liveMaxFaults {
			out = append(out, liveFault{Fault: cut(i.Fault().String(), liveMaxText), Hits: i.Hits()})
		}
	}
	return out, total
}
