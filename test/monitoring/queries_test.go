package monitoring

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/dorisload/benthos-doris/output"
)

const (
	resources = "../../resources"
	dashboard = resources + "/grafana/benthos-doris.json"
	alerts    = resources + "/prometheus/alerts.yaml"
)

// query is an expression in PromQL and where it is from.
type query struct{ where, expr string }

type panel struct {
	ID         int    `json:"id"`
	Type       string `json:"type"`
	Title      string `json:"title"`
	Datasource struct {
		UID string `json:"uid"`
	} `json:"datasource"`
	GridPos struct{ X, Y, W, H int } `json:"gridPos"`
	Targets []struct {
		Expr         string `json:"expr"`
		LegendFormat string `json:"legendFormat"`
		RefID        string `json:"refId"`
	} `json:"targets"`
}

type board struct {
	UID        string  `json:"uid"`
	Title      string  `json:"title"`
	Panels     []panel `json:"panels"`
	Templating struct {
		List []struct {
			Name       string `json:"name"`
			Type       string `json:"type"`
			Definition string `json:"definition"`
		} `json:"list"`
	} `json:"templating"`
}

func readBoard(t *testing.T) board {
	t.Helper()
	text, err := os.ReadFile(dashboard)
	require.NoError(t, err)
	var b board
	require.NoError(t, json.Unmarshal(text, &b))
	return b
}

// queries are those of the dashboard, with its variables filled in.
func (b board) queries() []query {
	fill := strings.NewReplacer("$__rate_interval", "5m", "$job", ".*", "$instance", ".*", "$output", ".*", "$table", ".*")
	var out []query
	for _, p := range b.Panels {
		for _, target := range p.Targets {
			out = append(out, query{"panel " + p.Title, fill.Replace(target.Expr)})
		}
	}
	return out
}

// variables are the selectors that the dashboard's variables ask for values of.
func (b board) variables() []query {
	var out []query
	for _, v := range b.Templating.List {
		if inner, ok := strings.CutPrefix(v.Definition, "label_values("); ok {
			selector, label, _ := cutLast(strings.TrimSuffix(inner, ")"), ", ")
			out = append(out, query{"variable " + v.Name, fmt.Sprintf("count by (%s) (%s)", label, selector)})
		}
	}
	return out
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func readRules(t *testing.T) []rule {
	t.Helper()
	text, err := os.ReadFile(alerts)
	require.NoError(t, err)
	var file struct {
		Groups []struct {
			Rules []rule `yaml:"rules"`
		} `yaml:"groups"`
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	require.Len(t, file.Groups, 1)
	return file.Groups[0].Rules
}

// pageQueries are those in the table of the page on monitoring.
func pageQueries(t *testing.T) []query {
	t.Helper()
	text, err := os.ReadFile("../../docs/monitoring.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "| Question | Ask Prometheus |")
	require.True(t, found)
	var out []query
	for _, cell := range regexp.MustCompile("(?m)\\| `([^`]+)` \\|$").FindAllStringSubmatch(table, -1) {
		out = append(out, query{"docs/monitoring.md", cell[1]})
	}
	require.NotEmpty(t, out)
	return out
}

func allQueries(t *testing.T) []query {
	t.Helper()
	b := readBoard(t)
	out := append(b.queries(), b.variables()...)
	for _, r := range readRules(t) {
		out = append(out, query{"alert " + r.Alert, r.Expr})
	}
	return append(out, pageQueries(t)...)
}

var (
	quoted     = regexp.MustCompile(`"[^"]*"`)
	identifier = regexp.MustCompile(`\b[a-z]+_[a-z_]+\b(\{[^}]*\})?`)
	matcher    = regexp.MustCompile(`([a-z_]+)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
	grouping   = regexp.MustCompile(`\b(?:by|on) \(([^)]*)\)`)
	functions  = []string{"histogram_quantile", "group_left"}
)

// The words of PromQL, and units, that look like names of metrics in a query without its strings.
func metricsIn(expr string) (names []string, selectors [][]string) {
	for _, m := range identifier.FindAllStringSubmatch(expr, -1) {
		name, _, _ := strings.Cut(m[0], "{")
		if slices.Contains(functions, name) || quotedIn(expr, name) {
			continue
		}
		names = append(names, name)
		selectors = append(selectors, []string{name, m[1]})
	}
	return names, selectors
}

// quotedIn is true for a word that is only there inside of strings.
func quotedIn(expr, word string) bool {
	return !strings.Contains(quoted.ReplaceAllString(expr, ""), word)
}

// base is the metric that a series belongs to: timers have several.
func (f families) base(name string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if cut, ok := strings.CutSuffix(name, suffix); ok && f[cut] != nil {
			return cut
		}
	}
	return name
}

// What Prometheus adds itself, or what a series has that was not scraped yet.
var added = []string{"job", "instance", "le"}

// A query for a metric, a label or a value that is not there is an empty panel, or an alert that never rings.
func TestQueriesAskForWhatIsThere(t *testing.T) {
	t.Parallel()

	got, err := scraped()
	require.NoError(t, err)
	declared := map[string]output.Metric{}
	for _, m := range output.MetricsTable() {
		declared[m.Name] = m
	}
	labels := func(name string) []string {
		if m, ok := declared[name]; ok && got[name] == nil {
			return append([]string{"label", "path"}, m.Labels...)
		}
		return got.labels(name)
	}

	for _, q := range allQueries(t) {
		names, selectors := metricsIn(q.expr)
		require.NotEmpty(t, names, "%s: %s", q.where, q.expr)
		var have []string
		for _, name := range names {
			name = got.base(name)
			_, known := declared[name]
			require.True(t, known || got[name] != nil, "%s asks for %s, which does not exist", q.where, name)
			have = append(have, labels(name)...)
		}
		have = append(have, added...)
		for _, s := range selectors {
			name := got.base(s[0])
			for _, m := range matcher.FindAllStringSubmatch(s[1], -1) {
				require.Contains(t, append(labels(name), added...), m[1], "%s: %s", q.where, q.expr)
				for value := range strings.SplitSeq(m[3], "|") {
					require.True(t, valueIsKnown(got, declared, name, m[1], value), "%s: %s never is %q", q.where, m[1], value)
				}
			}
		}
		for _, g := range grouping.FindAllStringSubmatch(q.expr, -1) {
			for label := range strings.SplitSeq(g[1], ",") {
				require.Contains(t, have, strings.TrimSpace(label), "%s: %s", q.where, q.expr)
			}
		}
	}
}

// valueIsKnown is true for values that were scraped, or that the metric's help names.
func valueIsKnown(got families, declared map[string]output.Metric, name, label, value string) bool {
	switch label {
	case "job", "instance", "label", "table", "quantile":
		return value != ""
	}
	for _, m := range got[name].GetMetric() {
		for _, pair := range m.GetLabel() {
			if pair.GetName() == label && pair.GetValue() == value {
				return true
			}
		}
	}
	return regexp.MustCompile(`\b` + value + `\b`).MatchString(declared[name].Help)
}

func TestTheDashboardShowsEveryMetric(t *testing.T) {
	t.Parallel()

	shown := map[string]bool{}
	for _, q := range readBoard(t).queries() {
		names, _ := metricsIn(q.expr)
		for _, name := range names {
			shown[name] = true
		}
	}
	for _, m := range output.MetricsTable() {
		require.True(t, shown[m.Name], "%s is in no panel of %s", m.Name, dashboard)
	}
}

func TestTheDashboardIsWhole(t *testing.T) {
	t.Parallel()

	b := readBoard(t)
	require.Equal(t, "benthos-doris", b.UID)
	variables := []string{}
	for _, v := range b.Templating.List {
		variables = append(variables, v.Name)
	}
	require.Equal(t, []string{"datasource", "job", "instance", "output", "table"}, variables)

	ids := map[int]bool{}
	taken := map[[2]int]string{}
	for _, p := range b.Panels {
		require.False(t, ids[p.ID], "the id %d is there twice", p.ID)
		ids[p.ID] = true
		require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				require.Empty(t, taken[at], "%s lies over another panel", p.Title)
				taken[at] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		require.Equal(t, "${datasource}", p.Datasource.UID, p.Title)
		require.NotEmpty(t, p.Targets, p.Title)
		refs := map[string]bool{}
		for _, target := range p.Targets {
			require.False(t, refs[target.RefID], p.Title)
			refs[target.RefID] = true
			for _, m := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(target.LegendFormat, -1) {
				require.Regexp(t, `by \([^)]*\b`+m[1]+`\b`, target.Expr, "the legend of %s", p.Title)
			}
		}
	}
}

func TestAlertsSayWhatToDo(t *testing.T) {
	t.Parallel()

	seen := map[string]bool{}
	for _, r := range readRules(t) {
		require.False(t, seen[r.Alert], r.Alert)
		seen[r.Alert] = true
		require.Contains(t, []string{"warning", "critical"}, r.Labels["severity"], r.Alert)
		require.NotEmpty(t, r.Annotations["summary"], r.Alert)
		require.NotEmpty(t, r.Annotations["description"], r.Alert)
	}
	page, err := os.ReadFile("../../docs/monitoring.md")
	require.NoError(t, err)
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("`(Doris[A-Za-z]+)`").FindAllStringSubmatch(string(page), -1) {
		documented[m[1]] = true
	}
	require.Equal(t, documented, seen)
}

// With promtool at hand (it comes with Prometheus) the rules are played through, and the queries of the dashboard are parsed.
func TestRulesWithPromtool(t *testing.T) {
	t.Parallel()

	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: the alert rules are not played through")
	}
	said, err := exec.CommandContext(t.Context(), promtool, "test", "rules", resources+"/prometheus/alerts_test.yaml").CombinedOutput()
	require.NoError(t, err, string(said))

	var rules strings.Builder
	rules.WriteString("groups:\n  - name: queries\n    rules:\n")
	for i, q := range allQueries(t) {
		expr, err := json.Marshal(q.expr)
		require.NoError(t, err)
		fmt.Fprintf(&rules, "      - { record: 'q:%d', expr: %s }\n", i, expr)
	}
	path := filepath.Join(t.TempDir(), "queries.yaml")
	require.NoError(t, os.WriteFile(path, []byte(rules.String()), 0o600))
	said, err = exec.CommandContext(t.Context(), promtool, "check", "rules", path).CombinedOutput()
	require.NoError(t, err, string(said))
}
