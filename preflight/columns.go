package preflight

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dorisload/benthos-doris/streamload"
)

// mapping is one part of the columns setting: a name for a value of the row, or a column that an expression fills.
type mapping struct {
	name string
	expr string // "" for a plain name
}

// columns compares the columns setting with the table.
func (r *run) columns(t streamload.TableInfo) {
	o := r.conf.Options
	mappings := splitColumns(strings.Join(o.Columns, ","))
	has := func(name string) bool {
		return strings.HasPrefix(strings.ToUpper(name), "__DORIS_") ||
			slices.ContainsFunc(t.Columns, func(c streamload.Column) bool { return strings.EqualFold(c.Name, name) })
	}
	before := len(r.Findings)
	filled := r.mapped(mappings, has)
	if c := o.Unique.SequenceColumn; c != "" && !has(c) && !filled[strings.ToLower(c)] {
		r.add("columns", Warning, fmt.Sprintf("sequence_column is %s, which is no column of %s", c, r.name()), "the rows must have it under this name; correct it if they do not")
	}
	if paths := countPaths(o.JSONPaths); paths >= 0 {
		plain := 0
		for _, m := range mappings {
			if m.expr == "" {
				plain++
			}
		}
		if len(mappings) > 0 && plain != paths {
			r.add("columns", Failed, fmt.Sprintf("jsonpaths has %d paths, and columns %d names for them", paths, plain), "they belong together one by one: make them as many")
		}
	}
	if len(mappings) > 0 && t.HasKeys && o.Unique.Partial() {
		for _, c := range t.Columns {
			if c.Key && !filled[strings.ToLower(c.Name)] {
				r.add("columns", Failed, fmt.Sprintf("a partial update needs the key column %s, which columns does not name", c.Name), "add it to columns")
			}
		}
	}
	if len(mappings) > 0 && !o.Unique.Partial() {
		var left []streamload.Column
		for _, c := range t.Columns {
			if !filled[strings.ToLower(c.Name)] {
				left = append(left, c)
			}
		}
		if len(left) > 0 {
			r.add("columns", Note, fmt.Sprintf("columns leaves out %s: they get their default, or NULL; one that has neither makes every row fail", names(left)), "")
		}
	}
	switch {
	case len(r.Findings) > before:
	case len(mappings) > 0:
		r.add("columns", OK, "all names in columns fit the table", "")
	case o.Format == "csv":
		r.add("columns", OK, fmt.Sprintf("each line needs %d cells, in the order of the table", len(t.Columns)), "")
	case o.Format == "json" && o.JSONPaths == "":
		r.add("columns", OK, "keys of the messages are taken for columns; Doris drops those that are none without a word", "")
	}
}

// mapped looks at each part of the columns setting and returns what it fills, in lower case.
func (r *run) mapped(mappings []mapping, has func(string) bool) map[string]bool {
	filled := map[string]bool{}
	for _, m := range mappings {
		filled[strings.ToLower(m.name)] = true
		switch {
		case has(m.name):
		case m.expr != "":
			r.add("columns", Failed, fmt.Sprintf("columns fills %q, which is no column of %s", m.name, r.name()), "correct the name in columns, or add the column to the table")
		case !slices.ContainsFunc(mappings, func(other mapping) bool { return uses(other.expr, m.name) }):
			r.add("columns", Warning, fmt.Sprintf("columns names %s, which is no column of %s and which no expression uses: its values are dropped", m.name, r.name()),
				"correct the name if that is not meant")
		}
	}
	return filled
}

// splitColumns reads a columns header: names and name=expression, between commas that stand in no brackets and no quotes.
func splitColumns(header string) []mapping {
	var out []mapping
	add := func(part string) {
		if part = strings.TrimSpace(part); part == "" {
			return
		}
		name, expr, _ := strings.Cut(part, "=")
		out = append(out, mapping{unquote(strings.TrimSpace(name)), strings.TrimSpace(expr)})
	}
	depth, quote, from := 0, byte(0), 0
	for i := range len(header) {
		switch c := header[i]; {
		case quote != 0:
			if c == quote && (i == 0 || header[i-1] != '\\') {
				quote = 0
			}
		case c == '\'' || c == '"' || c == '`':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth <= 0:
			add(header[from:i])
			from = i + 1
		}
	}
	add(header[from:])
	return out
}

func unquote(name string) string { return strings.Trim(name, "`") }

// uses is true when an expression has a name in it as a word.
func uses(expr, name string) bool {
	if name == "" {
		return false
	}
	expr, name = strings.ToLower(expr), strings.ToLower(name)
	for at := 0; ; {
		i := strings.Index(expr[at:], name)
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(name)
		if (from == 0 || !wordByte(expr[from-1])) && (to == len(expr) || !wordByte(expr[to])) {
			return true
		}
		at = from + 1
	}
}

func wordByte(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// countPaths is how many paths there are, -1 when there are none or they cannot be read.
func countPaths(text string) int {
	var paths []string
	if text == "" || json.Unmarshal([]byte(text), &paths) != nil {
		return -1
	}
	return len(paths)
}
