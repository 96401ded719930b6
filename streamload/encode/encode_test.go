package encode

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFormatString(t *testing.T) {
	t.Parallel()
	require.Equal(t, "json", JSON.String())
	require.Equal(t, "csv", CSV.String())
	require.Equal(t, "format(9)", Format(9).String())
	var zero Options
	require.Equal(t, JSON, zero.Format)
}

func TestUnknownFormatIsRefused(t *testing.T) {
	t.Parallel()
	b, rejected := Encode(rowsOf(`{"a":1}`, "x"), Options{Format: 9})
	require.Zero(t, b.Rows())
	require.Zero(t, b.Len())
	require.Len(t, rejected, 2)
	require.EqualError(t, rejected[1], "row 1: no rows can be made for the unknown format(9)")
}

func TestNothingToLoad(t *testing.T) {
	t.Parallel()
	for name, rows := range map[string][][]byte{
		"nil": nil, "empty": {}, "nil row": {nil}, "all bad": rowsOf("", "\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, o := range []Options{{}, {StripOuterArray: true}, {Format: CSV}} {
				b, rejected := Encode(rows, o)
				require.Len(t, rejected, len(rows))
				require.Zero(t, b.Rows())
				require.Zero(t, b.Len())
				require.Empty(t, bodyText(t, &b))
				require.Panics(t, func() { b.Index(0) })
			}
		})
	}
	var zero Body
	require.Empty(t, bodyText(t, &zero))
	require.Zero(t, zero.Rows())
}

// Rows of every kind in random order: each is in the body or rejected, once,
// and the body holds them in order.
func TestRowConservation(t *testing.T) {
	t.Parallel()
	kinds := map[Format][]struct{ in, out string }{
		JSON: {
			{`{"a":1}`, `{"a":1}`},
			{`{"long":"` + strings.Repeat("x", 9000) + `"}`, `{"long":"` + strings.Repeat("x", 9000) + `"}`},
			{" {} ", "{}"},
			{"{\n}", "{ }"},
			{"", ""},
			{"[]", ""},
			{`{"a":`, ""},
			{"\xff", ""},
		},
		CSV: {
			{"1,a", "1,a"},
			{strings.Repeat("x", 9000), strings.Repeat("x", 9000)},
			{"2,b\n", "2,b"},
			{"3,c\r\n", "3,c"},
			{"", ""},
			{"\n", ""},
			{"a\nb", ""},
			{"\xff", ""},
		},
	}
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		o := Options{Format: Format(rnd.IntN(2)), StripOuterArray: rnd.IntN(2) == 0}
		// From only good and unchanged ones to the lot.
		some := kinds[o.Format][:1+rnd.IntN(len(kinds[o.Format]))]
		rows := make([][]byte, rnd.IntN(60))
		var want []string
		var wantIndex, wantRejected []int
		for i := range rows {
			k := some[rnd.IntN(len(some))]
			rows[i] = []byte(k.in)
			if k.out == "" {
				wantRejected = append(wantRejected, i)
				continue
			}
			want = append(want, k.out)
			wantIndex = append(wantIndex, i)
		}

		b, rejected := Encode(rows, o)

		checkConserved(t, len(rows), &b, rejected)
		for k, i := range wantIndex {
			require.Equal(t, i, b.Index(k))
		}
		for k, i := range wantRejected {
			require.Equal(t, i, rejected[k].Index)
		}
		text := strings.Join(want, "\n")
		if o.Format == JSON && o.StripOuterArray && len(want) > 0 {
			text = "[" + strings.Join(want, ",") + "]"
		}
		require.Equal(t, text, bodyText(t, &b))
	}
}

// Rows that need no change are not copied, nor is the slice that holds them.
func TestRowsAreNotCopied(t *testing.T) {
	t.Parallel()
	rows := rowsOf(`{"a":1}`, `{"a":2}`, "", " {\"a\":3}\n", "{\n}", `{"a":6}`)
	b, _ := Encode(rows[:2], Options{})
	require.Same(t, &rows[0], &b.rows[0])
	b, _ = Encode(rows[:3], Options{})
	require.Same(t, &rows[0], &b.rows[0], "a bad row at the end needs no other slice")

	b, rejected := Encode(rows, Options{})
	require.Len(t, rejected, 1)
	require.NotSame(t, &rows[0], &b.rows[0])
	require.Same(t, &rows[0][0], &b.rows[0][0])
	require.Same(t, &rows[3][1], &b.rows[2][0])
	require.NotSame(t, &rows[4][0], &b.rows[3][0])
	require.Same(t, &rows[5][0], &b.rows[4][0])
	require.Equal(t, rowsOf(`{"a":1}`, `{"a":2}`, "", " {\"a\":3}\n", "{\n}", `{"a":6}`), rows)
}
