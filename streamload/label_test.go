package streamload

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload/encode"
)

// legalLabel is what the oldest FE takes (FeNameFormat.java; newer ones also take a colon).
var legalLabel = regexp.MustCompile(`^[-_A-Za-z0-9]{1,128}$`)

func TestRandomLabelsAreKnownByTheirForm(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"benthos", "a b.c", "", "größe", "x_" + strings.Repeat("y", 200), "a(b"} {
		ours := randomLabels(prefix)
		base := randomLabel(prefix)
		for _, n := range []int{0, 1, 9999} {
			require.Regexp(t, ours, attemptLabel(base, n))
		}
		if len(prefix) < 60 { // a longer one is cut
			require.NotRegexp(t, ours, randomLabel(prefix+"_x"))
			require.NotRegexp(t, ours, randomLabel("x"+prefix))
		}
	}
}

func bodyOf(t *testing.T, rows ...string) (Batch, *encode.Body) {
	t.Helper()
	b := Batch{Database: "shop", Table: "orders", Identity: "orders-0-4711"}
	for _, r := range rows {
		b.Rows = append(b.Rows, []byte(r))
	}
	body, rejected := encode.Encode(b.Rows, encode.Options{})
	require.Empty(t, rejected)
	return b, &body
}

func TestLegal(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in    string
		limit int
		want  string
	}{
		{"benthos", 99, "benthos"},
		{"-_AZaz09", 99, "-_AZaz09"},
		{"a b/c.d:e+f=g@h", 99, "a_b_c_d_e_f_g_h"},
		{"größe", 99, "gr____e"},
		{"a\x00\xff\n", 99, "a___"},
		{"abcdef", 3, "abc"},
		{"äbc", 2, "__"},
		{"abc", 0, ""},
		{"", 9, ""},
	} {
		require.Equal(t, test.want, legal(test.in, test.limit), "%q", test.in)
	}
}

func TestRandomLabel(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 10000 {
		l := randomLabel("benthos")
		require.Regexp(t, `^benthos_[a-z2-7]{26}$`, l)
		require.False(t, seen[l])
		seen[l] = true
	}
	long := randomLabel(strings.Repeat("ä", 1000))
	require.Len(t, long, maxLabel-suffixRoom)
	require.Regexp(t, legalLabel, attemptLabel(long, math.MaxInt32))
	require.Regexp(t, legalLabel, randomLabel(""))
}

// The label is how a load that was committed is known again, also by another version of this program: it must never change.
func TestStableLabelNeverChanges(t *testing.T) {
	t.Parallel()
	b, body := bodyOf(t, `{"id":1}`, `{"id":2}`)
	require.Equal(t, "benthos_orders-0-4711_edb721fa59a370e6b38a4e8a0a878a0d", stableLabel("benthos", b, body))
}

func TestStableLabelMeansTheseRows(t *testing.T) {
	t.Parallel()
	b, body := bodyOf(t, `{"id":1}`, `{"id":2}`)
	base := stableLabel("benthos", b, body)
	require.Equal(t, base, stableLabel("benthos", b, body))

	// The same rows as another process would have them: other memory, other layout, other rows rejected beside them.
	again, rejected := encode.Encode([][]byte{[]byte(`{"id":1}`), []byte(`broken`), []byte(`{"id":2}`)}, encode.Options{StripOuterArray: true})
	require.Len(t, rejected, 1)
	require.Equal(t, base, stableLabel("benthos", b, &again))

	different := map[string]string{"": base}
	add := func(what, label string) {
		require.Regexp(t, legalLabel, label, what)
		for other, l := range different {
			require.NotEqual(t, l, label, "%s and %s", what, other)
		}
		different[what] = label
	}
	for what, change := range map[string]func(*Batch){
		"another table":      func(b *Batch) { b.Table = "orders2" },
		"another database":   func(b *Batch) { b.Database = "shop2" },
		"another identity":   func(b *Batch) { b.Identity = "orders-0-4712" },
		"names run together": func(b *Batch) { b.Database, b.Table = "shopo", "rders" },
		// These become the same letters in the label itself.
		"an identity of other letters":         func(b *Batch) { b.Identity = "orders-0.4711" },
		"an identity of other letters as well": func(b *Batch) { b.Identity = "orders-0/4711" },
	} {
		other := b
		change(&other)
		add(what, stableLabel("benthos", other, body))
	}
	for what, rows := range map[string][]string{
		"one row less":      {`{"id":1}`},
		"another order":     {`{"id":2}`, `{"id":1}`},
		"another row":       {`{"id":1}`, `{"id":3}`},
		"other white space": {`{"id":1}`, `{"id": 2}`},
		"one row more":      {`{"id":1}`, `{"id":2}`, `{"id":2}`},
	} {
		_, other := bodyOf(t, rows...)
		add(what, stableLabel("benthos", b, other))
	}
	// What has to be cut is in the hash all the same.
	for i := range 3 {
		long := b
		long.Identity = strings.Repeat("topic", 100) + strconv.Itoa(i)
		add("a long identity "+strconv.Itoa(i), stableLabel(strings.Repeat("prefix", 100), long, body))
	}
}

func TestStableLabelShares(t *testing.T) {
	t.Parallel()
	b, body := bodyOf(t, `{"id":1}`)
	b.Identity = strings.Repeat("i", 200)
	require.Len(t, stableLabel("p", b, body), maxLabel, "a long identity takes what a short prefix leaves")
	b.Identity = "i"
	require.Regexp(t, `^p{47}_i_[0-9a-f]{32}$`, stableLabel(strings.Repeat("p", 200), b, body), "a long prefix leaves room for the identity")
}

func TestAttemptLabel(t *testing.T) {
	t.Parallel()
	require.Equal(t, "b", attemptLabel("b", 0))
	require.Equal(t, "b_1", attemptLabel("b", 1))
	require.Equal(t, "b_12", attemptLabel("b", 12))
}

func FuzzLabels(f *testing.F) {
	f.Add("benthos", "topic-0-1", "db", "t", `{"a":1}`, 3)
	f.Add("", "", "", "", "", 0)
	f.Add(strings.Repeat("ä", 200), strings.Repeat("\x00", 200), "d/b", "t\n", "{}", math.MaxInt32)
	f.Fuzz(func(t *testing.T, prefix, identity, database, table, row string, n int) {
		n = min(max(n, 0), math.MaxInt32)
		require.Regexp(t, legalLabel, attemptLabel(randomLabel(prefix), n))

		b := Batch{Database: database, Table: table, Identity: identity, Rows: [][]byte{[]byte(row)}}
		body, _ := encode.Encode(b.Rows, encode.Options{})
		label := stableLabel(prefix, b, &body)
		require.Regexp(t, legalLabel, label)
		require.Equal(t, label, stableLabel(prefix, b, &body))
		other := b
		other.Identity += "x"
		require.NotEqual(t, label, stableLabel(prefix, other, &body))
		other = b
		other.Table += "x"
		require.NotEqual(t, label, stableLabel(prefix, other, &body))
		other = b
		other.Database, other.Table = b.Database+b.Table, ""
		if b.Table != "" {
			require.NotEqual(t, label, stableLabel(prefix, other, &body))
		}
		more, _ := encode.Encode([][]byte{[]byte(row), []byte(`{"x":1}`)}, encode.Options{})
		require.NotEqual(t, label, stableLabel(prefix, b, &more))
	})
}
