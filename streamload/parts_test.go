package streamload_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/test/emulator"
)

func idsFrom(first, n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = first + i
	}
	return ids
}

// committed are the labels and numbers of rows of the loads that were stored, in order.
func committed(emu *emulator.Emulator) (labels []string, rows []int64) {
	for _, l := range emu.Loads() {
		if l.Status == "Success" {
			labels, rows = append(labels, l.Label), append(rows, l.Loaded)
		}
	}
	return labels, rows
}

func distinct(t *testing.T, labels []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, l := range labels {
		require.False(t, seen[l], "%q twice in %q", l, labels)
		seen[l] = true
	}
}

// inOrder requires that rows arrived in the order of their ids, each once.
func inOrder(t *testing.T, emu *emulator.Emulator, ids ...int) {
	t.Helper()
	rows := emu.Rows("d", "t")
	require.Len(t, rows, len(ids))
	for i, row := range rows {
		require.Equal(t, strconv.Itoa(ids[i]), fmt.Sprint(row["id"]), "row %d", i)
	}
}

func TestALargeBatchBecomesSeveralLoads(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*streamload.Config)
		want   []int64
	}{
		{"by rows", func(c *streamload.Config) { c.MaxLoadRows = 4 }, []int64{4, 4, 2}},
		{"by bytes", func(c *streamload.Config) { c.MaxLoadBytes = 26 }, []int64{3, 3, 3, 1}}, // {"id":1} and a line feed
		{"by bytes, in an array", func(c *streamload.Config) {
			c.MaxLoadBytes, c.Options.StripOuterArray = 26, true
		}, []int64{2, 2, 2, 2, 2}},
		{"whichever comes first", func(c *streamload.Config) { c.MaxLoadBytes, c.MaxLoadRows = 52, 5 }, []int64{5, 5}},
		{"not at all", func(c *streamload.Config) { c.MaxLoadBytes, c.MaxLoadRows = -1, -1 }, []int64{10}},
		{"not where each load leaves rows out", func(c *streamload.Config) {
			c.MaxLoadRows, c.Options.Format, c.Options.SkipLines, c.Options.Columns = 2, "csv", 1, []string{"id"}
		}, []int64{9}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			emu := emulator.New(t, emulator.Options{AutoCreate: true})
			client := fastClient(t, emu, c.change)
			report, failure := load(t, client, idsFrom(0, 10)...)
			require.Nil(t, failure)
			labels, rows := committed(emu)
			require.Equal(t, c.want, rows)
			distinct(t, labels)
			require.Equal(t, labels[len(labels)-1], report.Label)
			require.Equal(t, 10, report.Rows)
			require.Equal(t, len(rows), report.Attempts)
			require.True(t, report.HasCounts)
			require.True(t, report.Visible)
			if rows[0] == 9 {
				return
			}
			require.EqualValues(t, 10, report.Total)
			inOrder(t, emu, idsFrom(0, 10)...)
		})
	}
}

func TestARowThatIsTooLargeAloneFailsAlone(t *testing.T) {
	t.Parallel()
	emu := emulator.New(t, emulator.Options{AutoCreate: true})
	client := fastClient(t, emu, func(c *streamload.Config) { c.MaxLoadBytes = 26 })
	rows := rowsOf(0, 1, 2, 3, 4, 5)
	rows[2] = []byte(`{"id":2,"x":"` + strings.Repeat("x", 30) + `"}`)
	rows[4] = []byte("bad")
	_, err := client.Load(t.Context(), streamload.Batch{Database: "d", Table: "t", Rows: rows})
	e, ok := errors.AsType[*streamload.Error](err)
	require.True(t, ok)
	require.True(t, e.Partial)
	require.Equal(t, decide.TooLarge, e.Class)
	require.ErrorContains(t, e, "too_large: load into d.t failed: a row alone makes a load of 45 bytes, and max_load_bytes is 26")
	require.ErrorContains(t, e.Row(2), "max_load_bytes")
	require.Error(t, e.Row(4))
	for _, i := range []int{0, 1, 3, 5} {
		require.NoError(t, e.Row(i))
	}
	inOrder(t, emu, 0, 1, 3, 5)
	_, counts := committed(emu)
	require.Equal(t, []int64{2, 2}, counts)
}

// The parts of a batch with a stable label have stable labels too, and parts with the same rows have different ones.
func TestPartsHaveStableLabels(t *testing.T) {
	t.Parallel()
	emu := emulator.New(t, emulator.Options{AutoCreate: true})
	limit := func(c *streamload.Config) { c.MaxLoadRows = 2 }
	batch := streamload.Batch{Database: "d", Table: "t", Identity: "one", Rows: rowsOf(1, 2, 1, 2, 1, 2, 1)}
	_, err := fastClient(t, emu, limit).Load(t.Context(), batch)
	require.NoError(t, err)
	labels, _ := committed(emu)
	require.Len(t, labels, 4)
	distinct(t, labels)
	inOrder(t, emu, 1, 2, 1, 2, 1, 2, 1)

	// Another process gets the same batch.
	report, err := fastClient(t, emu, limit).Load(t.Context(), batch)
	require.NoError(t, err)
	require.Equal(t, "label_finished", report.Evidence)
	require.Len(t, emu.Rows("d", "t"), 7)

	// These rows are a part of that batch, and yet not it.
	for _, rows := range [][][]byte{rowsOf(1, 2), rowsOf(1, 2, 1), rowsOf(1, 2, 3)} {
		batch.Rows = rows
		before := len(emu.Rows("d", "t"))
		_, err = fastClient(t, emu, limit).Load(t.Context(), batch)
		require.NoError(t, err)
		require.Len(t, emu.Rows("d", "t"), before+len(rows))
	}
}

func TestALoadThatIsTooLargeIsHalved(t *testing.T) {
	t.Parallel()
	for name, identity := range map[string]string{"random labels": "", "a stable label": "one"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			emu := emulator.New(t, emulator.Options{AutoCreate: true, MaxBodyBytes: 20})
			batch := streamload.Batch{Database: "d", Table: "t", Identity: identity, Rows: rowsOf(idsFrom(0, 7)...)}
			report, err := fastClient(t, emu, nil).Load(t.Context(), batch)
			require.NoError(t, err)
			labels, counts := committed(emu)
			require.Equal(t, []int64{1, 2, 2, 2}, counts)
			distinct(t, labels)
			inOrder(t, emu, idsFrom(0, 7)...)
			require.Equal(t, 7, report.Rows)
			require.Equal(t, 7, report.Attempts, "three were too large")
			if identity != "" {
				_, err = fastClient(t, emu, nil).Load(t.Context(), batch)
				require.NoError(t, err)
				require.Len(t, emu.Rows("d", "t"), 7)
			}
		})
	}
	t.Run("down to the row that is", func(t *testing.T) {
		t.Parallel()
		emu := emulator.New(t, emulator.Options{AutoCreate: true, MaxBodyBytes: 20})
		rows := rowsOf(idsFrom(0, 9)...)
		rows[5] = []byte(`{"id":5,"x":"` + strings.Repeat("x", 30) + `"}`)
		_, err := fastClient(t, emu, nil).Load(t.Context(), streamload.Batch{Database: "d", Table: "t", Rows: rows})
		e, ok := errors.AsType[*streamload.Error](err)
		require.True(t, ok)
		require.Equal(t, decide.TooLarge, e.Class)
		require.Equal(t, streamload.StageLoad, e.Stage)
		require.Len(t, e.Failed, 1)
		for i := range rows {
			require.Equal(t, i == 5, e.Row(i) != nil, "row %d", i)
		}
		inOrder(t, emu, 0, 1, 2, 3, 4, 6, 7, 8)
	})
}

// Rows that the ledger knows to be stored are found again in the halves.
func TestRowsOfTheLedgerInALoadThatIsHalved(t *testing.T) {
	t.Parallel()
	emu := emulator.New(t, emulator.Options{AutoCreate: true, MaxBodyBytes: 20})
	client := fastClient(t, emu, nil)
	leaveOpen(t, emu, client, 1, 4)
	emu.ClearFaults()
	report, failure := load(t, client, idsFrom(0, 7)...)
	require.Nil(t, failure)
	require.Equal(t, 2, report.AlreadyStored)
	require.Equal(t, 5, report.Rows)
	stored := storedIDs(emu)
	require.Len(t, stored, 7)
	for id, n := range stored {
		require.Equal(t, 1, n, id)
	}
}

func TestAPartThatFailsFailsAlone(t *testing.T) {
	t.Parallel()
	fault := emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Fail, Message: "no luck today", Skip: 1, Times: 2}
	batch := streamload.Batch{Database: "d", Table: "t", Rows: append(rowsOf(idsFrom(0, 5)...), []byte("bad"), []byte(`{"id":6}`))}
	parts := func(c *streamload.Config) { c.MaxLoadRows = 1 }

	t.Run("the others are stored", func(t *testing.T) {
		t.Parallel()
		emu := emulator.New(t, emulator.Options{AutoCreate: true, Faults: []emulator.Fault{fault}})
		report, err := fastClient(t, emu, parts).Load(t.Context(), batch)
		e, ok := errors.AsType[*streamload.Error](err)
		require.True(t, ok)
		require.Len(t, e.Failed, 2)
		require.True(t, e.Partial)
		for i := range batch.Rows {
			require.Equal(t, i == 1 || i == 2 || i == 5, e.Row(i) != nil, "row %d", i)
		}
		require.NotEqual(t, e.Row(1), e.Row(2), "each names its own load")
		require.Equal(t, 6, report.Rows)
		require.Equal(t, 6, report.Attempts)
		inOrder(t, emu, 0, 3, 4, 6)
	})
	t.Run("nothing more is sent when the batch fails whole", func(t *testing.T) {
		t.Parallel()
		emu := emulator.New(t, emulator.Options{AutoCreate: true, Faults: []emulator.Fault{fault}})
		whole := batch
		whole.Whole = true
		client := fastClient(t, emu, parts)
		_, err := client.Load(t.Context(), whole)
		e, ok := errors.AsType[*streamload.Error](err)
		require.True(t, ok)
		require.ErrorContains(t, e.Row(0), "these rows are stored, and will be acknowledged when they come again")
		require.ErrorContains(t, e.Row(1), "no luck today")
		require.ErrorContains(t, e.Row(6), "not sent, because rows before these in the batch could not be stored: Fail: no luck today")
		inOrder(t, emu, 0)

		emu.ClearFaults()
		report, err := client.Load(t.Context(), whole)
		require.ErrorContains(t, err, "1 row(s)", "only the bad one")
		require.Equal(t, 1, report.AlreadyStored)
		inOrder(t, emu, 0, 1, 2, 3, 4, 6)
	})
	t.Run("nothing more is sent while no FE answers", func(t *testing.T) {
		t.Parallel()
		emu := emulator.New(t, emulator.Options{AutoCreate: true})
		client := fastClient(t, emu, parts)
		emu.StopFE(0)
		_, err := client.Load(t.Context(), batch)
		e, ok := errors.AsType[*streamload.Error](err)
		require.True(t, ok)
		require.True(t, e.NoFE)
		require.Len(t, e.Failed, 6)
		require.NoError(t, emu.StartFE(0))
		_, err = client.Load(t.Context(), batch)
		require.ErrorContains(t, err, "1 row(s)", "only the bad one")
		inOrder(t, emu, 0, 1, 2, 3, 4, 6)
	})
}

// A part is left open. The other parts are not held up by it, and when the batch comes again each part is what it was.
func TestAPartThatIsLeftOpen(t *testing.T) {
	t.Parallel()
	for name, identity := range map[string]string{"random labels": "", "a stable label": "one"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			emu := emulator.New(t, emulator.Options{AutoCreate: true, Faults: []emulator.Fault{
				{At: emulator.BEAfterCommit, Do: emulator.Reset, Skip: 1, Times: 1},
				{At: emulator.StateQuery, Do: emulator.HTTP, Status: 503},
			}})
			client := fastClient(t, emu, func(c *streamload.Config) { c.MaxLoadRows = 2 })
			batch := streamload.Batch{Database: "d", Table: "t", Identity: identity, Rows: rowsOf(idsFrom(0, 6)...)}
			_, err := client.Load(t.Context(), batch)
			e, ok := errors.AsType[*streamload.Error](err)
			require.True(t, ok)
			require.True(t, e.Unresolved)
			var again [][]byte // the source delivers what failed
			for i, row := range batch.Rows {
				if e.Row(i) != nil {
					again = append(again, row)
				}
			}
			if identity == "" {
				require.Equal(t, batch.Rows[2:4], again)
			} else {
				require.Equal(t, batch.Rows, again, "with other rows around them, these would have another label, and the one that is open would stay so")
			}
			require.Len(t, emu.Rows("d", "t"), 6)

			emu.ClearFaults()
			batch.Rows = again
			_, err = client.Load(t.Context(), batch)
			require.NoError(t, err)
			require.Len(t, emu.Rows("d", "t"), 6)
			loads, _ := client.LedgerSize()
			require.Zero(t, loads)
		})
	}
}

// Found by chaos: one half of a batch with an Identity was stored, the other failed, and came again alone, as another batch.
func TestHalvesOfABatchWithAnIdentityComeAgainTogether(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]bool{"to the same process": false, "to another process": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			emu := emulator.New(t, emulator.Options{AutoCreate: true, MaxBodyBytes: 40, Faults: []emulator.Fault{
				{At: emulator.BEBeforeCommit, Do: emulator.Fail, Message: "no luck today", Skip: 1, Times: 1},
			}})
			batch := streamload.Batch{Database: "d", Table: "t", Identity: "one", Rows: rowsOf(idsFrom(0, 6)...)}
			client := fastClient(t, emu, nil)
			_, err := client.Load(t.Context(), batch)
			e, ok := errors.AsType[*streamload.Error](err)
			require.True(t, ok)
			for i := range batch.Rows {
				require.Error(t, e.Row(i), i)
			}
			inOrder(t, emu, 0, 1, 2)
			if other {
				client = fastClient(t, emu, nil)
			}
			_, err = client.Load(t.Context(), batch)
			require.NoError(t, err)
			inOrder(t, emu, 0, 1, 2, 3, 4, 5)
		})
	}
}

// A row that is longer than any load may be never gets through. It fails alone whoever asks, or it would hold up the others for ever.
func TestARowThatIsTooLongFailsAlone(t *testing.T) {
	t.Parallel()
	for name, batch := range map[string]streamload.Batch{"whole": {Whole: true}, "with an identity": {Identity: "one"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			emu := emulator.New(t, emulator.Options{AutoCreate: true})
			batch.Database, batch.Table = "d", "t"
			batch.Rows = append(rowsOf(0, 1), []byte(`{"id":2,"x":"`+strings.Repeat("x", 60)+`"}`), []byte(`{"id":3}`))
			_, err := fastClient(t, emu, func(c *streamload.Config) { c.MaxLoadBytes = 40 }).Load(t.Context(), batch)
			e, ok := errors.AsType[*streamload.Error](err)
			require.True(t, ok)
			for i := range batch.Rows {
				require.Equal(t, i == 2, e.Row(i) != nil, i)
			}
			inOrder(t, emu, 0, 1, 3)
		})
	}
}

// What a slice of an error says of a row is what the error says.
func TestSlice(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // test data
	for range 50 {
		emu := emulator.New(t, emulator.Options{AutoCreate: true, MaxBodyBytes: 60, Faults: []emulator.Fault{
			{At: emulator.BEAfterCommit, Do: emulator.Reset, Probability: 0.3},
			{At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions, Probability: 0.3},
			{At: emulator.StateQuery, Do: emulator.HTTP, Status: 503, Probability: 0.9},
		}, Seed: rng.Uint64()})
		client := fastClient(t, emu, func(c *streamload.Config) {
			c.MaxLoadRows, c.MaxLoadBytes = rng.IntN(5)-1, 65
			c.LabelPoll.MaxElapsed = 1
		})
		for range 3 {
			n := 1 + rng.IntN(10)
			rows := make([][]byte, n)
			for i := range rows {
				switch rng.IntN(6) {
				case 0:
					rows[i] = []byte("bad")
				case 1:
					rows[i] = []byte(`{"id":1,"x":"` + strings.Repeat("x", rng.IntN(60)) + `"}`)
				default:
					rows[i] = fmt.Appendf(nil, `{"id":%d}`, rng.IntN(4))
				}
			}
			_, err := client.Load(t.Context(), streamload.Batch{Database: "d", Table: "t", Rows: rows})
			if err == nil {
				continue
			}
			e, ok := errors.AsType[*streamload.Error](err)
			require.True(t, ok)
			for from := range n {
				for to := from + 1; to <= n; to++ {
					s, failures := e.Slice(from, to), 0
					for i := from; i < to; i++ {
						want := e.Row(i)
						if want != nil {
							failures++
						}
						if s == nil {
							require.NoError(t, want)
							continue
						}
						got := s.Row(i - from)
						require.Equal(t, want == nil, got == nil, "row %d of %d to %d: %v; %v", i, from, to, got, e)
						if want != nil && !errors.Is(want, e) {
							require.Equal(t, want.Error(), got.Error())
						}
					}
					require.Equal(t, failures == 0, s == nil, "%d to %d of %v", from, to, e)
					if s != nil && !s.Partial && s.Stage != streamload.StageEncode {
						require.Empty(t, s.Failed)
					}
				}
			}
		}
	}
}
