package output

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"
)

// Values of fields, good and bad, as YAML.
var lintedValues = map[string][]string{
	"dialect": {"doris", "starrocks", "x"}, "fe_urls": {"[]", "[ 'ftp://fe' ]"}, "be_urls": {"[ http://be:8040 ]", "[ 'http://be:0' ]"},
	"database": {"''", "a/b"}, "table": {"'null'", "'..'"}, "username": {"a:b"}, "redirect_policy": {"direct", "x"}, "redirect_map": {"{ a: b }", "{ 'a:1': b }"},
	"format": {"json", "csv", "csv_with_names", "parquet"}, "read_json_by_line": {"false"}, "strip_outer_array": {"true"}, "message_rows": {"many", "x"},
	"jsonpaths": {`'["$.a"]'`, `"[\n]"`}, "json_root": {"$.a", `"a\rb"`}, "num_as_string": {"true"}, "fuzzy_parse": {"true"}, "csv_mapping": {"root = [ this.a ]"},
	"column_separator": {`'\t'`, "'||'", "'ab'", `'\x0'`, "'" + strings.Repeat("y", 60) + "'", "''"}, "line_delimiter": {"''", "','", "'ab'", `'|\n'`, "'" + strings.Repeat("y", 60) + "'"},
	"enclose": {`'"'`, "'|'", "ab"}, "escape": {`'\'`, "'|'", "','"}, "trim_double_quotes": {"true"}, "skip_lines": {"1", "-1"}, "empty_field_as_null": {"true"},
	"compression": {"gzip", "zstd", "x"}, "compression_level": {"1", "10", "-1"}, "columns": {"[ id, v ]", `[ "a\nb" ]`, "[ '' ]"}, "where": {"a > 1", `"a\n> 1"`},
	"max_filter_ratio": {"0", "1.1", ".nan"}, "isolate_bad_rows": {"true"}, "partitions": {"[ p ]", `[ "a\nb" ]`}, "temporary_partitions": {"[ p ]"}, "timezone": {"UTC", `"a\nb"`},
	"exec_mem_limit": {"1", "-1"}, "strict_mode": {"true"},
	"headers": {
		"{ a: b, A: c }", "{ where: x }", "{ columns: x }", "{ timezone: x }", "{ skip_lines: '1' }", "{ skip_header: '1' }", "{ timeout: '1' }", "{ 'a ': x }", "{ exec_mem_limit: '1' }",
		"{ load_mem_limit: '1' }", "{ partial_update: 'true' }", "{ merge_condition: v }", "{ Function_Column.sequence_col: v }", "{ redirect-policy: direct }", "{ merge_type: x }", "{ strict_mode: 'true' }",
		"{ trim_double_quotes: 'true' }", "{ jsonpaths: '[]' }", "{ max_filter_ratio: '0' }", "{ hidden_columns: x }", "{ delete: x }", "{ partitions: p }", "{ partial_update_mode: row }", "{ json_root: $ }",
	},
	"group_commit": {"sync_mode", "async_mode", "x"}, "on_unknown_outcome": {"reject", "x"}, "merge_commit_interval": {"2s", "1us"}, "merge_commit_parallel": {"1", "0"},
	"two_phase_commit": {"true"}, "abort_lingering": {"true"}, "merge_type": {"MERGE", "DELETE", "x"}, "delete": {"a = 1", `"a\nb"`}, "sequence_column": {"v", `"a\nb"`},
	"hidden_columns": {"[ __DORIS_DELETE_SIGN__ ]"}, "partial_columns": {"true"}, "unique_key_update_mode": {"UPSERT", "UPDATE_FIXED_COLUMNS", "UPDATE_FLEXIBLE_COLUMNS", "x"},
	"partial_update_new_key_behavior": {"APPEND", "x"}, "partial_update_mode": {"row", "x"}, "label": {"x", "${! @x }"}, "ledger": {"{ max_rows: 0 }", "{ max_age: -1s }"},
	"max_retries": {"-1", "-2"}, "backoff": {"{ initial_interval: 1us }", "{ initial_interval: 1s, max_interval: 1ms }"}, "label_poll": {"{ max_interval: 1ms }"},
	"timeout": {"72h", "4321m", "0s"}, "connect_timeout": {"-1s"}, "max_in_flight": {"0"}, "linger": {"-1s"}, "max_pending": {"0"}, "max_load_bytes": {"-1"}, "max_load_rows": {"-1"},
	"progress_interval": {"-1s"}, "batching": {"{ count: -1 }", "{ count: 10, period: 0s }", "{ byte_size: -1 }", "{ period: -1h }", "{ period: 1s }"}, "url": {"ftp://x"},
}

// Whatever the constructor refuses, a lint refuses: a config that lints does not fail at its start.
func TestLintsMissNothingThatTheConstructorRefuses(t *testing.T) {
	t.Parallel()
	spec, env := theSpec(), service.NewEnvironment()
	fields := slices.Sorted(maps.Keys(lintedValues))

	looked := map[string]bool{}
	look := func(values map[string]string) {
		var b strings.Builder
		for _, field := range slices.Sorted(maps.Keys(values)) {
			b.WriteString(field + ": " + values[field] + "\n")
		}
		if looked[b.String()] {
			return
		}
		looked[b.String()] = true
		parsed, err := spec.ParseYAML(b.String(), env)
		require.NoError(t, err)
		if _, err = parseConfig(parsed); err == nil {
			return
		}
		require.NotEmpty(t, lintsOf(t, "doris_stream_load:\n"+indent(1, b.String())), "%s%s", b.String(), err)
	}
	base := func(format, dialect string) map[string]string {
		return map[string]string{"fe_urls": "[ http://fe:8030 ]", "database": "d", "table": "t", "format": format, "dialect": dialect}
	}
	for _, format := range []string{"json", "csv"} {
		for _, dialect := range []string{"doris", "starrocks"} {
			for _, field := range fields {
				for _, value := range lintedValues[field] {
					values := base(format, dialect)
					values[field] = value
					look(values)
				}
			}
		}
	}
	dice := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same values each time
	for range 500 {
		values := base([]string{"json", "csv"}[dice.IntN(2)], []string{"doris", "starrocks"}[dice.IntN(2)])
		for range 2 + dice.IntN(2) {
			field := fields[dice.IntN(len(fields))]
			values[field] = lintedValues[field][dice.IntN(len(lintedValues[field]))]
		}
		look(values)
	}
}
