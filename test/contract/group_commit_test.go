package contract

import (
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
