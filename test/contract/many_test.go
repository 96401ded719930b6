package contract

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/test/emulator"
)

// chunk is a message of n orders, beginning with id first.
func chunk(first, n int) []byte { return append(bytes.Join(rows(first, n), []byte("\n")), '\n') }

func chunks(of ...[]byte) streamload.Batch {
	return streamload.Batch{Database: db, Table: table, Rows: of}
}

func manyRows(conf *streamload.Config) { conf.Options.ManyRows = true }

func TestManyRowsInAMessage(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*streamload.Config){
		"validated":     func(*streamload.Config) {},
		"not validated": func(conf *streamload.Config) { conf.Options.SkipValidation = true },
		"compressed":    func(conf *streamload.Config) { conf.Options.Compression = "gzip" },
		"two phases":    func(conf *streamload.Config) { conf.Options.TwoPhaseCommit = true },
		"group commit":  func(conf *streamload.Config) { conf.Options.GroupCommit = "sync_mode" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := with(t)
			client, _ := c.client(manyRows, change)
			report, err := client.Load(within(t, ended), chunks(chunk(1, 5), []byte("\n \r\n"), chunk(6, 1), nil, bytes.ReplaceAll(chunk(7, 4), []byte("\n"), []byte("\r\n\r\n"))))
			require.NoError(t, err)
			require.Equal(t, 10, report.Rows)
			require.EqualValues(t, 10, report.Total)
			require.Zero(t, report.Unaccounted())
			require.Equal(t, ids(10), c.stored(table))
			require.Len(t, c.Loads(), 1)
		})
	}
	t.Run("csv", func(t *testing.T) {
		t.Parallel()
		c := with(t)
		client, _ := c.client(manyRows, func(conf *streamload.Config) {
			conf.Options.Format, conf.Options.Enclose, conf.Options.TrimDoubleQuotes = "csv", `"`, true
			conf.Options.Columns = []string{"id", "note"}
		})
		report, err := client.Load(within(t, ended), chunks([]byte("1,a\r\n2,\"b,\r\nc\"\r\n"), []byte("3,d\n\n4,\"e\ne\"")))
		require.NoError(t, err)
		require.Equal(t, 4, report.Rows)
		require.Equal(t, ids(4), c.stored(table))
		notes := []any{}
		for _, r := range c.Rows(db, table) {
			notes = append(notes, r["note"])
		}
		require.Equal(t, []any{"a", "b,\r\nc", "d", "e\ne"}, notes)
	})
	t.Run("messages without a row are no load", func(t *testing.T) {
		t.Parallel()
		c := with(t)
		client, _ := c.client(manyRows)
		report, err := client.Load(within(t, ended), chunks(nil, []byte("\n\n")))
		require.NoError(t, err)
		require.Zero(t, report.Rows)
		require.Empty(t, c.Requests())
	})
}

// A line that is no row fails its message, by its number, and no other.
func TestABadLineFailsItsMessage(t *testing.T) {
	t.Parallel()
	c := with(t, tooManyVersions(1))
	client, _ := c.client(manyRows)
	bad := append(append(chunk(100, 2), "{\"id\":102,}\n"...), chunk(103, 3)...)
	report, err := client.Load(within(t, ended), chunks(chunk(1, 3), bad, chunk(4, 2)))
	e := failed(t, err)
	require.True(t, e.Partial)
	require.Equal(t, decide.DataQuality, e.Class)
	require.Len(t, e.Rejected, 1)
	require.Equal(t, 6, e.Rejected[0].Count())
	require.NoError(t, e.Row(0))
	require.ErrorContains(t, e.Row(1), "line 3 of the message: the line is not valid JSON")
	require.NoError(t, e.Row(2))
	require.ErrorContains(t, err, "1 message(s) of many rows of shop.orders cannot be loaded, the first: message 1: line 3 of the message: ")
	require.Contains(t, e.Headline(), "1 message(s) of many rows of shop.orders cannot be loaded and were not sent, the first: line 3 of the message: ")
	require.NotContains(t, e.Headline(), "102", "it quotes no row")
	require.Equal(t, 5, report.Rows)
	require.Equal(t, ids(5), c.stored(table))

	_, err = client.Load(within(t, ended), chunks(bad))
	require.Equal(t, streamload.StageEncode, failed(t, err).Stage)
	require.Equal(t, ids(5), c.stored(table))
}

// What the server says about rows is about lines.
func TestManyRowsAreCountedByLines(t *testing.T) {
	t.Parallel()
	t.Run("filtered", func(t *testing.T) {
		t.Parallel()
		c := with(t)
		client, _ := c.client(manyRows, func(conf *streamload.Config) {
			ratio := 0.3
			conf.Options.MaxFilterRatio = &ratio
		})
		report, err := client.Load(within(t, ended), chunks(bytes.Join(mixed().Rows, []byte("\n")))) // 3 of its 10 do not fit
		require.NoError(t, err)
		require.Equal(t, 10, report.Rows)
		require.EqualValues(t, 3, report.Filtered)
		require.EqualValues(t, 7, report.Loaded)
		require.Zero(t, report.Unaccounted())
	})
	t.Run("filtered too many", func(t *testing.T) {
		t.Parallel()
		c := with(t)
		client, _ := c.client(manyRows, retries(-1), func(conf *streamload.Config) {
			ratio := 0.29
			conf.Options.MaxFilterRatio = &ratio
		})
		_, err := client.Load(within(t, ended), chunks(bytes.Join(mixed().Rows, []byte("\n"))))
		require.Equal(t, decide.DataQuality, failed(t, err).Class)
		require.Empty(t, c.stored(table))
	})
	t.Run("missing", func(t *testing.T) {
		t.Parallel()
		s := (&script{load: func(_ int, s sent) reply { return counting(s, 7, 7, len(s.body)) }}).start(t)
		client, _ := newClient(t, config([]string{s.fe.URL}, manyRows))
		report, err := client.Load(within(t, ended), chunks(chunk(1, 5), chunk(6, 4)))
		require.NoError(t, err)
		require.EqualValues(t, 2, report.Unaccounted())
	})
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		s := (&script{load: func(_ int, s sent) reply { return counting(s, 0, 0, len(s.body)) }}).start(t)
		client, _ := newClient(t, config([]string{s.fe.URL}, manyRows))
		_, err := client.Load(within(t, ended), chunks(chunk(1, 5), chunk(6, 4)))
		require.ErrorContains(t, err, "counted 0 rows of the 9 that were sent")
	})
}

func TestManyRowsInSeveralLoads(t *testing.T) {
	t.Parallel()
	loads := func(c *cluster) (out []int64) {
		for _, l := range c.Loads() {
			if l.Status == "Success" {
				out = append(out, l.Loaded)
			}
		}
		return out
	}
	t.Run("by rows", func(t *testing.T) {
		t.Parallel()
		c := with(t)
		client, _ := c.client(manyRows, func(conf *streamload.Config) { conf.MaxLoadRows = 5 })
		report, err := client.Load(within(t, ended), chunks(chunk(1, 2), chunk(3, 3), chunk(6, 1), chunk(7, 9), chunk(16, 5)))
		require.NoError(t, err)
		require.Equal(t, []int64{5, 1, 9, 5}, loads(c), "a message is not divided")
		require.Equal(t, 20, report.Rows)
		require.Equal(t, ids(20), c.stored(table))
	})
	t.Run("a message larger than a load may be", func(t *testing.T) {
		t.Parallel()
		c := with(t)
		client, _ := c.client(manyRows, func(conf *streamload.Config) { conf.MaxLoadBytes = 200 })
		_, err := client.Load(within(t, ended), chunks(chunk(1, 2), chunk(100, 30), chunk(3, 2)))
		e := failed(t, err)
		require.Equal(t, decide.TooLarge, e.Class)
		require.NoError(t, e.Row(0))
		require.ErrorContains(t, e.Row(1), "a message alone makes a load of ")
		require.NoError(t, e.Row(2))
		require.Equal(t, ids(4), c.stored(table))
	})
	t.Run("a server that takes no more than so much", func(t *testing.T) {
		t.Parallel()
		c := with(t)
		var all [][]byte
		for i := range 16 {
			all = append(all, chunk(1+4*i, 4))
		}
		// Loads of more than 20 rows are refused for their size.
		g := newGateway(t, c, nil)
		g.body = func(body []byte, forward func() reply) reply {
			if bytes.Count(body, []byte("\n")) >= 20 {
				return ok(`{"TxnId":-1,"Status":"Fail","Message":"[E-217]body size 1 exceed BE's conf streaming_load_max_mb"}`)
			}
			return forward()
		}
		client, _ := newClient(t, c.through([]string{g.srv.URL}, manyRows))
		report, err := client.Load(within(t, ended), chunks(all...))
		require.NoError(t, err)
		require.Equal(t, []int64{16, 16, 16, 16}, loads(c))
		require.Equal(t, 64, report.Rows)
		require.Equal(t, ids(64), c.stored(table))
	})
}

// The ledger knows messages: they come back as they were, in whatever batch.
func TestManyRowsAndTheLedger(t *testing.T) {
	t.Parallel()
	c := with(t)
	client, _ := c.client(manyRows, retries(-1), func(conf *streamload.Config) { conf.LabelPoll.MaxElapsed = 1 })
	lost := c.Inject(emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.Reset})
	blind := c.Inject(emulator.Fault{At: emulator.StateQuery, Do: emulator.Fail, Message: "not ready"})
	_, err := client.Load(within(t, ended), chunks(chunk(1, 3), chunk(4, 2)))
	e := unresolved(t, err)
	loads, messages := client.LedgerSize()
	require.Equal(t, []int{1, 2}, []int{loads, messages})
	lost.Remove()

	// While nobody tells, they are held, and what came with them is loaded.
	_, err = client.Load(within(t, ended), chunks(chunk(6, 2), chunk(4, 2)))
	held := failed(t, err)
	require.NoError(t, held.Row(0))
	require.ErrorIs(t, held.Row(1), streamload.ErrUnresolved)
	require.Len(t, held.Held, 1)
	require.Equal(t, 2, held.Held[0].Count())
	require.ErrorContains(t, err, "2 row(s) were in an earlier load whose outcome is still unknown")
	require.Contains(t, err.Error(), e.Label)
	blind.Remove()

	report, err := client.Load(within(t, ended), chunks(chunk(4, 2), chunk(8, 1), chunk(1, 3)))
	require.NoError(t, err)
	require.Equal(t, 5, report.AlreadyStored)
	require.Equal(t, 1, report.Rows)
	require.Equal(t, ids(8), c.stored(table))
}

func TestManyRowsUnderAStableLabel(t *testing.T) {
	t.Parallel()
	c := with(t)
	client, _ := c.client(manyRows)
	b := chunks(chunk(1, 3), chunk(4, 2))
	b.Identity = "orders-0-17"
	for range 2 {
		_, err := client.Load(within(t, ended), b)
		require.NoError(t, err)
	}
	require.Equal(t, ids(5), c.stored(table))
}

func TestBadRowsOfManyInAMessage(t *testing.T) {
	t.Parallel()
	c := with(t)
	client, _ := c.client(manyRows, func(conf *streamload.Config) { conf.IsolateBadRows = true })
	poison := append(chunk(100, 3), `{"id":"no number"}`...)
	_, err := client.Load(within(t, ended), chunks(chunk(1, 3), chunk(4, 3), poison, chunk(7, 3), chunk(10, 1)))
	e := failed(t, err)
	for i, bad := range []bool{false, false, true, false, false} {
		require.Equal(t, bad, e.Row(i) != nil, "message %d", i)
	}
	require.Equal(t, ids(10), c.stored(table))
}

func TestManyRowsAreForSomeFormats(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*streamload.Options){
		"an array": func(o *streamload.Options) { o.StripOuterArray = true },
		"a file":   func(o *streamload.Options) { o.Format = "csv_with_names" },
		"parquet":  func(o *streamload.Options) { o.Format = "parquet" },
	} {
		conf := config([]string{"http://127.0.0.1:1"}, manyRows, func(conf *streamload.Config) { change(&conf.Options) })
		_, err := streamload.New(conf)
		require.ErrorContains(t, err, "message_rows is many, which is for json by line", name)
	}
	conf := config([]string{"http://127.0.0.1:1"}, manyRows)
	conf.Options.Format = "csv"
	_, _, err := conf.Options.Cells()
	require.ErrorContains(t, err, "message_rows is many")
	require.NotContains(t, err.Error(), "\n")
}
