package output

// The lints of single fields. The value is checked for its type first, because a rule that fails is shown in place of its text.
const (
	formatLint = `root = if ![ "json", "csv", "csv_with_names", "csv_with_names_and_types", "parquet", "orc", "arrow" ].contains(this) {
  [ "format is %v; it must be json, csv, csv_with_names, csv_with_names_and_types, parquet, orc or arrow".format(this.string()) ]
}`

	messageRowsLint = `root = if ![ "one", "many" ].contains(this) {
  [ "message_rows is %v; it must be one or many".format(this.string()) ]
}`

	dialectLint = `root = if ![ "doris", "starrocks" ].contains(this) {
  [ "dialect is %v; it must be doris or starrocks".format(this.string()) ]
}`

	partialUpdateModeLint = `root = if ![ "", "row", "column", "auto" ].contains(this) {
  [ "partial_update_mode is %v; it must be row, column or auto".format(this.string()) ]
}`

	mergeCommitParallelLint = `root = if this.type() == "number" && this < 1 {
  [ "merge_commit_parallel is %v; it must be at least 1".format(this.string()) ]
}`

	encloseLint = `root = if this.type() == "string" && this != "" && !this.re_match("^[!-/:-@\\[-` + "`" + `{-~]$") {
  [ "enclose is %v; it must be one character of ASCII that is no letter, digit, space or control character".format(this.quote()) ]
}`

	escapeLint = `root = if this.type() == "string" && this != "" && !this.re_match("^[!-/:-@\\[-` + "`" + `{-~]$") {
  [ "escape is %v; it must be one character of ASCII that is no letter, digit, space or control character".format(this.quote()) ]
}`

	compressionLint = `root = if ![ "none", "gzip", "lz4", "zstd", "deflate", "bzip2" ].contains(this) {
  [ "compression is %v; it must be none, gzip, lz4, zstd, deflate or bzip2".format(this.string()) ]
}`

	compressionLevelLint = `root = if this.type() == "number" && this < 0 {
  [ "compression_level is negative" ]
}`

	groupCommitLint = `root = if ![ "", "off_mode", "sync_mode", "async_mode" ].contains(this) {
  [ "group_commit is %v; it must be sync_mode, async_mode or off_mode".format(this.string()) ]
}`

	unknownOutcomeLint = `root = if ![ "retry", "reject" ].contains(this) {
  [ "on_unknown_outcome is %v; it must be retry or reject".format(this.string()) ]
}`

	maxFilterRatioLint = `root = if this.type() == "number" && !(this >= 0 && this <= 1) {
  [ "max_filter_ratio is %v; it must be between 0 and 1".format(this.string()) ]
}`

	skipLinesLint = `root = if this.type() == "number" && this < 0 {
  [ "skip_lines is negative" ]
}`

	redirectPolicyLint = `root = if ![ "", "direct", "public", "private", "public-private", "random-be" ].contains(this) {
  [ "redirect_policy is %v; it must be direct, public, private, public-private or random-be".format(this.string()) ]
}`

	execMemLimitLint = `root = if this.type() == "number" && this < 0 {
  [ "exec_mem_limit is negative" ]
}`

	mergeTypeLint = `root = if ![ "", "APPEND", "DELETE", "MERGE" ].contains(this) {
  [ "merge_type is %v; it must be APPEND, DELETE or MERGE".format(this.string()) ]
}`

	updateModeLint = `root = if ![ "", "UPSERT", "UPDATE_FIXED_COLUMNS", "UPDATE_FLEXIBLE_COLUMNS" ].contains(this) {
  [ "unique_key_update_mode is %v; it must be UPSERT, UPDATE_FIXED_COLUMNS or UPDATE_FLEXIBLE_COLUMNS".format(this.string()) ]
}`

	newKeyBehaviorLint = `root = if ![ "", "APPEND", "ERROR" ].contains(this) {
  [ "partial_update_new_key_behavior is %v; it must be APPEND or ERROR".format(this.string()) ]
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

	maxPendingLint = `root = if this.type() == "number" && this < 1 {
  [ "max_pending is %v; it must be at least 1".format(this.string()) ]
}`

	maxLoadBytesLint = `root = if this.type() == "number" && this < 0 {
  [ "max_load_bytes is negative; 0 sets no bound" ]
}`

	maxLoadRowsLint = `root = if this.type() == "number" && this < 0 {
  [ "max_load_rows is negative; 0 sets no bound" ]
}`
)

// formatVariables says what all parts of specLint ask.
const formatVariables = `
let doris = this.dialect != "starrocks"
let delimited = [ "csv", "csv_with_names", "csv_with_names_and_types" ].contains(this.format)
let json = this.format == "json"
`

// specLint holds the lints that look at several fields. Defaults are filled in when it runs. Each rule is on its own: one that cannot be
// evaluated, because some field has a wrong type, must not hide the others.
var specLint = formatVariables + dialectLists() + headerLists + separatorLists + intervalLists + `
let files = [ "parquet", "orc", "arrow" ].contains(this.format)
let compressed = this.compression.or("none") != "none"
let highest = if this.compression == "zstd" { 22 } else { 9 }
# An empty entry may be a variable of the environment that is not set.
let fe_lists = this.fe_urls.or([]).map_each(list -> list.string())
let grouped = [ "sync_mode", "async_mode" ].contains(this.group_commit)

let json_only = [
  if this.strip_outer_array == true { "strip_outer_array" },
  if this.jsonpaths != "" { "jsonpaths" },
  if this.json_root != "" { "json_root" },
  if this.num_as_string == true { "num_as_string" },
  if this.fuzzy_parse == true { "fuzzy_parse" },
].filter(name -> name != null)

let csv_only = [
  if this.csv_mapping.or("") != "" { "csv_mapping" },
  if this.enclose.or("") != "" { "enclose" },
  if this.escape.or("") != "" { "escape" },
  if this.column_separator != "," { "column_separator" },
  if this.line_delimiter != "\n" && this.line_delimiter != "" { "line_delimiter" },
  if this.trim_double_quotes == true { "trim_double_quotes" },
  if this.skip_lines != 0 { "skip_lines" },
  if this.empty_field_as_null == true { "empty_field_as_null" },
].filter(name -> name != null)

let partial = this.partial_columns == true || [ "UPDATE_FIXED_COLUMNS", "UPDATE_FLEXIBLE_COLUMNS" ].contains(this.unique_key_update_mode)

let not_grouped = [
  if this.partial_columns == true { "partial_columns" },
  if [ "UPDATE_FIXED_COLUMNS", "UPDATE_FLEXIBLE_COLUMNS" ].contains(this.unique_key_update_mode) { "unique_key_update_mode" },
  if this.partitions.or([]).length() > 0 { "partitions" },
  if this.temporary_partitions.or([]).length() > 0 { "temporary_partitions" },
  if this.two_phase_commit == true { "two_phase_commit" },
].filter(name -> name != null)

let not_in_txn = [
  if this.enclose.or("") != "" { "enclose" },
  if this.escape.or("") != "" { "escape" },
  if this.skip_lines.or(0) != 0 { "skip_lines" },
].filter(name -> name != null)

let not_flexible = [
  if this.fuzzy_parse == true { "fuzzy_parse" },
  if this.columns.or([]).length() > 0 { "columns" },
  if this.jsonpaths.or("") != "" { "jsonpaths" },
  if this.hidden_columns.or([]).length() > 0 { "hidden_columns" },
  if this.sequence_column.or("") != "" { "sequence_column" },
  if this.merge_type.or("") != "" { "merge_type" },
  if this.where.or("") != "" { "where" },
  if !$json { "format " + this.format },
].filter(name -> name != null)

root = [
  if $fe_lists.filter(list -> list == "" || list.split(",").any(one -> one.trim() != "")).length() == 0 && this.url.or("").string().trim() == "" {
    "fe_urls is empty: at least one FE address is needed, for instance http://localhost:8030"
  },
  if $doris && $json && this.read_json_by_line == false && this.strip_outer_array == false {
    "read_json_by_line and strip_outer_array are both false: json needs one of them, or Doris takes the whole batch for one document"
  },
  if ($delimited || $files) && $json_only.length() > 0 {
    "only format json uses %v, and format is %v".format($json_only.join(", "), this.format)
  },
  if ($json || $files) && $csv_only.length() > 0 {
    "only format csv uses %v, and format is %v".format($csv_only.join(", "), this.format)
  },
  if this.message_rows == "many" && ($json && this.strip_outer_array == true || !$json && this.format != "csv") {
    "message_rows many is for json by line (read_json_by_line without strip_outer_array) and for csv"
  },
  if this.message_rows == "many" && this.csv_mapping.or("") != "" {
    "message_rows many and csv_mapping cannot both be set: the cells of a message make one row"
  },
  if $delimited && this.format != "csv" && this.csv_mapping.or("") != "" {
    "csv_mapping is for format csv: with %v a message is a whole file".format(this.format)
  },
  if $delimited && this.format != "csv" && this.skip_lines > 0 {
    "skip_lines is not used with format %v, which skips its own first lines".format(this.format)
  },
  if this.enclose.or("") != "" && this.enclose == this.escape {
    "escape is the same as enclose, so that no quoted cell would ever end"
  },
  if this.csv_mapping.or("") != "" && this.trim_double_quotes == true && this.enclose.or("") != "\"" && !this.headers.keys().map_each(k -> k.lowercase()).contains("enclose") {
    "trim_double_quotes takes away double quotes that belong to the values of csv_mapping: leave it out"
  },
  if $compressed && $files {
    "compression is %v, and files of format %v have their own compression inside: servers take no other around them".format(this.compression, this.format)
  },
  if $doris && this.compression == "zstd" && !$files {
    "compression is zstd, which Doris does not read; use gzip, lz4, deflate or bzip2"
  },
  if $doris && $compressed && $json && this.strip_outer_array == true {
    "compression is %v, and Doris decompresses JSON only when it reads it by line: it cannot be used with strip_outer_array".format(this.compression)
  },
  if !$compressed && this.compression_level > 0 {
    "compression_level is %v, and there is no compression".format(this.compression_level)
  },
  if $compressed && this.compression_level > $highest {
    "compression_level is %v; %v has the levels 1 to %v, and 0 for its default".format(this.compression_level, this.compression, $highest)
  },
  if this.partitions.or([]).length() > 0 && this.temporary_partitions.or([]).length() > 0 {
    "partitions and temporary_partitions cannot both be set"
  },
  if !$doris && $grouped && this.skip_lines.or(0) != 0 {
    "group_commit %v cannot be used with skip_lines: loads that are merged cannot have it".format(this.group_commit)
  },
  if !$doris && this.two_phase_commit == true && this.label.or("") != "" {
    "label cannot be used with two_phase_commit and dialect starrocks, where a label can be used once only"
  },
  if !$doris && this.two_phase_commit == true && $grouped {
    "group_commit %v cannot be used with two_phase_commit: loads that are merged cannot have it".format(this.group_commit)
  },
  if !$doris && this.two_phase_commit == true && $not_in_txn.length() > 0 {
    "two_phase_commit cannot be used with %v: a transaction of StarRocks would ignore it without a word".format($not_in_txn.join(", "))
  },
  if !$doris && this.group_commit == "async_mode" {
    "group_commit is async_mode, with which StarRocks answers before anything is stored, so that acknowledged rows could be lost: use sync_mode"
  },
  if !$doris && ($files || $delimited && this.format != "csv") {
    "format is %v, which StarRocks does not load: it reads json and csv".format(this.format)
  },
  if !$doris && this.partial_update_mode.or("") != "" && this.partial_columns != true {
    "partial_update_mode is only for a partial update: set partial_columns"
  },
  if $doris && $grouped && $not_grouped.length() > 0 {
    "group_commit %v cannot be used with %v: Doris would leave group commit off without a word".format(this.group_commit, $not_grouped.join(", "))
  },
  if this.merge_type == "MERGE" && this.delete.or("") == "" {
    "delete is not set: merge_type MERGE needs the condition under which a row deletes"
  },
  if this.merge_type != "MERGE" && this.delete.or("") != "" {
    "delete is only for merge_type MERGE"
  },
  if this.hidden_columns.or([]).length() > 0 && this.columns.or([]).length() > 0 {
    "hidden_columns is not read when columns is set: name them in columns, and leave hidden_columns out"
  },
  if (this.partial_columns == true || this.unique_key_update_mode.or("") == "UPDATE_FIXED_COLUMNS") && this.columns.or([]).length() == 0 {
    "columns is not set: a partial update takes its columns from it, and without it the server replaces whole rows, or refuses the load"
  },
  if this.partial_columns == true && this.unique_key_update_mode.or("") != "" {
    "partial_columns is not read when unique_key_update_mode is set: leave it out"
  },
  if this.partial_update_new_key_behavior.or("") != "" && !$partial {
    "partial_update_new_key_behavior is only for a partial update: set partial_columns or unique_key_update_mode"
  },
  if this.unique_key_update_mode == "UPDATE_FLEXIBLE_COLUMNS" && $not_flexible.length() > 0 {
    "unique_key_update_mode UPDATE_FLEXIBLE_COLUMNS cannot be used with %v".format($not_flexible.join(", "))
  },
  if this.be_urls.or([]).length() > 0 && (this.redirect_policy.or("") != "" || this.redirect_map.or({}).length() > 0) {
    "redirect_policy and redirect_map have no use with be_urls, where no frontend is asked for a backend"
  },
  if this.isolate_bad_rows == true && (this.skip_lines.or(0) != 0 || ![ "json", "csv" ].contains(this.format)) {
    "isolate_bad_rows cannot be used with skip_lines, or a format of which a message is a whole file: the rows cannot be loaded in other groups"
  },
  if this.label.or("") != "" && $grouped {
    "label cannot be used with group_commit %v, where Doris makes the labels".format(this.group_commit)
  },
  if this.abort_lingering == true && !$doris {
    "abort_lingering cannot be used with dialect starrocks, which shows no transactions by their labels"
  },
  if this.abort_lingering == true && this.two_phase_commit != true {
    "abort_lingering is only for two_phase_commit: other loads end with their connection, and leave nothing that waits"
  },
  if this.abort_lingering == true && this.label.or("") != "" {
    "abort_lingering cannot be used with label: the batch comes again under its label, and takes the place of what it left"
  },
  if this.abort_lingering == true && this.database.or("").string().contains("${!") {
    "abort_lingering cannot be used with a database that depends on the messages: it is not known where to look"
  },
  if this.on_unknown_outcome == "reject" && !$grouped {
    "on_unknown_outcome is reject, which is for group_commit sync_mode and async_mode only: without them the label tells the outcome, and no row is stored twice for it"
  },
  if this.batching.period.or("") != "" && !this.batching.period.string().contains("${") && !this.batching.period.string().re_match("^[-+]?(0|(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$") {
    "batching.period is %v, which is no duration; write for instance 1s".format(this.batching.period.string().format_json(no_indent: true).string())
  },
  if this.batching.period.or("").string().re_match("^-|^[+]?(0|((0+[.]?0*|[.]0+)(ns|us|µs|μs|ms|s|m|h))+)$") {
    "batching.period is %v; it must be more than 0".format(this.batching.period.string())
  },
  if this.batching.count.or(0) < 0 {
    "batching.count is negative"
  },
  if this.batching.byte_size.or(0) < 0 {
    "batching.byte_size is negative"
  },
  if (this.batching.count.or(0) > 1 || this.batching.byte_size.or(0) > 0) && this.batching.period.or("") == "" {
    "batching has no period: the last messages wait for a batch that never fills, and a pipeline whose input ends does not; set one, for instance period: 1s"
  },
].filter(text -> text != null).merge($unknown).merge($headed).merge($separators).merge($intervals)
`
