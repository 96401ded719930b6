package output

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/test/emulator"
)

// notConnected requires that Benthos is asked to keep the batch: it knows that error by itself only, not wrapped in another.
func notConnected(t *testing.T, err error) {
	t.Helper()
	require.Same(t, service.ErrNotConnected, err)
}

func TestABatchIsKeptWhileNoFEAnswers(t *testing.T) {
	t.Parallel()
	for name, batch := range map[string]service.MessageBatch{
		"one table":           batchOf(`{"t":"a","id":1}`, `{"t":"a","id":2}`),
		"two tables":          batchOf(`{"t":"a","id":1}`, `{"t":"b","id":2}`),
		"with a bad message":  batchOf(`{"t":"a","id":1}`, `{"t":"a","id":2}{}`, `{"t":"a","id":2}`, `{"id":3}`),
		"a bad table besides": batchOf(`{"t":"a","id":1}`, `{"t":"b","id":2}{}`, `{"t":"a","id":2}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := cluster(t, emulator.Options{FEs: 2})
			b := build(t, fields(strings.Join(e.FEURLs(), ","), "database: d\ntable: ${! json(\"t\") }"))
			e.StopFE(0)
			e.StopFE(1)
			for range 2 {
				notConnected(t, b.WriteBatch(within(t), batch))
				err := b.Connect(within(t))
				require.ErrorContains(t, err, "no FE answers: ")
				for _, fe := range e.FEURLs() {
					require.ErrorContains(t, err, strings.TrimPrefix(fe, "http://"))
				}
			}
			require.Len(t, b.logs.lines("level=WARN", "messages wait until an FE can be reached: no FE answers: "), 2)

			require.NoError(t, e.StartFE(1))
			require.NoError(t, b.Connect(within(t)), "one is enough")
			err := b.WriteBatch(within(t), batch)
			if strings.Contains(name, "bad") {
				require.ErrorContains(t, err, "were not loaded")
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, 2, e.Count("d", "a")+e.Count("d", "b"), "the good ones once")
		})
	}
}

// The last FE dies after the commit and before the answer. The rows are in the ledger when they are written again.
func TestABatchThatIsKeptIsNotStoredTwice(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{
		{At: emulator.BEAfterCommit, Do: emulator.FEDown, Times: 1}, {At: emulator.BEAnswer, Do: emulator.Reset, Times: 1},
	}})
	b := build(t, fields(e.FEURL(), target))
	batch := batchOf(`{"id":1}`, `{"id":2}`)
	notConnected(t, b.WriteBatch(within(t), batch))
	notConnected(t, b.WriteBatch(within(t), batch)) // now the ledger holds the rows, and cannot ask
	require.Len(t, b.logs.lines("level=WARN", "The outcome of the load", "is still unknown"), 1)
	require.NoError(t, e.StartFE(0))
	require.NoError(t, b.Connect(within(t)))
	require.NoError(t, b.WriteBatch(within(t), batch))
	require.Equal(t, 2, e.Count("d", "t"))
	require.Len(t, e.Loads(), 1)
	require.Len(t, b.logs.lines("level=INFO", "is committed: rows of it that come back are acknowledged"), 1)
	require.Len(t, b.logs.lines("level=INFO", "2 of 2 rows were stored by an earlier load"), 1)
}

// Everything else is told to the pipeline with its reason, as long as it lasts.
func TestWhatIsNotKept(t *testing.T) {
	t.Parallel()
	batch := batchOf(`{"t":"a","id":1}`, `{"t":"b","id":2}`)
	for _, c := range []struct {
		name   string
		faults []emulator.Fault
		fields string
		want   string
	}{
		{"the BE cannot be reached", []emulator.Fault{{At: emulator.FERedirect, Do: emulator.DeadBE}}, "", "unavailable: "},
		{"an FE answers, but badly", []emulator.Fault{{At: emulator.FEBeforeAnswer, Do: emulator.HTTP, Status: 503}}, "", "HTTP 503"},
		{"an FE answers everything but loads", []emulator.Fault{{At: emulator.FEBeforeAnswer, Do: emulator.Reset}}, "max_retries: -1", "unavailable: "},
		{"something is stored", []emulator.Fault{
			{At: emulator.BEAfterCommit, Do: emulator.FEDown, Table: "a", Times: 1},
			{At: emulator.BEHeaders, Do: emulator.Reset, Table: "b"}, // a BE begins nothing without an FE
		}, "max_in_flight: 1", "1 of 2 messages were not loaded"},
		{"Doris made the label", []emulator.Fault{
			{At: emulator.BEAfterCommit, Do: emulator.FEDown, Times: 1}, {At: emulator.BEAnswer, Do: emulator.Reset},
		}, "group_commit: sync_mode\nmax_in_flight: 1", "delivering them again may store them twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := cluster(t, emulator.Options{Faults: c.faults})
			b := build(t, fields(e.FEURL(), "database: d\ntable: ${! json(\"t\") }\n"+c.fields))
			got, err := write(within(t), t, b, batch.Copy())
			require.NotEmpty(t, got)
			require.NotErrorIs(t, err, service.ErrNotConnected)
			text := strings.Join(slices.Collect(maps.Values(got)), "\n")
			require.Contains(t, err.Error()+"\n"+text, c.want)
		})
	}
	t.Run("the pipeline stops", func(t *testing.T) {
		t.Parallel()
		e := cluster(t, emulator.Options{})
		b := build(t, fields(e.FEURL(), target+"max_retries: 1000\nbackoff: { initial_interval: 1h, max_interval: 1h, max_elapsed_time: 0s }"))
		e.StopFE(0)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.WriteBatch(ctx, batchOf(`{"id":1}`)) }()
		require.Eventually(t, func() bool { return len(b.logs.lines("Attempt 1 to load failed")) == 1 }, patience, time.Millisecond)
		cancel()
		require.ErrorContains(t, <-ended, "1 of 1 messages were not loaded")
	})
}

func TestReconnectsArePaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &reconnect{backoff: decide.Backoff{Initial: time.Second, Max: 4 * time.Second}}
		for _, want := range []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second, 4 * time.Second} {
			r.lost()
			began := time.Now()
			require.NoError(t, r.pace(t.Context()))
			require.Equal(t, want, time.Since(began))
		}
		r.lost()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		require.Error(t, r.pace(ctx))
		r.reached()
		r.lost()
		began := time.Now()
		require.NoError(t, r.pace(t.Context()))
		require.Equal(t, time.Duration(0), time.Since(began), "at once after a connection that held")
	})
}
