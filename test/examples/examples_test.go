package examples

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

const root = "../.."

// program is the built benthos-doris.
var program string

func TestMain(m *testing.M) {
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "examples")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)

	program = filepath.Join(dir, "benthos-doris")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	build := exec.CommandContext(context.Background(), "go", "build", "-o", dir+"/", root+"/cmd/benthos-doris", root+"/cmd/doris-emulator")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the programs: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// run executes the program in the root of the repository, as the comments in
// the examples have it, and gives what it said.
func run(t *testing.T, stdin string, env []string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = root
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	return said.String(), err
}

// pipeline is an example and what it does.
type pipeline struct {
	config string
	server emulator.Dialect
	tables func(t *testing.T) []emulator.Table
	files  map[string]string // contents, by the environment variable that names the file
	stdin  string
	want   map[string][]string      // rows as JSON, by db.table
	after  func(*testing.T, string) // looks at the folder of the files
}

func declared(tables ...emulator.Table) func(*testing.T) []emulator.Table {
	return func(*testing.T) []emulator.Table { return tables }
}

// readTables are those of a file in resources.
func readTables(name string) func(*testing.T) []emulator.Table {
	return func(t *testing.T) []emulator.Table {
		t.Helper()
		tables, err := emulator.ReadTables(root + "/resources/" + name + ".tables.yaml")
		require.NoError(t, err)
		return tables
	}
}

func column(name, kind string) emulator.Column { return emulator.Column{Name: name, Type: kind} }

// The account that every example takes from its environment.
const (
	user     = "loader"
	password = "p@ss:word"
)

var pipelines = []pipeline{
	{
		config: "stdin-to-doris.yaml",
		tables: declared(emulator.Table{Database: "shop", Name: "orders", Columns: []emulator.Column{
			column("id", "BIGINT"), column("name", "VARCHAR(16)"),
		}}),
		stdin: `{"id":1,"name":"a"}` + "\n" + `{"name":"b","id":2}` + "\n",
		want:  map[string][]string{"shop.orders": {`{"id":1,"name":"a"}`, `{"id":2,"name":"b"}`}},
	},
	{
		config: "csv-to-doris.yaml",
		tables: declared(emulator.Table{Database: "shop", Name: "items", Columns: []emulator.Column{
			column("id", "INT"), column("name", "VARCHAR(16)"), column("price", "DOUBLE"),
		}}),
		want: map[string][]string{"shop.items": {
			`{"id":1,"name":"hammer","price":12.5}`,
			`{"id":2,"name":"nails","price":3.99}`,
			`{"id":3,"name":"saw","price":null}`,
		}},
	},
	{
		config: "cdc-upserts.yaml",
		tables: readTables("customers"),
		// Out of order: what is older does not win.
		files: map[string]string{"DEAD_LETTERS": "", "CHANGES": `{"before":null,"after":{"id":1,"name":"Ann","email":"old"},"source":{"lsn":100},"op":"c"}
{"before":{"id":1,"name":"Ann","email":"old"},"after":{"id":1,"name":"Ann","email":"new"},"source":{"lsn":102},"op":"u"}
{"before":{"id":2,"name":"Bob","email":"b"},"after":null,"source":{"lsn":103},"op":"d"}
{"before":null,"after":{"id":2,"name":"Bob","email":"b"},"source":{"lsn":101},"op":"c"}
null
{"schema":{},"payload":{"before":null,"after":{"id":3,"name":"Cyd","email":null},"source":{"lsn":104},"op":"r"}}
{"op":"t"}
`},
		want: map[string][]string{"shop.customers": {
			`{"id":1,"name":"Ann","email":"new","lsn":102}`,
			`{"id":3,"name":"Cyd","email":null,"lsn":104}`,
		}},
		after: func(t *testing.T, dir string) {
			letters := readLines(t, filepath.Join(dir, "DEAD_LETTERS"))
			require.Len(t, letters, 1)
			require.Contains(t, letters[0], "no change event: op is t")
		},
	},
	{
		config: "csv-from-json.yaml",
		tables: declared(emulator.Table{Database: "shop", Name: "reviews", Columns: []emulator.Column{
			column("id", "BIGINT"), column("stars", "INT"), column("text", "STRING"), column("price", "DECIMAL(18,2)"), column("tags", "JSON"),
		}}),
		want: map[string][]string{"shop.reviews": {
			`{"id":1,"stars":5,"text":"Strong, light, \"as new\"","price":12345678901234.50,"tags":["garden","tools"]}`,
			`{"id":2,"stars":null,"text":"First line\nsecond line","price":0.10,"tags":[]}`,
			`{"id":3,"stars":1,"text":"","price":null,"tags":["a,b"]}`,
			`{"id":12345678901234567,"stars":3,"text":"C:\\new or \\N, both are text","price":0.01,"tags":["x\"y"]}`,
		}},
	},
	{
		config: "many-tables.yaml",
		tables: declared(
			emulator.Table{Database: "events", Name: "click", Columns: []emulator.Column{column("user", "INT"), column("page", "VARCHAR(64)"), column("at", "DATETIME")}},
			emulator.Table{Database: "events", Name: "view", Columns: []emulator.Column{column("user", "INT"), column("page", "VARCHAR(64)"), column("at", "DATETIME")}},
		),
		files: map[string]string{"DEAD_LETTERS": ""},
		want: map[string][]string{
			"events.click": {
				`{"user":1,"page":"/","at":"2026-01-02 03:04:05"}`,
				`{"user":2,"page":"/buy","at":"2026-01-02 03:04:07"}`,
			},
			"events.view": {
				`{"user":1,"page":"/cart","at":"2026-01-02 03:04:06"}`,
				`{"user":2,"page":"/bye","at":"2026-01-02 03:04:09"}`,
			},
		},
		after: func(t *testing.T, dir string) {
			letters := readLines(t, filepath.Join(dir, "DEAD_LETTERS"))
			require.Len(t, letters, 2)
			for i, original := range []string{`{"user":3,"page":"/lost"}`, "this line is no JSON"} {
				var letter struct{ Reason, Message string }
				require.NoError(t, json.Unmarshal([]byte(letters[i]), &letter))
				require.Equal(t, original, letter.Message)
				require.NotEmpty(t, letter.Reason)
			}
		},
	},
	{
		config: "dead-letter.yaml",
		tables: declared(emulator.Table{Database: "shop", Name: "orders", Columns: []emulator.Column{column("id", "INT"), column("note", "VARCHAR(64)")}}),
		files:  map[string]string{"ORDERS": "{\"id\":1,\"note\":\"a book\"}\n{\"id\":2,\"note\":\"cut o\n{\"id\":3,\"note\":\"a lamp\"}\n", "DEAD_LETTERS": ""},
		want:   map[string][]string{"shop.orders": {`{"id":1,"note":"a book"}`, `{"id":3,"note":"a lamp"}`}},
		after: func(t *testing.T, dir string) {
			letters := readLines(t, filepath.Join(dir, "DEAD_LETTERS"))
			require.Len(t, letters, 1)
			require.Contains(t, letters[0], "cut off")
		},
	},
	{
		config: "starrocks.yaml",
		server: emulator.StarRocks,
		tables: readTables("orders"),
		want:   map[string][]string{"shop.orders": {`{"id":1,"note":"two books"}`, `{"id":3,"note":"a chair"}`}},
	},
	{
		config: "logs-group-commit.yaml",
		tables: declared(emulator.Table{Database: "logs", Name: "access", Columns: []emulator.Column{
			column("at", "DATETIME"), column("ip", "VARCHAR(64)"), column("method", "VARCHAR(16)"), column("path", "VARCHAR(512)"), column("status", "INT"), column("bytes", "BIGINT"),
		}}),
		stdin: `10.0.0.7 - - [02/Jan/2026:05:04:05 +0200] "GET /a?b=c HTTP/1.1" 200 512 "-" "curl/8"
no line of a log
10.0.0.8 - me [02/Jan/2026:03:04:06 +0000] "POST /b HTTP/1.1" 304 -
`,
		want: map[string][]string{"logs.access": {
			`{"at":"2026-01-02 03:04:05","ip":"10.0.0.7","method":"GET","path":"/a?b=c","status":200,"bytes":512}`,
			`{"at":"2026-01-02 03:04:06","ip":"10.0.0.8","method":"POST","path":"/b","status":304,"bytes":null}`,
		}},
	},
	{
		config: "backfill.yaml",
		tables: declared(emulator.Table{Database: "shop", Name: "items", Columns: []emulator.Column{
			column("id", "INT"), column("name", "VARCHAR(16)"), column("price", "DOUBLE"),
		}}),
		files: map[string]string{"FILES": "id,name,price\n1,hammer,12.5\n2,\"nails, \"\"long\"\"\",\n"},
		want: map[string][]string{"shop.items": {
			`{"id":1,"name":"hammer","price":12.5}`, `{"id":2,"name":"nails, \"long\"","price":null}`,
		}},
	},
	{
		config: "go-test-events.yaml",
		tables: readTables("go_test_events"),
		files: map[string]string{"EVENTS": `{"Time":"2026-01-02T03:04:05.123456789Z","Action":"run","Package":"p","Test":"TestA"}
{"Time":"2026-01-02T05:04:06+02:00","Action":"output","Package":"p","Test":"TestA","Output":"a \"quoted\" line\n"}
{"Time":"2026-01-02T03:04:07Z","Action":"pass","Package":"p","Elapsed":0.25}
`},
		want: map[string][]string{"ci.go_test_events": {
			`{"time":"2026-01-02 03:04:05.123456","action":"run","package":"p","test":"TestA","elapsed":null,"output":null}`,
			`{"time":"2026-01-02 03:04:06.000000","action":"output","package":"p","test":"TestA","elapsed":null,"output":"a \"quoted\" line\n"}`,
			`{"time":"2026-01-02 03:04:07.000000","action":"pass","package":"p","test":null,"elapsed":0.25,"output":null}`,
		}},
	},
}

func TestPipelines(t *testing.T) {
	t.Parallel()

	for _, p := range pipelines {
		t.Run(p.config, func(t *testing.T) {
			t.Parallel()
			cluster := emulator.New(t, emulator.Options{
				Dialect: p.server,
				Tables:  p.tables(t),
				Users:   []emulator.User{{Name: user, Password: password, Load: []string{"*"}}},
			})
			dir := t.TempDir()
			env := []string{"DORIS_FE=" + cluster.FEURL(), "DORIS_USER=" + user, "DORIS_PASSWORD=" + password}
			for name, content := range p.files {
				path := filepath.Join(dir, name)
				if content != "" {
					require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
				}
				env = append(env, name+"="+path)
			}

			said, err := run(t, p.stdin, env, "run", "config/"+p.config)
			require.NoError(t, err, said)
			for name, want := range p.want {
				require.ElementsMatch(t, canonical(t, want), stored(t, cluster, name), "%s\n%s", name, said)
			}
			if p.after != nil {
				p.after(t, dir)
			}
		})
	}
}

// An example that nobody runs is one that may not work.
func TestEveryPipelineIsRun(t *testing.T) {
	t.Parallel()

	files, err := filepath.Glob(root + "/config/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := filepath.Base(file)
		require.True(t, slices.Contains(served, name) || slices.ContainsFunc(pipelines, func(p pipeline) bool { return p.config == name }),
			"%s has no test here", file)
	}
}

// What the pages show as a config is one. TestBlocksInThePages looks at the blocks one by one, and at those that the program passes over.
func TestConfigsInThePagesLint(t *testing.T) {
	t.Parallel()

	names := slices.Collect(maps.Keys(pages(t)))
	for _, file := range files(t, ".yaml") {
		if strings.HasPrefix(file, "config/") {
			names = append(names, file)
		}
	}
	said, err := run(t, "", nil, append([]string{"lint"}, names...)...)
	require.NoError(t, err, said)
	require.Empty(t, said)
}

// stored are the rows of a table (db.table) as JSON.
func stored(t *testing.T, cluster *emulator.Emulator, name string) []string {
	t.Helper()
	db, table, _ := strings.Cut(name, ".")
	var rows []string
	for _, row := range cluster.Rows(db, table) {
		text, err := json.Marshal(row)
		require.NoError(t, err)
		rows = append(rows, string(text))
	}
	return canonical(t, rows)
}

// canonical writes JSON objects with their keys in order.
func canonical(t *testing.T, rows []string) []string {
	t.Helper()
	out := make([]string, 0, len(rows))
	for _, row := range rows {
		var value any
		in := json.NewDecoder(strings.NewReader(row))
		in.UseNumber() // all digits count
		require.NoError(t, in.Decode(&value), row)
		text, err := json.Marshal(value)
		require.NoError(t, err)
		out = append(out, string(text))
	}
	return out
}

func readLines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}
