package streamload_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

func fastClient(t *testing.T, emu *emulator.Emulator, change func(*streamload.Config)) *streamload.Client {
	t.Helper()
	conf := streamload.Config{
		FEs: emu.FEURLs(), Username: "root", MaxRetries: -1, Timeout: time.Second,
		Backoff:   streamload.Backoff{Initial: 5 * time.Millisecond, Max: 20 * time.Millisecond},
		LabelPoll: streamload.Backoff{Initial: 5 * time.Millisecond, Max: 20 * time.Millisecond, MaxElapsed: 100 * time.Millisecond},
	}
	if change != nil {
		change(&conf)
	}
	c, err := streamload.New(conf)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func rowsOf(ids ...int) (rows [][]byte) {
	for _, id := range ids {
		rows = append(rows, fmt.Appendf(nil, `{"id":%d}`, id))
	}
	return rows
}

func load(t *testing.T, c *streamload.Client, ids ...int) (streamload.Report, *streamload.Error) {
	t.Helper()
	r, err := c.Load(t.Context(), streamload.Batch{Database: "d", Table: "t", Rows: rowsOf(ids...)})
	if err == nil {
		return r, nil
	}
	var e *streamload.Error
	require.ErrorAs(t, err, &e)
	return r, e
}

func storedIDs(emu *emulator.Emulator) map[string]int {
	ids := map[string]int{}
	for _, row := range emu.Rows("d", "t") {
		ids[fmt.Sprint(row["id"])]++
	}
	return ids
}

// A load is committed, its answer is lost, and nobody tells its label's state until the rows come back in another composition.
func TestRowsOfACommittedLoadAreAcknowledgedOnce(t *testing.T) {
	t.Parallel()
	emu := emulator.New(t, emulator.Options{AutoCreate: true})
	c := fastClient(t, emu, nil)
	_, e := load(t, c, 0)
	require.Nil(t, e)

	emu.Inject(emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 1})
	emu.Inject(emulator.Fault{At: emulator.StateQuery, Do: emulator.HTTP, Status: 503, Times: 8})
	_, e = load(t, c, 1, 2, 3)
	require.NotNil(t, e)
	require.True(t, e.Unresolved, e.Error())
	emu.ClearFaults()

	r, e := load(t, c, 3, 4)
	require.Nil(t, e)
	require.Equal(t, 1, r.AlreadyStored)
	r, e = load(t, c, 2, 1, 1)
	require.Nil(t, e)
	require.Equal(t, 2, r.AlreadyStored, "each digest is used once")
	require.Equal(t, map[string]int{"0": 1, "1": 2, "2": 1, "3": 1, "4": 1}, storedIDs(emu))
}

// The first request is lost before its transaction is begun, and lands after the rows have come back: the fence keeps it out.
func TestALateRequestIsFencedOut(t *testing.T) {
	t.Parallel()
	emu := emulator.New(t, emulator.Options{AutoCreate: true})
	c := fastClient(t, emu, func(conf *streamload.Config) { conf.Grace = 50 * time.Millisecond })
	_, e := load(t, c, 0)
	require.Nil(t, e)

	emu.Inject(emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Reset, Times: 1})
	emu.Inject(emulator.Fault{At: emulator.StateQuery, Do: emulator.HTTP, Status: 503, Times: 8})
	_, e = load(t, c, 1, 2)
	require.NotNil(t, e)
	require.True(t, e.Unresolved, e.Error())
	emu.ClearFaults()
	label := e.Label

	r, e := load(t, c, 2, 3)
	require.Nil(t, e)
	require.Zero(t, r.AlreadyStored)
	require.NotEqual(t, label, r.Label)
	state, err := c.LabelState(t.Context(), "d", label)
	require.NoError(t, err)
	require.Equal(t, "VISIBLE", state, "the label is taken by the fence")
	_, e = load(t, c, 1)
	require.Nil(t, e)
	require.Equal(t, map[string]int{"0": 1, "1": 1, "2": 1, "3": 1}, storedIDs(emu))
}

// Rows of a load that stays open fail alone.
func TestRowsOfAnOpenLoadFailAlone(t *testing.T) {
	t.Parallel()
	emu := emulator.New(t, emulator.Options{AutoCreate: true})
	c := fastClient(t, emu, nil)
	_, e := load(t, c, 0)
	require.Nil(t, e)
	emu.Inject(emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 1})
	emu.Inject(emulator.Fault{At: emulator.StateQuery, Do: emulator.HTTP, Status: 503})
	_, e = load(t, c, 1, 2)
	require.NotNil(t, e)
	require.True(t, e.Unresolved)

	_, e = load(t, c, 7, 1, 8)
	require.NotNil(t, e)
	require.True(t, e.Partial)
	require.NoError(t, e.Row(0))
	require.ErrorIs(t, e.Row(1), streamload.ErrUnresolved)
	require.NoError(t, e.Row(2))
	require.Equal(t, map[string]int{"0": 1, "1": 1, "2": 1, "7": 1, "8": 1}, storedIDs(emu))

	_, err := c.Load(t.Context(), streamload.Batch{Database: "d", Table: "t", Rows: rowsOf(9, 1), Whole: true})
	require.ErrorAs(t, err, &e)
	require.False(t, e.Partial)
	require.Error(t, e.Row(0))
	require.Zero(t, storedIDs(emu)["9"])

	emu.ClearFaults()
	r, e := load(t, c, 1, 2, 9)
	require.Nil(t, e)
	require.Equal(t, 2, r.AlreadyStored)
	require.Equal(t, map[string]int{"0": 1, "1": 1, "2": 1, "7": 1, "8": 1, "9": 1}, storedIDs(emu))
}

// A request under a stable label is never answered, and the one that the same batch sends next fails. That says nothing of the first.
func TestAFailureUnderAStableLabelDoesNotCloseIt(t *testing.T) {
	t.Parallel()
	emu := emulator.New(t, emulator.Options{AutoCreate: true})
	c := fastClient(t, emu, nil)
	send := func(identity string, ids ...int) *streamload.Error {
		_, err := c.Load(t.Context(), streamload.Batch{Database: "d", Table: "t", Rows: rowsOf(ids...), Identity: identity})
		if err == nil {
			return nil
		}
		var e *streamload.Error
		require.ErrorAs(t, err, &e)
		return e
	}
	require.Nil(t, send("", 0))
	emu.Inject(emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Reset, Times: 1})
	emu.Inject(emulator.Fault{At: emulator.StateQuery, Do: emulator.HTTP, Status: 503})
	e := send("batch", 1, 2)
	require.NotNil(t, e)
	require.True(t, e.Unresolved, e.Error())
	emu.ClearFaults()

	emu.Inject(emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Fail, Times: 1})
	again := send("batch", 1, 2)
	require.NotNil(t, again)
	require.Equal(t, e.Label, again.Label)
	require.Equal(t, "ABORTED", again.LabelState)
	require.True(t, again.Unresolved, again.Error())

	e = send("", 2, 3)
	require.NotNil(t, e)
	require.ErrorIs(t, e.Row(0), streamload.ErrUnresolved)
	require.NoError(t, e.Row(1))
	require.Nil(t, send("batch", 1, 2))
	require.Nil(t, send("", 4))
	require.Equal(t, map[string]int{"0": 1, "1": 1, "2": 1, "3": 1, "4": 1}, storedIDs(emu))
}
