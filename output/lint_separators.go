package output

// separatorLists makes the list $separators for specLint: what is wrong with the separators of CSV. Forms of the same bytes are equal, so a
// separator is read as the client does it (streamload readSeparator), into the bytes in hex. A value that is not known yet is "".
//
// Deep expressions take Bloblang long to parse, so each step has a map or a variable of its own.
const separatorLists = `
map separator_byte {
  root = match {
    this == "\\n" => "0a"
    this == "\\t" => "09"
    this == "\\r" => "0d"
    this.re_match("^\\\\[xX]") => this.slice(2).lowercase()
    this.re_match("(?s)^\\\\.") => this.slice(1).encode("hex")
    _ => this.encode("hex")
  }
}

map separator_bytes {
  let digits = this.re_replace_all("\\\\[xX]", "")
  let all_hex = this.re_match("^\\\\[xX]") && $digits.re_match("^([0-9a-fA-F]{2})+$")
  let parts = this.re_find_all("(?s)\\\\[xX][0-9a-fA-F]{2}|\\\\[xX]|\\\\[ntr\\\\'\"]|.")
  let broken = $parts.filter(part -> part.re_match("^\\\\[xX]$"))
  root = match {
    $all_hex => $digits.lowercase()
    $broken.length() > 0 => $broken.index(0)
    _ => $parts.map_each(part -> part.apply("separator_byte")).join("")
  }
}

map separator_problem {
  let bytes = this.apply("separator_bytes")
  let broken = $bytes.has_prefix("\\")
  let text = if $broken { "" } else { $bytes.decode("hex").string() }
  let hexed = $text.re_match("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f]|^ | $")
  let foreign = $text.re_match("[^\\x00-\\x7f]")
  root = match {
    this.bytes().length() > 256 => "is longer than 64 bytes"
    $broken => "has %v without two hex digits behind it; a backslash is written \\\\".format($bytes)
    $bytes.length() > 128 => "is longer than 64 bytes"
    $hexed && $foreign => "has control characters, or spaces at an end, together with characters beyond ASCII, which servers do not understand"
    _ => null
  }
}

map known {
  root = if this.type() == "string" && !this.contains("${") { this } else { "" }
}

let column = this.column_separator.apply("known")
let line = this.line_delimiter.apply("known")
let column_bytes = $column.apply("separator_bytes")
let line_bytes = $line.apply("separator_bytes")
let enclose_byte = this.enclose.apply("known").encode("hex")
let escape_byte = this.escape.apply("known").encode("hex")
let column_problem = $column.apply("separator_problem")
let line_problem = $line.apply("separator_problem")
let mapped = this.format == "csv" && this.csv_mapping.or("").re_match("[^ \t\r\n]")
# A byte has a space behind it, so that one begins where another does.
let column_list = $column_bytes.re_replace_all("..", "$0 ")
let line_text = if this.line_delimiter == "" { "0a" } else { $line_bytes }
let line_list = $line_text.re_replace_all("..", "$0 ")
let separators_known = $column_list != "" && $line_list != "" && $column_problem == null && $line_problem == null
let part_text = "csv_mapping cannot be used: the %v byte \u0060%v\u0060 is part of a separator"
let enclose_inside = $enclose_byte != "" && ($column_list + $line_list).contains($enclose_byte + " ")
let escape_inside = $escape_byte != "" && ($column_list + $line_list).contains($escape_byte + " ")
let contained = $column_list.contains($line_list) || $line_list.contains($column_list)
let meeting = match {
  !$mapped || !$separators_known => null
  $enclose_inside => $part_text.format("enclose", this.enclose)
  $escape_inside => $part_text.format("escape", this.escape)
  $contained => "csv_mapping cannot be used: column_separator and line_delimiter contain each other"
  _ => null
}
let separators = [
  if !$doris && $column_problem == null && $column_bytes.length() > 100 {
    "column_separator is %v bytes long; StarRocks takes at most 50".format($column_bytes.length() / 2)
  },
  if !$doris && $line_problem == null && $line_bytes.length() > 100 {
    "line_delimiter is %v bytes long; StarRocks takes at most 50".format($line_bytes.length() / 2)
  },
  if $delimited && this.column_separator == "" { "column_separator is empty; leave it out for a comma" },
  if $column_problem != null { "column_separator " + $column_problem },
  if $line_problem != null { "line_delimiter " + $line_problem },
  if $delimited && $column != "" && $column_bytes == $line_bytes { "column_separator is the same as line_delimiter" },
  if $delimited && $enclose_byte != "" && $enclose_byte == $column_bytes { "enclose is the same as column_separator" },
  if $delimited && $enclose_byte != "" && $enclose_byte == $line_bytes { "enclose is the same as line_delimiter" },
  if $delimited && $escape_byte != "" && $escape_byte == $column_bytes { "escape is the same as column_separator" },
  if $delimited && $escape_byte != "" && $escape_byte == $line_bytes { "escape is the same as line_delimiter" },
  $meeting,
].filter(text -> text != null)
`
