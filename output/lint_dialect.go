package output

import (
	"encoding/json"
	"fmt"

	"github.com/dorisload/benthos-doris/streamload"
)

// dialectLists makes the list $unknown for specLint: what is set of the fields and headers that the other dialect has, in the words of the
// constructor.
func dialectLists() string {
	return fmt.Sprintf(`
let other_fields = if this.dialect == "starrocks" { %s } else { %s }
let other_headers = if this.dialect == "starrocks" { %s } else { {} }
let server = if this.dialect == "starrocks" { "StarRocks" } else { "Doris" }
let config = this
# A dot leads into an object, unless it is written so.
map as_key {
  root = this.trim().lowercase().replace_all("~", "~0").replace_all(".", "~1")
}

let unknown = $other_fields.filter(f -> match $config.get(f.field) {
  this == null || this == f.default => false
  this.type() == "string" => this != ""
  this.type() == "bool" => this
  this.type() == "number" => this != 0
  this.type() == "array" => this.length() > 0
  _ => false
}).map_each(f -> "%%v is not known to %%v, which would ignore it without a word: %%v".format(f.field, $server, f.instead)).merge(
  this.headers.or({}).keys().sort().filter(k -> $other_headers.get(k.apply("as_key")) != null).
    map_each(k -> "headers contains %%v, which %%v would ignore without a word: %%v".format(k.format_json(no_indent: true).string(), $server, $other_headers.get(k.apply("as_key"))))
)
`, fieldList(streamload.NotInStarRocks()), fieldList(streamload.NotInDoris()), asJSON(streamload.DorisHeaders()))
}

// fieldList is fields as Bloblang reads them.
func fieldList(fields []streamload.DialectField) string {
	type entry struct {
		Field   string `json:"field"`
		Instead string `json:"instead"`
		Default any    `json:"default"`
	}
	entries := make([]entry, 0, len(fields))
	for _, f := range fields {
		entries = append(entries, entry{f.Field, f.Instead, f.Default})
	}
	return asJSON(entries)
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts and numbers can always be written
	}
	return string(text)
}
