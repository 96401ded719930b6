package output

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// A message may name anything as its table. It fails alone, with a reason that is one short line.
func TestOddTableNames(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	b := build(t, fields(e.FEURL(), "database: d\ntable: ${! this.t }"))
	batch := batchOf(`{"t":"a","id":1}`)
	for _, name := range []string{"a\nb", "a\r\n\tb", "\x1b[31ma", "a\u2028b", strings.Repeat("a", 1<<20), strings.Repeat("ä\n", 1<<18), "a/../b", "a%2Fb"} {
		row, err := json.Marshal(map[string]any{"t": name, "id": 2})
		require.NoError(t, err)
		batch = append(batch, batchOf(string(row))...)
	}
	got, err := write(within(t), t, b, batch)
	require.Len(t, got, len(batch)-1)
	require.NotContains(t, got, 0)
	for _, text := range append([]string{err.Error()}, got[1], got[2], got[3], got[4], got[5], got[6], got[7], got[8]) {
		require.Contains(t, text, "not_found: ")
		require.Less(t, len(text), 3000)
		require.True(t, utf8.ValidString(text))
		require.False(t, strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }), "%q", text)
	}
	require.Equal(t, 1, e.Count("d", "a"))
}
