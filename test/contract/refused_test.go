package contract

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

// Found by chaos. A proxy sends the load twice. The first copy is stored, and its answer is lost; the second fails before its begin, which is what
// the client hears: "Fail", and no transaction. While no FE tells the label's state that proves nothing, so the load is open,
// and its rows are not stored again when they come again.
func TestARefusedBeginProvesNothingByItself(t *testing.T) {
	t.Parallel()
	c := with(t, emulator.Fault{At: emulator.BEBegin, Do: emulator.Fail, Message: "[INTERNAL_ERROR]too busy", Skip: 1, Times: 1})
	g := newGateway(t, c, func(n int, forward func() reply) reply {
		if n == 0 {
			forward()
		}
		return forward()
	})
	silent := c.Inject(emulator.Fault{At: emulator.StateQuery, Do: emulator.HTTP, Status: 503})
	client, j := newClient(t, c.through([]string{g.srv.URL}, retries(-1), func(conf *streamload.Config) {
		conf.LabelPoll.MaxElapsed = 20 * time.Millisecond
	}))
	_, err := client.Load(within(t, ended), batch(20))
	_ = unresolved(t, err)
	same(t, j.sent(), 1)
	require.Equal(t, ids(20), c.stored(table))

	silent.Remove()
	for i, b := range []streamload.Batch{
		{Database: db, Table: table, Rows: rows(1, 5)},
		{Database: db, Table: table, Rows: append(rows(6, 15), rows(21, 2)...)},
	} {
		report, err := client.Load(within(t, ended), b)
		require.NoError(t, err)
		require.Equal(t, []int{5, 15}[i], report.AlreadyStored)
	}
	require.Equal(t, ids(22), c.stored(table))
}

// When the label's state is known the refusal is believed: nothing is left open, and other labels may be used.
func TestARefusedBeginIsBelievedWithTheState(t *testing.T) {
	t.Parallel()
	for _, retry := range []int{-1, 1} {
		t.Run(strconv.Itoa(retry), func(t *testing.T) {
			t.Parallel()
			c := with(t, emulator.Fault{At: emulator.BEBegin, Do: emulator.Fail, Message: "[INTERNAL_ERROR]too busy", Times: 2})
			g := newGateway(t, c, func(_ int, forward func() reply) reply { return forward() }) // it takes the body before anybody refuses it
			client, j := newClient(t, c.through([]string{g.srv.URL}, retries(retry)))
			_, err := client.Load(within(t, ended), batch(20))
			require.False(t, failed(t, err).Unresolved)
			require.Contains(t, j.states(), "UNKNOWN")
			loads, _ := client.LedgerSize()
			require.Zero(t, loads)
		})
	}
}
