package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

const checkPassword = "open-sesame-42"

func checkCluster(t *testing.T) *emulator.Emulator {
	t.Helper()
	table := func(name string) emulator.Table {
		return emulator.Table{Database: "shop", Name: name, Columns: []emulator.Column{{Name: "id", Type: "INT"}}}
	}
	return emulator.New(t, emulator.Options{
		Tables: []emulator.Table{table("a"), table("b"), table("c")},
		Users:  []emulator.User{{Name: "loader", Password: checkPassword, Load: []string{"*"}}},
	})
}

// checkOutputYAML is an output into a table, to stand at some depth.
func checkOutputYAML(e *emulator.Emulator, table string, depth int, more ...string) string {
	lines := append([]string{
		"doris_stream_load:", "  fe_urls: [ " + e.FEURL() + " ]", "  database: shop", "  table: " + table,
		"  username: loader", "  password: " + checkPassword,
	}, more...)
	return strings.Join(lines, "\n"+strings.Repeat(" ", depth)) + "\n"
}

func simpleCheckConfig(e *emulator.Emulator, table string, more ...string) string {
	return "input: { stdin: {} }\noutput:\n  label: to_doris\n  " + checkOutputYAML(e, table, 2, more...)
}

func TestCheckOfAReadyConfig(t *testing.T) {
	t.Parallel()
	e := checkCluster(t)
	got := run(t, "", "check", file(t, "config.yaml", simpleCheckConfig(e, "a")))
	require.Zero(t, got.code, got.stdout+got.stderr)
	require.Empty(t, got.stderr)
	require.Contains(t, got.stdout, "config.yaml(3): to_doris (output), into shop.a\n")
	require.Regexp(t, `(?m)^  ok      fe       FE `+strings.TrimPrefix(e.FEURL(), "http://")+` answers in `, got.stdout)
	require.Regexp(t, `(?m)^  note    key      duplicate key.*\n +-> set label to`, got.stdout)
	require.Contains(t, got.stdout, "1 output looked at: ready for loads\n")
	require.NotContains(t, got.stdout, checkPassword)
	require.Empty(t, e.Loads())

	got = run(t, "", "check", "--load", "-q", file(t, "config.yaml", simpleCheckConfig(e, "a")))
	require.Zero(t, got.code, got.stdout+got.stderr)
	require.Len(t, strings.Split(strings.TrimSpace(got.stdout), "\n"), 3, "only the name and the verdict")
	require.Len(t, e.Loads(), 1)
}

func TestCheckOfABlockedConfig(t *testing.T) {
	t.Parallel()
	e := checkCluster(t)
	config := file(t, "config.yaml", simpleCheckConfig(e, "nowhere"))
	got := run(t, "", "check", config)
	require.Equal(t, 1, got.code)
	require.Regexp(t, `(?m)^  FAILED  table    the table shop\.nowhere does not exist: .*\n +-> create it`, got.stdout)
	require.Contains(t, got.stdout, "1 output looked at: 1 failure\n")

	got = run(t, "", "check", "--json", config)
	require.Equal(t, 1, got.code)
	var doc struct {
		Status  string
		Outputs []struct {
			Config, Path, Label, Database, Table, Status string
			Findings                                     []struct{ Check, Status, Text, Advice string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &doc), got.stdout)
	require.Equal(t, "failed", doc.Status)
	require.Len(t, doc.Outputs, 1)
	o := doc.Outputs[0]
	require.Equal(t, []string{config, "output", "to_doris", "shop", "nowhere", "failed"}, []string{o.Config, o.Path, o.Label, o.Database, o.Table, o.Status})
	found := false
	for _, f := range o.Findings {
		found = found || f.Check == "table" && f.Status == "failed" && strings.Contains(f.Advice, "create it")
	}
	require.True(t, found, got.stdout)
}

func TestCheckFindsOutputsWhereverTheyAre(t *testing.T) {
	t.Parallel()
	e := checkCluster(t)
	config := `
input: { stdin: {} }
output:
  fallback:
    - broker:
        outputs:
          - ` + checkOutputYAML(e, "a", 12) + `
          - switch:
              cases:
                - check: this.x == 1
                  output:
                    ` + checkOutputYAML(e, "${TABLE}", 20) + `
                - output: { resource: shared }
    - drop: {}
output_resources:
  - label: shared
    ` + checkOutputYAML(e, "${OTHER:c}", 4)
	resource := "output_resources:\n  - label: more\n    " + checkOutputYAML(e, "${! this.kind }", 4)
	env := file(t, "vars.env", "TABLE=b\n")
	got := run(t, "", "check", "-e", env, "-r", file(t, "resource.yaml", resource), file(t, "config.yaml", config))
	require.Zero(t, got.code, got.stdout+got.stderr)
	for _, want := range []string{
		"output.fallback.0.broker.outputs.0, into shop.a\n",
		"output.fallback.0.broker.outputs.1.switch.cases.0.output, into shop.b\n",
		"shared (output_resources.0), into shop.c\n",
		"resource.yaml(2): more (output_resources.0), into shop.${! this.kind }\n",
		"4 outputs looked at: ready for loads",
	} {
		require.Contains(t, got.stdout, want)
	}
}

func TestCheckOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	e := checkCluster(t)
	good := simpleCheckConfig(e, "a")
	for _, c := range []struct {
		name, config string
		args         []string // around CONFIG
		says         string
	}{
		{"no config", good, []string{"check"}, "which config?"},
		{"a file that is not there", good, []string{"check", "/nowhere/config.yaml"}, "/nowhere/config.yaml cannot be read: "},
		{"a flag after the config", good, []string{"check", "CONFIG", "--load"}, "--load must stand before the config"},
		{"a flag that nobody knows", good, []string{"check", "--fast", "CONFIG"}, "flag provided but not defined: -fast"},
		{"no time", good, []string{"check", "--timeout", "0s", "CONFIG"}, "--timeout is 0s; it must be more than 0"},
		{"no YAML", "input: [", []string{"check", "CONFIG"}, "cannot be used"},
		{"a field that nobody knows", strings.Replace(good, "username:", "user_nmae:", 1), []string{"check", "CONFIG"}, "user_nmae"},
		{"a value that only the output refuses", good + "    timeout: soon\n", []string{"check", "CONFIG"}, `timeout is "soon"`},
		{"a variable that is not set", strings.Replace(good, checkPassword, "${CHECK_PW}", 1), []string{"check", "CONFIG"}, "needs environment variables that are not set: CHECK_PW"},
		{"no output of ours", "input: { stdin: {} }\noutput: { drop: {} }\n", []string{"check", "CONFIG"}, "has no output doris_stream_load"},
		{"no resources", good, []string{"check", "-r", "/nowhere/r.yaml", "CONFIG"}, "/nowhere/r.yaml cannot be read"},
		{"no variables", good, []string{"check", "-e", "/nowhere/.env", "CONFIG"}, "/nowhere/.env"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			config := file(t, "config.yaml", c.config)
			args := make([]string, len(c.args))
			for i, arg := range c.args {
				args[i] = strings.ReplaceAll(arg, "CONFIG", config)
			}
			got := run(t, "", args...)
			require.Equal(t, 2, got.code, got.stdout+got.stderr)
			require.Contains(t, got.stderr, c.says)
			require.Empty(t, got.stdout)
			require.NotContains(t, got.stderr, checkPassword)
		})
	}
}

func TestCheckSumsUp(t *testing.T) {
	t.Parallel()
	e := checkCluster(t)
	e.StopBE(0)
	got := run(t, "", "check", file(t, "one.yaml", simpleCheckConfig(e, "a")), file(t, "two.yaml", simpleCheckConfig(e, "nowhere")))
	require.Equal(t, 1, got.code)
	require.Contains(t, got.stdout, fmt.Sprintf("2 outputs looked at: %d failures, and 2 warnings\n", 5))
}

func TestHelpNamesCheck(t *testing.T) {
	t.Parallel()
	require.Contains(t, run(t, "", "--help").stdout, "check")
	require.Contains(t, run(t, "", "check", "--help").stdout, "Exits with 0 when nothing stands in the way of loads")
}

func TestVariablesAsBenthosHasThem(t *testing.T) {
	t.Setenv("CHECK_A", "one")
	t.Setenv("CHECK_LINES", "two\nlines: \"x\"")
	schema := service.GlobalEnvironment().FullConfigSchema("", "")
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"a: ${CHECK_A}\n", "a: one\n"},
		{"  a: ${CHECK_B:two}\n\n\nb: [ \"${CHECK_A}\" ]\n\n", "  a: two\n\n\nb: [ \"one\" ]\n\n"},
		{"a: ${! this.a }\nb: ${{CHECK_A}}", "a: ${! this.a }\nb: ${CHECK_A}"},
		{"# text: |\n\ta: 'x' # ${CHECK_A}\n---\n", "# text: |\n\ta: 'x' # one\n---\n"},
		{"a: ${CHECK_LINES}\n", "a: two\\nlines: \"x\"\n"},
	} {
		got, err := interpolate(schema, c.text)
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, got)
	}
}
