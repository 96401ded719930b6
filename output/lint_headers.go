package output

// headerLists makes the list $headed for specLint: fields whose text goes into a header of Stream Load, and what cannot stand in one. What comes of
// `where: |` ends with a line break.
//
// A header that a set field sends too is refused as well, under the name that the servers of the dialect have for it.
const headerLists = `
let all = this

let broken = [
  "columns", "where", "timezone", "delete", "sequence_column", "hidden_columns", "jsonpaths", "json_root", "partitions", "temporary_partitions",
].filter(field -> [ $all.get(field).or("") ].flatten().any(text -> text.type() == "string" && !text.contains("${") && text.re_match("[\\x00-\\x08\\x0a-\\x1f\\x7f]"))).
  map_each(field -> field + " contains a line break or another control character, which a header cannot carry: write it on one line (YAML: use > instead of |)")

let sent = [
  [ "columns", "where", "partitions", "temporary_partitions", "strict_mode", "timezone", "exec_mem_limit", "max_filter_ratio", "redirect_policy",
  "merge_type", "delete", "sequence_column", "hidden_columns", "partial_columns", "unique_key_update_mode", "partial_update_new_key_behavior", "partial_update_mode" ],
  if $json { [ "jsonpaths", "json_root", "num_as_string", "fuzzy_parse" ] } else { [] },
  if $delimited { [ "enclose", "escape", "trim_double_quotes", "empty_field_as_null", "skip_lines" ] } else { [] },
].
  flatten().
  filter(field -> match $all.get(field) {
    this == null => false
    this.type() == "string" => this != ""
    this.type() == "bool" => this
    this.type() == "number" => this > 0 || field == "max_filter_ratio"
    this.type() == "array" => this.length() > 0
    _ => false
  }).
  map_each(field -> {
    "field": field,
    "header": match {
      field == "redirect_policy" => "redirect-policy"
      field == "sequence_column" && !$doris => "merge_condition"
      field == "sequence_column" => "function_column.sequence_col"
      field == "skip_lines" && !$doris => "skip_header"
      field == "exec_mem_limit" && !$doris => "load_mem_limit"
      field == "partial_columns" && !$doris => "partial_update"
      _ => field
    },
  })

let names = this.headers.or({}).keys().sort()
let twice = $names.filter(name -> $names.filter(other -> other.lowercase() == name.lowercase()).index(0) != name).
  map_each(name -> "headers contains %v twice, in different letter cases".format(name.lowercase().format_json(no_indent: true).string()))
let doubled = $names.map_each(name -> $sent.filter(s -> s.header == name.trim().lowercase()).
  map_each(s -> "headers contains %v, which is set by the field %v too".format(name.format_json(no_indent: true).string(), s.field))).flatten()

let headed = $broken.merge($twice).merge($doubled)
`
