package contract

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/test/emulator"
)

// Rows that cannot be part of a body fail alone, each with its own reason.
func TestBadRowsFailAlone(t *testing.T) {
	t.Parallel()
	bad := []string{
		``, ` `, `null`, `17`, `"text"`, `[{"id":2}]`, `{"id":`, `{"id":1}{"id":2}`, "{\"id\":1}\n{\"id\":2}", "{\"note\":\"\xff\"}", `{"id":1} x`, `<html>`,
		"\ufeff{\"id\":3}", `{"id":3,"note":"half a \ud83d"}`, `{"id":3,"no column":"\ude00"}`,
	}
	good := []string{
		`{"id":1,"note":"plain"}`, "{\n  \"id\": 2,\n  \"note\": \"pretty\"\n}", `{"id":3,"id_":"no such column"}`, ` {"id":4} `, "{\"id\":5,\"note\":\"line\\nbreak\"}\r\n",
	}
	for _, array := range []bool{false, true} {
		t.Run(map[bool]string{false: "by line", true: "in an array"}[array], func(t *testing.T) {
			t.Parallel()
			c := with(t, tooManyVersions(1))
			client, _ := c.client(func(conf *streamload.Config) { conf.Options.StripOuterArray = array })
			b := streamload.Batch{Database: db, Table: table}
			isBad := map[int]bool{}
			for i := range max(len(bad), len(good)) {
				if i < len(bad) {
					isBad[len(b.Rows)] = true
					b.Rows = append(b.Rows, []byte(bad[i]))
				}
				if i < len(good) {
					b.Rows = append(b.Rows, []byte(good[i]))
				}
			}
			report, err := client.Load(within(t, ended), b)
			e := failed(t, err)
			require.True(t, e.Partial)
			require.False(t, e.Unresolved)
			require.Equal(t, decide.DataQuality, e.Class)
			require.Len(t, e.Rejected, len(bad))
			for i := range b.Rows {
				if isBad[i] {
					require.Error(t, e.Row(i), "row %d: %q", i, b.Rows[i])
				} else {
					require.NoError(t, e.Row(i), "row %d: %q", i, b.Rows[i])
				}
			}
			require.Equal(t, 2, report.Attempts)
			require.Equal(t, len(good), report.Rows)
			require.EqualValues(t, len(good), report.Loaded)
			require.Equal(t, ids(len(good)), c.stored(table))
		})
	}
	t.Run("nothing is sent when all are bad", func(t *testing.T) {
		t.Parallel()
		c := with(t)
		client, _ := c.client()
		_, err := client.Load(within(t, ended), streamload.Batch{Database: db, Table: table, Rows: [][]byte{[]byte("x"), []byte("7")}})
		e := failed(t, err)
		require.Equal(t, streamload.StageEncode, e.Stage)
		require.Error(t, e.Row(0))
		require.Error(t, e.Row(1))
		require.Empty(t, c.Requests())
	})
	t.Run("the good rows fail with the load", func(t *testing.T) {
		t.Parallel()
		c := with(t, tooManyVersions(0))
		client, _ := c.client(retries(1))
		_, err := client.Load(within(t, ended), streamload.Batch{Database: db, Table: table, Rows: [][]byte{[]byte("x"), []byte(`{"id":1}`)}})
		e := failed(t, err)
		require.False(t, e.Partial)
		require.ErrorContains(t, e.Row(1), "version count")
		require.Error(t, e.Row(0))
		require.NotErrorIs(t, e.Row(0), e)
		require.Empty(t, c.stored(table))
	})
	t.Run("no rows are no load", func(t *testing.T) {
		t.Parallel()
		c := with(t)
		client, _ := c.client()
		_, err := client.Load(within(t, ended), streamload.Batch{Database: db, Table: table})
		require.NoError(t, err)
		require.Empty(t, c.Requests())
	})
}

// mixed are ten orders, the last three of which do not fit the table.
func mixed() streamload.Batch {
	b := batch(7)
	b.Rows = append(b.Rows,
		[]byte(`{"id":"eight","note":"a word"}`),
		[]byte(`{"id":9,"note":"`+strings.Repeat("long", 30)+`"}`),
		[]byte(`{"note":"no id"}`),
	)
	return b
}

func TestRowsThatDoNotFitTheTable(t *testing.T) {
	t.Parallel()
	t.Run("the error has the error page and its first lines", func(t *testing.T) {
		t.Parallel()
		c := with(t)
		client, _ := c.client(retries(1))
		_, err := client.Load(within(t, ended), mixed())
		e := failed(t, err)
		require.Equal(t, decide.DataQuality, e.Class)
		require.Equal(t, 2, e.Attempts)
		require.Contains(t, e.Message, "too many filtered rows")
		require.Contains(t, e.ErrorURL, c.BEAddr()+"/api/_load_error_log?file=")
		require.NotEmpty(t, e.ErrorLines)
		require.Contains(t, e.ErrorLines[0], "Reason: ")
		require.Contains(t, err.Error(), e.ErrorURL)
		require.Contains(t, err.Error(), e.ErrorLines[0])
		require.NotContains(t, err.Error(), "\n")
		require.Empty(t, c.stored(table))
	})
	t.Run("Success with filtered rows says which", func(t *testing.T) {
		t.Parallel()
		c := with(t)
		ratio := 0.5
		client, _ := c.client(func(conf *streamload.Config) { conf.Options.MaxFilterRatio = &ratio; conf.Options.StrictMode = true })
		report, err := client.Load(within(t, ended), mixed())
		require.NoError(t, err)
		require.Equal(t, "success", report.Evidence)
		require.EqualValues(t, 3, report.Filtered)
		require.EqualValues(t, 7, report.Loaded)
		require.Zero(t, report.Unaccounted())
		require.NotEmpty(t, report.ErrorURL)
		require.NotEmpty(t, report.ErrorLines)
		require.Contains(t, report.ErrorLines[0], "Reason: ")
		require.Equal(t, ids(7), c.stored(table))
	})
	t.Run("an error page that hangs does not hold the result up", func(t *testing.T) {
		t.Parallel()
		s := (&script{
			load: func(_ int, s sent) reply {
				r := fails(s, "[DATA_QUALITY_ERROR]too many filtered rows")
				r.ErrorURL = "http://127.0.0.1:1/api/_load_error_log?file=x"
				return r.reply()
			},
			state: func(int, string) reply { return stateIs("ABORTED") },
		}).start(t)
		client, _ := newClient(t, config([]string{s.fe.URL}, retries(-1)))
		_, err := client.Load(within(t, ended), batch(3))
		e := failed(t, err)
		require.Empty(t, e.ErrorLines)
		require.Contains(t, err.Error(), "too many filtered rows")
	})
}

func TestUnselectedRowsAreCounted(t *testing.T) {
	t.Parallel()
	c := with(t)
	client, _ := c.client(func(conf *streamload.Config) { conf.Options.Where = "id > 4" })
	report, err := client.Load(within(t, ended), batch(10))
	require.NoError(t, err)
	require.EqualValues(t, 4, report.Unselected)
	require.EqualValues(t, 6, report.Loaded)
	require.Zero(t, report.Unaccounted())
	require.Len(t, c.stored(table), 6)
}

func TestCSV(t *testing.T) {
	t.Parallel()
	c := with(t, tooManyVersions(1))
	client, _ := c.client(func(conf *streamload.Config) {
		conf.Options.Format, conf.Options.ColumnSeparator = "csv", "|"
	})
	report, err := client.Load(within(t, ended), streamload.Batch{Database: db, Table: table, Rows: [][]byte{
		[]byte("1|one"), []byte(`2|\N`), []byte("3|three, with a comma"),
	}})
	require.NoError(t, err)
	require.EqualValues(t, 3, report.Loaded)
	found := c.Rows(db, table)
	require.Len(t, found, 3)
	require.Nil(t, found[1]["note"])
	require.Equal(t, "three, with a comma", found[2]["note"])
}

func TestTextComesBackAsItWent(t *testing.T) {
	t.Parallel()
	note := "tab\t \u2028 \u00e4\u00f6\u00fc \U0001f680 \\ \" ' , | \x01"
	c := newCluster(t, emulator.Options{Tables: []emulator.Table{{Database: db, Name: table, Columns: []emulator.Column{
		{Name: "id", Type: "LARGEINT"}, {Name: "note", Type: "STRING"},
	}}}})
	client, _ := c.client()
	_, err := client.Load(within(t, ended), streamload.Batch{Database: db, Table: table, Rows: [][]byte{
		[]byte(`{"id":170141183460469231731687303715884105727,"note":"tab\t \u2028 äöü \ud83d\ude80 \\ \" ' , | \u0001"}`),
	}})
	require.NoError(t, err)
	found := c.Rows(db, table)
	require.Len(t, found, 1)
	require.Equal(t, note, found[0]["note"])
	require.EqualValues(t, "170141183460469231731687303715884105727", found[0]["id"])
}
