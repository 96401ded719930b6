package reader

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// JSON says how a JSON body is laid out and which fields are wanted.
type JSON struct {
	// ByLine: the body is one document for each line (read_json_by_line).
	ByLine bool
	// Strip: each document is an array of objects (strip_outer_array).
	Strip bool
	// Stream: the body is a row of documents with nothing or white space between
	// them, as StarRocks reads it; with Strip it is one array. ByLine has no
	// meaning then.
	Stream bool
	// Sparse: an object that has none of the columns is a row without values. It
	// is a bad row otherwise.
	Sparse bool
	// NoRest: something other than white space behind the first value of a document
	// makes it one bad row. It is ignored otherwise.
	NoRest bool
	// Delimiter ends a line when ByLine is set; default "\n".
	Delimiter string
	// Root is the path to the value that holds the row (json_root).
	Root Path
	// Paths feed the columns one by one (jsonpaths); empty means that the
	// name of a column is the key of its value.
	Paths []Path
	// PathsText is the header jsonpaths as it was sent, for messages.
	PathsText string
	// Columns are the names of the wanted columns.
	Columns []string
	// NotNull marks columns that refuse a JSON null; same length as Columns
	// or empty.
	NotNull []bool

	index map[string]int // of Columns, made by Read
}

const stage1 = "Parse json data for JsonDoc failed. code: %d, error info: %s"

// Read gives the rows of the body, in order.
func (j JSON) Read(body []byte, yield Yield) {
	j.index = make(map[string]int, len(j.Columns))
	for i, name := range j.Columns {
		j.index[name] = i
	}
	if j.Stream && !j.Strip {
		j.stream(body, yield)
		return
	}
	if !j.ByLine || j.Stream {
		j.document(body, yield)
		return
	}
	delim := []byte(j.Delimiter)
	if len(delim) == 0 {
		delim = []byte("\n")
	}
	for len(body) > 0 {
		line, rest, _ := bytes.Cut(body, delim)
		body = rest
		if len(line) > 0 && !j.document(line, yield) {
			return
		}
	}
}

func trimBOM(doc []byte) []byte { return bytes.TrimPrefix(doc, []byte("\xef\xbb\xbf")) }

func bad(doc []byte, format string, args ...any) Row {
	return Row{Bad: fmt.Sprintf(format, args...), Src: string(doc)}
}

// stream reads documents until the body ends, or one of them cannot be read: the
// reader does not know where the next one begins then.
func (j JSON) stream(body []byte, yield Yield) {
	body = trimBOM(body)
	if !utf8.Valid(body) {
		yield(bad(body, stage1, 10, "The input is not valid UTF-8"))
		return
	}
	s := scanner{b: body}
	for s.space(); s.i < len(body); s.space() {
		from := s.i
		value, err := s.raw()
		switch {
		case err != nil:
			yield(bad(body[from:], stage1, 3, err))
			return
		case !j.document(value, yield):
			return
		}
	}
}

// document reads one document. What follows its first value is ignored, as
// the server does.
func (j JSON) document(doc []byte, yield Yield) bool {
	doc = trimBOM(doc)
	if len(doc) == 0 {
		return true
	}
	if !utf8.Valid(doc) {
		return yield(bad(doc, stage1, 10, "The input is not valid UTF-8"))
	}
	s := scanner{b: doc}
	switch s.peek() {
	case '{':
		if j.Strip && len(j.Root) == 0 {
			return yield(bad(doc, "JSON data is not an array-object, `strip_outer_array` must be FALSE."))
		}
	case '[':
		if !j.Strip && len(j.Root) == 0 {
			return yield(bad(doc, "JSON data is array-object, `strip_outer_array` must be TRUE."))
		}
	case 0:
		return yield(bad(doc, stage1, 12, "Empty: no JSON found"))
	default:
		if _, err := s.raw(); err != nil {
			return yield(bad(doc, stage1, 3, err))
		}
		return yield(bad(doc, "Not an json object or json array"))
	}
	value, err := s.raw()
	if err != nil {
		return yield(bad(doc, stage1, 3, err))
	}
	if s.space(); j.NoRest && s.i < len(doc) {
		return yield(bad(doc, stage1, 2, "The document root must not be followed by other values."))
	}
	if !j.Strip || value[0] == '{' {
		value, row, ok := j.root(value)
		if !ok {
			return yield(row)
		}
		if j.Strip && value[0] == '[' {
			j.Root = nil // it was applied already
			return j.array(value, yield)
		}
		return yield(j.object(value))
	}
	return j.array(value, yield)
}

func (j JSON) root(value []byte) ([]byte, Row, bool) {
	if len(j.Root) == 0 {
		return value, Row{}, true
	}
	found, ok := j.Root.find(value)
	if !ok {
		return nil, bad(value, "JsonRoot not found."), false
	}
	return found, Row{}, true
}

// array reads a whole array. A syntax error anywhere makes it one bad row.
func (j JSON) array(value []byte, yield Yield) bool {
	var rows []Row
	s := scanner{b: value}
	err := s.elements(func() error {
		item, err := s.raw()
		if err != nil {
			return err
		}
		found, row, ok := j.root(item)
		if ok {
			row = j.object(found)
		}
		rows = append(rows, row)
		return nil
	})
	switch {
	case err != nil:
		return yield(bad(value, stage1, 3, err))
	case len(rows) == 0:
		return yield(bad(value, "Empty json line"))
	}
	for _, row := range rows {
		if !yield(row) {
			return false
		}
	}
	return true
}

// object maps one object to the wanted columns.
func (j JSON) object(value []byte) Row {
	if value[0] != '{' {
		return bad(value, "Not object item")
	}
	row := Row{Cells: make([]Cell, len(j.Columns)), Src: string(value)}
	found := false
	set := func(i int, raw []byte) bool {
		c, err := cell(raw)
		if err != nil {
			row.Bad = "Parse json data failed. code: 3, error info: " + err.Error()
			return false
		}
		if c.Null && i < len(j.NotNull) && j.NotNull[i] {
			row.Bad = fmt.Sprintf("Json value is null, but the column `%s` is not nullable.", j.Columns[i])
			return false
		}
		row.Cells[i], found = c, true
		return true
	}
	for i := range row.Cells {
		row.Cells[i].Missing = true
	}
	if len(j.Paths) > 0 {
		for i := range j.Columns {
			if i >= len(j.Paths) {
				break
			}
			if raw, ok := j.Paths[i].find(value); ok && !set(i, raw) {
				return row
			}
		}
	} else {
		s := scanner{b: value}
		_ = s.members(0, func(key []byte) error { // the text was scanned before
			raw, err := s.raw()
			if err != nil {
				return err
			}
			i, ok := j.index[string(key)]
			if ok && row.Cells[i].Missing && !set(i, raw) { // the first of equal keys wins
				return errJSON
			}
			return nil
		})
		if row.Bad != "" {
			return row
		}
	}
	if !found && !j.Sparse && len(j.Columns) > 0 {
		row.Bad = fmt.Sprintf("There is no column matching jsonpaths in the json file, columns:[%s], please check columns and jsonpaths:%s",
			strings.Join(j.Columns, ", "), j.PathsText)
	}
	return row
}

// Field is a key of an object with the kind of its value: 's' string,
// 'i' integer, 'f' number with fraction or exponent, 'b' boolean, 'j' object
// or array, 'n' null.
type Field struct {
	Name string
	Kind byte
}

// FirstFields gives the keys of the first readable row of the body, without
// repetitions; nil when there is none.
func (j JSON) FirstFields(body []byte) []Field {
	var fields []Field
	j.Columns, j.Paths = nil, nil
	j.Read(body, func(row Row) bool {
		if row.Bad != "" {
			return true
		}
		seen := map[string]bool{}
		s := scanner{b: []byte(row.Src)}
		_ = s.members(0, func(key []byte) error {
			raw, err := s.raw()
			if err == nil && !seen[string(key)] {
				seen[string(key)] = true
				fields = append(fields, Field{Name: string(key), Kind: kindOf(raw)})
			}
			return err
		})
		return false
	})
	return fields
}

func kindOf(raw []byte) byte {
	switch raw[0] {
	case '"':
		return 's'
	case 't', 'f':
		return 'b'
	case '{', '[':
		return 'j'
	case 'n':
		return 'n'
	}
	if bytes.ContainsAny(raw, ".eE") {
		return 'f'
	}
	return 'i'
}
