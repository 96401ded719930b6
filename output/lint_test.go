package output

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLints(t *testing.T) {
	t.Parallel()
	const (
		noPeriod = "batching has no period: the last messages wait for a batch that never fills, and a pipeline whose input ends does not; set one, for instance period: 1s"
		noLayout = "read_json_by_line and strip_outer_array are both false: json needs one of them, or Doris takes the whole batch for one document"
		noFE     = "fe_urls is empty: at least one FE address is needed, for instance http://localhost:8030"
	)
	for _, c := range []struct {
		name   string
		fields string
		want   []string
	}{
		{"nothing wrong", ``, nil},
		{"no address", `fe_urls: []`, []string{noFE}},
		{"an empty address is none", "fe_urls: []\nurl: ''", []string{noFE}},
		{"the single address will do", "fe_urls: []\nurl: http://fe:8030", nil},
		{"no layout", "read_json_by_line: false", []string{noLayout}},
		{"both layouts", "strip_outer_array: true", nil},
		{"the array alone", "read_json_by_line: false\nstrip_outer_array: true", nil},
		{"csv needs no layout", "format: csv\nread_json_by_line: false", nil},
		{"unknown format", "format: avro", []string{"format is avro; it must be json, csv, csv_with_names, csv_with_names_and_types, parquet, orc or arrow"}},
		{"unknown group commit", "group_commit: sync", []string{"group_commit is sync; it must be sync_mode, async_mode or off_mode"}},
		{"known group commit", "group_commit: async_mode", nil},
		{"ratio too large", "max_filter_ratio: 1.5", []string{"max_filter_ratio is 1.5; it must be between 0 and 1"}},
		{"ratio too small", "max_filter_ratio: -0.5", []string{"max_filter_ratio is -0.5; it must be between 0 and 1"}},
		{"ratio at its end", "max_filter_ratio: 1", nil},
		{"negative lines", "format: csv\nskip_lines: -1", []string{"skip_lines is negative"}},
		{"retries", "max_retries: -2", []string{"max_retries is -2; it must be -1 (never) or more"}},
		{"no retries", "max_retries: -1", nil},
		{"a ledger of no rows", "ledger: { max_rows: 0 }", []string{"ledger.max_rows is 0; it must be at least 1"}},
		{"negative limits of a load", "max_load_rows: -1\nmax_load_bytes: -1", []string{"max_load_rows is negative; 0 sets no bound", "max_load_bytes is negative; 0 sets no bound"}},
		{"nothing in flight", "max_in_flight: 0", []string{"max_in_flight is 0; it must be at least 1"}},
		{
			"two kinds of partitions", "partitions: [ p1 ]\ntemporary_partitions: [ tp1 ]",
			[]string{"partitions and temporary_partitions cannot both be set"},
		},
		{
			"label with sync group commit", "label: x\ngroup_commit: sync_mode",
			[]string{"label cannot be used with group_commit sync_mode, where Doris makes the labels"},
		},
		{
			"label with async group commit", "label: x\ngroup_commit: async_mode",
			[]string{"label cannot be used with group_commit async_mode, where Doris makes the labels"},
		},
		{"label without group commit", "label: x\ngroup_commit: off_mode", nil},
		{"count alone", "batching: { count: 10 }", []string{noPeriod}},
		{"byte size alone", "batching: { byte_size: 1000 }", []string{noPeriod}},
		{"a count of one is no batching", "batching: { count: 1 }", nil},
		{"count and period", "batching: { count: 10, period: 1s }", nil},
		{"a check alone", "batching: { check: this.last }", nil},
		{
			"csv fields with json",
			"column_separator: '|'\nline_delimiter: '\\x02'\ntrim_double_quotes: true\nskip_lines: 1\nempty_field_as_null: true",
			[]string{"only format csv uses column_separator, line_delimiter, trim_double_quotes, skip_lines, empty_field_as_null, and format is json"},
		},
		{
			"csv fields at their defaults", "column_separator: ','\nline_delimiter: \"\\n\"\ntrim_double_quotes: false\nskip_lines: 0", nil,
		},
		{
			"json fields with csv",
			"format: csv\nstrip_outer_array: true\njsonpaths: '[\"$.a\"]'\njson_root: $.a\nnum_as_string: true\nfuzzy_parse: true",
			[]string{"only format json uses strip_outer_array, jsonpaths, json_root, num_as_string, fuzzy_parse, and format is csv"},
		},
		{"json fields at their defaults", "format: csv\nstrip_outer_array: false\njsonpaths: ''", nil},
		{
			"more csv fields with json", "csv_mapping: root = [ this.a ]\nenclose: '\"'\nescape: '\\'",
			[]string{"only format csv uses csv_mapping, enclose, escape, and format is json"},
		},
		{
			"csv fields with a file", "format: orc\nenclose: '\"'\njson_root: $.a",
			[]string{"only format csv uses enclose, and format is orc", "only format json uses json_root, and format is orc"},
		},
		{"a mapping", "format: csv\ncsv_mapping: root = [ this.a ]\nenclose: '\"'\nescape: '\\'", nil},
		{"a mapping for files", "format: csv_with_names\ncsv_mapping: root = [ this.a ]", []string{"csv_mapping is for format csv: with csv_with_names a message is a whole file"}},
		{"a mapping and quotes that are taken away", "format: csv\ncsv_mapping: root = [ this.a ]\ntrim_double_quotes: true", []string{"trim_double_quotes takes away double quotes that belong to the values of csv_mapping: leave it out"}},
		{"a mapping and its quotes", "format: csv\ncsv_mapping: root = [ this.a ]\ntrim_double_quotes: true\nenclose: '\"'", nil},
		{"a mapping and quotes by a header", "format: csv\ncsv_mapping: root = [ this.a ]\ntrim_double_quotes: true\nheaders: { Enclose: '\"' }", nil},
		{"skipped lines of a file", "format: csv_with_names\nskip_lines: 1", []string{"skip_lines is not used with format csv_with_names, which skips its own first lines"}},
		{"enclose of two characters", "format: csv\nenclose: ab", []string{`enclose is "ab"; it must be one character of ASCII that is no letter, digit, space or control character`}},
		{"escape that is a letter", "format: csv\nescape: N", []string{`escape is "N"; it must be one character of ASCII that is no letter, digit, space or control character`}},
		{"escape like enclose", "format: csv\nenclose: '|'\nescape: '|'\ncolumn_separator: ','", []string{"escape is the same as enclose, so that no quoted cell would ever end"}},
		{"unknown compression", "compression: gz", []string{"compression is gz; it must be none, gzip, lz4, zstd, deflate or bzip2"}},
		{"compression of json", "compression: gzip\ncompression_level: 9", nil},
		{"compression of csv", "format: csv\ncompression: bzip2", nil},
		{"compression of csv files", "format: csv_with_names\ncompression: lz4", nil},
		{"compression that is not read", "compression: zstd\ncompression_level: 22", []string{"compression is zstd, which Doris does not read; use gzip, lz4, deflate or bzip2"}},
		{"compression of an array", "compression: lz4\nstrip_outer_array: true", []string{"compression is lz4, and Doris decompresses JSON only when it reads it by line: it cannot be used with strip_outer_array"}},
		{"compression of files", "format: parquet\ncompression: zstd", []string{"compression is zstd, and files of format parquet have their own compression inside: servers take no other around them"}},
		{"level without compression", "compression_level: 3", []string{"compression_level is 3, and there is no compression"}},
		{"level too high", "compression: gzip\ncompression_level: 10", []string{"compression_level is 10; gzip has the levels 1 to 9, and 0 for its default"}},
		{"negative level", "compression: gzip\ncompression_level: -1", []string{"compression_level is negative"}},
		{
			"several at once", "fe_urls: []\nread_json_by_line: false\nmax_filter_ratio: 2",
			[]string{noFE, noLayout, "max_filter_ratio is 2; it must be between 0 and 1"},
		},
		{"merge without its condition", "merge_type: MERGE", []string{"delete is not set: merge_type MERGE needs the condition under which a row deletes"}},
		{"merge", "merge_type: MERGE\ndelete: op = 'd'", nil},
		{"a condition without merge", "delete: op = 'd'", []string{"delete is only for merge_type MERGE"}},
		{"unknown merge type", "merge_type: UPSERT", []string{"merge_type is UPSERT; it must be APPEND, DELETE or MERGE"}},
		{
			"hidden columns beside columns", "hidden_columns: [ __DORIS_DELETE_SIGN__ ]\ncolumns: [ a ]",
			[]string{"hidden_columns is not read when columns is set: name them in columns, and leave hidden_columns out"},
		},
		{"hidden columns", "hidden_columns: [ __DORIS_DELETE_SIGN__ ]", nil},
		{
			"two modes", "partial_columns: true\nunique_key_update_mode: UPSERT\ncolumns: [ id, a ]",
			[]string{"partial_columns is not read when unique_key_update_mode is set: leave it out"},
		},
		{
			"new keys without a partial update", "partial_update_new_key_behavior: ERROR",
			[]string{"partial_update_new_key_behavior is only for a partial update: set partial_columns or unique_key_update_mode"},
		},
		{"new keys of a partial update", "partial_columns: true\ncolumns: [ id, a ]\npartial_update_new_key_behavior: ERROR", nil},
		{
			"a partial update of columns that are not named", "partial_columns: true",
			[]string{"columns is not set: a partial update takes its columns from it, and without it the server replaces whole rows, or refuses the load"},
		},
		{
			"flexible with what it cannot have", "unique_key_update_mode: UPDATE_FLEXIBLE_COLUMNS\nsequence_column: at\nwhere: a > 1",
			[]string{"unique_key_update_mode UPDATE_FLEXIBLE_COLUMNS cannot be used with sequence_column, where"},
		},
		{"flexible", "unique_key_update_mode: UPDATE_FLEXIBLE_COLUMNS", nil},
		{
			"group commit with what turns it off", "group_commit: sync_mode\npartial_columns: true\ncolumns: [ id, a ]\npartitions: [ p ]",
			[]string{"group_commit sync_mode cannot be used with partial_columns, partitions: Doris would leave group commit off without a word"},
		},
		{
			"group commit in two phases", "group_commit: async_mode\ntwo_phase_commit: true",
			[]string{"group_commit async_mode cannot be used with two_phase_commit: Doris would leave group commit off without a word"},
		},
		{"two phases with a label", "two_phase_commit: true\nlabel: ${! this.id }", nil},
		{
			"a map of redirects that there are not", "be_urls: [ http://be:8040 ]\nredirect_map: { a: b }",
			[]string{"redirect_policy and redirect_map have no use with be_urls, where no frontend is asked for a backend"},
		},
		{"unknown policy", "redirect_policy: internal", []string{"redirect_policy is internal; it must be direct, public, private, public-private or random-be"}},
		{
			"bad rows of files", "isolate_bad_rows: true\nformat: parquet",
			[]string{"isolate_bad_rows cannot be used with skip_lines, or a format of which a message is a whole file: the rows cannot be loaded in other groups"},
		},
		{"rejected outcomes", "group_commit: async_mode\non_unknown_outcome: reject", nil},
		{"outcomes that a label tells", "on_unknown_outcome: reject", []string{"on_unknown_outcome is reject, which is for group_commit sync_mode and async_mode only: without them the label tells the outcome, and no row is stored twice for it"}},
		{"the default spelled out", "on_unknown_outcome: retry", nil},
		{"some other thing", "group_commit: sync_mode\non_unknown_outcome: drop", []string{"on_unknown_outcome is drop; it must be retry or reject"}},
		{"bad rows", "isolate_bad_rows: true", nil},
		{"many rows", "message_rows: many", nil},
		{"many rows of csv", "format: csv\nmessage_rows: many\nenclose: '\"'", nil},
		{"some rows", "message_rows: some", []string{"message_rows is some; it must be one or many"}},
		{"many rows in an array", "message_rows: many\nstrip_outer_array: true", []string{"message_rows many is for json by line (read_json_by_line without strip_outer_array) and for csv"}},
		{"many rows in a file", "message_rows: many\nformat: parquet", []string{"message_rows many is for json by line (read_json_by_line without strip_outer_array) and for csv"}},
		{"many rows of cells", "message_rows: many\nformat: csv\ncsv_mapping: root = [ this.a ]", []string{"message_rows many and csv_mapping cannot both be set: the cells of a message make one row"}},
		{"negative memory", "exec_mem_limit: -1", []string{"exec_mem_limit is negative"}},
		{"unknown field", "tabel: x", []string{"field tabel not recognised"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			yaml := "doris_stream_load:\n  database: d\n  table: t\n"
			if !strings.Contains(c.fields, "fe_urls") {
				yaml += "  fe_urls: [ http://fe:8030 ]\n"
			}
			if c.fields != "" {
				yaml += indent(1, c.fields)
			}
			require.ElementsMatch(t, c.want, lintsOf(t, yaml))
		})
	}
}

func TestBrokenExpressionsAreLinted(t *testing.T) {
	t.Parallel()
	for _, field := range []string{"database", "table", "label"} {
		texts := lintsOf(t, "doris_stream_load:\n  fe_urls: [ http://fe:8030 ]\n"+indent(1, strings.ReplaceAll("database: d\ntable: t\nlabel: ''\n", field+": ", field+": ${! this. } # ")))
		require.NotEmpty(t, texts, field)
	}
}

func TestMissingDatabaseAndTableAreLinted(t *testing.T) {
	t.Parallel()
	require.ElementsMatch(t, []string{"field database is required", "field table is required"},
		lintsOf(t, "doris_stream_load: { url: 'http://fe:8030' }"))
}
