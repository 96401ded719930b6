package examples

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/output"
	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/streamload/decide"
)

// pages are all Markdown files for readers, by path from the root of the repository.
func pages(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, name := range files(t, ".md") {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		texts[name] = string(text)
	}
	require.Contains(t, texts, "README.md")
	return texts
}

var (
	links    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headings = regexp.MustCompile("(?m)^#+ +(.*)$")
	noSlug   = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	pathCell = regexp.MustCompile("(?m)^\\| `([^` ]+)` \\|")
)

// anchors are the names that the headings of a page get on a web page.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	for _, h := range headings.FindAllStringSubmatch(text, -1) {
		slug := noSlug.ReplaceAllString(strings.ToLower(strings.TrimSpace(h[1])), "")
		names[strings.ReplaceAll(slug, " ", "-")] = true
	}
	return names
}

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	texts := pages(t)
	for name, text := range texts {
		for _, link := range links.FindAllStringSubmatch(text, -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			path, anchor, anchored := strings.Cut(link[1], "#")
			to := name
			if path != "" {
				to = filepath.ToSlash(filepath.Join(filepath.Dir(name), path))
				_, err := os.Stat(filepath.Join(root, to))
				require.NoError(t, err, "a link in %s", name)
			}
			if anchored {
				require.Contains(t, anchors(texts[to]), anchor, "a link in %s to %s", name, link[1])
			}
		}
	}
}

// A page that the index does not have is one that nobody finds.
func TestIndexHasAllPages(t *testing.T) {
	t.Parallel()
	texts := pages(t)
	for name := range texts {
		if page, ok := strings.CutPrefix(name, "docs/"); ok && page != "README.md" {
			require.Contains(t, texts["docs/README.md"], "| ["+page+"]("+page+") |")
		}
	}
}

// What CONTRIBUTING says of the directories is about directories that are there.
func TestDirectoriesAreThere(t *testing.T) {
	t.Parallel()
	cells := pathCell.FindAllStringSubmatch(pages(t)["CONTRIBUTING.md"], -1)
	require.NotEmpty(t, cells)
	for _, cell := range cells {
		_, err := os.Stat(filepath.Join(root, strings.TrimSuffix(cell[1], "/...")))
		require.NoError(t, err)
	}
}

var (
	codeSpan   = regexp.MustCompile("`([^`]+)`")
	metricWord = regexp.MustCompile(`\bdoris_[a-z_]+\b`)
)

// Metrics that the pages name are metrics of the output.
func TestMetricsInThePages(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, name := range []string{output.Name, output.StarRocksName} {
		known[name] = true
	}
	for _, m := range output.MetricsTable() {
		known[m.Name] = true
	}
	for name, text := range pages(t) {
		for _, word := range metricWord.FindAllString(text, -1) {
			require.True(t, known[word], "%s names %s", name, word)
		}
	}
}

// docs/errors.md says what to do about each class, and in which stage a load can end.
func TestErrorsPageIsComplete(t *testing.T) {
	t.Parallel()
	page := pages(t)["docs/errors.md"]
	for _, row := range decide.ClassTable() {
		require.Contains(t, page, "\n| `"+string(row.Class)+"` | ")
	}
	_, advice, ok := strings.Cut(page, "## Classes\n")
	require.True(t, ok)
	advice, _, _ = strings.Cut(advice, "\n## ")
	for _, class := range []decide.Class{
		decide.DataQuality, decide.Schema, decide.Auth, decide.NotFound, decide.Capacity, decide.Timeout, decide.Unavailable, decide.LabelTaken,
		decide.Protocol, decide.TooLarge, decide.Unknown,
	} {
		require.Contains(t, advice, "\n| `"+string(class)+"` | ")
	}
	for _, stage := range []streamload.Stage{
		streamload.StageEncode, streamload.StageLimit, streamload.StageConnect, streamload.StageFrontend, streamload.StageLoad, streamload.StageLabel,
		streamload.StageStopped,
	} {
		require.Contains(t, page, "`"+string(stage)+"`")
	}
}

// The texts by which the README knows an error are those of errors: of the class table, of this program, or of what it is made with.
func TestErrorTextsInTheReadme(t *testing.T) {
	t.Parallel()
	others := []string{"connection refused", "i/o timeout", "unable to infer input type"}
	var sources strings.Builder
	for _, file := range files(t, ".go") {
		if (strings.HasPrefix(file, "output/") || strings.HasPrefix(file, "streamload/")) && !strings.HasSuffix(file, "_test.go") {
			text, err := os.ReadFile(filepath.Join(root, file))
			require.NoError(t, err)
			sources.Write(text)
		}
	}
	_, section, ok := strings.Cut(pages(t)["README.md"], "## When something goes wrong\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	texts := 0
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for _, span := range codeSpan.FindAllStringSubmatch(cells[1], -1) {
			texts++
			if !slices.Contains(others, span[1]) {
				require.Contains(t, strings.ToLower(sources.String()), strings.ToLower(span[1]))
			}
		}
	}
	require.Greater(t, texts, 10)
}
