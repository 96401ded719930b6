package streamload

import (
	"maps"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/dorisload/benthos-doris/streamload/encode"
)

// Options are the settings of a load, mostly headers of Stream Load under the same names (Doris: be http_common.h and the Stream Load
// manual). A header is sent only when its option is set, except that the layout of JSON and the commit mode are always
// spelled out, because servers differ in their defaults.
type Options struct {
	// Dialect is whose servers are loaded into: DialectDoris (default) or DialectStarRocks. Options that StarRocks knows by another name are
	// translated; those that it does not have are refused (NotInStarRocks, NotInDoris).
	Dialect string

	// Format of the rows: "json" (default), "csv", or, with Doris, one of those of which a row is a whole body and a load takes one row:
	// "csv_with_names", "csv_with_names_and_types", "parquet", "orc", "arrow".
	Format string

	// Compression of the body, for JSON and CSV: "none" (default), "gzip", "lz4", "zstd", "deflate" or "bzip2". Doris reads no zstd, and
	// compressed JSON from 3.0.5 on; StarRocks reads compressed JSON from 3.2.7 on. Labels and the ledger are made of the rows, so it does not
	// change them.
	Compression string
	// CompressionLevel is how hard to try, 1 to 9 (zstd: 22). Default 0: what suits loads, the fastest.
	CompressionLevel int

	// SkipValidation reduces the check of a JSON row to its frame: it begins with "{" and ends with "}". A row that is no valid JSON then
	// fails the whole load at the server, or worse: what follows a first document in a row is dropped without a word.
	SkipValidation bool
	// ManyRows says that each row of a batch is a message of any number of lines, each of them a row of the table: for JSON by line and CSV. A message is
	// stored as a whole or not at all, and one bad line fails it. It is not divided, so MaxLoadBytes has to have room for it.
	ManyRows bool
	// StripOuterArray sends a JSON batch as one array; otherwise it is one object a line (read_json_by_line).
	StripOuterArray bool
	// JSONPaths, JSONRoot, NumAsString and FuzzyParse are the headers.
	JSONPaths, JSONRoot     string
	NumAsString, FuzzyParse bool

	// ColumnSeparator and LineDelimiter of CSV, as real bytes or in the escaped forms \n, \t, \r, \\ and \x01; at most 64 bytes.
	// Defaults "," and "\n".
	ColumnSeparator, LineDelimiter string
	// Enclose stands around cells of CSV, and Escape before a byte in them that has no meaning then: one ASCII character each, no letter,
	// digit or space. Default: none.
	Enclose, Escape string
	// TrimDoubleQuotes, EmptyFieldAsNull and SkipLines are the headers, for CSV.
	TrimDoubleQuotes, EmptyFieldAsNull bool
	SkipLines                          int

	// Columns is sent joined with commas. A row of CSV must have as many cells as it names columns that are not computed.
	Columns []string
	// Where, Partitions and TemporaryPartitions are the headers.
	Where                           string
	Partitions, TemporaryPartitions []string
	// MaxFilterRatio is the share of rows that the server may drop, 0 to 1; nil is not sent.
	MaxFilterRatio *float64
	// StrictMode refuses values that do not fit their column instead of storing NULL.
	StrictMode bool

	// RedirectPolicy says by which of its addresses an FE names a BE: "direct" (that of the cluster's own list), "public", "private", "public-private"
	// or "random-be" (Doris 3.1, LoadAction.java); "" leaves it to the FE.
	RedirectPolicy string
	// Timezone is that of the server's time functions in Columns and Where, for instance "Asia/Shanghai"; "" is the cluster's.
	Timezone string
	// ExecMemLimit bounds the memory of a load at the server, in bytes; 0 is the server's default.
	ExecMemLimit int64

	// Unique are the settings for tables with a unique key.
	Unique UniqueKey

	// TwoPhaseCommit loads the rows, checks the server's counts against them, and only then commits; what is counted wrong is aborted. It
	// costs one more request.
	TwoPhaseCommit bool

	// GroupCommit is "sync_mode", "async_mode", "off_mode" or "". Unless it is off (the default), the server makes the
	// labels: nothing is deduplicated, and an outcome that is not known cannot be looked up.
	//
	// StarRocks calls it merge commit (3.4), and has sync_mode only here: in its other mode it answers before anything is stored.
	GroupCommit string
	// MergeCommit is what StarRocks wants to know of it.
	MergeCommit MergeCommit

	// Headers are more headers, which win over the defaults of this package. Names that decide what is stored, or under which
	// label, are refused.
	Headers map[string]string
}

// MergeCommit are the numbers of a merge commit of StarRocks.
type MergeCommit struct {
	// Interval is for how long loads are collected before they are committed. Default 1 s.
	Interval time.Duration
	// Parallel is how many BEs collect them. Default 3.
	Parallel int
}

var defaultMergeCommit = MergeCommit{Interval: time.Second, Parallel: 3}

// DefaultOptions are JSON by line, for Doris.
func DefaultOptions() Options {
	return Options{
		Dialect: DialectDoris, Format: "json", Compression: "none", ColumnSeparator: ",", LineDelimiter: "\n", MergeCommit: defaultMergeCommit,
	}
}

func (o *Options) setDefaults() {
	d := DefaultOptions()
	if o.Dialect == "" {
		o.Dialect = d.Dialect
	}
	if o.MergeCommit.Interval == 0 {
		o.MergeCommit.Interval = d.MergeCommit.Interval
	}
	if o.MergeCommit.Parallel == 0 {
		o.MergeCommit.Parallel = d.MergeCommit.Parallel
	}
	if o.Format == "" {
		o.Format = d.Format
	}
	if o.Compression == "" {
		o.Compression = d.Compression
	}
	if o.ColumnSeparator == "" {
		o.ColumnSeparator = d.ColumnSeparator
	}
	if o.LineDelimiter == "" {
		o.LineDelimiter = d.LineDelimiter
	}
}

// Unlabelled is true when the server makes the labels.
func (o Options) Unlabelled() bool {
	return o.GroupCommit == "sync_mode" || o.GroupCommit == "async_mode"
}

// reservedHeaders are refused in Options.Headers, with the reason.
var reservedHeaders = map[string]string{
	"label":             "labels are made for each load; use label or label_prefix",
	"format":            "use the field format",
	"read_json_by_line": "use the field read_json_by_line",
	"strip_outer_array": "use the field strip_outer_array",
	"column_separator":  "use the field column_separator",
	"line_delimiter":    "use the field line_delimiter",
	"row_delimiter":     "use the field line_delimiter",
	"group_commit":      "use the field group_commit",
	"timeout":           "use the field timeout",

	"enable_merge_commit":      "use the field group_commit",
	"merge_commit_async":       "use the field group_commit",
	"merge_commit_interval_ms": "use the field merge_commit_interval",
	"merge_commit_parallel":    "use the field merge_commit_parallel",

	"two_phase_commit":  "use the field two_phase_commit",
	"compress_type":     "use the field compression",
	"content-encoding":  "use the field compression",
	"compression":       "use the field compression",
	"db":                "use the field database",
	"table":             "use the field table",
	"transaction_type":  "transactions are made for each load",
	"channel_id":        "transactions are made for each load",
	"channel_num":       "transactions are made for each load",
	"txn_id":            "transactions are made for each load",
	"txn_operation":     "transactions are made for each load",
	"sql":               "it belongs to another call",
	"expect":            "it is always sent",
	"authorization":     "use the fields username and password",
	"content-length":    "it is always sent",
	"transfer-encoding": "the length of the body is always known",
	"host":              "it is made from the address",
	"connection":        "connections are managed by the output",
	"trailer":           "a load has none",
	"upgrade":           "connections are managed by the output",
	"accept-encoding":   "answers are decompressed by the output",
	"idempotency-key":   "it makes HTTP clients and proxies send a load twice by themselves; the label already does what it is for",
	"x-idempotency-key": "it makes HTTP clients and proxies send a load twice by themselves; the label already does what it is for",
}

// Divisible is true when it makes no difference which rows are loaded together. With SkipLines it does: the first rows of each load are left out.
// A file is a load of its own, whatever its size.
func (o Options) Divisible() bool { return o.SkipLines == 0 && !o.format().Whole() }

// ReservedHeaders are the names, in lower case, that Options.Headers must not have, each with the reason.
func ReservedHeaders() map[string]string { return maps.Clone(reservedHeaders) }

func (o Options) validate(bad func(string, string, ...any)) {
	o.validateDialect(bad)
	o.validateFormat(bad)
	switch o.GroupCommit {
	case "", "sync_mode", "async_mode", "off_mode":
	default:
		bad("group_commit", "is %q; it must be sync_mode, async_mode or off_mode", o.GroupCommit)
	}
	if r := o.MaxFilterRatio; r != nil && !(*r >= 0 && *r <= 1) {
		bad("max_filter_ratio", "is %v; it must be between 0 and 1", *r)
	}
	switch o.RedirectPolicy {
	case "", "direct", "public", "private", "public-private", "random-be":
	default:
		bad("redirect_policy", "is %q; it must be direct, public, private, public-private or random-be", o.RedirectPolicy)
	}
	if o.ExecMemLimit < 0 {
		bad("exec_mem_limit", "is negative")
	}
	o.Unique.validate(o, bad)
	if fields := o.ungrouped(); o.Unlabelled() && len(fields) > 0 {
		why := "Doris would leave group commit off without a word"
		if o.dialect() == encode.StarRocks {
			why = "loads that are merged cannot have it"
		}
		bad("group_commit", "%s cannot be used with %s: %s", o.GroupCommit, strings.Join(fields, ", "), why)
	}
	if o.SkipLines < 0 {
		bad("skip_lines", "is negative")
	}
	if len(o.Partitions) > 0 && len(o.TemporaryPartitions) > 0 {
		bad("partitions", "and temporary_partitions cannot both be set")
	}
	o.validateSeparators(bad)
	for _, field := range []struct {
		name   string
		values []string
	}{
		{"columns", o.Columns},
		{"where", []string{o.Where}},
		{"timezone", []string{o.Timezone}},
		{"delete", []string{o.Unique.Delete}},
		{"sequence_column", []string{o.Unique.SequenceColumn}},
		{"hidden_columns", o.Unique.HiddenColumns},
		{"jsonpaths", []string{o.JSONPaths}},
		{"json_root", []string{o.JSONRoot}},
		{"partitions", o.Partitions},
		{"temporary_partitions", o.TemporaryPartitions},
	} {
		if slices.ContainsFunc(field.values, func(v string) bool { return strings.ContainsFunc(v, isControl) }) {
			bad(field.name, "contains a line break or another control character, which a header cannot carry: write it on one line (YAML: use > instead of |)")
		}
	}
	for _, name := range sortedKeys(o.Headers) {
		o.validateHeader(name, bad)
	}
}

func (o Options) validateHeader(name string, bad func(string, string, ...any)) {
	lower := strings.ToLower(strings.TrimSpace(name))
	switch reason, reserved := reservedHeaders[lower]; {
	case reserved:
		bad("headers", "contains %q, which is reserved: %s", name, reason)
	case !isToken(name):
		bad("headers", "contains the name %q, which is no header name", name)
	case strings.ContainsFunc(o.Headers[name], isControl):
		bad("headers", "contains a line break or another control character in the value of %q", name)
	}
	for other := range o.Headers {
		if other < name && strings.EqualFold(other, name) {
			bad("headers", "contains %q twice, in different letter cases", lower)
		}
	}
	if own := o.ownHeaders(); slices.Contains(own, lower) {
		bad("headers", "contains %q, which is set by the field %s too", name, fieldOf(lower))
	}
}

// fieldOf is the field that sends a header.
func fieldOf(header string) string {
	for doris, starRocks := range starRocksNames {
		if header == starRocks {
			header = doris
		}
	}
	switch header {
	case "function_column.sequence_col":
		return "sequence_column"
	case "redirect-policy":
		return "redirect_policy"
	}
	return header
}

// ownHeaders are the names that set options send.
func (o Options) ownHeaders() (names []string) {
	for name := range o.optional() {
		names = append(names, name)
	}
	return names
}

// optional are the headers of the options that are set, by their names in lower case.
func (o Options) optional() map[string]string {
	h := map[string]string{}
	set := func(name, value string) {
		if value != "" {
			h[name] = value
		}
	}
	yes := func(name string, on bool) {
		if on {
			h[name] = "true"
		}
	}
	set("columns", strings.Join(o.Columns, ","))
	set("where", o.Where)
	set("partitions", strings.Join(o.Partitions, ","))
	set("temporary_partitions", strings.Join(o.TemporaryPartitions, ","))
	yes("strict_mode", o.StrictMode)
	set("timezone", o.Timezone)
	set("redirect-policy", o.RedirectPolicy)
	if o.ExecMemLimit > 0 {
		h["exec_mem_limit"] = strconv.FormatInt(o.ExecMemLimit, 10)
	}
	o.Unique.optional(set, yes)
	yes("two_phase_commit", o.TwoPhaseCommit && o.dialect() == encode.Doris) // only this spelling is understood (be stream_load.cpp)
	if o.MaxFilterRatio != nil {
		h["max_filter_ratio"] = strconv.FormatFloat(*o.MaxFilterRatio, 'f', -1, 64)
	}
	switch f := o.format(); {
	case f == encode.JSON:
		set("jsonpaths", o.JSONPaths)
		set("json_root", o.JSONRoot)
		yes("num_as_string", o.NumAsString)
		yes("fuzzy_parse", o.FuzzyParse)
	case f.Delimited():
		set("enclose", o.Enclose)
		set("escape", o.Escape)
		yes("trim_double_quotes", o.TrimDoubleQuotes)
		yes("empty_field_as_null", o.EmptyFieldAsNull)
		if o.SkipLines > 0 {
			h["skip_lines"] = strconv.Itoa(o.SkipLines)
		}
	}
	if o.dialect() == encode.StarRocks {
		return starRocks(h)
	}
	return h
}

// header renders everything but the label.
func (o Options) header(timeout time.Duration) http.Header {
	all := map[string]string{"format": o.Format, "timeout": strconv.FormatInt(seconds(timeout), 10)}
	switch f := o.format(); {
	case f == encode.JSON:
		all["strip_outer_array"] = strconv.FormatBool(o.StripOuterArray)
		if o.dialect() == encode.Doris { // StarRocks reads one document after the other, with or without lines
			// Both are sent: which one a server assumes when they are missing changed with Doris 4.0.
			all["read_json_by_line"] = strconv.FormatBool(!o.StripOuterArray)
		}
	case f.Delimited():
		separator, delimiter := o.separators()
		all["column_separator"] = writeSeparator(separator)
		all["line_delimiter"] = writeSeparator(delimiter)
	}
	if o.dialect() == encode.StarRocks {
		all = starRocks(all)
	}
	if name, value, ok := o.compressionHeader(); ok {
		all[name] = value // with CSV, StarRocks has it in the place of the format
	}
	maps.Copy(all, o.required())
	maps.Copy(all, o.optional())
	h := make(http.Header, len(all)+len(o.Headers))
	for name, value := range all {
		h[name] = []string{value}
	}
	for name, value := range o.Headers {
		h[strings.ToLower(name)] = []string{value}
	}
	return h
}

// seconds rounds up: 500 ms must not become 0, which means no time at all.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// isToken is true for the names that HTTP allows for a header.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
