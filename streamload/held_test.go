package streamload_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

// leaveOpen makes a load of some ids that is committed without anybody knowing. Nobody tells the state of a label until ClearFaults.
func leaveOpen(t *testing.T, emu *emulator.Emulator, c *streamload.Client, ids ...int) string {
	t.Helper()
	emu.Inject(emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 1})
	emu.Inject(emulator.Fault{At: emulator.StateQuery, Do: emulator.HTTP, Status: 503})
	_, e := load(t, c, ids...)
	require.NotNil(t, e)
	require.True(t, e.Unresolved, e.Error())
	return e.Label
}

func batchFor(table string, ids ...int) streamload.Batch {
	return streamload.Batch{Database: "d", Table: table, Rows: rowsOf(ids...)}
}

func TestHeldLooksWithoutLoadingOrClaiming(t *testing.T) {
	t.Parallel()
	emu := emulator.New(t, emulator.Options{AutoCreate: true})
	c := fastClient(t, emu, nil)
	batches := []streamload.Batch{batchFor("other", 1, 2), batchFor("t", 5, 1), batchFor("third", 7)}
	require.Nil(t, c.Held(t.Context(), batches), "an empty ledger holds nothing")

	label := leaveOpen(t, emu, c, 1, 2)
	loads, rows := c.LedgerSize()
	require.Equal(t, [2]int{1, 2}, [2]int{loads, rows})
	before := len(emu.Loads())
	errs := c.Held(t.Context(), batches)
	require.Len(t, errs, 3)
	for i, e := range errs {
		require.ErrorIs(t, e, streamload.ErrUnresolved)
		require.Equal(t, batches[i].Table, e.Table)
		require.Equal(t, label, e.Label)
		require.False(t, e.NoFE, "an FE answers, but not the question")
	}
	require.Contains(t, errs[1].Message, "1 row(s) were in an earlier load")
	require.Contains(t, errs[0].Message, "rows for d.t that came with these")
	require.Nil(t, c.Held(t.Context(), batches[:1]), "another table's rows are not the same rows")
	require.Len(t, emu.Loads(), before, "nothing is loaded")

	emu.ClearFaults()
	require.Nil(t, c.Held(t.Context(), batches), "the load turns out to be committed")
	require.Nil(t, c.Held(t.Context(), batches), "and looking took nothing away")
	r, e := load(t, c, 5, 1)
	require.Nil(t, e)
	require.Equal(t, 1, r.AlreadyStored)
	r, e = load(t, c, 2)
	require.Nil(t, e)
	require.Equal(t, 1, r.AlreadyStored)
	loads, rows = c.LedgerSize()
	require.Equal(t, [2]int{0, 0}, [2]int{loads, rows})
	require.Equal(t, map[string]int{"1": 1, "2": 1, "5": 1}, storedIDs(emu))
}

// settlings notes what an observer hears of the ledger. It asks the client, as an observer may.
type settlings struct {
	streamload.NopObserver

	size func() (loads, rows int)

	mu        sync.Mutex
	settled   []streamload.SettleInfo
	forgotten []streamload.SettleInfo
	loads     []int
}

func (s *settlings) Settled(i streamload.SettleInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settled = append(s.settled, i)
}

func (s *settlings) Forgotten(i streamload.SettleInfo) {
	loads, _ := s.size()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgotten, s.loads = append(s.forgotten, i), append(s.loads, loads)
}

func observed(t *testing.T, emu *emulator.Emulator, limits streamload.LedgerLimits) (*streamload.Client, *settlings) {
	t.Helper()
	s := &settlings{}
	c := fastClient(t, emu, func(conf *streamload.Config) { conf.Ledger, conf.Observer = limits, s })
	s.size = c.LedgerSize
	return c, s
}

func TestWhatTheLimitsDropIsTold(t *testing.T) {
	t.Parallel()
	t.Run("too many rows", func(t *testing.T) {
		t.Parallel()
		emu := emulator.New(t, emulator.Options{AutoCreate: true})
		c, s := observed(t, emu, streamload.LedgerLimits{MaxRows: 5})
		first := leaveOpen(t, emu, c, 1, 2, 3)
		emu.ClearFaults()
		second := leaveOpen(t, emu, c, 4, 5, 6)
		require.Len(t, s.forgotten, 1)
		require.Equal(t, first, s.forgotten[0].Label)
		require.Equal(t, 3, s.forgotten[0].Rows)
		require.Contains(t, s.forgotten[0].Result, "max_rows")
		require.Equal(t, []int{1}, s.loads, "the client can be asked meanwhile")
		emu.ClearFaults()
		r, e := load(t, c, 4, 5)
		require.Nil(t, e)
		require.Equal(t, 2, r.AlreadyStored)
		last := s.settled[len(s.settled)-1]
		require.Equal(t, "committed", last.Result)
		require.Equal(t, second, last.Label)
		require.Equal(t, 3, last.Rows, "rows that have not come back when it was settled")
	})
	t.Run("too old", func(t *testing.T) {
		t.Parallel()
		emu := emulator.New(t, emulator.Options{AutoCreate: true})
		c, s := observed(t, emu, streamload.LedgerLimits{MaxAge: time.Nanosecond})
		label := leaveOpen(t, emu, c, 1)
		emu.ClearFaults()
		r, e := load(t, c, 1)
		require.Nil(t, e)
		require.Zero(t, r.AlreadyStored)
		require.Equal(t, label, s.forgotten[0].Label)
		require.Contains(t, s.forgotten[0].Result, "max_age")
		require.Equal(t, map[string]int{"1": 2}, storedIDs(emu), "this is what the warning is about")
	})
}

// While no FE can be reached nobody can be asked, so nothing gets old meanwhile.
func TestAnOutageLongerThanTheAgeForgetsNothing(t *testing.T) {
	t.Parallel()
	emu := emulator.New(t, emulator.Options{AutoCreate: true})
	const age = 300 * time.Millisecond
	c, s := observed(t, emu, streamload.LedgerLimits{MaxAge: age})
	emu.Inject(emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.FEDown, Times: 1})
	emu.Inject(emulator.Fault{At: emulator.BEAnswer, Do: emulator.Reset, Times: 1})
	_, e := load(t, c, 1, 2)
	require.NotNil(t, e)
	require.True(t, e.Unresolved)
	require.True(t, e.NoFE)
	time.Sleep(2 * age) // this is the outage
	_, e = load(t, c, 2)
	require.NotNil(t, e)
	require.True(t, e.NoFE, "its state cannot be asked for")
	require.NoError(t, emu.StartFE(0))
	r, e := load(t, c, 2, 1)
	require.Nil(t, e)
	require.Equal(t, 2, r.AlreadyStored)
	require.Empty(t, s.forgotten)
	require.Equal(t, map[string]int{"1": 1, "2": 1}, storedIDs(emu))
}
