package output

import (
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
)

// What the server of the other dialect would ignore without a word is refused by the linter and by the constructor, in the same words.
func TestFieldsOfTheOtherDialect(t *testing.T) {
	t.Parallel()
	const (
		inStarRocks = " is not known to StarRocks, which would ignore it without a word: "
		inDoris     = " is not known to Doris, which would ignore it without a word: it is for dialect starrocks"
		deletes     = "give the rows the key or column __op, where 0 stores and 1 deletes, or compute it in columns (__op = 'delete')"
	)
	for _, c := range []struct {
		dialect, fields string
		want            []string
	}{
		{"starrocks", "", nil},
		{"doris", "", nil},
		{"starrocks", "exec_mem_limit: 1000\nsequence_column: at\ngroup_commit: off_mode", nil},
		{"starrocks", "num_as_string: true", []string{"num_as_string" + inStarRocks + "make the numbers texts in the rows"}},
		{"starrocks", "fuzzy_parse: true", []string{"fuzzy_parse" + inStarRocks + "leave it out"}},
		{"starrocks", "format: csv\ntrim_double_quotes: true", []string{"trim_double_quotes" + inStarRocks + "use enclose"}},
		{"starrocks", "format: csv\nempty_field_as_null: true", []string{"empty_field_as_null" + inStarRocks + `write \N for NULL, or use csv_mapping, which does`}},
		{"starrocks", "merge_type: MERGE\ndelete: op = 'd'", []string{"merge_type" + inStarRocks + deletes, "delete" + inStarRocks + deletes}},
		{"starrocks", "hidden_columns: [ __DORIS_DELETE_SIGN__ ]", []string{"hidden_columns" + inStarRocks + deletes}},
		{"starrocks", "unique_key_update_mode: UPSERT", []string{"unique_key_update_mode" + inStarRocks + "use partial_columns, where all rows have the same columns"}},
		{
			"starrocks", "partial_columns: true\ncolumns: [ a ]\npartial_update_new_key_behavior: APPEND",
			[]string{"partial_update_new_key_behavior" + inStarRocks + "leave it out: rows with new keys are stored"},
		},
		{"starrocks", "redirect_policy: public", []string{"redirect_policy" + inStarRocks + "use redirect_map or be_urls"}},
		{"starrocks", "partial_columns: true\ncolumns: [ a ]\npartial_update_mode: column", nil},
		{"starrocks", "partial_columns: true", []string{"columns is not set: a partial update takes its columns from it, and without it the server replaces whole rows, or refuses the load"}},
		{"starrocks", "partial_update_mode: row", []string{"partial_update_mode is only for a partial update: set partial_columns"}},
		{"starrocks", "group_commit: sync_mode\nmerge_commit_interval: 50ms\nmerge_commit_parallel: 1", nil},
		{"starrocks", "merge_commit_interval: 0s", []string{"merge_commit_interval is 0s; it must be more than 0"}},
		{
			"starrocks", "group_commit: async_mode",
			[]string{"group_commit is async_mode, with which StarRocks answers before anything is stored, so that acknowledged rows could be lost: use sync_mode"},
		},
		{
			"starrocks", "format: csv\ngroup_commit: sync_mode\nskip_lines: 1",
			[]string{"group_commit sync_mode cannot be used with skip_lines: loads that are merged cannot have it"},
		},
		{"starrocks", "two_phase_commit: true", nil},
		{"starrocks", "two_phase_commit: true\nlabel: x", []string{"label cannot be used with two_phase_commit and dialect starrocks, where a label can be used once only"}},
		{
			"starrocks", "two_phase_commit: true\ngroup_commit: sync_mode",
			[]string{"group_commit sync_mode cannot be used with two_phase_commit: loads that are merged cannot have it"},
		},
		{
			"starrocks", "two_phase_commit: true\nformat: csv\nenclose: '\"'\nskip_lines: 1",
			[]string{"two_phase_commit cannot be used with enclose, skip_lines: a transaction of StarRocks would ignore it without a word"},
		},
		{"starrocks", "format: parquet", []string{"format is parquet, which StarRocks does not load: it reads json and csv"}},
		{"starrocks", "format: csv_with_names", []string{"format is csv_with_names, which StarRocks does not load: it reads json and csv"}},
		{"starrocks", "compression: zstd", nil},
		{"starrocks", "compression: gzip\nstrip_outer_array: true", nil},
		{"starrocks", "read_json_by_line: false", nil},
		{"starrocks", "headers: { warehouse: w, ignore_json_size: 'false' }", nil},
		{
			"starrocks", "headers: { Skip_Lines: '1', merge_type: DELETE }",
			[]string{
				`headers contains "Skip_Lines", which StarRocks would ignore without a word: use the field skip_lines`,
				`headers contains "merge_type", which StarRocks would ignore without a word: ` + deletes,
			},
		},
		{"starrocks", "headers: { row_delimiter: x }", []string{`headers contains "row_delimiter", which is reserved: use the field line_delimiter`}},
		{"doris", "partial_update_mode: row", []string{"partial_update_mode" + inDoris}},
		{"doris", "merge_commit_parallel: 4\nmerge_commit_interval: 2s", []string{"merge_commit_parallel" + inDoris, "merge_commit_interval" + inDoris}},
		{"oracle", "", []string{"dialect is oracle; it must be doris or starrocks"}},
	} {
		t.Run(c.dialect+" "+c.fields, func(t *testing.T) {
			t.Parallel()
			yaml := "dialect: " + c.dialect + "\nfe_urls: [ http://fe:8030 ]\ndatabase: d\ntable: t\n" + c.fields
			require.ElementsMatch(t, c.want, lintsOf(t, "doris_stream_load:\n"+indent(1, yaml)))
			_, err := parse(t, yaml)
			if c.want == nil {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			for _, want := range c.want {
				field, _, _ := strings.Cut(want, " ")
				require.Contains(t, err.Error(), field+" ")
				if strings.Contains(want, "without a word") || strings.Contains(want, "StarRocks") {
					require.Contains(t, strings.Split(err.Error(), "\n"), want)
				}
			}
		})
	}
}

// Every field that a dialect lacks is in the spec, under that name.
func TestDialectFieldsAreFields(t *testing.T) {
	t.Parallel()
	parsed, err := Spec().ParseYAML("fe_urls: [ fe ]\ndatabase: d\ntable: t", nil)
	require.NoError(t, err)
	for _, f := range append(streamload.NotInStarRocks(), streamload.NotInDoris()...) {
		require.True(t, parsed.Contains(f.Field), f.Field)
	}
}

// Under its other name the output has the other dialect, unless the config says otherwise.
func TestTheNamesOfTheOutput(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{Name: "doris", StarRocksName: "starrocks", "loader": "doris"} {
		parsed, err := SpecFor(name).ParseYAML("fe_urls: [ fe ]\ndatabase: d\ntable: t", nil)
		require.NoError(t, err)
		conf, err := parseConfig(parsed)
		require.NoError(t, err)
		require.Equal(t, want, conf.client.Options.Dialect)
	}
	linter := service.GlobalEnvironment().NewComponentConfigLinter()
	for _, c := range []struct {
		config string
		lints  int
	}{
		{"starrocks_stream_load: { url: 'http://fe:8030', database: d, table: t }", 0},
		{"starrocks_stream_load: { url: 'http://fe:8030', database: d, table: t, fuzzy_parse: true }", 1},
		{"starrocks_stream_load: { url: 'http://fe:8030', database: d, table: t, fuzzy_parse: true, dialect: doris }", 0},
		{"doris_stream_load: { url: 'http://fe:8030', database: d, table: t, fuzzy_parse: true, dialect: starrocks }", 1},
	} {
		lints, err := linter.LintOutputYAML([]byte(c.config))
		require.NoError(t, err)
		require.Len(t, lints, c.lints, c.config)
	}
}
