package streamload

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload/encode"
)

func TestOptionsHeader(t *testing.T) {
	t.Parallel()
	// json has what is always sent with JSON; a test changes what differs.
	json := func(change ...string) http.Header {
		h := http.Header{
			"format": {"json"}, "timeout": {"300"}, "strip_outer_array": {"false"}, "read_json_by_line": {"true"}, "group_commit": {"off_mode"},
		}
		for i := 0; i < len(change); i += 2 {
			h[change[i]] = []string{change[i+1]}
		}
		return h
	}
	csv := func(change ...string) http.Header {
		h := json(change...)
		delete(h, "strip_outer_array")
		delete(h, "read_json_by_line")
		for name, value := range map[string]string{"format": "csv", "column_separator": ",", "line_delimiter": `\n`} {
			if _, set := h[name]; !set {
				h[name] = []string{value}
			}
		}
		if !slices.Contains(change, "format") {
			h["format"] = []string{"csv"}
		}
		return h
	}
	other := func(format string) http.Header {
		h := json("format", format)
		delete(h, "strip_outer_array")
		delete(h, "read_json_by_line")
		return h
	}
	for _, test := range []struct {
		name string
		o    Options
		want http.Header
	}{
		{"the defaults", Options{}, json()},
		{"one array", Options{StripOuterArray: true}, json("strip_outer_array", "true", "read_json_by_line", "false")},
		{
			"everything of JSON",
			Options{JSONPaths: `["$.a"]`, JSONRoot: "$.d", NumAsString: true, FuzzyParse: true},
			json("jsonpaths", `["$.a"]`, "json_root", "$.d", "num_as_string", "true", "fuzzy_parse", "true"),
		},
		{
			"everything of a load",
			Options{Columns: []string{"a", "b = a + 1"}, Where: "a > 1", Partitions: []string{"p1", "p2"}, MaxFilterRatio: new(0.25), StrictMode: true},
			json("columns", "a,b = a + 1", "where", "a > 1", "partitions", "p1,p2", "max_filter_ratio", "0.25", "strict_mode", "true"),
		},
		{"redirect policy", Options{RedirectPolicy: "public-private"}, json("redirect-policy", "public-private")},
		{"temporary partitions", Options{TemporaryPartitions: []string{"p"}}, json("temporary_partitions", "p")},
		{"a ratio of nothing is sent", Options{MaxFilterRatio: new(0.0)}, json("max_filter_ratio", "0")},
		{"a small ratio has no exponent", Options{MaxFilterRatio: new(1e-7)}, json("max_filter_ratio", "0.0000001")},
		{"group commit", Options{GroupCommit: "sync_mode"}, json("group_commit", "sync_mode")},
		{"group commit in the background", Options{GroupCommit: "async_mode"}, json("group_commit", "async_mode")},
		{"group commit is off", Options{GroupCommit: "off_mode"}, json("group_commit", "off_mode")},
		{"CSV", Options{Format: "csv"}, csv()},
		{
			"everything of CSV",
			Options{Format: "csv", ColumnSeparator: `\x01`, LineDelimiter: `\r\n`, TrimDoubleQuotes: true, EmptyFieldAsNull: true, SkipLines: 2},
			csv("column_separator", `\x01`, "line_delimiter", `\r\n`, "trim_double_quotes", "true", "empty_field_as_null", "true", "skip_lines", "2"),
		},
		{"quoting", Options{Format: "csv", Enclose: `"`, Escape: `\`}, csv("enclose", `"`, "escape", `\`)},
		{"quoting is for CSV", Options{Enclose: `"`, Escape: `\`}, json()},
		{"gzip", Options{Compression: "gzip"}, json("compress_type", "gz")},
		{"lz4", Options{Format: "csv", Compression: "lz4", CompressionLevel: 9}, csv("compress_type", "lz4")},
		{"deflate", Options{Compression: "deflate"}, json("compress_type", "deflate")},
		{"bzip2", Options{Compression: "bzip2"}, json("compress_type", "bz2")},
		{"no compression", Options{Compression: "none"}, json()},
		{"CSV files", Options{Format: "csv_with_names", Compression: "gzip", Columns: []string{"a"}}, csv("format", "csv_with_names", "compress_type", "gz", "columns", "a")},
		{"files", Options{Format: "parquet", ColumnSeparator: "|", Enclose: `"`, JSONRoot: "$.a", StripOuterArray: true}, other("parquet")},
		{"Arrow", Options{Format: "arrow"}, other("arrow")},
		{"what belongs to CSV is not sent with JSON", Options{ColumnSeparator: "|", TrimDoubleQuotes: true, SkipLines: 2}, json()},
		{"what belongs to JSON is not sent with CSV", Options{Format: "csv", JSONPaths: "x", NumAsString: true}, csv()},
		{
			"more headers",
			Options{Headers: map[string]string{"Merge_Type": "DELETE", "function_column.sequence_col": "ts"}},
			json("merge_type", "DELETE", "function_column.sequence_col", "ts"),
		},
		{"a header wins over what is not set", Options{Headers: map[string]string{"strict_mode": "true", "max_filter_ratio": "0.1"}}, json("strict_mode", "true", "max_filter_ratio", "0.1")},
		{"an empty header is sent", Options{Headers: map[string]string{"comment": ""}}, json("comment", "")},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.o.setDefaults()
			require.Empty(t, problemsOf(test.o))
			require.Equal(t, test.want, test.o.header(5*time.Minute))
		})
	}
}

// A header set in Headers is never overridden: neither by a default of ours nor by an option.
func TestHeadersWin(t *testing.T) {
	t.Parallel()
	o := DefaultOptions()
	for name := range o.header(time.Second) {
		o := o
		o.Headers = map[string]string{name: "mine"}
		require.NotEmpty(t, problemsOf(o), "%s decides what is stored, and must be reserved", name)
		require.Equal(t, []string{"mine"}, o.header(time.Second)[name])
	}
}

func TestTimeoutHeader(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		time.Nanosecond:         "1",
		500 * time.Millisecond:  "1",
		time.Second:             "1",
		1001 * time.Millisecond: "2",
		5 * time.Minute:         "300",
		72 * time.Hour:          "259200",
	} {
		sent := map[string][]string(DefaultOptions().header(d))
		require.Equal(t, []string{want}, sent["timeout"], d)
	}
}

func TestAttemptTimeout(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]time.Duration{
		500 * time.Millisecond: 3 * time.Second,
		time.Second:            3 * time.Second,
		time.Minute:            72 * time.Second,
		5 * time.Minute:        335 * time.Second,
		72 * time.Hour:         72*time.Hour + 35*time.Second,
	} {
		got := attemptTimeout(d)
		require.Equal(t, want, got, d)
		require.Greater(t, got, d, "the server gives up first")
	}
}

// problemsOf are what is wrong with options, in the order in which they are reported.
func problemsOf(o Options) []string {
	c := Config{FEs: []string{"fe"}, Options: o}
	c.setDefaults()
	_, _, err := c.validate()
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

func TestOptionsProblems(t *testing.T) {
	t.Parallel()
	header := func(name, value string) Options { return Options{Headers: map[string]string{name: value}} }
	for _, test := range []struct {
		name string
		o    Options
		want string
	}{
		{"format", Options{Format: "xml"}, `format is "xml"; it must be json, csv, csv_with_names`},
		{"format, letter case", Options{Format: "JSON"}, `format is "JSON"; it must be json, csv, csv_with_names`},
		{"group commit", Options{GroupCommit: "true"}, `group_commit is "true"; it must be sync_mode, async_mode or off_mode`},
		{"ratio above", Options{MaxFilterRatio: new(1.1)}, "max_filter_ratio is 1.1; it must be between 0 and 1"},
		{"ratio below", Options{MaxFilterRatio: new(-0.1)}, "max_filter_ratio is -0.1; it must be between 0 and 1"},
		{"ratio that is none", Options{MaxFilterRatio: new(nan())}, "max_filter_ratio is NaN; it must be between 0 and 1"},
		{"redirect policy", Options{RedirectPolicy: "inner"}, `redirect_policy is "inner"; it must be direct,`},
		{"skip lines", Options{Format: "csv", SkipLines: -1}, "skip_lines is negative"},
		{"two kinds of partitions", Options{Partitions: []string{"a"}, TemporaryPartitions: []string{"b"}}, "partitions and temporary_partitions cannot both be set"},
		{"separators", Options{Format: "csv", ColumnSeparator: "\n"}, "column_separator is the same as line_delimiter"},
		{"separators in other forms", Options{Format: "csv", ColumnSeparator: `\x0a`}, "column_separator is the same as line_delimiter"},
		{"column separator", Options{Format: "csv", ColumnSeparator: `\x0`}, `column_separator has \x without two hex digits behind it; a backslash is written \\`},
		{"line delimiter", Options{Format: "csv", LineDelimiter: strings.Repeat("x", 65)}, "line_delimiter is longer than 64 bytes"},
		{"enclose", Options{Format: "csv", Enclose: "ab"}, `enclose is "ab"; it must be one character of ASCII`},
		{"enclose beyond ASCII", Options{Format: "csv", Enclose: "«"}, `enclose is "«"; it must be one character of ASCII`},
		{"escape", Options{Format: "csv", Escape: "N"}, `escape is "N"; it must be no letter, digit, space or control character`},
		{"escape like enclose", Options{Format: "csv", Enclose: `"`, Escape: `"`}, "escape is the same as enclose"},
		{"escape like enclose, as headers", Options{Format: "csv", Headers: map[string]string{"Enclose": `"`, "escape": `"`}}, "escape is the same as enclose"},
		{"a quoting header and its option", Options{Format: "csv", Enclose: `"`, Headers: map[string]string{"Enclose": `'`}}, `headers contains "Enclose", which is set by the field enclose too`},
		{"skip lines of a file", Options{Format: "csv_with_names", SkipLines: 1}, "skip_lines is not used with format csv_with_names"},
		{"compression", Options{Compression: "gz"}, `compression is "gz"; it must be none, gzip, lz4, zstd, deflate or bzip2`},
		{"compression that Doris does not read", Options{Compression: "zstd"}, "compression is zstd, which Doris does not read"},
		{"compression of an array", Options{Compression: "gzip", StripOuterArray: true}, "compression is gzip, and Doris decompresses JSON only when it reads it by line"},
		{"compression of a file", Options{Format: "parquet", Compression: "lz4"}, "compression is lz4, and files of format parquet have their own"},
		{"level", Options{Compression: "gzip", CompressionLevel: 10}, "compression_level is 10; gzip has the levels 1 to 9, and 0 for its default"},
		{"negative level", Options{Compression: "lz4", CompressionLevel: -1}, "compression_level is -1; lz4 has the levels 1 to 9"},
		{"level of nothing", Options{CompressionLevel: 1}, "compression_level is 1, and there is no compression"},
		{"columns", Options{Columns: []string{"a", "b\nc"}}, "columns contains a line break"},
		{"where", Options{Where: "a\r\nX: y"}, "where contains a line break"},
		{"jsonpaths", Options{JSONPaths: "[\n]"}, "jsonpaths contains a line break"},
		{"json root", Options{JSONRoot: "$\x00"}, "json_root contains a line break"},
		{"partitions", Options{Partitions: []string{"\x7f"}}, "partitions contains a line break"},
		{"temporary partitions", Options{TemporaryPartitions: []string{"\x1b"}}, "temporary_partitions contains a line break"},
		{"header with a line break", header("comment", "a\r\nlabel: x"), `headers contains a line break or another control character in the value of "comment"`},
		{"header with a line break in its name", header("a\nb", "x"), `headers contains the name "a\nb", which is no header name`},
		{"header without a name", header("", "x"), `headers contains the name "", which is no header name`},
		{"header with a colon", header("a:b", "x"), `headers contains the name "a:b", which is no header name`},
		{"header with a space", header("a b", "x"), `headers contains the name "a b", which is no header name`},
		{"header beyond ASCII", header("größe", "x"), `headers contains the name "größe", which is no header name`},
		{"reserved header", header("label", "x"), `headers contains "label", which is reserved: labels are made for each load`},
		{"reserved header, letter case and spaces", header(" LABEL ", "x"), `headers contains " LABEL ", which is reserved`},
		{"a header that makes proxies resend", header("Idempotency-Key", "x"), `headers contains "Idempotency-Key", which is reserved`},
		{"a header that an option sets", Options{Where: "a = 1", Headers: map[string]string{"Where": "b = 1"}}, `headers contains "Where", which is set by the field where too`},
		{"a header twice", Options{Headers: map[string]string{"comment": "a", "Comment": "b"}}, `headers contains "comment" twice, in different letter cases`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := problemsOf(test.o)
			require.Len(t, got, 1, "%q", got)
			require.True(t, strings.HasPrefix(got[0], test.want), "%q", got[0])
		})
	}
	for name := range reservedHeaders {
		require.Len(t, problemsOf(header(strings.ToUpper(name), "x")), 1, name)
	}
	require.Empty(t, problemsOf(Options{Where: "a =\t'größe'", Headers: map[string]string{"X-Any": "größe\t!"}}))
}

func nan() float64 {
	zero := 0.0
	return zero / zero
}

func TestUnlabelled(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]bool{"": false, "off_mode": false, "sync_mode": true, "async_mode": true} {
		require.Equal(t, want, Options{GroupCommit: mode}.Unlabelled(), mode)
	}
}

func TestEncoding(t *testing.T) {
	t.Parallel()
	o := DefaultOptions()
	require.Equal(t, encode.Options{}, o.encoding())
	o.StripOuterArray = true
	require.Equal(t, encode.Options{StripOuterArray: true}, o.encoding())
	o = Options{
		Format: "csv", ColumnSeparator: `\x01`, LineDelimiter: `\r\n`,
		Headers: map[string]string{"Enclose": `"`, "escape": `\`, "comment": "x"},
	}
	require.Equal(t, encode.Options{
		Format: encode.CSV, ColumnSeparator: "\x01", LineDelimiter: "\r\n", Enclose: '"', Escape: '\\',
	}, o.encoding())
	o.Headers = map[string]string{"enclose": ""}
	require.Zero(t, o.encoding().Enclose)
}

func FuzzOptionsHeader(f *testing.F) {
	f.Add("a\r\nb", "x-y", "v", "csv", ",", "\n")
	f.Add("a > 1", "comment", "größe", "json", `\x01`, `\n`)
	f.Fuzz(func(t *testing.T, where, name, value, format, column, line string) {
		o := Options{Where: where, Format: format, ColumnSeparator: column, LineDelimiter: line, Headers: map[string]string{name: value}}
		o.setDefaults()
		if len(problemsOf(o)) > 0 {
			return
		}
		for name, values := range o.header(time.Minute) {
			require.True(t, isToken(name), "%q", name)
			require.Len(t, values, 1)
			require.False(t, strings.ContainsFunc(values[0], isControl), "%q", values[0])
			require.NotContains(t, values[0], "\n")
		}
	})
}

func TestCellsThatALineMustHave(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		columns []string
		want    int
	}{
		{nil, 0},
		{[]string{"a", "b"}, 2},
		{[]string{"a,b", "c"}, 3},
		{[]string{"a", "tmp", "b = from_unixtime(tmp)"}, 2},
		{[]string{"a", "b = if(a = 1, 2, 3)", "c"}, 2},
		{[]string{"`a=b`", "c"}, 2},
		{[]string{"a", `b = replace(a, ',', "(")`, "c"}, 2},
		{[]string{"a", `b = concat('\\',', ', a)`, "c"}, 2},
		{[]string{"a = f(x", "y)", "b"}, 1},
		{[]string{"a", "b="}, 1},
		{[]string{"a", " ", ""}, 1},
		{[]string{"a = 1"}, 0},
		{[]string{"a", "b = f("}, 0},
		{[]string{"a", "b = 'x"}, 0},
	} {
		require.Equal(t, test.want, fileColumns(test.columns), "%q", test.columns)
	}
}

func TestCellsOfOptions(t *testing.T) {
	t.Parallel()
	o, w, err := Options{Format: "csv", Enclose: `"`, Escape: `\`, Columns: []string{"a", "b"}}.Cells()
	require.NoError(t, err)
	require.True(t, o.TrimDoubleQuotes, "some versions leave the quotes in otherwise")
	row, err := w.Append(nil, []any{1, "x,y"})
	require.NoError(t, err)
	require.Equal(t, `1,"x,y"`, string(row))
	_, err = w.Append(nil, []any{1})
	require.EqualError(t, err, "the row has 1 cell(s) and columns names 2, so the server would refuse it")

	o, _, err = Options{Format: "csv", Enclose: `'`, ColumnSeparator: `\x01`}.Cells()
	require.NoError(t, err)
	require.False(t, o.TrimDoubleQuotes)
	_, _, err = Options{}.Cells()
	require.EqualError(t, err, "format is json; it must be csv")
	_, _, err = Options{Format: "csv", TrimDoubleQuotes: true}.Cells()
	require.EqualError(t, err, "trim_double_quotes takes away double quotes that belong to the cells; leave it out")
	_, _, err = Options{Format: "csv", Enclose: `|`, ColumnSeparator: `||`}.Cells()
	require.EqualError(t, err, "the enclose byte `|` is part of a separator")
}

func TestCodecsOfServers(t *testing.T) {
	t.Parallel()
	type header struct{ name, value string }
	for _, test := range []struct {
		dialect encode.Dialect
		format  encode.Format
		want    map[encode.Compression]header
	}{
		{encode.Doris, encode.JSON, map[encode.Compression]header{
			encode.Gzip: {"compress_type", "gz"}, encode.LZ4: {"compress_type", "lz4"}, encode.Deflate: {"compress_type", "deflate"}, encode.Bzip2: {"compress_type", "bz2"},
		}},
		{encode.Doris, encode.CSVWithNames, map[encode.Compression]header{
			encode.Gzip: {"compress_type", "gz"}, encode.LZ4: {"compress_type", "lz4"}, encode.Deflate: {"compress_type", "deflate"}, encode.Bzip2: {"compress_type", "bz2"},
		}},
		{encode.Doris, encode.Parquet, nil},
		{encode.StarRocks, encode.JSON, map[encode.Compression]header{
			encode.Gzip: {"compression", "gzip"}, encode.LZ4: {"compression", "lz4_frame"}, encode.Zstd: {"compression", "zstd"},
			encode.Deflate: {"compression", "deflate"}, encode.Bzip2: {"compression", "bzip2"},
		}},
		{encode.StarRocks, encode.CSV, map[encode.Compression]header{
			encode.Gzip: {"format", "gzip"}, encode.LZ4: {"format", "lz4"}, encode.Zstd: {"format", "zstd"}, encode.Deflate: {"format", "deflate"}, encode.Bzip2: {"format", "bzip2"},
		}},
		{encode.StarRocks, encode.ORC, nil},
	} {
		for c := encode.Uncompressed; c <= encode.Bzip2; c++ {
			name, value, ok := codecHeader(test.dialect, test.format, c)
			want, known := test.want[c]
			require.Equal(t, known, ok, "%d %s %s", test.dialect, test.format, c)
			if known {
				require.Equal(t, want, header{name, value})
			}
		}
	}
}
