package preflight

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
)

func TestSplitColumns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		header string
		want   []mapping
	}{
		{"", nil},
		{" a , b,c ", []mapping{{"a", ""}, {"b", ""}, {"c", ""}}},
		{"a, b = f(a, ',', g(1,2)), c", []mapping{{"a", ""}, {"b", "f(a, ',', g(1,2))"}, {"c", ""}}},
		{"`a,b`, c='x,\\',y'", []mapping{{"a,b", ""}, {"c", `'x,\',y'`}}},
		{"t, ok = t = 'x'", []mapping{{"t", ""}, {"ok", "t = 'x'"}}},
		{"a), b", []mapping{{"a)", ""}, {"b", ""}}},
		{"a = (", []mapping{{"a", "("}}},
	} {
		require.Equal(t, c.want, splitColumns(c.header), c.header)
	}
}

func FuzzSplitColumns(f *testing.F) {
	f.Add("a, b = f(a, ','), `c`")
	f.Fuzz(func(t *testing.T, header string) {
		for _, m := range splitColumns(header) {
			if len(m.name)+len(m.expr) > len(header) {
				t.Fatalf("%q has more in it than %q", m, header)
			}
			uses(m.expr, m.name)
		}
	})
}

func TestUses(t *testing.T) {
	t.Parallel()
	require.True(t, uses("to_date(T)", "t"))
	require.True(t, uses("t", "t"))
	require.True(t, uses("tt + t", "t"))
	require.False(t, uses("tt + t_t", "t"))
	require.False(t, uses("", "t"))
}

func TestColumnsAgainstTheTable(t *testing.T) {
	t.Parallel()
	table := streamload.TableInfo{KeysType: "UNIQUE_KEYS", HasKeys: true, Columns: []streamload.Column{
		{Name: "id", Key: true}, {Name: "day", Key: true}, {Name: "a"}, {Name: "b"},
	}}
	set := func(f func(*streamload.Options)) streamload.Options {
		o := streamload.DefaultOptions()
		f(&o)
		return o
	}
	for _, c := range []struct {
		name    string
		options streamload.Options
		want    []string
	}{
		{"json without columns", set(func(*streamload.Options) {}), []string{"ok columns: keys of the messages"}},
		{"csv without columns", set(func(o *streamload.Options) { o.Format = "csv" }), []string{"ok columns: each line needs 4 cells"}},
		{"all of them", set(func(o *streamload.Options) { o.Columns = []string{"ID", "day", "a", "b"} }), []string{"ok columns: all names in columns fit"}},
		{"some in one text, with an expression", set(func(o *streamload.Options) { o.Columns = []string{"id, raw, day = to_date(raw), a, b"} }), []string{"ok columns: "}},
		{"hidden columns of the table", set(func(o *streamload.Options) { o.Columns = []string{"id", "day", "a", "b", "__DORIS_DELETE_SIGN__"} }), []string{"ok columns: "}},
		{"some are left out", set(func(o *streamload.Options) { o.Columns = []string{"id", "day"} }), []string{"note columns: columns leaves out a, b: "}},
		{"a name that is none", set(func(o *streamload.Options) { o.Columns = []string{"id", "day", "a", "bb", "b"} }), []string{"warning columns: columns names bb, which is no column of d.t and which no expression uses"}},
		{"an expression for a column that is none", set(func(o *streamload.Options) { o.Columns = []string{"id", "day", "a", "b", "c = a + 1"} }), []string{"failed columns: columns fills \"c\", which is no column of d.t"}},
		{
			"paths and names differ in number", set(func(o *streamload.Options) { o.JSONPaths, o.Columns = `["$.id","$.x"]`, []string{"id", "day", "x=1"} }),
			[]string{"warning|failed columns: ", "note columns: columns leaves out a, b"},
		},
		{"more paths than names", set(func(o *streamload.Options) { o.JSONPaths, o.Columns = `["$.id","$.d","$.a"]`, []string{"id", "day"} }), []string{"failed columns: jsonpaths has 3 paths, and columns 2 names"}},
		{"a partial update without a key column", set(func(o *streamload.Options) { o.Unique.PartialColumns, o.Columns = true, []string{"id", "a"} }), []string{"failed columns: a partial update needs the key column day"}},
		{"a partial update", set(func(o *streamload.Options) { o.Unique.PartialColumns, o.Columns = true, []string{"id", "day", "a"} }), []string{"ok columns: "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := &run{Subject: Subject{Database: "d", Table: "t"}, conf: streamload.Config{Options: c.options}}
			r.columns(table)
			all := strings.Join(lines(r.Report), "\n")
			for _, want := range c.want {
				if alternatives, rest, ok := strings.Cut(want, " "); ok && strings.Contains(alternatives, "|") {
					require.Regexp(t, "(?m)^("+alternatives+") "+rest, all)
					continue
				}
				requireFinding(t, r.Report, want)
			}
		})
	}
}
