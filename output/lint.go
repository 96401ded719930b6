package output

// The lints of single fields. The value is checked for its type first, because a rule that fails is shown in place of its text.
const (
	formatLint = `root = if this != "json" && this != "csv" {
  [ "format is %v; it must be json or csv".format(this.string()) ]
}`

	groupCommitLint = `root = if ![ "", "off_mode", "sync_mode", "async_mode" ].contains(this) {
  [ "group_commit is %v; it must be sync_mode, async_mode or off_mode".format(this.string()) ]
}`

	maxFilterRatioLint = `root = if this.type() == "number" && (this < 0 || this > 1) {
  [ "max_filter_ratio is %v; it must be between 0 and 1".format(this.string()) ]
}`

	skipLinesLint = `root = if this.type() == "number" && this < 0 {
  [ "skip_lines is negative" ]
}`

	maxRetriesLint = `root = if this.type() == "number" && this < -1 {
  [ "max_retries is %v; it must be -1 (never) or more".format(this.string()) ]
}`

	maxRowsLint = `root = if this.type() == "number" && this < 1 {
  [ "ledger.max_rows is %v; it must be at least 1".format(this.string()) ]
}`

	maxInFlightLint = `root = if this.type() == "number" && this < 1 {
  [ "max_in_flight is %v; it must be at least 1".format(this.string()) ]
}`
)

// specLint holds the lints that look at several fields. Defaults are filled in when it runs. Each rule is on its own: one that cannot be
// evaluated, because some field has a wrong type, must not hide the others.
const specLint = `
let csv = this.format == "csv"
let json = this.format == "json"
let grouped = [ "sync_mode", "async_mode" ].contains(this.group_commit)

let json_only = [
  if this.strip_outer_array == true { "strip_outer_array" },
  if this.jsonpaths != "" { "jsonpaths" },
  if this.json_root != "" { "json_root" },
  if this.num_as_string == true { "num_as_string" },
  if this.fuzzy_parse == true { "fuzzy_parse" },
].filter(name -> name != null)

let csv_only = [
  if this.column_separator != "," { "column_separator" },
  if this.line_delimiter != "\n" && this.line_delimiter != "" { "line_delimiter" },
  if this.trim_double_quotes == true { "trim_double_quotes" },
  if this.skip_lines != 0 { "skip_lines" },
  if this.empty_field_as_null == true { "empty_field_as_null" },
].filter(name -> name != null)

root = [
  if this.fe_urls.or([]).length() == 0 && this.url.or("") == "" {
    "fe_urls is empty: at least one FE address is needed, for instance http://localhost:8030"
  },
  if $json && this.read_json_by_line == false && this.strip_outer_array == false {
    "read_json_by_line and strip_outer_array are both false: json needs one of them, or Doris takes the whole batch for one document"
  },
  if $csv && $json_only.length() > 0 {
    "only format json uses %v, and format is csv".format($json_only.join(", "))
  },
  if $json && $csv_only.length() > 0 {
    "only format csv uses %v, and format is json".format($csv_only.join(", "))
  },
  if this.partitions.or([]).length() > 0 && this.temporary_partitions.or([]).length() > 0 {
    "partitions and temporary_partitions cannot both be set"
  },
  if this.label.or("") != "" && $grouped {
    "label cannot be used with group_commit %v, where Doris makes the labels".format(this.group_commit)
  },
  if (this.batching.count.or(0) > 1 || this.batching.byte_size.or(0) > 0) && this.batching.period.or("") == "" {
    "batching has no period: the last messages wait for a batch that never fills, and a pipeline whose input ends does not; set one, for instance period: 1s"
  },
].filter(text -> text != null)
`
