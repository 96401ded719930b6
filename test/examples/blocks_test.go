package examples

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/redpanda-data/benthos/v4/public/components/io"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure"
	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/dorisload/benthos-doris/exporter"
	_ "github.com/dorisload/benthos-doris/output"
)

// block is a fenced block of a page.
type block struct {
	page     string
	line     int
	language string
	text     string
	heading  string // the last one before it
}

var (
	opening  = regexp.MustCompile("^ *```([^`]*)$") // of a block
	anyFence = regexp.MustCompile("(?m)^.{0,9}(```|~~~)[^`\n]*$")
)

func blocks(page, text string) []block {
	var found []block
	var heading string
	open := -1 // the line that the block begins with
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		switch start := opening.FindStringSubmatch(line); {
		case open >= 0 && strings.TrimSpace(line) == "```":
			indent, _, _ := strings.Cut(lines[open], "`")
			b := block{page: page, line: open + 1, language: opening.FindStringSubmatch(lines[open])[1], heading: heading}
			for _, inside := range lines[open+1 : i] {
				b.text += strings.TrimPrefix(inside, indent) + "\n"
			}
			found, open = append(found, b), -1
		case open >= 0:
		case start != nil:
			open = i
		case headings.MatchString(line):
			heading = headings.FindStringSubmatch(line)[1]
		}
	}
	return found
}

// What is done with a block, by its language. A language that is not here fails: a config must not escape the linter by another name.
//
//	yaml     a pipeline that benthos-doris runs; `benthos-doris lint` reads these blocks, and these only
//	yml      YAML that it cannot read: a pipeline with Kafka, a part of a config, a config of another program
//	mermaid, sql: nothing here can read them
var readers = map[string]func(*testing.T, block){
	"yaml": pipelineBlock,
	"yml":  otherYAMLBlock,
	"json": func(t *testing.T, b block) { require.True(t, json.Valid([]byte(b.text)), b.text) },
	"go":   goBlock,
	"sh":   shellBlock,
	"text": func(t *testing.T, b block) {
		require.NotRegexp(t, configKey, b.text, "this is YAML: call it yaml, or yml")
	},
	"mermaid": func(*testing.T, block) {},
	"sql":     func(*testing.T, block) {},
}

var configKey = regexp.MustCompile(`(?m)^ *(input|output|pipeline|buffer|metrics|output_resources|doris_stream_load|apiVersion|services|scrape_configs|rule_files):`)

func TestBlocksInThePages(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for page, text := range pages(t) {
		found := blocks(page, text)
		require.Len(t, found, len(anyFence.FindAllString(text, -1))/2, "%s: a block without an end, or in a place where it is not found", page)
		for _, b := range found {
			seen[b.language]++
			t.Run(fmt.Sprintf("%s:%d", b.page, b.line), func(t *testing.T) {
				t.Parallel()
				read := readers[b.language]
				require.NotNil(t, read, "nothing is known of the language %q", b.language)
				read(t, b)
			})
		}
	}
	for _, language := range []string{"yaml", "yml", "go", "sh"} {
		require.NotZero(t, seen[language], language)
	}
}

// lint gives what the linter of an environment says of a pipeline.
func lint(t *testing.T, env *service.Environment, config string) []service.Lint {
	t.Helper()
	linter := env.FullConfigSchema("", "").NewStreamConfigLinter().
		SetEnvVarLookupFunc(func(context.Context, string) (string, bool) { return "x", true })
	lints, err := linter.LintYAML([]byte(config))
	require.NoError(t, err)
	return lints
}

// ours is what benthos-doris has in it.
func ours(t *testing.T) *service.Environment {
	t.Helper()
	env := service.GlobalEnvironment().Clone()
	require.NoError(t, exporter.Register(env, exporter.Name, nil))
	return env
}

func pipelineBlock(t *testing.T, b block) {
	require.Empty(t, lint(t, ours(t), b.text), b.text)
	require.Empty(t, complaints(t, readSchema(t), b.text))
}

// otherYAMLBlock tells by its keys what a block is.
func otherYAMLBlock(t *testing.T, b block) {
	var keys map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(b.text), &keys), b.text)
	has := func(name string) bool { _, ok := keys[name]; return ok }
	switch {
	case b.page == "docs/doris_stream_load.md":
		// Written by docsgen: the defaults of all fields, with gaps for what has none, and values of one field.
		if has("output") {
			return
		}
		require.Empty(t, complaints(t, readSchema(t), around(t, b)))
	case has("input") && strings.Contains(b.text, "kafka_franz:"):
		require.Empty(t, lint(t, withKafka(t), b.text), b.text)
		require.NotEmpty(t, lint(t, ours(t), b.text), "benthos-doris can read this: call it yaml")
	case has("scrape_configs"): // Prometheus
	default:
		t.Fatalf("what is this?\n%s", b.text)
	}
}

// around is a pipeline with the values of one field, whose path is the heading of the block.
func around(t *testing.T, b block) string {
	t.Helper()
	var value any
	require.NoError(t, yaml.Unmarshal([]byte(b.text), &value))
	path := strings.Split(strings.Trim(b.heading, "`"), ".")
	for _, name := range slices.Backward(path[:len(path)-1]) {
		if list, ok := strings.CutSuffix(name, "[]"); ok {
			value = map[string]any{list: []any{value}}
		} else {
			value = map[string]any{name: value}
		}
	}
	fields, ok := value.(map[string]any)
	require.True(t, ok, b.text)
	for _, name := range []string{"database", "table"} {
		if fields[name] == nil {
			fields[name] = "x"
		}
	}
	config, err := yaml.Marshal(map[string]any{"output": map[string]any{"doris_stream_load": fields}})
	require.NoError(t, err)
	return string(config)
}

// withKafka has components with the names and some of the fields of those of Redpanda Connect, which only the linter can use.
func withKafka(t *testing.T) *service.Environment {
	t.Helper()
	env := ours(t)
	const name = "kafka_franz"
	in := service.NewConfigSpec().Fields(service.NewStringListField("seed_brokers"), service.NewStringListField("topics"), service.NewStringField("consumer_group"),
		service.NewIntField("checkpoint_limit").Default(1024), service.NewBatchPolicyField("batching"))
	require.NoError(t, env.RegisterBatchInput(name, in, func(*service.ParsedConfig, *service.Resources) (service.BatchInput, error) {
		panic("only its name is known")
	}))
	out := service.NewConfigSpec().Fields(service.NewStringListField("seed_brokers"), service.NewInterpolatedStringField("topic"))
	require.NoError(t, env.RegisterBatchOutput(name, out, func(*service.ParsedConfig, *service.Resources) (service.BatchOutput, service.BatchPolicy, int, error) {
		panic("only its name is known")
	}))
	return env
}

// goBlock compiles a program, unless it needs what is not among our modules, and reads statements.
func goBlock(t *testing.T, b block) {
	files := token.NewFileSet()
	if !strings.HasPrefix(strings.TrimLeft(regexp.MustCompile(`(?m)^//.*$`).ReplaceAllString(b.text, ""), "\n"), "package ") {
		_, err := parser.ParseFile(files, "", "package p\nfunc f() {\n"+b.text+"\n}\n", parser.AllErrors)
		require.NoError(t, err, b.text)
		return
	}
	parsed, err := parser.ParseFile(files, "", b.text, parser.AllErrors)
	require.NoError(t, err, b.text)
	if slices.ContainsFunc(parsed.Imports, func(i *ast.ImportSpec) bool { return strings.Contains(i.Path.Value, "redpanda-data/connect") }) {
		return
	}
	file := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(file, []byte(b.text), 0o600))
	vet := exec.CommandContext(t.Context(), "go", "vet", file)
	vet.Dir = root
	said, err := vet.CombinedOutput()
	require.NoError(t, err, "%s", said)
}

var (
	makeWord  = regexp.MustCompile(`(?m)\bmake ([a-z][a-z-]*)`)
	fileWord  = regexp.MustCompile(`(?m)\b(?:config|docs|resources|test)/[\w./-]+`)
	makeEntry = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
)

// shellBlock looks for errors of syntax, targets that make does not have, and files that are not there.
func shellBlock(t *testing.T, b block) {
	makefile, err := os.ReadFile(root + "/Makefile")
	require.NoError(t, err)
	for _, word := range makeWord.FindAllStringSubmatch(b.text, -1) {
		require.True(t, slices.ContainsFunc(makeEntry.FindAllStringSubmatch(string(makefile), -1), func(target []string) bool { return target[1] == word[1] }), "make %s", word[1])
	}
	for _, file := range fileWord.FindAllString(b.text, -1) {
		_, err := os.Stat(filepath.Join(root, file))
		require.NoError(t, err)
	}
	if !strings.HasPrefix(b.page, "test/") {
		require.NotRegexp(t, `\S +# `, b.text, "zsh takes a comment at the end of a line that is typed for arguments")
	}
	syntax := bash(t, "-n", "-c", b.text)
	said, err := syntax.CombinedOutput()
	require.NoError(t, err, "%s", said)
}

func bash(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash here")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, path, args...)
}

// The commands of the README do what it says, on other ports.
func TestReadmeQuickStart(t *testing.T) {
	t.Parallel()
	const start = "bin/doris-emulator &"
	page := blocks("README.md", pages(t)["README.md"])
	at := slices.IndexFunc(page, func(b block) bool { return b.language == "sh" && strings.Contains(b.text, start) })
	require.GreaterOrEqual(t, at, 0, "the README does not start an emulator")
	script := page[at].text
	require.Contains(t, script, "make build\n")

	fe, be := freeAddress(t), freeAddress(t)
	script = strings.ReplaceAll(script, "make build\n", "")
	script = strings.ReplaceAll(script, start, "bin/doris-emulator -quiet -fe "+fe+" -be "+be+" &")
	script = strings.ReplaceAll(script, "bin/", filepath.ToSlash(filepath.Dir(program))+"/")
	script = strings.ReplaceAll(script, "127.0.0.1:8030", fe)
	cmd := bash(t, "-e", "-c", script)
	cmd.Dir = root
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "DORIS_FE=http://" + fe}
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", script, said)
	require.Contains(t, string(said), `{"id":1,"name":"a"}`)
}
