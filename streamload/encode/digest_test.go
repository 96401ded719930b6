package encode

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"slices"
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

// Blocks are no boundaries: rows of every length that matters, in every order.
func TestDigestOfAnyLengths(t *testing.T) {
	t.Parallel()
	var rows [][]byte
	for _, n := range []int{0, 1, 7, 8, 1023, 1024, 1088, 4079, 4080, 4087, 4088, 4089, 4096, 8192, 20_000} {
		rows = append(rows, bytes.Repeat([]byte{'x'}, n))
	}
	for first := range rows {
		in := append(slices.Clone(rows[first:]), rows[:first]...)
		var framed []byte
		for _, row := range in {
			framed = append(binary.LittleEndian.AppendUint64(framed, uint64(len(row))), row...)
		}
		sum := xxh3.Hash128(framed).Bytes()
		want := xxh3.Hash128(append(make([]byte, 8), sum[:]...)).Bytes()
		require.Equal(t, hex.EncodeToString(want[:]), digestOf(in))
	}
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
		{"nothing", "2455e91980d99f3920ba50318d79fe74", nil, nil},
		{"one row", "c622174a0c6f96f84bfc1f7800f54924", rowsOf(`{"a":1}`), nil},
		{"two rows", "f3b80eb8d7edb6dac06232f9654e5a28", rowsOf(`{"a":1}`, `{"a":2}`), nil},
		{"with seeds", "b6fbcbbf678a4bd70a5d478f0eb3e70f", rowsOf(`{"a":1}`, `{"a":2}`), []string{"db", "table"}},
		{"large", "16dff350555cac907c3f4dc9dd04cb29", big, []string{"x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, digestOf(c.rows, c.seed...))
		})
	}
}

// The bytes that are hashed, written out.
func TestDigestIsXXH3OfTheFraming(t *testing.T) {
	t.Parallel()
	rows := xxh3.HashString128("\x01\x00\x00\x00\x00\x00\x00\x00x" + "\x03\x00\x00\x00\x00\x00\x00\x00yyy").Bytes()
	want := xxh3.HashString128("\x01\x00\x00\x00\x00\x00\x00\x00" + "\x02\x00\x00\x00\x00\x00\x00\x00db" + string(rows[:])).Bytes()
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

			c.o.Hash = true
			b, _ = Encode(c.rows, c.o)
			require.Equal(t, d, b.Digest(), "hashed at once")
			one := b.Select(func(i int) bool { return i == 0 })
			d = one.Digest()
			require.Equal(t, digestOf(rows[:1]), hex.EncodeToString(d[:]), "a part of it")
		})
	}
}
