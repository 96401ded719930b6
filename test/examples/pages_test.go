package examples

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
