package contract

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

func grouped(mode string) func(*streamload.Config) {
	return func(c *streamload.Config) { c.Options.GroupCommit = mode }
}

func TestGroupCommit(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"sync_mode", "async_mode"} {
		t.Run(mode+": the server makes the label", func(t *testing.T) {
			t.Parallel()
			c := with(t)
			client, _ := c.client(grouped(mode))
			report, err := client.Load(within(t, ended), batch(5))
			require.NoError(t, err)
			require.Equal(t, "success", report.Evidence)
			require.Empty(t, report.Label)
			require.False(t, report.LabelIgnored)
			for _, r := range append(c.puts("fe"), c.puts("be")...) {
				require.Empty(t, r.Header.Values("Label"))
				require.Equal(t, mode, r.Header.Get("Group_commit"))
			}
			require.Equal(t, ids(5), c.stored(table))
		})
		t.Run(mode+": an answered failure is retried", func(t *testing.T) {
			t.Parallel()
			c := with(t, tooManyVersions(2))
			client, _ := c.client(grouped(mode))
			report, err := client.Load(within(t, ended), batch(5))
			require.NoError(t, err)
			require.Equal(t, 3, report.Attempts)
			require.Zero(t, report.Polls)
			require.Equal(t, ids(5), c.stored(table))
		})
		for name, f := range map[string]emulator.Fault{
			"reset after the commit":  {At: emulator.BEAfterCommit, Do: emulator.Reset},
			"reset before the commit": {At: emulator.BEBeforeCommit, Do: emulator.Reset},
			"cut answer":              {At: emulator.BEAnswer, Do: emulator.Truncate, Bytes: 20},
			"HTML":                    {At: emulator.BEAnswer, Do: emulator.HTTP, Status: 502, Body: "<html>"},
		} {
			t.Run(mode+": an outcome that is not known cannot be looked up: "+name, func(t *testing.T) {
				t.Parallel()
				c := with(t, f)
				client, _ := c.client(grouped(mode))
				_, err := client.Load(within(t, ended), batch(5))
				e := unresolved(t, err)
				require.Equal(t, 1, e.Attempts, "it is not sent again")
				require.Contains(t, err.Error(), "group_commit")
				require.Contains(t, err.Error(), "store them twice")
				require.Equal(t, "no label to ask for", e.Reason)
				require.Zero(t, c.asked("GET", "/get_load_state"))
				require.LessOrEqual(t, c.Count(db, table), 5)
			})
		}
		t.Run(mode+": nothing was sent, so it is sent again", func(t *testing.T) {
			t.Parallel()
			c := with(t, emulator.Fault{At: emulator.FERedirect, Do: emulator.DeadBE, Times: 2}, emulator.Fault{At: emulator.BEHeaders, Do: emulator.Reset, Times: 1})
			client, _ := c.client(grouped(mode))
			report, err := client.Load(within(t, ended), batch(5))
			require.NoError(t, err)
			require.Equal(t, 4, report.Attempts)
			require.Equal(t, ids(5), c.stored(table))
		})
	}
	t.Run("rows of an outcome that is not known are loaded again when they come again", func(t *testing.T) {
		t.Parallel()
		c := with(t, emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 1})
		client, _ := c.client(grouped("sync_mode"))
		_, err := client.Load(within(t, ended), batch(2))
		require.ErrorIs(t, err, streamload.ErrUnresolved)
		_, err = client.Load(within(t, ended), batch(2))
		require.NoError(t, err)
		require.Equal(t, []int64{1, 1, 2, 2}, c.stored(table))
	})
	t.Run("off_mode keeps the label, and so does the default", func(t *testing.T) {
		t.Parallel()
		for _, mode := range []string{"off_mode", ""} {
			c := with(t)
			client, _ := c.client(grouped(mode))
			report, err := client.Load(within(t, ended), batch(5))
			require.NoError(t, err)
			require.NotEmpty(t, report.Label)
			require.Equal(t, "off_mode", c.puts("be")[0].Header.Get("Group_commit"))
			require.Equal(t, report.Label, c.puts("be")[0].Header.Get("Label"))
		}
	})
	t.Run("an identity is refused", func(t *testing.T) {
		t.Parallel()
		c := with(t)
		client, _ := c.client(grouped("sync_mode"))
		_, err := client.Load(within(t, ended), withIdentity("x", rows(1, 1)))
		require.ErrorContains(t, err, "group_commit")
		require.Empty(t, c.Requests())
	})
}

// With reject each row is sent once, unless it is certain that no server stored it.
func TestRejectedUnknownOutcomes(t *testing.T) {
	t.Parallel()
	rejecting := func(mode string) func(*streamload.Config) {
		return func(c *streamload.Config) { c.Options.GroupCommit, c.RejectUnknown = mode, true }
	}
	for _, mode := range []string{"sync_mode", "async_mode"} {
		for name, f := range map[string]struct {
			emulator.Fault
			stored []int64
		}{
			"reset after the commit":  {emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 1}, ids(5)},
			"reset before the commit": {emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Reset, Times: 1}, []int64{}},
			"HTML":                    {emulator.Fault{At: emulator.BEAnswer, Do: emulator.HTTP, Status: 502, Body: "<html>", Times: 1}, ids(5)},
			"their own trouble":       {emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.Fail, Message: "[THRIFT_RPC_ERROR]rpc failed", Times: 1}, ids(5)},
		} {
			t.Run(mode+": "+name, func(t *testing.T) {
				t.Parallel()
				c := with(t, f.Fault)
				client, _ := c.client(rejecting(mode))
				_, err := client.Load(within(t, ended), batch(5))
				e := unresolved(t, err)
				require.Contains(t, e.Message, "they may be, and are not sent again, because on_unknown_outcome is reject")
				sent := len(c.puts("be"))

				// They come again, in another order, with others between them: twice, as an input does that knows no better.
				for range 2 {
					again := streamload.Batch{Database: db, Table: table, Rows: slices.Concat(rows(5, 1), rows(2, 1))}
					_, err = client.Load(within(t, ended), again)
					e = unresolved(t, err)
					require.Contains(t, e.Message, "2 row(s) were in an earlier load whose outcome is unknown and cannot be looked up")
					require.Contains(t, e.Message, "not sent again because on_unknown_outcome is reject")
				}
				require.Len(t, c.puts("be"), sent, "not sent")

				mixed := streamload.Batch{Database: db, Table: table, Rows: slices.Concat(rows(3, 1), rows(9, 1))}
				require.NotEmpty(t, client.Held(within(t, ended), []streamload.Batch{mixed}))
				_, err = client.Load(within(t, ended), mixed)
				e = failed(t, err)
				require.True(t, e.Partial)
				require.Len(t, e.Held, 1)
				require.Equal(t, 0, e.Held[0].Index)
				require.Equal(t, append(slices.Clone(f.stored), 9), c.stored(table), "each at most once, and the new one")
				loads, held := client.LedgerSize()
				require.Equal(t, [2]int{1, 5}, [2]int{loads, held})
			})
		}
	}
	t.Run("what certainly failed is sent again", func(t *testing.T) {
		t.Parallel()
		c := with(t, tooManyVersions(2))
		client, _ := c.client(rejecting("sync_mode"))
		report, err := client.Load(within(t, ended), batch(5))
		require.NoError(t, err)
		require.Equal(t, 3, report.Attempts)
		require.Equal(t, ids(5), c.stored(table))
	})
	t.Run("the limits of the ledger hold", func(t *testing.T) {
		t.Parallel()
		c := with(t, emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 1})
		client, j := c.client(rejecting("sync_mode"), func(c *streamload.Config) { c.Ledger.MaxRows = 4 })
		_, err := client.Load(within(t, ended), batch(5))
		require.ErrorIs(t, err, streamload.ErrUnresolved)
		require.Equal(t, []int{5}, j.forgottenRows())
		_, err = client.Load(within(t, ended), batch(5))
		require.NoError(t, err)
		require.Equal(t, 10, c.Count(db, table))
	})
	t.Run("rows that are stored and come again are acknowledged beside them", func(t *testing.T) {
		t.Parallel()
		c := with(t)
		client, _ := c.client(rejecting("sync_mode"))
		_, err := client.Load(within(t, ended), batch(2))
		require.NoError(t, err)
		client.Expect(batch(2))
		c.Inject(emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 1})
		_, err = client.Load(within(t, ended), streamload.Batch{Database: db, Table: table, Rows: rows(3, 1)})
		require.ErrorIs(t, err, streamload.ErrUnresolved)
		_, err = client.Load(within(t, ended), batch(3))
		e := failed(t, err)
		require.True(t, e.Partial)
		require.Len(t, e.Held, 1)
		require.Equal(t, ids(3), c.stored(table))
	})
	t.Run("without group commit it is refused", func(t *testing.T) {
		t.Parallel()
		conf := with(t).config(rejecting("off_mode"))
		_, err := streamload.New(conf)
		require.EqualError(t, err, "on_unknown_outcome is reject, which is for group_commit sync_mode and async_mode only: without them the label tells the outcome, and no row is stored twice for it")
	})
}

// A server that uses another label than ours takes the protection away; that has to be seen.
func TestServerThatIgnoresTheLabel(t *testing.T) {
	t.Parallel()
	s := (&script{load: func(_ int, s sent) reply {
		s.label = "group_commit_1_2"
		return succeeds(s)
	}}).start(t)
	client, _ := newClient(t, config([]string{s.fe.URL}))
	report, err := client.Load(within(t, ended), batch(5))
	require.NoError(t, err)
	require.True(t, report.LabelIgnored)
}
