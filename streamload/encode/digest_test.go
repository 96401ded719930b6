package encode

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"
)

func digestOf(rows [][]byte, seed ...string) string {
	b := newBody(rows, nil, jsonLines)
	d := b.Digest(seed...)
	return hex.EncodeToString(d[:])
}

// The digests of version 1. A change here makes every load that is delivered
// again after an upgrade look like a new one: never change them.
func TestDigestGolden(t *testing.T) {
	t.Parallel()
	big := make([][]byte, 5000)
	for i := range big {
		big[i] = []byte(strings.Repeat("abcdefghij", i%40+1))
	}
	for _, c := range []struct {
		name, want string
		rows       [][]byte
		seed       []string
	}{
		{"nothing", "e5189a9599e3f86205ea23ef06e28b2d", nil, nil},
		{"one row", "7c3ddfba9f8efebb28539f274fb7f0b1", rowsOf(`{"a":1}`), nil},
		{"two rows", "61242b771342a5af4cf5c9ea9c51661c", rowsOf(`{"a":1}`, `{"a":2}`), nil},
		{"with seeds", "7012ac23d9d9f0391fe7caf5c72e1c72", rowsOf(`{"a":1}`, `{"a":2}`), []string{"db", "table"}},
		{"large", "16afafb803649145a77c28d3adbfca12", big, []string{"x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, digestOf(c.rows, c.seed...))
		})
	}
}

// The bytes that are hashed, written out, in one piece.
func TestDigestIsXXH3OfTheFraming(t *testing.T) {
	t.Parallel()
	framed := "\x01\x00\x00\x00\x00\x00\x00\x00" + "\x02\x00\x00\x00\x00\x00\x00\x00db" +
		"\x02\x00\x00\x00\x00\x00\x00\x00" + "\x01\x00\x00\x00\x00\x00\x00\x00x" + "\x03\x00\x00\x00\x00\x00\x00\x00yyy"
	want := xxh3.HashString128(framed).Bytes()
	require.Equal(t, hex.EncodeToString(want[:]), digestOf(rowsOf("x", "yyy"), "db"))
}

func TestDigestTellsApart(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for name, d := range map[string]string{
		"a|bc":         digestOf(rowsOf("a", "bc")),
		"ab|c":         digestOf(rowsOf("ab", "c")),
		"abc":          digestOf(rowsOf("abc")),
		"a|b|c":        digestOf(rowsOf("a", "b", "c")),
		"bc|a":         digestOf(rowsOf("bc", "a")),
		"a\\nbc":       digestOf(rowsOf("a\nbc")),
		"none":         digestOf(nil),
		"seed empty":   digestOf(nil, ""),
		"seed a":       digestOf(nil, "a"),
		"row a":        digestOf(rowsOf("a")),
		"seed a|b":     digestOf(nil, "a", "b"),
		"seed ab":      digestOf(nil, "ab"),
		"seed a row b": digestOf(rowsOf("b"), "a"),
	} {
		require.NotContains(t, seen, d, "%s and %s", name, seen[d])
		seen[d] = name
	}
}

func TestDigestIsOfTheLoadedRows(t *testing.T) {
	t.Parallel()
	rows := rowsOf(`{"a":1}`, `{"a":2}`)
	for name, c := range map[string]struct {
		rows [][]byte
		o    Options
	}{
		"by line":          {rows, Options{}},
		"as array":         {rows, Options{StripOuterArray: true}},
		"not validated":    {rows, Options{SkipValidation: true}},
		"with a bad row":   {rowsOf(`{"a":1}`, "", `{"a":2}`), Options{}},
		"with white space": {rowsOf("{\"a\":1}\n", " {\"a\":2}"), Options{}},
		"as CSV":           {rowsOf("{\"a\":1}\r\n", `{"a":2}`), Options{Format: CSV}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _ := Encode(c.rows, c.o)
			d := b.Digest()
			require.Equal(t, digestOf(rows), hex.EncodeToString(d[:]))
			require.Equal(t, d, b.Digest())
		})
	}
}
