package output

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

// memory is a replays whose clock is moved by hand.
func memory(limits streamload.LedgerLimits) (*replays, *time.Duration) {
	now := new(time.Duration)
	return newReplays(limits, func() time.Duration { return *now }), now
}

func digestsOf(rows ...string) (digests []messageDigest) {
	for _, msg := range batchOf(rows...) {
		digests = append(digests, digestOf(msg))
	}
	return digests
}

func remember(t *testing.T, r *replays, rows ...string) {
	t.Helper()
	ok, _ := r.add(digestsOf(rows...))
	require.True(t, ok)
}

func TestReplaysAreOfAllMessagesOrNone(t *testing.T) {
	t.Parallel()
	r, _ := memory(streamload.LedgerLimits{MaxRows: 100})
	require.Nil(t, r.take(batchOf("a")))
	remember(t, r, "a", "b", "b")
	require.Nil(t, r.take(batchOf("a", "x")))
	require.Nil(t, r.take(batchOf("a", "a")), "it is there once")
	taken := r.take(batchOf("b", "a", "b"))
	require.Equal(t, digestsOf("b", "a", "b"), taken)
	require.Nil(t, r.take(batchOf("a")), "and then no more")
	require.Zero(t, r.remembered())
	r.giveBack(taken)
	require.Len(t, r.take(batchOf("b")), 1)
	require.Len(t, r.take(batchOf("a", "b")), 2)
	require.Zero(t, r.remembered())
}

func TestReplaysAreForgottenByAge(t *testing.T) {
	t.Parallel()
	r, now := memory(streamload.LedgerLimits{MaxRows: 100, MaxAge: time.Hour})
	remember(t, r, "a")
	*now = 29 * time.Minute
	remember(t, r, "b")
	*now = 31 * time.Minute
	remember(t, r, "c")
	require.Len(t, r.take(batchOf("a", "b", "c")), 3)
	r.giveBack(digestsOf("c"))
	*now = 60 * time.Minute
	require.Len(t, r.take(batchOf("c")), 1, "half of it at least")
	r.giveBack(digestsOf("c"))
	*now = 130 * time.Minute
	require.Nil(t, r.take(batchOf("c")))
	require.Zero(t, r.remembered())

	r, now = memory(streamload.LedgerLimits{MaxRows: 100, MaxAge: -1})
	remember(t, r, "a")
	*now = 1000 * time.Hour
	require.Len(t, r.take(batchOf("a")), 1)
}

// What has not come again for a while makes room; what has only just failed does not.
func TestReplaysHaveALimit(t *testing.T) {
	t.Parallel()
	r, now := memory(streamload.LedgerLimits{MaxRows: 4})
	*now = time.Minute
	remember(t, r, "a", "b")
	ok, first := r.add(digestsOf("c", "d", "e"))
	require.Equal(t, []bool{false, true}, []bool{ok, first}, "more than ever fit")
	require.Equal(t, 2, r.remembered())
	remember(t, r, "c")
	ok, first = r.add(digestsOf("d", "e"))
	require.Equal(t, []bool{false, true}, []bool{ok, first})
	ok, first = r.add(digestsOf("d", "e"))
	require.Equal(t, []bool{false, false}, []bool{ok, first})
	require.Len(t, r.take(batchOf("c")), 1)
	require.Equal(t, 2, r.remembered())
	*now += minReplayAge
	remember(t, r, "d", "e")
	*now += minReplayAge
	remember(t, r, "f")
	require.Nil(t, r.take(batchOf("a")))
	require.Len(t, r.take(batchOf("d", "f", "e")), 3)
	require.Zero(t, r.remembered())
}

func TestReplaysFromManyGoroutines(t *testing.T) {
	t.Parallel()
	r, _ := memory(streamload.LedgerLimits{MaxRows: 10_000})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			rows := []string{"same", fmt.Sprint("own ", i)}
			for range 200 {
				_, _ = r.add(digestsOf(rows...))
				taken := r.take(batchOf(rows...))
				r.giveBack(taken)
				r.take(batchOf(rows...))
			}
		})
	}
	all.Wait()
	require.Zero(t, r.remembered())
}

// whole wants an error that names no message, and gives its text.
func whole(t *testing.T, err error) string {
	t.Helper()
	var batchErr *service.BatchError
	require.ErrorAs(t, err, &batchErr)
	require.Zero(t, batchErr.IndexedErrors())
	return err.Error()
}

const (
	a1, a2, b1, b2, c1 = `{"t":"a","id":1}`, `{"t":"a","id":2}`, `{"t":"b","id":1}`, `{"t":"b","id":2}`, `{"t":"c","id":1}`
	bad                = `{"t":"b","id":`
)

func tooMany(table string, times int) emulator.Fault {
	return emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions, Table: table, Times: times}
}

func counts(e *emulator.Emulator) [3]int {
	return [3]int{e.Count("d", "a"), e.Count("d", "b"), e.Count("d", "c")}
}

// A batch of messages that failed alone fails whole, and what is stored of it is acknowledged when it comes once more.
func TestASmallerBatchFailsWhole(t *testing.T) {
	t.Parallel()
	for name, group := range map[string]string{"": "", "group commit": "group_commit: sync_mode\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := cluster(t, emulator.Options{Faults: []emulator.Fault{tooMany("b", 1), tooMany("c", 3)}})
			b := build(t, fields(e.FEURL(), twoTables+group))
			got, err := write(within(t), t, b, batchOf(a1, b1, a2, b2, c1))
			require.Len(t, got, 3)
			require.ErrorContains(t, err, "3 of 5 messages were not loaded")

			smaller := batchOf(b1, b2, c1)
			text := whole(t, b.WriteBatch(within(t), smaller))
			require.Contains(t, text, "capacity: 1 of 3 messages were not loaded: load into d.c failed")
			require.Contains(t, text, "; the others are stored, and are acknowledged when they are delivered again with these")
			require.Equal(t, [3]int{2, 2, 0}, counts(e))
			whole(t, b.WriteBatch(within(t), batchOf(c1, b2, b1)))
			require.NoError(t, b.WriteBatch(within(t), smaller))
			require.Equal(t, [3]int{2, 2, 1}, counts(e))

			require.NoError(t, b.WriteBatch(within(t), smaller), "the same messages once more are new ones")
			require.Equal(t, [3]int{2, 4, 2}, counts(e))
		})
	}
}

// A bad message among those that failed for a time.
func TestASmallerBatchWithABadMessage(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{tooMany("b", 2)}})
	b := build(t, fields(e.FEURL(), "database: d\ntable: ${! @t }\nmax_retries: -1\n"))
	batch := func(rows ...string) service.MessageBatch {
		batch := batchOf(rows...)
		for _, msg := range batch {
			content, _ := msg.AsBytes()
			msg.MetaSetMut("t", string(content[6]))
		}
		return batch
	}
	got, _ := write(within(t), t, b, batch(a1, bad, b1, b2))
	require.Len(t, got, 3)
	require.Contains(t, got[1], "data_quality: the message cannot be loaded")
	require.Contains(t, got[2], "capacity: ")
	require.Contains(t, whole(t, b.WriteBatch(within(t), batch(bad, b1, b2))), "mixed: 3 of 3 messages")
	for range 3 {
		require.Contains(t, whole(t, b.WriteBatch(within(t), batch(bad, b1, b2))), "data_quality: 1 of 3 messages")
		require.Equal(t, [3]int{1, 2, 0}, counts(e))
	}
}

// Delivered again one by one or among others, each message gets what became of itself.
func TestFailedMessagesInOtherCompositions(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{tooMany("b", 1), tooMany("c", 2)}})
	b := build(t, fields(e.FEURL(), twoTables))
	got, _ := write(within(t), t, b, batchOf(a1, b1, b2, c1))
	require.Len(t, got, 3)
	require.NoError(t, b.WriteBatch(within(t), batchOf(b2)), "alone")
	got, _ = write(within(t), t, b, batchOf(a2, c1, b1))
	require.Len(t, got, 1, "among others: positions mean something")
	require.Contains(t, got[1], "load into d.c failed")
	require.NoError(t, b.WriteBatch(within(t), batchOf(c1)))
	require.Equal(t, [3]int{2, 2, 1}, counts(e))
}

// After a partial failure a batch that fails whole may be a smaller one that is not recognised. It names messages only to say more of them.
func TestABatchThatFailsForOneReason(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Tables: []emulator.Table{
		{Database: "d", Name: "a", Columns: []emulator.Column{{Name: "id", Type: "INT"}}}, {Database: "d", Name: "b", Columns: []emulator.Column{{Name: "id", Type: "INT"}}},
	}})
	b := build(t, fields(e.FEURL(), twoTables+"strict_mode: true\n"))
	failed := func(rows ...string) int {
		got, _ := write(within(t), t, b, batchOf(rows...))
		return len(got)
	}
	e.Inject(tooMany("b", 3))
	require.Equal(t, 2, failed(b1, b2))
	require.Equal(t, 1, failed(a1, b1))
	require.Contains(t, whole(t, b.WriteBatch(within(t), batchOf(b2, b1, b2))), "capacity: 3 of 3 messages")
	const word = `{"t":"b","id":"word"}`
	require.Equal(t, 2, failed(b1, word), "the reason quotes a row")
	require.Equal(t, 2, failed(c1, `{"t":"b"`), "two reasons")
}

// When not all messages that failed can be remembered the batch fails whole at once, and comes whole.
func TestTooManyFailuresToRemember(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{tooMany("b", 2)}})
	b := build(t, fields(e.FEURL(), twoTables+"ledger: { max_rows: 2 }\n"))
	for range 2 {
		require.Contains(t, whole(t, b.WriteBatch(within(t), batchOf(a1, b1, b2, a2))), "2 of 4 messages were not loaded")
		require.Equal(t, [3]int{2, 0, 0}, counts(e))
	}
	require.Len(t, b.logs.lines("level=WARN", "More messages failed in a short time than ledger.max_rows allows to remember"), 1)
	require.NoError(t, b.WriteBatch(within(t), batchOf(a1, b1, b2, a2)))
	require.Equal(t, [3]int{2, 2, 0}, counts(e))
}

// In an outage Benthos keeps the batch, and it is still a smaller one afterwards.
func TestASmallerBatchInAnOutage(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{tooMany("b", 1), tooMany("c", 2)}})
	b := build(t, fields(e.FEURL(), twoTables))
	got, _ := write(within(t), t, b, batchOf(a1, b1, c1))
	require.Len(t, got, 2)
	e.StopFE(0)
	e.Inject(emulator.Fault{At: emulator.BEHeaders, Do: emulator.Reset}) // no FE is needed to get there
	notConnected(t, b.WriteBatch(within(t), batchOf(b1, c1)))
	require.NoError(t, e.StartFE(0))
	e.ClearFaults()
	require.NoError(t, b.Connect(within(t)))
	e.Inject(emulator.Fault{At: emulator.BEBegin, Do: emulator.TxnLimit, Table: "c"})
	whole(t, b.WriteBatch(within(t), batchOf(b1, c1)))
	e.ClearFaults()
	require.NoError(t, b.WriteBatch(within(t), batchOf(b1, c1)))
	require.Equal(t, [3]int{1, 1, 1}, counts(e))
}

// The rows that come again show in the ledger, and with a word when they never do.
func TestExpectedRowsShow(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{tooMany("b", 2)}})
	p := run(t, fields(e.FEURL(), twoTables+"ledger: { max_rows: 2 }\n"), batchOf(a1, b1, b2, a2), batchOf(a2, b1, b2, a1))
	require.EqualValues(t, 2, p.metrics.peak("doris_ledger_rows{}"))
	require.EqualValues(t, 2, p.metrics.snapshot(metricDuplicatesAvoided)["doris_duplicates_avoided{table=d.a}"])

	e = cluster(t, emulator.Options{Faults: []emulator.Fault{tooMany("b", 2)}})
	p = run(t, fields(e.FEURL(), twoTables+"ledger: { max_rows: 1 }\n"), batchOf(a1, b1, b2, a2))
	require.EqualValues(t, 2, p.metrics.snapshot(metricForgotten)["doris_ledger_forgotten_rows{table=d.a}"])
	require.Len(t, p.logs.lines("level=WARN", "2 rows that were stored up to", "because there are more rows than max_rows: they may be stored twice when they are delivered again"), 1)
}
