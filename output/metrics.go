package output

import (
	"sync"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"github.com/dorisload/benthos-doris/streamload"
)

// Metric describes one metric of the output. Benthos adds the labels "label" and "path" of the component to each.
type Metric struct {
	Name string
	// Type is "counter", "gauge" or "timer"; timers are in nanoseconds.
	Type string
	// Labels are the metric's own labels, in their order.
	Labels []string
	Help   string
}

// The types of metrics.
const (
	counter = "counter"
	gauge   = "gauge"
	timer   = "timer"
)

// The metrics.
const (
	metricLoads             = "doris_loads"
	metricLoadErrors        = "doris_load_errors"
	metricRows              = "doris_rows"
	metricBytes             = "doris_bytes"
	metricBytesSent         = "doris_bytes_sent"
	metricAttempts          = "doris_attempts"
	metricRetries           = "doris_retries"
	metricAmbiguous         = "doris_ambiguous_loads"
	metricDuplicatesAvoided = "doris_duplicates_avoided"
	metricLabelsIgnored     = "doris_labels_ignored"
	metricPolls             = "doris_label_polls"
	metricSecondPhases      = "doris_second_phases"
	metricLoadLatency       = "doris_load_latency_ns"
	metricAttemptLatency    = "doris_attempt_latency_ns"
	metricServerPhase       = "doris_server_phase_ns"
	metricInFlight          = "doris_loads_in_flight"
	metricFrontendUp        = "doris_frontend_up"
	metricSettled           = "doris_settled"
	metricForgotten         = "doris_ledger_forgotten_rows"
	metricLedgerLoads       = "doris_ledger_loads"
	metricLedgerRows        = "doris_ledger_rows"
	metricLoadLimit         = "doris_load_limit"
	metricWaiting           = "doris_waiting_batches"
	metricJoined            = "doris_joined_batches"
)

var metricsTable = []Metric{
	{metricLoads, counter, []string{"table", "outcome"}, "Loads that ended. The outcome is success, publish_timeout (committed, visible a little later), label_finished, state_visible or state_committed (found to be committed by the label), commit (by two_phase_commit), all of which are stored; or failed, or unresolved (may be stored)."},
	{metricLoadErrors, counter, []string{"table", "class"}, "Loads that failed or stayed unresolved, by the class of the last failure."},
	{metricRows, counter, []string{"table", "result"}, "Rows by what became of them: loaded; filtered (dropped by Doris as bad) and unselected (dropped by where), both acknowledged; unaccounted (sent, and missing from the counts of an answer of success); rejected (refused before sending); failed; unresolved; already_stored (acknowledged, because an earlier load has stored them: its outcome had been unknown, or they came again because others of their batch had failed); held (failed, because such a load may still store them)."},
	{metricBytes, counter, []string{"table"}, "Bytes of the rows of loads that are stored, each load once."},
	{metricBytesSent, counter, []string{"table"}, "Bytes of the bodies that were sent, wholly or in part, each time they were."},
	{metricAttempts, counter, []string{"table", "result"}, "Requests to load: stored, failed, not_sent (no server took the body), or no_answer."},
	{metricRetries, counter, []string{"table", "class"}, "Loads sent again, by the class of the failure before."},
	{metricAmbiguous, counter, []string{"table", "resolved"}, "Loads of which some request did not tell its fate, by how that was settled: an outcome of doris_loads."},
	{metricDuplicatesAvoided, counter, []string{"table"}, "Rows that were found to be stored already, and would have been stored twice without a look at the label: by a request of the same load that seemed to fail, or by an earlier load."},
	{metricLabelsIgnored, counter, []string{"table"}, "Loads that Doris stored under another label than the one sent, which takes away the protection against doubles."},
	{metricPolls, counter, []string{"table", "state"}, "Questions for the state of a label, by the answer: a state of Doris in lower case, or none."},
	{metricSecondPhases, counter, []string{"table", "result"}, "Requests to commit a transaction (two_phase_commit): committed, or unclear, whereupon the state of the label is asked for."},
	{metricLoadLatency, timer, []string{"table"}, "Time of a load from its start to its outcome, with all attempts and waits."},
	{metricAttemptLatency, timer, []string{"table"}, "Time of a single request to load."},
	{metricServerPhase, timer, []string{"table", "phase"}, "Time that Doris says a phase of a load took, under its names (Load, BeginTxn, StreamLoadPut, ReadData, WriteData, ReceiveData, CommitAndPublish)."},
	{metricInFlight, gauge, nil, "Loads that are running."},
	{metricWaiting, gauge, nil, "Source batches that wait for their load to begin, because of linger or because all loads are busy. One that goes to several tables counts for each."},
	{metricJoined, counter, []string{"table"}, "Source batches that were joined into loads. Together with doris_loads it tells how many make one load."},
	{metricFrontendUp, gauge, []string{"fe"}, "1 while an FE is taken to be up, 0 after it could not be reached."},
	{metricSettled, counter, []string{"table", "result"}, "Looks at a load whose outcome was unknown, made when rows of it came back: committed, closed (not stored, and never will be: its rows are loaded anew) or open (still unknown: its rows are failed again)."},
	{metricForgotten, counter, []string{"table"}, "Rows of such loads that were forgotten because of the limits of ledger before they came back. They may be stored twice when they do."},
	{metricLedgerLoads, gauge, nil, "Loads in the ledger: their outcome was unknown, or their rows have to come again because others of their batch failed, and not all of them have."},
	{metricLedgerRows, gauge, nil, "Rows of these loads that have not come back."},
	{metricLoadLimit, gauge, nil, "How many loads may run at a time because Doris is short of something (class capacity); 0 while it is not."},
}

// MetricsTable is a copy of the table of all metrics. The output makes its metrics from it, and so is its documentation.
func MetricsTable() []Metric { return append([]Metric(nil), metricsTable...) }

// maxTables is how many tables get a label value of their own; they come from messages, and each one costs the metrics' backend memory
// for ever. The others share one.
const (
	maxTables = 1000
	// maxTableName is longer than any name that Doris takes, in bytes.
	maxTableName = 1000
	otherTables  = "other"
)

// meters are the metrics of one output.
type meters struct {
	counters map[string]*service.MetricCounter
	gauges   map[string]*service.MetricGauge
	timers   map[string]*service.MetricTimer

	mu      sync.Mutex
	tables  map[tableKey]string
	running int64
	queued  int    // source batches that wait, as last shown
	open    [2]int // loads and rows in the ledger, as last shown
}

type tableKey struct{ database, table string }

func newMeters(m *service.Metrics) *meters {
	ms := &meters{
		counters: map[string]*service.MetricCounter{},
		gauges:   map[string]*service.MetricGauge{},
		timers:   map[string]*service.MetricTimer{},
		tables:   map[tableKey]string{},
	}
	for _, row := range metricsTable {
		switch row.Type {
		case counter:
			ms.counters[row.Name] = m.NewCounter(row.Name, row.Labels...)
		case gauge:
			ms.gauges[row.Name] = m.NewGauge(row.Name, row.Labels...)
		case timer:
			ms.timers[row.Name] = m.NewTimer(row.Name, row.Labels...)
		}
	}
	return ms
}

// table is the label value of a table.
func (m *meters) table(database, table string) string {
	key := tableKey{database, table}
	m.mu.Lock()
	defer m.mu.Unlock()
	name, known := m.tables[key]
	if known {
		return name
	}
	if len(m.tables) >= maxTables || len(database)+len(table) > maxTableName {
		return otherTables
	}
	name = database + "." + table
	m.tables[key] = name
	return name
}

// count adds to a counter; 0 is not worth a series.
func (m *meters) count(name string, n int64, labels ...string) {
	if n > 0 {
		m.counters[name].Incr(n, labels...)
	}
}

func (m *meters) frontend(fe string, up bool) {
	v := int64(0)
	if up {
		v = 1
	}
	m.gauges[metricFrontendUp].Set(v, fe)
}

func (m *meters) started() { m.inFlight(1) }

// inFlight keeps the number itself: with exporters that are plugins, Benthos forgets the value of a gauge between two calls of Incr.
func (m *meters) inFlight(by int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running += by
	m.gauges[metricInFlight].Set(m.running)
}

func (m *meters) attempted(a streamload.AttemptInfo) {
	table := m.table(a.Database, a.Table)
	m.count(metricAttempts, 1, table, attemptResult(a))
	if a.Sent != "not sent" {
		m.count(metricBytesSent, a.Bytes, table)
	}
	if a.Attempt > 1 {
		m.count(metricRetries, 1, table, string(a.Previous))
	}
	m.timers[metricAttemptLatency].Timing(a.Took.Nanoseconds(), table)
}

func attemptResult(a streamload.AttemptInfo) string {
	switch {
	case a.Stored:
		return "stored"
	case a.Sent == "not sent":
		return "not_sent"
	case a.Sent == "maybe received":
		return "no_answer"
	default:
		return "failed"
	}
}

func (m *meters) polled(p streamload.PollInfo, state string) {
	m.count(metricPolls, 1, m.table(p.Database, p.Table), state)
}

func (m *meters) finished(r streamload.Report, failure *streamload.Error) {
	table := m.table(r.Database, r.Table)
	outcome := outcomeOf(r, failure)
	m.inFlight(-1)
	m.timers[metricLoadLatency].Timing(r.Took.Nanoseconds(), table)
	m.count(metricLoads, 1, table, outcome)
	if r.Ambiguous {
		m.count(metricAmbiguous, 1, table, outcome)
	}
	for phase, ms := range r.Timings {
		if ms >= 0 {
			m.timers[metricServerPhase].Timing((time.Duration(ms) * time.Millisecond).Nanoseconds(), table, phase)
		}
	}
	if failure != nil {
		m.count(metricLoadErrors, 1, table, string(failure.Class))
		m.count(metricRows, int64(r.Rows), table, outcome)
		return
	}
	m.count(metricBytes, r.Bytes, table)
	if foundByLabel(r) {
		m.count(metricDuplicatesAvoided, int64(r.Rows), table)
	}
	if r.LabelIgnored {
		m.count(metricLabelsIgnored, 1, table)
	}
	if !r.HasCounts {
		m.count(metricRows, int64(r.Rows), table, "loaded")
		return
	}
	m.count(metricRows, r.Loaded, table, "loaded")
	m.count(metricRows, r.Filtered, table, "filtered")
	m.count(metricRows, r.Unselected, table, "unselected")
	m.count(metricRows, r.Unaccounted(), table, "unaccounted")
}

func (m *meters) secondPhase(p streamload.SecondPhaseInfo) {
	result := "unclear"
	if p.Committed {
		result = "committed"
	}
	m.count(metricSecondPhases, 1, m.table(p.Database, p.Table), result)
}

// outcomeOf is the end of a load in one word.
func outcomeOf(r streamload.Report, failure *streamload.Error) string {
	switch {
	case failure == nil:
		return r.Evidence
	case failure.Unresolved:
		return "unresolved"
	default:
		return "failed"
	}
}

// foundByLabel is true for a load whose last request did not say that it was stored, but whose label did.
func foundByLabel(r streamload.Report) bool {
	switch r.Evidence {
	case "label_finished", "state_visible", "state_committed":
		return true
	}
	return false
}
