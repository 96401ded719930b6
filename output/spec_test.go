package output

import (
	"maps"
	"slices"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	_ "github.com/redpanda-data/benthos/v4/public/components/io"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure"
)

// lintsOf are the texts of the lints of an `output:` in YAML, in order.
func lintsOf(t *testing.T, yaml string) []string {
	t.Helper()
	lints, err := service.NewEnvironment().NewComponentConfigLinter().LintOutputYAML([]byte(yaml))
	require.NoError(t, err)
	texts := []string{}
	for _, l := range lints {
		texts = append(texts, l.What)
	}
	return texts
}

// connectConfigs are what the documentation of Redpanda Connect shows for its output of the same name.
var connectConfigs = map[string]string{
	"its example": `
doris_stream_load:
  url: http://127.0.0.1:8030
  database: test_db
  table: events
  username: root
  password: secret
  format: json
  read_json_by_line: true
  columns: [ id, name, ts ]
`,
	"its common fields": `
label: ""
doris_stream_load:
  fe_urls: [ http://fe1:8030, http://fe2:8030 ]
  database: test_db
  table: events
  username: root
  password: ""
  format: json
  read_json_by_line: true
  strip_outer_array: false
  columns: []
  label_prefix: redpanda_connect
  timeout: 30s
  max_in_flight: 8
  batching: { count: 0, byte_size: 0, period: "", check: "" }
`,
	"all fields with its defaults": `
label: ""
doris_stream_load:
  url: http://127.0.0.1:8030
  fe_urls: []
  database: test_db
  table: events
  username: root
  password: ""
  query_port: 9030
  format: json
  read_json_by_line: true
  strip_outer_array: false
  jsonpaths: ""
  json_root: ""
  columns: []
  where: ""
  column_separator: ","
  line_delimiter: "\n"
  group_commit: ""
  max_filter_ratio: 0
  partitions: []
  temporary_partitions: []
  skip_lines: 0
  empty_field_as_null: false
  trim_double_quotes: false
  num_as_string: false
  fuzzy_parse: false
  label_prefix: redpanda_connect
  headers: {}
  strict_mode: false
  timeout: 30s
  max_in_flight: 8
  batching: { count: 0, byte_size: 0, period: "", check: "", processors: [] }
`,
	"the line delimiter as its reference prints it": `
doris_stream_load:
  url: http://127.0.0.1:8030
  database: test_db
  table: events
  username: root
  password: ""
  line_delimiter: ""
`,
	"both addresses, no query port, an array": `
doris_stream_load:
  url: http://127.0.0.1:8030
  fe_urls: [ "http://fe1:8030", "http://fe2:8030" ]
  database: test_db
  table: events
  username: root
  password: secret
  query_port: 0
  strip_outer_array: true
  batching: { count: 10, period: 1s }
`,
}

func TestConfigsOfConnectRunUnchanged(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(connectConfigs)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			yaml := connectConfigs[name]
			require.Empty(t, lintsOf(t, yaml))
			runOutput(t, "output:\n"+indent(1, yaml))
		})
	}
}

func TestExamplesLintAndConstruct(t *testing.T) {
	t.Parallel()
	for _, e := range examples {
		t.Run(e.title, func(t *testing.T) {
			t.Parallel()
			builder := service.NewStreamBuilder()
			builder.SetEnvVarLookupFunc(func(string) (string, bool) { return "secret", true })
			require.NoError(t, builder.SetYAML(e.config), "it must lint")
			runOutput(t, e.config)
		})
	}
}

func TestFieldsNeedNothingButWhereAndWhat(t *testing.T) {
	t.Parallel()
	require.Empty(t, lintsOf(t, "doris_stream_load: { url: 'localhost:8030', database: d, table: t }"))
	b, err := tryBuild("url: localhost:8030\ndatabase: d\ntable: t")
	require.NoError(t, err)
	require.Equal(t, 1024, b.maxInFlight)
	require.True(t, b.policy.IsNoop())
}

func TestRegisterUnderAnotherName(t *testing.T) {
	t.Parallel()
	env := service.NewEnvironment()
	require.NoError(t, Register(env, "my_doris"))
	require.Error(t, Register(env, "My Doris"))
	names := []string{}
	env.WalkOutputs(func(name string, _ *service.ConfigView) { names = append(names, name) })
	require.Contains(t, names, "my_doris")
	require.Contains(t, names, Name, "importing the package registers the output")
}
