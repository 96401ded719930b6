package output

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

// recorder is a metrics exporter that keeps everything. Series are named name{label=value,...}, without the labels of Benthos.
type recorder struct {
	mu       sync.Mutex
	declared map[string]Metric
	values   map[string]int64
	peaks    map[string]int64
}

func newRecorder() *recorder {
	return &recorder{declared: map[string]Metric{}, values: map[string]int64{}, peaks: map[string]int64{}}
}

// series is one metric with its label values.
type series struct {
	r    *recorder
	name string
}

func (s series) change(to func(int64) int64) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	v := to(s.r.values[s.name])
	s.r.values[s.name] = v
	s.r.peaks[s.name] = max(s.r.peaks[s.name], v)
}

func (s series) Incr(n int64)   { s.change(func(v int64) int64 { return v + n }) }
func (s series) Set(n int64)    { s.change(func(int64) int64 { return n }) }
func (s series) Timing(n int64) { s.change(func(v int64) int64 { return v + n }) }

func (r *recorder) declare(kind, name string, keys []string) func(values ...string) series {
	own := slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == "label" || k == "path" || k == "stream" })
	r.mu.Lock()
	defer r.mu.Unlock()
	if strings.HasPrefix(name, "doris_") {
		if len(own) == 0 {
			own = nil
		}
		r.declared[name] = Metric{Name: name, Type: kind, Labels: own}
	}
	return func(values ...string) series {
		pairs := []string{}
		for i, k := range keys {
			if slices.Contains(own, k) {
				pairs = append(pairs, k+"="+values[i])
			}
		}
		if len(values) != len(keys) {
			panic(fmt.Sprintf("%s has the labels %v and got %v", name, keys, values))
		}
		return series{r, name + "{" + strings.Join(pairs, ",") + "}"}
	}
}

func (r *recorder) NewCounterCtor(name string, keys ...string) service.MetricsExporterCounterCtor {
	of := r.declare(counter, name, keys)
	return func(values ...string) service.MetricsExporterCounter { return of(values...) }
}

func (r *recorder) NewTimerCtor(name string, keys ...string) service.MetricsExporterTimerCtor {
	of := r.declare(timer, name, keys)
	return func(values ...string) service.MetricsExporterTimer { return of(values...) }
}

func (r *recorder) NewGaugeCtor(name string, keys ...string) service.MetricsExporterGaugeCtor {
	of := r.declare(gauge, name, keys)
	return func(values ...string) service.MetricsExporterGauge { return of(values...) }
}

func (*recorder) Close(context.Context) error { return nil }

// snapshot are the values of the series of some metrics, all of the output's without any.
func (r *recorder) snapshot(names ...string) map[string]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]int64{}
	for series, v := range r.values {
		name, _, _ := strings.Cut(series, "{")
		if slices.Contains(names, name) || len(names) == 0 && strings.HasPrefix(name, "doris_") {
			out[series] = v
		}
	}
	return out
}

func (r *recorder) peak(series string) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.peaks[series]
}

func TestTheTableIsWhatIsRegistered(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	p := run(t, fields(e.FEURL(), target), batchOf(`{"id":1}`))
	require.Equal(t, []string{""}, p.results)
	want := map[string]Metric{}
	for _, m := range MetricsTable() {
		require.NotEmpty(t, m.Help, m.Name)
		require.NotContains(t, want, m.Name, "each name once")
		m.Help = ""
		want[m.Name] = m
	}
	require.Equal(t, want, p.metrics.declared)
}

func TestMetricsOfGoodLoads(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	p := run(t, fields(e.FEURL(), "database: d\ntable: ${! this.t }"), batchOf(`{"t":"a","id":1}`, `{"t":"a","id":2}`, `{"t":"b","id":3}`, `nonsense`))
	fe := strings.TrimPrefix(e.FEURL(), "http://")
	got := p.metrics.snapshot(metricLoads, metricLoadErrors, metricRows, metricBytes, metricBytesSent, metricAttempts, metricRetries, metricAmbiguous, metricInFlight, metricFrontendUp)
	require.Equal(t, map[string]int64{
		"doris_loads{table=d.a,outcome=success}":  1,
		"doris_loads{table=d.b,outcome=success}":  1,
		"doris_rows{table=d.a,result=loaded}":     2,
		"doris_rows{table=d.b,result=loaded}":     1,
		"doris_bytes{table=d.a}":                  33,
		"doris_bytes{table=d.b}":                  16,
		"doris_bytes_sent{table=d.a}":             33,
		"doris_bytes_sent{table=d.b}":             16,
		"doris_attempts{table=d.a,result=stored}": 1,
		"doris_attempts{table=d.b,result=stored}": 1,
		"doris_loads_in_flight{}":                 0,
		"doris_frontend_up{fe=" + fe + "}":        1,
	}, got)
	require.GreaterOrEqual(t, p.metrics.peak("doris_loads_in_flight{}"), int64(1))
	require.Positive(t, p.metrics.snapshot(metricLoadLatency)["doris_load_latency_ns{table=d.a}"])
	require.Positive(t, p.metrics.snapshot(metricAttemptLatency)["doris_attempt_latency_ns{table=d.a}"])
	require.Contains(t, p.metrics.snapshot(metricServerPhase), "doris_server_phase_ns{table=d.a,phase=Load}")
}

func TestMetricsOfRejectedRows(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	p := run(t, fields(e.FEURL(), target), batchOf(`{"id":1}`, `nonsense`, `7`))
	require.Equal(t, map[string]int64{
		"doris_rows{table=d.t,result=loaded}":   1,
		"doris_rows{table=d.t,result=rejected}": 2,
	}, p.metrics.snapshot(metricRows))
}

func TestMetricsOfRetries(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{
		{At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions, Times: 1},
		{At: emulator.BEBegin, Do: emulator.TxnLimit, Times: 1, Skip: 1},
	}})
	p := run(t, fields(e.FEURL(), target+"max_retries: 5\n"), batchOf(`{"id":1}`))
	require.Equal(t, map[string]int64{
		"doris_retries{table=d.t,class=capacity}": 2,
		"doris_attempts{table=d.t,result=failed}": 1,
		// The limit is told before the body is taken.
		"doris_attempts{table=d.t,result=not_sent}": 1,
		"doris_attempts{table=d.t,result=stored}":   1,
		"doris_loads{table=d.t,outcome=success}":    1,
		"doris_bytes{table=d.t}":                    8,
		"doris_bytes_sent{table=d.t}":               16,
	}, p.metrics.snapshot(metricRetries, metricAttempts, metricLoads, metricBytes, metricBytesSent, metricLoadErrors))
}

func TestMetricsOfAnAnswerThatIsLost(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{{At: emulator.BEAnswer, Do: emulator.Reset, Times: 1}}})
	p := run(t, fields(e.FEURL(), target), batchOf(`{"id":1}`))
	require.Equal(t, map[string]int64{
		"doris_attempts{table=d.t,result=no_answer}":              1,
		"doris_loads{table=d.t,outcome=state_visible}":            1,
		"doris_ambiguous_loads{table=d.t,resolved=state_visible}": 1,
		"doris_duplicates_avoided{table=d.t}":                     1,
		"doris_label_polls{table=d.t,state=visible}":              1,
		"doris_rows{table=d.t,result=loaded}":                     1,
	}, p.metrics.snapshot(metricAttempts, metricLoads, metricAmbiguous, metricDuplicatesAvoided, metricPolls, metricRows, metricRetries))
	require.Equal(t, 1, e.Count("d", "t"))
}

func TestMetricsOfFailedLoads(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{
		{At: emulator.BEBegin, Do: emulator.TxnLimit, Table: "full"},
		{At: emulator.BEAnswer, Do: emulator.Reset, Table: "silent"},
		{At: emulator.StateQuery, Do: emulator.HTTP, Status: 404},
	}})
	p := run(t, fields(e.FEURL(), "database: d\ntable: ${! this.t }"), batchOf(`{"t":"full"}`, `{"t":"full"}`, `{"t":"silent"}`))
	require.Equal(t, map[string]int64{
		"doris_loads{table=d.full,outcome=failed}":                  1,
		"doris_loads{table=d.silent,outcome=unresolved}":            1,
		"doris_load_errors{table=d.full,class=capacity}":            1,
		"doris_load_errors{table=d.silent,class=unavailable}":       1,
		"doris_rows{table=d.full,result=failed}":                    2,
		"doris_rows{table=d.silent,result=unresolved}":              1,
		"doris_ambiguous_loads{table=d.silent,resolved=unresolved}": 1,
	}, p.metrics.snapshot(metricLoads, metricLoadErrors, metricRows, metricAmbiguous, metricBytes))
	require.Zero(t, p.metrics.snapshot(metricInFlight)["doris_loads_in_flight{}"])
}

func TestMetricsOfFilteredAndUnselectedRows(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(s *server) {
		s.answer = func(r loadRequest) string {
			return strings.NewReplacer(`"NumberUnselectedRows":0`, `"NumberUnselectedRows":2`, `"NumberTotalRows":7`, `"NumberTotalRows":9`).
				Replace(success(r, 4, 3))
		}
	})
	rows := make([]string, 10)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"id":%d}`, i)
	}
	p := run(t, fields(s.fe.URL, target), batchOf(rows...))
	require.Equal(t, map[string]int64{
		"doris_rows{table=d.t,result=loaded}":                     4,
		"doris_rows{table=d.t,result=filtered}":                   3,
		"doris_rows{table=d.t,result=unselected}":                 2,
		"doris_rows{table=d.t,result=unaccounted}":                1,
		"doris_server_phase_ns{table=d.t,phase=Load}":             12e6,
		"doris_server_phase_ns{table=d.t,phase=BeginTxn}":         1e6,
		"doris_server_phase_ns{table=d.t,phase=CommitAndPublish}": 5e6,
	}, p.metrics.snapshot(metricRows, metricServerPhase))
}

func TestFrontendsThatAreDownShow(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{FEs: 2})
	e.StopFE(0)
	// With group commit an FE is asked for each load.
	p := run(t, "fe_urls: [ \""+strings.Join(e.FEURLs(), "\", \"")+"\" ]\ngroup_commit: sync_mode\n"+target+fast, batchOf(`{"id":1}`), batchOf(`{"id":2}`))
	require.Equal(t, []string{"", ""}, p.results)
	require.Equal(t, map[string]int64{
		"doris_frontend_up{fe=" + strings.TrimPrefix(e.FEURLs()[0], "http://") + "}": 0,
		"doris_frontend_up{fe=" + strings.TrimPrefix(e.FEURLs()[1], "http://") + "}": 1,
	}, p.metrics.snapshot(metricFrontendUp))
	require.Len(t, p.logs.lines("level=WARN", "The FE cannot be reached"), 1)
}

// Tables come from messages, so their number has no bound of its own.
func TestTablesInLabelsAreBounded(t *testing.T) {
	t.Parallel()
	m := newMeters(nil)
	for i := range 3 * maxTables {
		m.finished(streamload.Report{Database: "d", Table: fmt.Sprintf("t%d", i), Evidence: "success"}, nil)
	}
	require.Len(t, m.tables, maxTables)
	require.Equal(t, "d.t0", m.table("d", "t0"))
	require.Equal(t, "other", m.table("d", "new"))
	require.Equal(t, fmt.Sprintf("d.t%d", maxTables-1), m.table("d", fmt.Sprintf("t%d", maxTables-1)))
}
