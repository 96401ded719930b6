package contract

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/streamload/decide"
)

// oddNames are what an expression may make of a message, and no server takes.
var oddNames = map[string]string{
	"empty":             "",
	"a line break":      "or\nders",
	"a carriage return": "orders\r\nX: y",
	"a NUL":             "or\x00ders",
	"an escape":         "\x1b[31morders",
	"a line separator":  "or\u2028ders/",
	"no UTF-8":          "or\xff\xfeders",
	"very long":         strings.Repeat("orders", 1<<18),
	"very long and odd": strings.Repeat("ä\n", 1<<18),
	"a way out":         "../other/t",
	"a dot":             "..",
	"an escaped slash":  "a%2Fb",
	"a query":           "orders?x=y",
}

// Names come from messages. Whatever they are, nothing is sent, and the error is one short line that can be shown.
func TestOddNames(t *testing.T) {
	t.Parallel()
	c := with(t)
	client, _ := c.client()
	for name, odd := range oddNames {
		for what, b := range map[string]streamload.Batch{
			"table":    {Database: db, Table: odd, Rows: rows(1, 2)},
			"database": {Database: odd, Table: table, Rows: rows(1, 2)},
		} {
			t.Run(what+" with "+name, func(t *testing.T) {
				t.Parallel()
				_, err := client.Load(within(t, ended), b)
				e := failed(t, err)
				require.Equal(t, decide.NotFound, e.Class)
				require.Zero(t, e.Attempts)
				require.ErrorContains(t, err, "the "+what+" name")
				for _, text := range []string{e.Error(), e.Headline(), e.Row(1).Error(), streamload.TableName(b.Database, b.Table)} {
					shown(t, text)
				}
			})
		}
	}
	t.Cleanup(func() { require.Empty(t, c.Requests()) })
}

// shown requires a text to be one short line of valid UTF-8.
func shown(t *testing.T, text string) {
	t.Helper()
	require.Less(t, len(text), 3000)
	require.True(t, utf8.ValidString(text), "%q", text)
	require.False(t, strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }), "%q", text)
}

// Batches of odd names beside one that is held get an error that can be shown too.
func TestOddNamesBesideRowsThatAreHeld(t *testing.T) {
	t.Parallel()
	s := &script{load: func(int, sent) reply { return drop }, state: func(int, string) reply { return stateIs("PREPARE") }}
	s.start(t)
	client, _ := newClient(t, config([]string{s.fe.URL}, retries(-1), func(conf *streamload.Config) { conf.LabelPoll.MaxElapsed = 1 }))
	_, err := client.Load(within(t, ended), batch(3))
	require.NotEmpty(t, unresolved(t, err).Label)
	batches := []streamload.Batch{batch(3)}
	for _, odd := range oddNames {
		batches = append(batches, streamload.Batch{Database: db, Table: odd, Rows: rows(7, 1)})
	}
	errs := client.Held(within(t, ended), batches)
	require.Len(t, errs, len(batches))
	for i, e := range errs {
		shown(t, e.Error())
		shown(t, e.Row(0).Error())
		require.True(t, e.Unresolved, i)
	}
}
