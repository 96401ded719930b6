package streamload_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/test/emulator"
)

// numbers is a table that takes whole numbers only.
func numbers(t *testing.T) *emulator.Emulator {
	t.Helper()
	return emulator.New(t, emulator.Options{Tables: []emulator.Table{{
		Database: "d", Name: "t", Columns: []emulator.Column{{Name: "id", Type: "INT"}, {Name: "v", Type: "INT", NotNull: true}},
	}}})
}

// persistent isolates, and tries again.
func persistent(c *streamload.Config) {
	isolating(c)
	c.MaxRetries = 3
}

func isolating(c *streamload.Config) { c.IsolateBadRows, c.Options.StrictMode = true, true }

// withBad are n rows, of which those at some indexes do not fit.
func withBad(n int, bad ...int) [][]byte {
	rows := make([][]byte, n)
	for i := range rows {
		rows[i] = fmt.Appendf(nil, `{"id":%d,"v":%d}`, i, i)
	}
	for _, i := range bad {
		rows[i] = fmt.Appendf(nil, `{"id":%d,"v":"no number %d"}`, i, i)
	}
	return rows
}

// unreadable makes the first bad row so long that the error page shows nothing else, and not all of it.
func unreadable(rows [][]byte, bad ...int) [][]byte {
	first := slices.Min(bad)
	rows[first] = fmt.Appendf(nil, `{"id":%d,"v":"no number %s"}`, first, strings.Repeat("x", 70<<10))
	return rows
}

// isolated loads rows and requires that exactly the bad ones fail, each by itself. It returns how many loads that took.
func isolated(t *testing.T, client *streamload.Client, emu *emulator.Emulator, b streamload.Batch, bad ...int) int {
	t.Helper()
	before := len(emu.Loads())
	_, err := client.Load(t.Context(), b)
	require.Error(t, err)
	e, ok := err.(*streamload.Error) //nolint:errorlint // it is one by contract
	require.True(t, ok)
	require.True(t, e.Partial)
	require.Equal(t, decide.DataQuality, e.Class)
	onlyBadFail(t, emu, e, len(b.Rows), bad...)
	return len(emu.Loads()) - before
}

// onlyBadFail requires that of n rows the bad ones fail, each by itself, and the others are stored.
func onlyBadFail(t *testing.T, emu *emulator.Emulator, e *streamload.Error, n int, bad ...int) {
	t.Helper()
	stored := storedIDs(emu)
	for i := range n {
		if slices.Contains(bad, i) {
			require.ErrorContains(t, e.Row(i), "data_quality: ", "row %d", i)
			require.ErrorContains(t, e.Row(i), "the row is refused", "row %d", i)
			require.Zero(t, stored[strconv.Itoa(i)], "row %d", i)
			continue
		}
		require.NoError(t, e.Row(i), "row %d", i)
		require.Equal(t, 1, stored[strconv.Itoa(i)], "row %d", i)
	}
}

// The error page shows the rows: they are left out, and the others are stored by the second load.
func TestBadRowsAreFoundOnTheErrorPage(t *testing.T) {
	t.Parallel()
	emu := numbers(t)
	client := fastClient(t, emu, isolating)
	bad := []int{3, 70, 99}
	b := streamload.Batch{Database: "d", Table: "t", Rows: withBad(100, bad...)}
	require.Equal(t, 2, isolated(t, client, emu, b, bad...))
	_, err := client.Load(t.Context(), b)
	e, ok := err.(*streamload.Error) //nolint:errorlint // it is one by contract
	require.True(t, ok)
	for _, i := range bad {
		require.ErrorContains(t, e.Row(i), fmt.Sprintf(`no number %d`, i))
	}
}

// Without the page they are found by loading, in few loads.
func TestBadRowsAreFoundByLoading(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ n, k int }{{2, 1}, {2, 2}, {3, 1}, {10, 10}, {100, 1}, {100, 3}, {500, 1}, {500, 8}, {500, 20}, {64, 32}} {
		t.Run(fmt.Sprintf("%d of %d", c.k, c.n), func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(3) {
				emu := numbers(t)
				dice := rand.New(rand.NewPCG(seed, 3)) //nolint:gosec // the same rows each time
				bad := dice.Perm(c.n)[:c.k]
				loads := isolated(t, fastClient(t, emu, isolating), emu, streamload.Batch{Database: "d", Table: "t", Rows: unreadable(withBad(c.n, bad...), bad...)}, bad...)
				k, n := float64(c.k), float64(c.n)
				require.LessOrEqual(t, float64(loads), k*math.Log2(n/k)+2*k+4, "bad %v", bad)
			}
		})
	}
}

// Parts of a batch with a stable label are the same in another process, which finds them stored.
func TestBadRowsUnderAStableLabel(t *testing.T) {
	t.Parallel()
	emu := numbers(t)
	bad := []int{5, 6, 40}
	b := streamload.Batch{Database: "d", Table: "t", Rows: withBad(64, bad...), Identity: "orders-7"}
	isolated(t, fastClient(t, emu, isolating), emu, b, bad...)
	isolated(t, fastClient(t, emu, isolating), emu, b, bad...)
}

func TestTooManyBadRows(t *testing.T) {
	t.Parallel()
	emu := numbers(t)
	n := 2000
	var bad []int
	for i := 0; i < n; i += 3 {
		bad = append(bad, i)
	}
	client := fastClient(t, emu, isolating)
	report, err := client.Load(t.Context(), streamload.Batch{Database: "d", Table: "t", Rows: unreadable(withBad(n, bad...), bad...)})
	require.Error(t, err)
	e, ok := err.(*streamload.Error) //nolint:errorlint // it is one by contract
	require.True(t, ok)
	require.LessOrEqual(t, report.Attempts, 310)
	stored := storedIDs(emu)
	for i := range n {
		if e.Row(i) == nil {
			require.Equal(t, 1, stored[strconv.Itoa(i)])
		} else {
			require.Zero(t, stored[strconv.Itoa(i)])
		}
	}
	require.ErrorContains(t, e.Row(n-1), "300 loads did not find all bad rows")
}

// A connection that breaks while a load with bad rows runs leaves the label open, as the request could still arrive. The label is closed by a fence, and
// the bad rows are found all the same: the good ones do not fail with them.
func TestBadRowsAreFoundBehindABrokenConnection(t *testing.T) {
	t.Parallel()
	for _, f := range []emulator.Fault{
		{At: emulator.BEHeaders, Do: emulator.Reset},
		{At: emulator.BEBody, Do: emulator.Close},
		{At: emulator.BEBeforeCommit, Do: emulator.Reset},
		{At: emulator.BEAfterCommit, Do: emulator.Reset},
		{At: emulator.BEAnswer, Do: emulator.Reset},
		{At: emulator.BEAnswer, Do: emulator.Truncate, Bytes: 20},
		{At: emulator.BEAnswer, Do: emulator.HTTP, Status: 502, Body: "<html>bad gateway</html>", ContentType: "text/html"},
	} {
		for _, skip := range []int{0, 1, 2} {
			f := f // one for each subtest, which run later
			f.Skip, f.Times = skip, 1
			for _, bad := range [][]int{{3}, {0, 9, 19}} {
				t.Run(fmt.Sprintf("%s, bad %v", f, bad), func(t *testing.T) {
					t.Parallel()
					emu := numbers(t)
					emu.Inject(f)
					client := fastClient(t, emu, persistent)
					isolated(t, client, emu, streamload.Batch{Database: "d", Table: "t", Rows: unreadable(withBad(20, bad...), bad...)}, bad...)
					loads, rows := client.LedgerSize()
					require.Zero(t, loads+rows)
				})
			}
		}
	}
}

// A label that cannot be closed at once is tried again, as a load would be.
func TestBadRowsAreFoundWhenTheirLabelIsClosedLater(t *testing.T) {
	t.Parallel()
	emu := numbers(t)
	emu.Inject(emulator.Fault{At: emulator.BEAnswer, Do: emulator.Reset, Times: 1})
	emu.Inject(emulator.Fault{At: emulator.StateQuery, Do: emulator.HTTP, Status: 500, Skip: 2, Times: 7}) // of the settlement
	client := fastClient(t, emu, persistent)
	isolated(t, client, emu, streamload.Batch{Database: "d", Table: "t", Rows: withBad(20, 3)}, 3)
	loads, rows := client.LedgerSize()
	require.Zero(t, loads+rows)
}

// Rows that an error page names fail first, and those before them may fail for another reason afterwards. Each row has its own result all the same: one
// that is not stored and has none would be taken for stored.
func TestRowsThatFailBesideBadOnes(t *testing.T) {
	t.Parallel()
	for _, identity := range []string{"", "orders-0-7"} {
		for _, bad := range [][]int{{15}, {0, 7}, {19}, {3, 12, 18}} {
			for _, rows := range []int{0, 7} {
				t.Run(fmt.Sprintf("bad %v, loads of %d, identity %q", bad, rows, identity), func(t *testing.T) {
					t.Parallel()
					emu := numbers(t)
					emu.Inject(emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Fail, Times: 1}) // of what is left without the bad rows
					client := fastClient(t, emu, func(c *streamload.Config) {
						isolating(c)
						c.MaxLoadRows = rows
					})
					_, err := client.Load(t.Context(), streamload.Batch{Database: "d", Table: "t", Identity: identity, Rows: withBad(20, bad...)})
					e, ok := errors.AsType[*streamload.Error](err)
					require.True(t, ok)
					stored := storedIDs(emu)
					for i := range 20 {
						if stored[strconv.Itoa(i)] == 0 {
							require.Error(t, e.Row(i), "row %d", i)
						}
					}
					for _, i := range bad {
						require.ErrorContains(t, e.Row(i), "the row is refused", "row %d", i)
					}
				})
			}
		}
	}
}

// Rows that are stored already and come again beside bad ones are not stored a second time, whether the server refuses one row or many.
func TestStoredRowsBesideBadOnes(t *testing.T) {
	t.Parallel()
	for _, bad := range [][]int{{0}, {9}, {19}, {4, 12}, {3, 4, 5, 6}} {
		for _, unknown := range []int{0, 1, 5} { // good rows that are new
			t.Run(fmt.Sprintf("bad %v, %d new", bad, unknown), func(t *testing.T) {
				t.Parallel()
				emu := numbers(t)
				client := fastClient(t, emu, isolating)
				rows := withBad(20, bad...)
				var before [][]byte
				for i, row := range rows {
					if !slices.Contains(bad, i) {
						before = append(before, row)
					}
				}
				first := streamload.Batch{Database: "d", Table: "t", Rows: before[unknown:]}
				_, err := client.Load(t.Context(), first)
				require.NoError(t, err)
				client.Expect(first)
				_, err = client.Load(t.Context(), streamload.Batch{Database: "d", Table: "t", Rows: rows})
				e, ok := errors.AsType[*streamload.Error](err)
				require.True(t, ok)
				onlyBadFail(t, emu, e, len(rows), bad...)
				loads, left := client.LedgerSize()
				require.Zero(t, loads+left)
			})
		}
	}
}

// Where nobody tells the label's state, the load stays unknown, and its rows are held.
func TestBadRowsBehindAnOpenLabelAreHeld(t *testing.T) {
	t.Parallel()
	emu := numbers(t)
	emu.Inject(emulator.Fault{At: emulator.BEAnswer, Do: emulator.Reset, Times: 1})
	states := emu.Inject(emulator.Fault{At: emulator.StateQuery, Do: emulator.HTTP, Status: 500, Skip: 2})
	client := fastClient(t, emu, persistent)
	b := streamload.Batch{Database: "d", Table: "t", Rows: withBad(20, 3)}
	_, err := client.Load(t.Context(), b)
	require.ErrorIs(t, err, streamload.ErrUnresolved)
	require.Empty(t, storedIDs(emu))
	states.Remove()
	isolated(t, client, emu, b, 3)
}
