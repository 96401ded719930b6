package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	testVersion = "v1.2.3-test"
	testDate    = "2026-01-02T03:04:05Z"

	// The name that configs rely on.
	outputName = "doris_stream_load"
)

// stamped is the program as people run it, built once for all tests.
var stamped string

func TestMain(m *testing.M) {
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "benthos-doris")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()

	stamped = filepath.Join(dir, "benthos-doris")
	if runtime.GOOS == "windows" {
		stamped += ".exe"
	}
	build := exec.CommandContext(context.Background(), "go", "build", "-o", stamped,
		"-ldflags", "-X main.version="+testVersion+" -X main.date="+testDate, ".")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the program: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

type result struct {
	code           int
	stdout, stderr string
}

// run executes the program in an empty folder with an environment of its own.
func run(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, stamped, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir}
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	require.NoError(t, ctx.Err(), "%s\n%s", &stdout, &stderr)
	return result{code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
}

// file writes a file that only this test sees.
func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

const goodConfig = `
http:
  enabled: false
input:
  generate:
    count: 1
    interval: ""
    mapping: 'root.id = 1'
output:
  doris_stream_load:
    fe_urls: [ "http://127.0.0.1:8030" ]
    database: demo
    table: ${! @table }
    username: root
    password: ${DORIS_PASSWORD:}
`

func TestVersion(t *testing.T) {
	t.Parallel()

	got := run(t, "", "--version")
	require.Zero(t, got.code, got.stderr)
	require.Regexp(t, `(?m)^Version: v1\.2\.3-test \(Benthos v4\.\d+\.\d+\)$`, got.stdout)
	require.Contains(t, got.stdout, "Date: "+testDate)
}

func TestHelpSpeaksOfThisProgram(t *testing.T) {
	t.Parallel()

	got := run(t, "", "--help")
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stdout, "benthos-doris run ./config.yaml")
	require.Contains(t, got.stdout, documentationURL)
}

func TestLint(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name   string
		config string
		code   int
		says   string
	}{
		{name: "a good config", config: goodConfig},
		{
			name:   "an unknown field of the output",
			config: strings.Replace(goodConfig, "username:", "user_nmae:", 1),
			code:   1,
			says:   "field user_nmae not recognised",
		},
		{
			name:   "a required field is missing",
			config: strings.Replace(goodConfig, "    database: demo\n", "", 1),
			code:   1,
			says:   "field database is required",
		},
		{
			name:   "an interpolation that does not parse",
			config: strings.Replace(goodConfig, "${! @table }", "${! @table + }", 1),
			code:   1,
			says:   "config.yaml(",
		},
		{
			name:   "an output nobody knows",
			config: strings.Replace(goodConfig, "doris_stream_load:", "boris_stream_load:", 1),
			code:   1,
			says:   "boris_stream_load",
		},
		{name: "no YAML", config: "input: [", code: 1, says: "config.yaml"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := run(t, "", "lint", file(t, "config.yaml", test.config))
			require.Equal(t, test.code, got.code, "%s%s", got.stdout, got.stderr)
			require.Contains(t, got.stdout+got.stderr, test.says)
			if test.code == 0 {
				require.Empty(t, got.stdout+got.stderr)
			}
		})
	}
}

func TestLintReadsTheConfigsInMarkdown(t *testing.T) {
	t.Parallel()

	bad := strings.Replace(goodConfig, "username:", "user_nmae:", 1)
	page := file(t, "page.md", "# Page\n\n```yaml"+goodConfig+"```\n\nand\n\n```yaml"+bad+"```\n")
	got := run(t, "", "lint", page)
	require.Equal(t, 1, got.code)
	require.Equal(t, 1, strings.Count(got.stdout+got.stderr, "not recognised"), "%s%s", got.stdout, got.stderr)
}

func TestList(t *testing.T) {
	t.Parallel()

	got := run(t, "", "list", "outputs")
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, strings.Fields(got.stdout), outputName)

	got = run(t, "", "list", "inputs", "processors")
	require.Zero(t, got.code, got.stderr)
	listed := strings.Fields(got.stdout)
	require.Contains(t, listed, "http_server")
	require.Contains(t, listed, "mapping")
	require.NotContains(t, listed, outputName)
}

func TestListAsJSONSchema(t *testing.T) {
	t.Parallel()

	got := run(t, "", "list", "--format", "jsonschema")
	require.Zero(t, got.code, got.stderr)
	require.True(t, json.Valid([]byte(got.stdout)))
	require.Contains(t, got.stdout, outputName)
}

// A config made by create lints once the address is filled in, and until then
// the linter asks for nothing else.
func TestCreatedConfigLints(t *testing.T) {
	t.Parallel()

	for _, args := range [][]string{{"create"}, {"create", "--small"}} {
		created := run(t, "", append(args, "stdin//"+outputName)...)
		require.Zero(t, created.code, created.stderr)
		require.Contains(t, created.stdout, outputName+":")

		got := run(t, "", "lint", file(t, "config.yaml", created.stdout))
		require.Equal(t, 1, got.code, created.stdout)
		lints := strings.Split(strings.TrimSpace(got.stdout+got.stderr), "\n")
		require.Len(t, lints, 1)
		require.Contains(t, lints[0], "fe_urls")

		filled := strings.Replace(created.stdout, "fe_urls: []", `fe_urls: [ "http://127.0.0.1:8030" ]`, 1)
		require.NotEqual(t, created.stdout, filled)
		got = run(t, "", "lint", file(t, "config.yaml", filled))
		require.Zero(t, got.code, "%s%s\n%s", got.stdout, got.stderr, filled)
	}

	got := run(t, "", "create", "stdin//boris_stream_load")
	require.Equal(t, 1, got.code)
}

func TestEchoHidesThePassword(t *testing.T) {
	t.Parallel()

	config := strings.Replace(goodConfig, "${DORIS_PASSWORD:}", "open-sesame", 1)
	got := run(t, "", "echo", file(t, "config.yaml", config))
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stdout, "database: demo")
	require.NotContains(t, got.stdout+got.stderr, "open-sesame")
}

func TestRun(t *testing.T) {
	t.Parallel()

	pipeline := "http: {enabled: false}\nlogger: {level: NONE}\n" +
		"input: {stdin: {}}\npipeline: {processors: [{mapping: 'root = content().uppercase()'}]}\noutput: {stdout: {}}\n"
	for _, args := range [][]string{{"run"}, {"-c"}} {
		got := run(t, "rows\n", append(args, file(t, "config.yaml", pipeline))...)
		require.Zero(t, got.code, got.stderr)
		require.Equal(t, "ROWS\n", got.stdout)
	}
}

// Without metrics in the config there are those for Prometheus.
func TestMetricsForPrometheus(t *testing.T) {
	t.Parallel()

	created := run(t, "", "create", "stdin//stdout")
	require.Zero(t, created.code, created.stderr)
	require.Contains(t, created.stdout, "metrics:\n  prometheus:")

	metrics := file(t, "metrics.txt", "")
	pipeline := "http: {enabled: false}\nlogger: {level: NONE}\ninput: {stdin: {}}\noutput: {drop: {}}\n" +
		"metrics: {prometheus: {file_output_path: '" + metrics + "'}}\n"
	got := run(t, "a\nb\n", "run", file(t, "config.yaml", pipeline))
	require.Zero(t, got.code, got.stderr)
	text, err := os.ReadFile(metrics)
	require.NoError(t, err)
	require.Contains(t, string(text), `input_received{label="",path="root.input"} 2`)
}

func TestRunRefusesABadConfig(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name, old, new, says string
	}{
		{name: "that the linter finds", old: "username:", new: "user_nmae:", says: "user_nmae"},
		{name: "that only the output finds", old: `[ "http://127.0.0.1:8030" ]`, new: "[]", says: "fe_urls"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := run(t, "", "run", file(t, "config.yaml", strings.Replace(goodConfig, test.old, test.new, 1)))
			require.Equal(t, 1, got.code)
			require.Contains(t, got.stdout+got.stderr, test.says)
		})
	}
}

func TestStreamsRefusesABadConfig(t *testing.T) {
	t.Parallel()

	// A good one would run until it is stopped.
	bad := strings.Replace(goodConfig, "username:", "user_nmae:", 1)
	bad = strings.Replace(bad, "http:\n  enabled: false\n", "", 1)
	got := run(t, "", "streams", "--no-api", file(t, "config.yaml", bad))
	require.Equal(t, 1, got.code)
	require.Contains(t, got.stdout+got.stderr, "user_nmae")
}

func TestConfigUnitTests(t *testing.T) {
	t.Parallel()

	config := goodConfig + `
pipeline:
  processors:
    - mapping: 'meta table = this.kind'
tests:
  - name: the table is the kind
    target_processors: /pipeline/processors
    input_batch: [ { json_content: { kind: clicks } } ]
    output_batches: [ [ { metadata_equals: { table: %s } } ] ]
`
	got := run(t, "", "test", file(t, "config.yaml", fmt.Sprintf(config, "clicks")))
	require.Zero(t, got.code, "%s%s", got.stdout, got.stderr)

	got = run(t, "", "test", file(t, "config.yaml", fmt.Sprintf(config, "views")))
	require.Equal(t, 1, got.code)
}

func TestBlobl(t *testing.T) {
	t.Parallel()

	got := run(t, `{"a":1}`+"\n", "blobl", "root.b = this.a + 1")
	require.Zero(t, got.code, got.stderr)
	require.JSONEq(t, `{"b":2}`, got.stdout)
}

func TestUnknownCommand(t *testing.T) {
	t.Parallel()

	got := run(t, "", "lod")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.stderr, "Unrecognised command: lod")
}
