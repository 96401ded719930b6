package output

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// leaveOpen makes a load of a batch into d.a that is committed without anybody knowing; until ClearFaults nobody tells.
func leaveOpen(t *testing.T, e *emulator.Emulator, b *built, rows ...string) {
	t.Helper()
	e.Inject(emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 1})
	e.Inject(emulator.Fault{At: emulator.StateQuery, Do: emulator.HTTP, Status: 503})
	got, _ := write(within(t), t, b, batchOf(rows...))
	require.Len(t, got, len(rows))
	require.Contains(t, got[0], "outcome unknown")
}

const (
	twoTables = "database: d\ntable: ${! this.t }\nmax_retries: -1\n"
	batching  = "batching: { count: 100, period: 1h }\n"
)

// With batching, Benthos hands whole source batches back, so what would be stored besides is stored again when they return.
func TestWithBatchingABatchWithOpenRowsFailsWhole(t *testing.T) {
	t.Parallel()
	for name, rows := range map[string][]string{
		"one table":   {`{"t":"a","id":3}`, `{"t":"a","id":1}`, `{"t":"a","id":4}`},
		"two tables":  {`{"t":"b","id":3}`, `{"t":"a","id":1}`, `{"t":"b","id":4}`},
		"a bad table": {`{"id":3}`, `{"t":"a","id":1}`, `{"t":"b","id":4}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := cluster(t, emulator.Options{})
			b := build(t, fields(e.FEURL(), twoTables+batching))
			leaveOpen(t, e, b, `{"t":"a","id":1}`, `{"t":"a","id":2}`)
			loads := len(e.Loads())
			got, err := write(within(t), t, b, batchOf(rows...))
			require.Len(t, got, 3, "every message fails")
			require.ErrorContains(t, err, "3 of 3 messages were not loaded")
			require.Contains(t, got[1], "1 row(s) were in an earlier load whose outcome is still unknown")
			require.Len(t, e.Loads(), loads, "and nothing is loaded")

			e.ClearFaults()
			got, _ = write(within(t), t, b, batchOf(rows...))
			if name == "a bad table" {
				require.Len(t, got, 1)
				require.Equal(t, 3, e.Count("d", "a")+e.Count("d", "b"))
				return
			}
			require.Empty(t, got)
			require.Equal(t, 4, e.Count("d", "a")+e.Count("d", "b"))
		})
	}
}

// Without it each message gets what became of itself.
func TestWithoutBatchingOpenRowsFailAlone(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	b := build(t, fields(e.FEURL(), twoTables))
	leaveOpen(t, e, b, `{"t":"a","id":1}`, `{"t":"a","id":2}`)
	got, err := write(within(t), t, b, batchOf(`{"t":"b","id":3}`, `{"t":"a","id":1}`, `{"t":"a","id":4}`))
	require.ErrorContains(t, err, "label: 1 of 3 messages were not loaded")
	require.Len(t, got, 1)
	require.Contains(t, got[1], "outcome is still unknown")
	require.Equal(t, 3, e.Count("d", "a"))
	require.Equal(t, 1, e.Count("d", "b"))
}

func TestTheLedgerShows(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{
		{At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 1},
		{At: emulator.StateQuery, Do: emulator.HTTP, Status: 404, Times: 1},
	}})
	p := run(t, fields(e.FEURL(), target), batchOf(`{"id":1}`, `{"id":2}`), batchOf(`{"id":2}`, `{"id":3}`))
	require.Contains(t, p.results[0], "outcome unknown")
	require.Empty(t, p.results[1])
	require.Equal(t, map[string]int64{
		"doris_settled{table=d.t,result=committed}":   1,
		"doris_rows{table=d.t,result=unresolved}":     2,
		"doris_rows{table=d.t,result=already_stored}": 1,
		"doris_rows{table=d.t,result=loaded}":         1,
		"doris_duplicates_avoided{table=d.t}":         1,
		"doris_ledger_loads{}":                        1,
		"doris_ledger_rows{}":                         1,
	}, p.metrics.snapshot(metricSettled, metricRows, metricDuplicatesAvoided, metricLedgerLoads, metricLedgerRows, metricForgotten))
	require.EqualValues(t, 2, p.metrics.peak("doris_ledger_rows{}"))
	require.Equal(t, 3, e.Count("d", "t"))
	require.Len(t, p.logs.lines("level=INFO", "is committed: rows of it that come back are acknowledged"), 1)
}

func TestHeldAndForgottenRowsShow(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{
		{At: emulator.BEAfterCommit, Do: emulator.Reset},
		{At: emulator.StateQuery, Do: emulator.HTTP, Status: 404},
	}})
	p := run(t, fields(e.FEURL(), target+"ledger: { max_rows: 3 }"), batchOf(`{"id":1}`, `{"id":2}`), batchOf(`{"id":2}`), batchOf(`{"id":3}`, `{"id":4}`))
	require.Equal(t, map[string]int64{
		"doris_settled{table=d.t,result=open}":    1,
		"doris_rows{table=d.t,result=unresolved}": 4,
		"doris_rows{table=d.t,result=held}":       1,
		"doris_ledger_forgotten_rows{table=d.t}":  2,
	}, p.metrics.snapshot(metricSettled, metricRows, metricForgotten))
	require.Len(t, p.logs.lines("level=WARN", "is still unknown: rows of it are failed again and not sent"), 1)
	forgotten := p.logs.lines("level=WARN", "is forgotten, because there are more rows than max_rows: 2 rows of it may be stored twice")
	require.Len(t, forgotten, 1)
	require.Contains(t, forgotten[0], "(label "+e.Loads()[0].Label+")")
}

func TestThePaceShows(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{{At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions, Times: 3}}})
	p := run(t, fields(e.FEURL(), target+"max_retries: 5"), batchOf(`{"id":1}`), batchOf(`{"id":2}`))
	require.Equal(t, []string{"", ""}, p.results)
	require.EqualValues(t, 1, p.metrics.peak("doris_load_limit{}"))
	require.Zero(t, p.metrics.snapshot(metricLoadLimit)["doris_load_limit{}"])
	require.Len(t, p.logs.lines("level=WARN", "Doris is short of something"), 1)
	require.Len(t, p.logs.lines("level=INFO", "no longer limited"), 1)
}
