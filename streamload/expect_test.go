package streamload_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

func expect(c *streamload.Client, ids ...int) {
	c.Expect(streamload.Batch{Database: "d", Table: "t", Rows: rowsOf(ids...)})
}

func TestExpectedRowsAreAcknowledgedOnceEach(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]string{"": "", "group commit": "sync_mode"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			emu := emulator.New(t, emulator.Options{AutoCreate: true})
			c := fastClient(t, emu, func(conf *streamload.Config) { conf.Options.GroupCommit = mode })
			_, e := load(t, c, 1, 2, 2, 3)
			require.Nil(t, e)
			expect(c, 1, 2)
			expect(c, 2)
			loads, rows := c.LedgerSize()
			require.Equal(t, []int{1, 3}, []int{loads, rows}, "expected within a short time they are one entry")

			r, e := load(t, c, 2, 4)
			require.Nil(t, e)
			require.Equal(t, []int{1, 1}, []int{r.AlreadyStored, r.Rows})
			r, e = load(t, c, 2, 1)
			require.Nil(t, e)
			require.Equal(t, []int{2, 0}, []int{r.AlreadyStored, r.Rows})
			_, e = load(t, c, 1)
			require.Nil(t, e)
			require.Equal(t, map[string]int{"1": 2, "2": 2, "3": 1, "4": 1}, storedIDs(emu), "what was not expected again is loaded")
			loads, rows = c.LedgerSize()
			require.Zero(t, loads+rows)
		})
	}
}

// A row is expected in its own table only, in any layout that gives the same row.
func TestExpectedRowsAreThoseOfATable(t *testing.T) {
	t.Parallel()
	emu := emulator.New(t, emulator.Options{AutoCreate: true})
	c := fastClient(t, emu, nil)
	c.Expect(streamload.Batch{Database: "d", Table: "other", Rows: rowsOf(1)})
	c.Expect(streamload.Batch{Database: "d", Table: "t", Rows: [][]byte{[]byte(" {\"id\":2}\n"), []byte("bad")}})
	r, e := load(t, c, 1, 2)
	require.Nil(t, e)
	require.Equal(t, []int{1, 1}, []int{r.AlreadyStored, r.Rows})
	require.Equal(t, map[string]int{"1": 1}, storedIDs(emu))
}

// When the other rows of their batch fail again, expected rows are known to be stored.
func TestExpectedRowsBesideAFailure(t *testing.T) {
	t.Parallel()
	emu := emulator.New(t, emulator.Options{AutoCreate: true})
	c := fastClient(t, emu, nil)
	_, e := load(t, c, 1)
	require.Nil(t, e)
	expect(c, 1)
	emu.Inject(emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions, Times: 1})
	_, e = load(t, c, 2, 1)
	require.NotNil(t, e)
	require.Error(t, e.Row(0))
	require.NoError(t, e.Row(1))
}

func TestExpectedRowsAreForgottenSoon(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*streamload.Config)
		after  time.Duration
	}{
		"10 minutes":                 {func(conf *streamload.Config) { conf.Backoff.MaxElapsed = time.Minute }, 10 * time.Minute},
		"as long as a load may take": {func(conf *streamload.Config) { conf.Backoff.MaxElapsed = 20 * time.Minute }, 20*time.Minute + time.Second},
		"no longer than max_age":     {func(conf *streamload.Config) { conf.Ledger.MaxAge = 2 * time.Minute }, 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var forgotten forgetting
				conf := streamload.Config{FEs: []string{"http://fe:8030"}, Timeout: time.Second, Observer: &forgotten}
				c.change(&conf)
				client, err := streamload.New(conf)
				require.NoError(t, err)
				defer client.Close()
				expect(client, 1, 2)
				time.Sleep(c.after)
				client.Expect(streamload.Batch{Database: "d", Table: "other", Rows: rowsOf(3)})
				require.Empty(t, forgotten.told)
				time.Sleep(time.Minute + time.Second)
				client.Expect(streamload.Batch{Database: "d", Table: "other", Rows: rowsOf(4)})
				require.Len(t, forgotten.told, 1)
				f := forgotten.told[0]
				require.True(t, f.Expected)
				require.Equal(t, []any{"d", "t", "", 2, "they have not come back in time"}, []any{f.Database, f.Table, f.Label, f.Rows, f.Result})
			})
		})
	}
}

type forgetting struct {
	streamload.NopObserver
	told []streamload.SettleInfo
}

func (f *forgetting) Forgotten(s streamload.SettleInfo) { f.told = append(f.told, s) }
