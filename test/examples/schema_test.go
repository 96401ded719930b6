package examples

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/xeipuuv/gojsonschema"
	"gopkg.in/yaml.v3"
)

const schemaFile = root + "/docs/schema.json"

// readSchema is the schema that editors get, which is itself held against that of draft 7.
func readSchema(t *testing.T) *gojsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(schemaFile)
	require.NoError(t, err)
	loader := gojsonschema.NewSchemaLoader()
	loader.Validate = true
	schema, err := loader.Compile(gojsonschema.NewBytesLoader(text))
	require.NoError(t, err)
	return schema
}

// complaints are what an editor with the schema says of a config.
func complaints(t *testing.T, schema *gojsonschema.Schema, config string) []string {
	t.Helper()
	var value any
	require.NoError(t, yaml.Unmarshal([]byte(config), &value), config)
	result, err := schema.Validate(gojsonschema.NewGoLoader(value))
	require.NoError(t, err)
	var said []string
	for _, e := range result.Errors() {
		said = append(said, e.String())
	}
	return said
}

func TestSchemaAcceptsTheExamples(t *testing.T) {
	t.Parallel()
	schema := readSchema(t)
	for _, pattern := range []string{"config/*.yaml", "config/streams/*.yaml"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Empty(t, complaints(t, schema, string(text)), file)
			require.True(t, strings.HasPrefix(string(text), "# yaml-language-server: $schema="), "%s does not name the schema", file)
			to, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# yaml-language-server: $schema="), "\n")
			require.FileExists(t, filepath.Join(filepath.Dir(file), to), file)
		}
	}
}

// The schema and the linter are of one mind, as far as the schema goes.
func TestSchemaAndLinter(t *testing.T) {
	t.Parallel()
	schema := readSchema(t)
	output := func(lines ...string) string {
		return "output:\n  doris_stream_load:\n    database: shop\n    table: orders\n    url: http://fe:8030\n    " + strings.Join(lines, "\n    ") + "\n"
	}
	for name, c := range map[string]struct {
		config string
		says   string // a part of the schema's complaint; empty if there is none
	}{
		"as it should be":            {output("max_in_flight: 4", "format: csv", "fe_urls: [ http://a:8030 ]"), ""},
		"variables":                  {output(`max_in_flight: ${N:4}`, `strict_mode: ${STRICT:true}`, `format: "${FORMAT:json}"`, `max_filter_ratio: ${R:0.1}`), ""},
		"a number for a text":        {output("username: 1234", "password: 5678"), ""},
		"an interpolated table":      {"output:\n  doris_stream_load:\n    url: http://fe:8030\n    database: shop\n    table: ${! this.kind }\n", ""},
		"StarRocks":                  {"output:\n  starrocks_stream_load:\n    url: http://fe:8030\n    database: shop\n    table: orders\n", ""},
		"in a fallback":              {"output:\n  fallback:\n    - doris_stream_load:\n        url: http://fe:8030\n        database: shop\n        table: orders\n    - drop: {}\n", ""},
		"metrics":                    {"metrics:\n  prometheus:\n    add_go_metrics: true\n  mapping: root = this\n", ""},
		"another part's enum":        {"output:\n  broker:\n    pattern: fan_out\n    outputs: [ { drop: {} } ]\n", ""},
		"proposals only":             {"output:\n  file:\n    path: x\n    codec: delim:x\n", ""},
		"a field misspelt":           {output("max_inflight: 4"), "max_inflight is not allowed"},
		"a nested field misspelt":    {output("backoff:", "  initial: 1s"), "initial is not allowed"},
		"a value misspelt":           {output("format: jsn"), "output.doris_stream_load.format"},
		"a dialect misspelt":         {output("dialect: doriss"), "output.doris_stream_load.dialect"},
		"no table":                   {"output:\n  doris_stream_load:\n    url: http://fe:8030\n    database: shop\n", "table is required"},
		"a text for a list":          {output("fe_urls: http://fe:8030"), "output.doris_stream_load.fe_urls"},
		"an object for a text":       {output("username: { name: x }"), "output.doris_stream_load.username"},
		"no output has the name":     {"output:\n  doris_stream_lod:\n    table: x\n", "doris_stream_lod is not allowed"},
		"in a fallback, misspelt":    {"output:\n  fallback:\n    - doris_stream_load:\n        url: http://fe:8030\n        database: shop\n        tabel: orders\n", "tabel is not allowed"},
		"a bad name of a part":       {"output:\n  label: No Good\n  drop: {}\n", "output.label"},
		"no part of a config":        {"ouput:\n  drop: {}\n", "ouput is not allowed"},
		"an input's field, misspelt": {"input:\n  http_server:\n    pth: /x\n", "pth is not allowed"},
		"metrics, misspelt":          {"metrics:\n  prometheus:\n    add_go_metric: true\n", "add_go_metric is not allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := strings.Join(complaints(t, schema, c.config), "\n")
			file := filepath.Join(t.TempDir(), "config.yaml")
			require.NoError(t, os.WriteFile(file, []byte(c.config), 0o600))
			linted, err := run(t, "", nil, "lint", file)
			if c.says == "" {
				require.Empty(t, said)
				require.NoError(t, err, linted)
				return
			}
			require.Contains(t, said, c.says)
			require.Error(t, err, "the linter has nothing against it")
		})
	}
}

// What the program has in it is in the schema, and the output's fields tell what they are for.
func TestSchemaIsComplete(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(schemaFile)
	require.NoError(t, err)
	var schema struct {
		Definitions map[string]struct {
			Properties map[string]struct {
				Properties map[string]map[string]any
				Required   []string
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &schema))

	said, err := run(t, "", nil, "list", "--format", "json")
	require.NoError(t, err, said)
	var listed map[string][]string
	require.NoError(t, json.Unmarshal([]byte(said), &listed))
	for plural, kind := range map[string]string{
		"buffers": "buffer", "caches": "cache", "inputs": "input", "outputs": "output", "processors": "processor", "rate-limits": "rate_limit",
		"metrics": "metrics", "tracers": "tracer", "scanners": "scanner",
	} {
		require.NotEmpty(t, listed[plural], plural)
		for _, name := range listed[plural] {
			require.Contains(t, schema.Definitions[kind].Properties, name, kind)
		}
	}
	for name, dialect := range map[string]string{"doris_stream_load": "doris", "starrocks_stream_load": "starrocks"} {
		output := schema.Definitions["output"].Properties[name]
		require.Equal(t, []string{"database", "table"}, output.Required)
		require.Equal(t, dialect, output.Properties["dialect"]["default"])
		for field, told := range output.Properties {
			require.NotEmpty(t, told["description"], "%s.%s", name, field)
		}
	}
}
