package output

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// together writes batches at the same time. It returns what each was told, by message.
func together(t *testing.T, b *built, batches ...service.MessageBatch) []map[int]string {
	t.Helper()
	told := make([]map[int]string, len(batches))
	var all sync.WaitGroup
	for i, batch := range batches {
		index := batch.Index()
		all.Go(func() {
			err := b.WriteBatch(within(t), batch)
			var batchErr *service.BatchError
			if errors.As(err, &batchErr) && batchErr.IndexedErrors() == 0 { // it names none, which means all
				told[i] = map[int]string{}
				for k := range batch {
					told[i][k] = err.Error()
				}
				return
			}
			told[i] = reasons(t, index, batch, err)
		})
	}
	all.Wait()
	return told
}

// joining are fields with which n batches that are written at the same time, after prime, become one load.
func joining(n int) string {
	return fmt.Sprintf("linger: 1h\nmax_pending: %d\nmax_in_flight: 2\n", 2*n)
}

// prime makes the table busy, so that what comes next lingers. It leaves one row in it.
func prime(t *testing.T, b *built) {
	t.Helper()
	require.NoError(t, b.WriteBatch(within(t), batchOf(`{"id":1000}`)))
}

func singles(ids ...int) (batches []service.MessageBatch) {
	for _, id := range ids {
		batches = append(batches, batchOf(fmt.Sprintf(`{"id":%d}`, id)))
	}
	return batches
}

func TestSourceBatchesThatWaitAreOneLoad(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	b := build(t, fields(e.FEURL(), target+joining(5)))
	prime(t, b)
	batches := append(singles(1, 2, 3), batchOf(`{"id":4}`, `bad`, `{"id":5}`), batchOf(`worse`))
	told := together(t, b, batches...)
	require.Equal(t, []map[int]string{nil, nil, nil}, told[:3])
	require.Len(t, told[3], 1)
	require.Contains(t, told[3][1], "the message is not a JSON object, it begins with `bad`")
	require.Len(t, told[4], 1)
	require.Contains(t, told[4][0], "`worse`")
	require.Len(t, e.Loads(), 2)
	require.EqualValues(t, 5, e.Loads()[1].Loaded)
}

// What fails a load of several source batches, and is no fault of theirs, fails all of them.
func TestAJoinedLoadThatFails(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{{At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions, Skip: 1}}})
	b := build(t, fields(e.FEURL(), target+joining(3)))
	prime(t, b)
	told := together(t, b, append(singles(1, 2), batchOf(`{"id":3}`, `{"id":4}`))...)
	for i, n := range []int{1, 1, 2} {
		require.Len(t, told[i], n)
		require.Contains(t, told[i][0], "capacity: load into d.t failed")
	}
	require.Len(t, e.Loads(), 1+2, "one, and once again")
}

// wrong is a row that Doris refuses: its note is no number.
const wrong = `{"id":7,"n":"seven"}`

func strict(t *testing.T, faults ...emulator.Fault) *emulator.Emulator {
	t.Helper()
	return cluster(t, emulator.Options{Faults: faults, Tables: []emulator.Table{{Database: "d", Name: "t", Columns: []emulator.Column{
		{Name: "id", Type: "BIGINT", NotNull: true}, {Name: "n", Type: "INT"},
	}}}})
}

// The rows of one source batch do not fail for those of another, and finding out takes few loads.
func TestBadRowsFailTheirOwnSourceBatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		n     int
		bad   []int
		loads int // at most, besides the first
	}{
		{"one of two", 2, []int{1}, 3},
		{"one of many", 64, []int{17}, 1 + 2*6},
		{"the first and the last", 64, []int{0, 63}, 1 + 2 + 2*2*5},
		{"all", 8, []int{0, 1, 2, 3, 4, 5, 6, 7}, 15},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := strict(t)
			b := build(t, fields(e.FEURL(), target+joining(c.n)+"strict_mode: true\nmax_retries: 3"))
			prime(t, b)
			var batches []service.MessageBatch
			bad := map[int]bool{}
			for _, i := range c.bad {
				bad[i] = true
			}
			for i := range c.n {
				row := fmt.Sprintf(`{"id":%d,"n":%d}`, i, i)
				if bad[i] {
					row = wrong
				}
				batches = append(batches, batchOf(row, fmt.Sprintf(`{"id":%d}`, 100+i)))
			}
			for i, told := range together(t, b, batches...) {
				if !bad[i] {
					require.Nil(t, told, "batch %d", i)
					continue
				}
				require.Len(t, told, 2, "batch %d: what is in one source batch fails together", i)
				require.Contains(t, told[0], "data_quality: load into d.t failed")
			}
			require.Equal(t, 1+2*(c.n-len(c.bad)), e.Count("d", "t"))
			require.LessOrEqual(t, len(e.Loads())-1, c.loads)
		})
	}
}

// With isolate_bad_rows the client finds them, and each message gets its own result.
func TestBadRowsOfJoinedBatchesAreIsolated(t *testing.T) {
	t.Parallel()
	e := strict(t)
	b := build(t, fields(e.FEURL(), target+joining(16)+"strict_mode: true\nisolate_bad_rows: true"))
	prime(t, b)
	var batches []service.MessageBatch
	for i := range 16 {
		first := fmt.Sprintf(`{"id":%d}`, i)
		if i == 5 || i == 11 {
			first = fmt.Sprintf(`{"id":%d,"n":"seven"}`, i)
		}
		batches = append(batches, batchOf(first, fmt.Sprintf(`{"id":%d}`, 100+i)))
	}
	for i, told := range together(t, b, batches...) {
		if i != 5 && i != 11 {
			require.Nil(t, told, "batch %d", i)
			continue
		}
		require.Len(t, told, 1, "batch %d: the other message is stored", i)
		require.Contains(t, told[0], "data_quality: load into d.t failed")
	}
	require.Equal(t, 1+30, e.Count("d", "t"))
	require.LessOrEqual(t, len(e.Loads())-1, 2*4+4+2)
}

// A failure that may be due to rows or not is looked into as well, but not without end.
func TestAFailureOfAllRowsTakesFewLoads(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{{At: emulator.BEBeforeCommit, Do: emulator.Fail, Message: "no luck today", Skip: 1}}})
	b := build(t, fields(e.FEURL(), target+joining(100)+"max_retries: -1"))
	prime(t, b)
	var ids []int
	for i := range 100 {
		ids = append(ids, i)
	}
	for _, told := range together(t, b, singles(ids...)...) {
		require.Contains(t, told[0], "unknown: load into d.t failed: Fail: no luck today")
	}
	require.LessOrEqual(t, len(e.Loads())-1, 1+2*7+8)
}

func TestOneOddRowDoesNotFailOthersWhateverTheReason(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(s *server) {
		s.answer = func(r loadRequest) string {
			if strings.Contains(strings.Join(r.rows, ""), "odd") {
				return failed(r, "nobody has ever seen this")
			}
			return success(r, len(r.rows), 0)
		}
		s.state = func(string) string { return `{"msg":"success","code":0,"data":"ABORTED","count":0}` }
	})
	b := build(t, fields(s.fe.URL, target+joining(8)+"max_retries: -1"))
	prime(t, b)
	batches := append(singles(1, 2, 3, 4, 5, 6, 7), batchOf(`{"id":8,"x":"odd"}`))
	for i, told := range together(t, b, batches...) {
		require.Equal(t, i == 7, told != nil, "batch %d: %v", i, told)
	}
}

// A joined load whose outcome is unknown: its rows are in the ledger, whosever they were.
func TestAJoinedLoadThatIsLeftOpen(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{
		{At: emulator.BEAfterCommit, Do: emulator.Reset, Skip: 1, Times: 1},
		{At: emulator.StateQuery, Do: emulator.HTTP, Status: 503},
	}})
	b := build(t, fields(e.FEURL(), target+joining(3)+"max_retries: -1"))
	prime(t, b)
	batches := singles(1, 2, 3)
	for _, told := range together(t, b, batches...) {
		require.Contains(t, told[0], "outcome unknown")
	}
	require.Equal(t, 4, e.Count("d", "t"))
	e.ClearFaults()
	for _, told := range together(t, b, batches...) {
		require.Nil(t, told)
	}
	require.Equal(t, 4, e.Count("d", "t"))
}

// Where nobody can tell the outcome, reject sends rows at most once, whoever delivers them again and with what.
func TestRejectedUnknownOutcomes(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{{At: emulator.BEAfterCommit, Do: emulator.Reset, Skip: 1, Times: 1}}})
	b := build(t, fields(e.FEURL(), target+joining(3)+"group_commit: sync_mode\non_unknown_outcome: reject\n"))
	prime(t, b)
	batches := singles(1, 2, 3)
	for _, told := range together(t, b, batches...) {
		require.Contains(t, told[0], "not sent again, because on_unknown_outcome is reject")
	}
	for _, told := range together(t, b, batches...) {
		require.Contains(t, told[0], "not sent again because on_unknown_outcome is reject")
	}
	require.Equal(t, 4, e.Count("d", "t"))
}

// Loads that take turns with those of other tables are exact too: a batch of several tables has parts in several joined loads.
func TestPartsOfABatchInSeveralJoinedLoads(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{{At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions, Table: "b", Skip: 1}}})
	b := build(t, fields(e.FEURL(), "database: d\ntable: ${! this.t }\nmax_retries: -1\n"+"linger: 100ms\nmax_in_flight: 2\n"))
	require.NoError(t, b.WriteBatch(within(t), batchOf(`{"t":"a"}`, `{"t":"b"}`)))
	told := together(t, b,
		batchOf(`{"t":"a"}`, `{"t":"b"}`, `{"t":"a"}`),
		batchOf(`{"t":"b"}`),
		batchOf(`{"t":"a"}`, `oops`),
		batchOf(`{"t":"b"}`, `{"t":"c"}`),
	)
	require.Len(t, told[0], 1)
	require.Contains(t, told[0][1], "capacity: load into d.b failed")
	require.Len(t, told[1], 1)
	require.Len(t, told[2], 1)
	require.Contains(t, told[2], 1)
	require.Len(t, told[3], 1)
	require.Contains(t, told[3], 0)
	require.Equal(t, 4, e.Count("d", "a"))
	require.Equal(t, 1, e.Count("d", "b"))
	require.Equal(t, 1, e.Count("d", "c"))
}

func TestWhatIsNotJoined(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{
		"one load at a time": "max_in_flight: 1",
		"label":              "label: ${! this.id }",
		"batching":           "batching: { count: 10, period: 10ms }",
		"skip_lines":         "format: csv\nskip_lines: 1\ncolumns: [ id ]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := tryBuild(fields("http://localhost:1", strings.ReplaceAll(target+more+"\nlinger: 1h", "linger: 0s", "")))
			require.NoError(t, err)
			require.Nil(t, b.BatchOutput.(*output).join)
			want := 8
			if name == "one load at a time" {
				want = 1
			}
			require.Equal(t, want, b.maxInFlight)
		})
	}
}

// No more source batches than max_pending are on their way, whoever writes them.
func TestPendingIsBounded(t *testing.T) {
	t.Parallel()
	s, g := gated(t)
	b := build(t, fields(s.fe.URL, target+"max_in_flight: 2\nmax_pending: 5\nmax_load_rows: 1"))
	require.Equal(t, 5, b.maxInFlight)
	o := b.BatchOutput.(*output)
	ctx, cancel := context.WithCancel(within(t))
	var writes sync.WaitGroup
	for i := range 20 {
		writes.Go(func() { _ = b.WriteBatch(ctx, singles(i)[0]) })
	}
	g.await(t, 2)
	require.Eventually(t, func() bool { return len(o.places) == 5 }, patience, time.Millisecond)
	o.join.mu.Lock()
	require.LessOrEqual(t, o.join.present, 5)
	o.join.mu.Unlock()
	cancel()
	close(g.open)
	writes.Wait()
	require.Empty(t, o.places)
}
