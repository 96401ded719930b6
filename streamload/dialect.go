package streamload

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dorisload/benthos-doris/streamload/encode"
)

// The dialects of Stream Load. StarRocks came out of an early Doris, so the calls are the same and most headers are; but each ignores the headers of
// the other without a word, so that a wrong one is no error but wrong data. Therefore every option that the other dialect lacks is refused here.
const (
	DialectDoris     = "doris"
	DialectStarRocks = "starrocks"
)

// dialect is whose servers are loaded into, and whose reader reads the rows.
func (o Options) dialect() encode.Dialect {
	if o.Dialect == DialectStarRocks {
		return encode.StarRocks
	}
	return encode.Doris
}

// starRocksNames are the headers that StarRocks knows by another name (be stream_load.cpp, http_common.h), by their names in Doris.
var starRocksNames = map[string]string{
	"line_delimiter":               "row_delimiter",
	"skip_lines":                   "skip_header",
	"exec_mem_limit":               "load_mem_limit",
	"partial_columns":              "partial_update",
	"function_column.sequence_col": "merge_condition", // keeps a row that has a greater value, and only in tables with a primary key
}

// starRocks gives headers the names that StarRocks knows.
func starRocks(h map[string]string) map[string]string {
	named := make(map[string]string, len(h))
	for name, value := range h {
		if other, ok := starRocksNames[name]; ok {
			name = other
		}
		named[name] = value
	}
	return named
}

// required are the headers that every load has, besides the layout of its rows.
func (o Options) required() map[string]string {
	if o.dialect() == encode.Doris {
		if o.GroupCommit != "" {
			return map[string]string{"group_commit": o.GroupCommit}
		}
		// Without it a table property may turn group commit on, and with it our label is dropped.
		return map[string]string{"group_commit": "off_mode"}
	}
	h := map[string]string{}
	if o.format() == encode.JSON {
		// Above 100 MB of JSON a BE wants to hear that it is meant (be stream_load.cpp); how large a load gets is our own bound.
		h["ignore_json_size"] = "true"
	}
	if o.Unlabelled() {
		// An FE refuses a load without the two numbers (fe BatchWriteMgr.java).
		h["enable_merge_commit"] = "true"
		h["merge_commit_async"] = "false"
		h["merge_commit_interval_ms"] = strconv.FormatInt(o.MergeCommit.Interval.Milliseconds(), 10)
		h["merge_commit_parallel"] = strconv.Itoa(o.MergeCommit.Parallel)
	}
	return h
}

// DialectField is an option that the servers of one dialect do not have.
type DialectField struct {
	// Field is its name in YAML.
	Field string
	// Instead is what to do instead, as the rest of a sentence.
	Instead string
	// Default is the value that counts as not set, where it is not the zero value.
	Default any

	isSet func(Options) bool
}

const (
	deleteInstead = "give the rows the key or column __op, where 0 stores and 1 deletes, or compute it in columns (__op = 'delete')"
	onlyStarRocks = "it is for dialect starrocks"
)

var notInStarRocks = []DialectField{
	{Field: "num_as_string", Instead: "make the numbers texts in the rows", isSet: func(o Options) bool { return o.NumAsString }},
	{Field: "fuzzy_parse", Instead: "leave it out", isSet: func(o Options) bool { return o.FuzzyParse }},
	{Field: "trim_double_quotes", Instead: "use enclose", isSet: func(o Options) bool { return o.TrimDoubleQuotes }},
	{Field: "empty_field_as_null", Instead: `write \N for NULL, or use csv_mapping, which does`, isSet: func(o Options) bool { return o.EmptyFieldAsNull }},
	{Field: "merge_type", Instead: deleteInstead, isSet: func(o Options) bool { return o.Unique.MergeType != "" }},
	{Field: "delete", Instead: deleteInstead, isSet: func(o Options) bool { return o.Unique.Delete != "" }},
	{Field: "hidden_columns", Instead: deleteInstead, isSet: func(o Options) bool { return len(o.Unique.HiddenColumns) > 0 }},
	{Field: "unique_key_update_mode", Instead: "use partial_columns, where all rows have the same columns", isSet: func(o Options) bool { return o.Unique.UpdateMode != "" }},
	{Field: "partial_update_new_key_behavior", Instead: "leave it out: rows with new keys are stored", isSet: func(o Options) bool { return o.Unique.NewKeyBehavior != "" }},
	{Field: "redirect_policy", Instead: "use redirect_map or be_urls", isSet: func(o Options) bool { return o.RedirectPolicy != "" }},
}

var notInDoris = []DialectField{
	{Field: "partial_update_mode", Instead: onlyStarRocks, isSet: func(o Options) bool { return o.Unique.PartialUpdateMode != "" }},
	{Field: "merge_commit_parallel", Instead: onlyStarRocks, Default: defaultMergeCommit.Parallel, isSet: func(o Options) bool { return o.MergeCommit.Parallel != defaultMergeCommit.Parallel }},
	{Field: "merge_commit_interval", Instead: onlyStarRocks, Default: defaultMergeCommit.Interval.String(), isSet: func(o Options) bool { return o.MergeCommit.Interval != defaultMergeCommit.Interval }},
}

// NotInStarRocks are the options that StarRocks lacks, NotInDoris those that Doris does.
func NotInStarRocks() []DialectField { return slices.Clone(notInStarRocks) }

// NotInDoris are the options that Doris lacks.
func NotInDoris() []DialectField { return slices.Clone(notInDoris) }

// dorisHeaders are headers of Doris that StarRocks ignores and that could come in Options.Headers, each with what to use instead.
var dorisHeaders = func() map[string]string {
	h := map[string]string{
		"function_column.sequence_col": "use the field sequence_column", "partial_columns": "use the field partial_columns",
		"skip_lines": "use the field skip_lines", "exec_mem_limit": "use the field exec_mem_limit", "redirect-policy": "use redirect_map or be_urls",
		"function_column.sequence_type": "leave it out", "load_to_single_tablet": "leave it out", "send_batch_parallelism": "leave it out",
		"memtable_on_sink_node": "leave it out", "max_filter_rows": "leave it out", "cloud_cluster": "use the header warehouse",
		"compute_group": "use the header warehouse",
	}
	for _, f := range notInStarRocks {
		if _, ok := h[f.Field]; !ok {
			h[f.Field] = f.Instead
		}
	}
	return h
}()

// DorisHeaders are the names, in lower case, that Options.Headers must not have with StarRocks, each with what to do instead.
func DorisHeaders() map[string]string { return maps.Clone(dorisHeaders) }

// maxStarRocksSeparator is the longest separator of CSV that StarRocks takes, in bytes (Stream Load manual).
const maxStarRocksSeparator = 50

func (o Options) validateDialect(bad func(string, string, ...any)) {
	switch o.Dialect {
	case DialectDoris:
		for _, f := range notInDoris {
			if f.isSet(o) {
				bad(f.Field, "is not known to Doris, which would ignore it without a word: %s", f.Instead)
			}
		}
		return
	case DialectStarRocks:
	default:
		bad("dialect", "is %q; it must be doris or starrocks", o.Dialect)
		return
	}
	for _, f := range notInStarRocks {
		if f.isSet(o) {
			bad(f.Field, "is not known to StarRocks, which would ignore it without a word: %s", f.Instead)
		}
	}
	if f, known := encode.ParseFormat(o.Format); known && f != encode.JSON && f != encode.CSV {
		bad("format", "is %s, which StarRocks does not load: it reads json and csv", f)
	}
	separator, delimiter := o.separators()
	for field, value := range map[string]string{"column_separator": separator, "line_delimiter": delimiter} {
		if len(value) > maxStarRocksSeparator {
			bad(field, "is %d bytes long; StarRocks takes at most %d", len(value), maxStarRocksSeparator)
		}
	}
	switch u := o.Unique; {
	case u.PartialUpdateMode != "" && !slices.Contains([]string{"row", "column", "auto"}, u.PartialUpdateMode):
		// Another word, and one in upper case, is the default without a word.
		bad("partial_update_mode", "is %q; it must be row, column or auto", u.PartialUpdateMode)
	case u.PartialUpdateMode != "" && !u.PartialColumns:
		bad("partial_update_mode", "is only for a partial update: set partial_columns")
	}
	if fields := o.notInTxn(); o.TwoPhaseCommit && len(fields) > 0 {
		bad("two_phase_commit", "cannot be used with %s: a transaction of StarRocks would ignore it without a word", strings.Join(fields, ", "))
	}
	if o.GroupCommit == "async_mode" {
		bad("group_commit", "is async_mode, with which StarRocks answers before anything is stored, so that acknowledged rows could be lost: use sync_mode")
	}
	if m := o.MergeCommit; m.Parallel < 1 {
		bad("merge_commit_parallel", "is %d; it must be at least 1", m.Parallel)
	} else if m.Interval.Milliseconds() < 1 {
		bad("merge_commit_interval", "is %s; it must be at least 1ms", m.Interval)
	}
	for _, name := range sortedKeys(o.Headers) {
		if instead, ok := dorisHeaders[strings.ToLower(strings.TrimSpace(name))]; ok {
			bad("headers", "contains %q, which StarRocks would ignore without a word: %s", name, instead)
		}
	}
}

// notInTxn names the set options that a load into a transaction does not have (be transaction_stream_load.cpp).
func (o Options) notInTxn() (fields []string) {
	for _, name := range []string{"enclose", "escape", "skip_header"} {
		if _, set := o.optional()[name]; set {
			fields = append(fields, fieldOf(name))
		} else if slices.ContainsFunc(sortedKeys(o.Headers), func(n string) bool { return strings.EqualFold(strings.TrimSpace(n), name) }) {
			fields = append(fields, "the header "+name)
		}
	}
	return fields
}
