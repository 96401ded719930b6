package output

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

func TestEachFailedAttemptIsALine(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{{At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions, Times: 2}}})
	b := build(t, fields(e.FEURL(), target+"max_retries: 5"))
	require.NoError(t, b.WriteBatch(within(t), batchOf(`{"id":1}`)))
	loads := e.Loads()
	require.Len(t, loads, 3)
	for i, l := range loads[:2] {
		lines := b.logs.lines("level=WARN", fmt.Sprintf("Attempt %d to load failed (answered): Fail: ", i+1), "tablet", "; next: ")
		require.Len(t, lines, 1)
		require.Subset(t, strings.Fields(lines[0]), []string{"label=" + l.Label, "class=capacity", "server=" + e.BEAddr(), "table=d.t"})
	}
	require.Len(t, b.logs.lines("level=WARN"), 3)
	require.Len(t, b.logs.lines("level=WARN", "Doris is short of something", "then 1 at a time"), 1, "when it begins, not for each load")
	require.Len(t, b.logs.lines("level=INFO", "no longer limited"), 1)
	require.Empty(t, b.logs.lines("level=ERROR"))
}

func TestDroppedRowsAreWarnedAbout(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Tables: []emulator.Table{{Database: "d", Name: "t", Columns: []emulator.Column{{Name: "id", Type: "INT", NotNull: true}}}}})
	b := build(t, fields(e.FEURL(), target+"max_filter_ratio: 0.5\nstrict_mode: true"))
	require.NoError(t, b.WriteBatch(within(t), batchOf(`{"id":1}`, `{"id":"many"}`, `{"id":3}`)))
	require.Equal(t, 2, e.Count("d", "t"))
	load := e.Loads()[0]
	lines := b.logs.lines("level=WARN", "Doris filtered 1 of 3 rows out because they do not fit the table (max_filter_ratio allows it), 2 are loaded")
	require.Len(t, lines, 1)
	require.Contains(t, lines[0], "label="+load.Label)
	require.Contains(t, lines[0], "error page: "+load.ErrorURL)
	require.Contains(t, lines[0], "its first lines: ")
}

func TestCountsThatDoNotMatchAreErrors(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(s *server) {
		s.answer = func(r loadRequest) string { return success(r, len(r.rows)-1, 0) }
	})
	b := build(t, fields(s.fe.URL, target))
	require.NoError(t, b.WriteBatch(within(t), batchOf(`{"id":1}`, `{"id":2}`, `{"id":3}`)))
	require.Len(t, b.logs.lines("level=ERROR", "3 rows were sent, and it counts 2: 2 loaded, 0 filtered, 0 unselected"), 1)
}

func TestPublishTimeoutIsStoredAndWarnedAbout(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{{At: emulator.BEBeforeCommit, Do: emulator.PublishTimeout, Times: 1}}})
	b := build(t, fields(e.FEURL(), target))
	require.NoError(t, b.WriteBatch(within(t), batchOf(`{"id":1}`)))
	require.Len(t, e.Loads(), 1)
	require.Len(t, b.logs.lines("level=WARN", "committed and becomes visible later", "label="+e.Loads()[0].Label), 1)
}

func TestALabelThatIsIgnoredIsWarnedAbout(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(s *server) {
		s.answer = func(r loadRequest) string {
			return strings.Replace(success(r, 1, 0), r.header.Get("label"), "group_commit_1234", 1)
		}
	})
	p := run(t, fields(s.fe.URL, target), batchOf(`{"id":1}`))
	require.Len(t, p.logs.lines("level=WARN", "stored the load under another label"), 1)
	require.Equal(t, map[string]int64{"doris_labels_ignored{table=d.t}": 1}, p.metrics.snapshot(metricLabelsIgnored))
}

// Versions before 2.1 do not know group commit and say nothing.
func TestGroupCommitThatIsPassedOverIsWarnedAboutOnce(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]int{"2.0": 1, "2.1": 0} {
		e := cluster(t, emulator.Options{Version: version})
		b := build(t, fields(e.FEURL(), target+"\ngroup_commit: sync_mode"))
		for range 2 {
			require.NoError(t, b.WriteBatch(within(t), batchOf(`{"id":1}`)))
		}
		require.Len(t, b.logs.lines("level=WARN", "although group_commit asks for joining it", "versions before 2.1"), want, version)
	}
}

func TestUnresolvedLoadsAreErrorsThatNameTheLabel(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{
		{At: emulator.BEAnswer, Do: emulator.Reset},
		{At: emulator.StateQuery, Do: emulator.HTTP, Status: 404},
	}})
	b := build(t, fields(e.FEURL(), target))
	got, err := write(within(t), t, b, batchOf(`{"id":1}`, `{"id":2}`))
	label := e.Loads()[0].Label
	require.Contains(t, got[0], "outcome unknown")
	require.Contains(t, got[0], "label="+label)
	require.Contains(t, err.Error(), label)
	require.Len(t, b.logs.lines("level=ERROR", "It is not known whether 2 rows are stored (label "+label+")"), 1)
	require.Len(t, e.Loads(), 1, "it is not sent again")
}

func TestALabelWhoseStateNobodyTellsIsLogged(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{
		{At: emulator.BEAnswer, Do: emulator.Reset, Times: 1},
		{At: emulator.StateQuery, Do: emulator.HTTP, Status: 503, Times: 1},
	}})
	b := build(t, fields(e.FEURL(), target))
	require.NoError(t, b.WriteBatch(within(t), batchOf(`{"id":1}`)))
	require.Len(t, b.logs.lines("level=WARN", "The state of the label cannot be learned: ", "HTTP 503", "next: ask label state"), 1)
	require.Equal(t, 1, e.Count("d", "t"))
}
