package streamload

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload/encode"
)

func TestStarRocksHeader(t *testing.T) {
	t.Parallel()
	headers := func(of map[string]string, change ...string) http.Header {
		h := http.Header{"timeout": {"300"}}
		for name, value := range of {
			h[name] = []string{value}
		}
		for i := 0; i < len(change); i += 2 {
			h[change[i]] = []string{change[i+1]}
		}
		return h
	}
	json := map[string]string{"format": "json", "strip_outer_array": "false", "ignore_json_size": "true"}
	csv := map[string]string{"format": "csv", "column_separator": ",", "row_delimiter": `\n`}
	for _, test := range []struct {
		name string
		o    Options
		want http.Header
	}{
		{"the defaults", Options{}, headers(json)},
		{"one array", Options{StripOuterArray: true}, headers(json, "strip_outer_array", "true")},
		{"JSON, gzip", Options{Compression: "gzip"}, headers(json, "compression", "gzip")},
		{"JSON, lz4", Options{Compression: "lz4"}, headers(json, "compression", "lz4_frame")},
		{"CSV", Options{Format: "csv", LineDelimiter: `\x02`, SkipLines: 1}, headers(csv, "row_delimiter", `\x02`, "skip_header", "1")},
		{"CSV, zstd", Options{Format: "csv", Compression: "zstd", Enclose: `"`, Escape: `\`}, headers(csv, "format", "zstd", "enclose", `"`, "escape", `\`)},
		{
			"everything of a load",
			Options{Columns: []string{"a", "__op = 'delete'"}, Where: "a > 1", Partitions: []string{"p"}, MaxFilterRatio: new(0.25), StrictMode: true, ExecMemLimit: 7, Timezone: "UTC", JSONPaths: "[]", JSONRoot: "$.a"},
			headers(json, "columns", "a,__op = 'delete'", "where", "a > 1", "partitions", "p", "max_filter_ratio", "0.25", "strict_mode", "true",
				"load_mem_limit", "7", "timezone", "UTC", "jsonpaths", "[]", "json_root", "$.a"),
		},
		{
			"a partial update",
			Options{Columns: []string{"a", "b"}, Unique: UniqueKey{PartialColumns: true, PartialUpdateMode: "column", SequenceColumn: "b"}},
			headers(json, "columns", "a,b", "partial_update", "true", "partial_update_mode", "column", "merge_condition", "b"),
		},
		{
			"merge commit",
			Options{GroupCommit: "sync_mode", MergeCommit: MergeCommit{Interval: 1500 * time.Millisecond}},
			headers(json, "enable_merge_commit", "true", "merge_commit_async", "false", "merge_commit_interval_ms", "1500", "merge_commit_parallel", "3"),
		},
		{"no merge commit", Options{GroupCommit: "off_mode"}, headers(json)},
		{"a header wins over a default", Options{Headers: map[string]string{"Ignore_JSON_Size": "false", "warehouse": "w"}}, headers(json, "ignore_json_size", "false", "warehouse", "w")},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.o.Dialect = DialectStarRocks
			test.o.setDefaults()
			test.o.validate(func(field, text string, args ...any) { t.Errorf(field+" "+text, args...) })
			require.Equal(t, test.want, test.o.header(5*time.Minute))
		})
	}
}

func TestStarRocksOptionsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		o    Options
		want string
	}{
		"a long separator":         {Options{Format: "csv", ColumnSeparator: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}, "column_separator is 51 bytes long; StarRocks takes at most 50"},
		"the mode of an update":    {Options{Columns: []string{"a"}, Unique: UniqueKey{PartialColumns: true, PartialUpdateMode: "Column"}}, `partial_update_mode is "Column"; it must be row, column or auto`},
		"a field as a header too":  {Options{Columns: []string{"a"}, Unique: UniqueKey{PartialColumns: true}, Headers: map[string]string{"partial_update": "true"}}, `headers contains "partial_update", which is set by the field partial_columns too`},
		"a header of transactions": {Options{Headers: map[string]string{"db": "x"}}, `headers contains "db", which is reserved: use the field database`},
		"an interval of nothing":   {Options{MergeCommit: MergeCommit{Interval: time.Microsecond}}, "merge_commit_interval is 1µs; it must be at least 1ms"},
		"no parallel":              {Options{MergeCommit: MergeCommit{Parallel: -1}}, "merge_commit_parallel is -1; it must be at least 1"},
		"another dialect":          {Options{Dialect: "mysql"}, `dialect is "mysql"; it must be doris or starrocks`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.o.Dialect == "" {
				test.o.Dialect = DialectStarRocks
			}
			_, err := New(Config{FEs: []string{"fe"}, Options: test.o})
			require.EqualError(t, err, test.want)
		})
	}
}

// The quotes of cells belong to StarRocks' reader without a word about them.
func TestStarRocksCells(t *testing.T) {
	t.Parallel()
	o, _, err := Options{Dialect: DialectStarRocks, Format: "csv", Enclose: `"`}.Cells()
	require.NoError(t, err)
	require.False(t, o.TrimDoubleQuotes)
	require.Equal(t, encode.StarRocks, o.encoding().Dialect)
}
