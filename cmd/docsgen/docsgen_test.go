package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/output"
)

var update = flag.Bool("update", false, "write the golden files in testdata")

// sample is an output with a field of each kind that the pages treat in its own
// way.
func sample(t *testing.T) source {
	t.Helper()
	spec := service.NewConfigSpec().
		Summary("Drops rows into a well.").
		Description("\n## Depth\n\nSee xref:guides:well.adoc[the guide of wells].").
		Footnotes("Wells dry up.").
		Example("One well", "All rows go into it.", "output:\n  well:\n    urls: [ \"http://localhost:1\" ]\n    table: t\n").
		Fields(
			service.NewStringListField("urls").
				Description("Where the wells are, e.g. in the yard. Tried in turn.\n\nA second paragraph.").
				Example([]string{"http://a:1", "http://b:2"}),
			service.NewInterpolatedStringField("table").
				Description("Which well | bucket to use."),
			service.NewStringEnumField("format", "json", "csv").
				Description("Form of a row.").Default("json"),
			service.NewStringAnnotatedEnumField("group", map[string]string{"": "No group.", "a": "Group a."}).
				Description("Who drops.").Default(""),
			service.NewStringField("password").Description("Opens the lid.").Default("").Secret(),
			service.NewBloblangField("mapping").Description("Shapes a row.").Optional(),
			service.NewStringMapField("headers").
				Description("Said before each row. A much longer text follows.").
				ShortDescription("Said before each row, in short.").
				Default(map[string]any{}).Advanced(),
			service.NewObjectField("backoff",
				service.NewDurationField("initial").Description("The first wait.").Default("500ms"),
				service.NewDurationField("max").Description("The longest wait.").Default("10s"),
			).Description("Waits between tries.").Advanced(),
			service.NewObjectListField("ropes",
				service.NewIntField("length").Description("In `m`, or in ``ft``.").Default(3),
			).Description("Ropes to use.").Default([]any{}).Advanced(),
			service.NewStringField("lid").Description("Gone.").Default("").Deprecated(),
		)
	env := service.NewEmptyEnvironment()
	require.NoError(t, env.RegisterBatchOutput("well", spec,
		func(*service.ParsedConfig, *service.Resources) (service.BatchOutput, service.BatchPolicy, int, error) {
			return nil, service.BatchPolicy{}, 0, errors.New("only described")
		}))
	c, err := readOutput(env, "well")
	require.NoError(t, err)
	return source{
		output: c,
		schema: "{}\n",
		tables: []namedTable{{
			name: "depths",
			text: table([]string{"Depth", "Note"}, [][]string{{"1", "shallow"}}),
		}},
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()

	src := sample(t)
	for name, got := range map[string]string{
		"page.md":    outputPage(src.output),
		"options.md": optionTable(src.output),
	} {
		path := filepath.Join("testdata", name)
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Empty(t, diff(path, string(want), got), "go test ./cmd/docsgen -update writes it")
	}
}

func TestReadOutputThatIsNotThere(t *testing.T) {
	t.Parallel()

	_, err := readOutput(service.NewEmptyEnvironment(), "well")
	require.ErrorContains(t, err, `"well"`)
}

func TestFirstSentence(t *testing.T) {
	t.Parallel()

	tests := []struct{ name, text, want string }{
		{"one sentence", "A field.", "A field."},
		{"two sentences", "A field. Another sentence.", "A field."},
		{"an abbreviation", "A field, e.g. this one. Next.", "A field, e.g. this one."},
		{"a code span begins the next", "A field. `x` is one.", "A field."},
		{"a dot inside a word", "See v1.2 of it. Then stop.", "See v1.2 of it."},
		{"wrapped lines", "A\nfield. Next.", "A field."},
		{"a paragraph without a dot", "A list:\n\n- one. Two", "A list:"},
		{"no dot", "A field", "A field"},
		{"nothing", "", ""},
		{"a dot and a space at the end", "A field. ", "A field."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, firstSentence(test.text))
		})
	}
}

func TestMarkers(t *testing.T) {
	t.Parallel()

	tables := []namedTable{{name: "one", text: "| 1 |\n"}, {name: "two", text: "| 2 |\n"}}
	begin := func(name string) string { return "<!-- docsgen:" + name + ":begin -->\n" }
	end := func(name string) string { return "<!-- docsgen:" + name + ":end -->\n" }

	tests := []struct {
		name, page, want string
		shown            []string
		err              string
	}{
		{name: "no markers", page: "text\n", want: "text\n"},
		{
			name:  "old text is replaced, the rest stays",
			page:  "before\n" + begin("one") + "old\n" + end("one") + "after\n",
			want:  "before\n" + begin("one") + "\n| 1 |\n\n" + end("one") + "after\n",
			shown: []string{"one"},
		},
		{
			name:  "two tables, one of them twice",
			page:  begin("two") + end("two") + "x\n" + begin("one") + end("one") + begin("two") + end("two"),
			want:  begin("two") + "\n| 2 |\n\n" + end("two") + "x\n" + begin("one") + "\n| 1 |\n\n" + end("one") + begin("two") + "\n| 2 |\n\n" + end("two"),
			shown: []string{"two", "one", "two"},
		},
		{name: "an unknown table", page: begin("three") + end("three"), err: `no table "three"`},
		{name: "no end", page: begin("one") + "x\n", err: `"one" has no end marker`},
		{name: "no begin", page: "x\n" + end("one"), err: `the end marker of table "one" is out of place`},
		{name: "one inside the other", page: begin("one") + begin("two") + end("two") + end("one"), err: "out of place"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, shown, err := fillMarkers(test.page, tables)
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, got)
			require.Equal(t, test.shown, shown)

			again, _, err := fillMarkers(got, tables)
			require.NoError(t, err)
			require.Equal(t, got, again, "filling twice changes nothing more")
		})
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()

	from := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"
	tests := []struct{ name, from, to, want string }{
		{"equal", from, from, ""},
		{
			"a line changed, with context", from, strings.Replace(from, "6\n", "six\n", 1),
			"@@\n 3\n 4\n 5\n-6\n+six\n 7\n 8\n 9\n",
		},
		{
			"far apart", from, "0\n" + strings.TrimSuffix(from, "12\n"),
			"@@\n+0\n 1\n 2\n 3\n@@\n 9\n 10\n 11\n-12\n",
		},
		{"a new page", "", "1\n", "@@\n+1\n"},
		{"a line twice", "1\n1\n", "1\n", "@@\n 1\n-1\n"},
		{
			"too much to align", "0\n" + strings.Repeat("a\nb\n", 1<<11) + "1\n", "0\nc\n" + strings.Repeat("d\n", 1<<12) + "1\n",
			"@@\n 0\n" + strings.Repeat("-a\n-b\n", 1<<11) + "+c\n" + strings.Repeat("+d\n", 1<<12) + " 1\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := diff("page.md", test.from, test.to)
			if test.want != "" {
				test.want = "--- page.md\n+++ page.md, as generated\n" + test.want
			}
			require.Equal(t, test.want, got)
		})
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()

	src := sample(t)
	root := t.TempDir()
	put := func(path, text string) { require.NoError(t, write(root, path, text)) }

	put("README.md", "# Well\n")
	_, err := plan(root, src)
	require.ErrorContains(t, err, `no page has a place for the table "depths"`)

	put("docs/more.md", "<!-- docsgen:depths:begin -->\n<!-- docsgen:depths:end -->\n")
	pages, err := plan(root, src)
	require.NoError(t, err)
	require.Len(t, pages, 4)
	for _, p := range pages {
		if p.path != "README.md" {
			require.NotEqual(t, p.have, p.new, p.path)
		}
		put(p.path, p.new)
	}

	pages, err = plan(root, src)
	require.NoError(t, err)
	for _, p := range pages {
		require.Equal(t, p.have, p.new, p.path)
	}

	put("docs/more.md", "<!-- docsgen:heights:begin -->\n")
	_, err = plan(root, src)
	require.ErrorContains(t, err, "docs/more.md")
}

// The pages in the repository are those that the code describes.
func TestDocsAreUpToDate(t *testing.T) {
	t.Parallel()

	var changes strings.Builder
	require.NoError(t, run("../..", true, &changes), "%s", &changes)
}

// A stale page is shown and fails the check; writing mends it.
func TestRunMendsAStalePage(t *testing.T) {
	t.Parallel()

	root := t.TempDir()
	for _, name := range []string{"options", "classes", "metrics", "exporter"} {
		require.NoError(t, write(root, docsFolder+"/"+name+".md", "<!-- docsgen:"+name+":begin -->\n<!-- docsgen:"+name+":end -->\n"))
	}
	var out strings.Builder
	require.NoError(t, run(root, false, &out))
	path := docsFolder + "/" + output.Name + ".md"
	require.Contains(t, out.String(), path)
	require.NoError(t, run(root, true, &out))

	good, err := read(root, path)
	require.NoError(t, err)
	require.NoError(t, write(root, path, strings.Replace(good, "## Fields\n", "## Felds\n", 1)))
	out.Reset()
	require.Error(t, run(root, true, &out))
	require.Contains(t, out.String(), "-## Felds\n+## Fields\n")

	require.NoError(t, run(root, false, &out))
	now, err := read(root, path)
	require.NoError(t, err)
	require.Equal(t, good, now)
}
