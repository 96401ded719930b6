// Package rows reads the rows out of the body of a load, independently of the
// code that wrote them, in a form that can be compared with the messages that
// they came from.
package rows

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// Layout says how a case lays its rows out.
type Layout struct {
	Format    string // json or csv
	Separator string // between the cells of a csv row
	Delimiter string // between csv rows
	Enclose   string // the quote around a csv cell, or nothing
	Escape    string // goes before a quote inside a quoted cell, or nothing
	// Fields are the fields of a JSON message that make up its csv row. Empty:
	// the message is the row.
	Fields []string
}

const bom = "\ufeff"

// unreadable goes before what is no row of the layout, so that it equals no
// row that a message could stand for.
const unreadable = "unreadable: "

// OfBody returns the rows of a load's body. What can't be read as rows comes
// back as one row that equals no message.
func (l Layout) OfBody(body []byte) []string {
	if l.Format == "json" {
		found, err := documents(body)
		if err != nil {
			return append(found, unreadable+string(body))
		}
		return found
	}
	var found []string
	for _, cells := range l.split(string(body)) {
		found = append(found, canonical(cells))
	}
	return found
}

// OfMessage returns the rows that a message stands for: none if it is no row.
func (l Layout) OfMessage(message string) []string {
	switch {
	case l.Format == "json":
		found, err := documents([]byte(message))
		if err != nil {
			return nil
		}
		return found
	case len(l.Fields) > 0:
		return l.fromFields(message)
	default:
		line := strings.TrimSuffix(strings.TrimSuffix(message, "\n"), "\r")
		line = strings.TrimSuffix(line, l.Delimiter)
		return []string{canonical(l.cells(line))}
	}
}

func (l Layout) fromFields(message string) []string {
	object, err := decode(message)
	fields, ok := object.(map[string]any)
	if err != nil || !ok {
		return nil
	}
	cells := make([]any, len(l.Fields))
	for i, name := range l.Fields {
		switch v := fields[name].(type) {
		case nil:
		case string:
			cells[i] = v
		default:
			cells[i] = canonical(v)
		}
	}
	return []string{canonical(cells)}
}

// documents reads JSON values one after the other; an array at the top stands
// for its elements.
func documents(text []byte) ([]string, error) {
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte(bom))))
	dec.UseNumber()
	var found []string
	for {
		var v any
		if err := dec.Decode(&v); err != nil {
			if errors.Is(err, io.EOF) {
				return found, nil
			}
			return found, err
		}
		if list, ok := v.([]any); ok {
			for _, element := range list {
				found = append(found, canonical(element))
			}
			continue
		}
		found = append(found, canonical(v))
	}
}

func decode(text string) (any, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

// canonical writes a value so that equal values have equal texts: sorted keys,
// numbers digit for digit.
func canonical(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return unreadable + err.Error()
	}
	return string(text)
}

// split cuts a csv body into rows of cells. Empty lines are no rows.
func (l Layout) split(body string) [][]any {
	var all [][]any
	start, quoted := 0, false
	for i := 0; i <= len(body); {
		switch {
		case i == len(body) || !quoted && strings.HasPrefix(body[i:], l.Delimiter):
			if line := body[start:i]; line != "" {
				all = append(all, l.cells(line))
			}
			if i == len(body) {
				return all
			}
			i += len(l.Delimiter)
			start = i
		case l.Enclose != "" && l.Escape != "" && strings.HasPrefix(body[i:], l.Escape+l.Enclose):
			i += len(l.Escape) + len(l.Enclose)
		case l.Enclose != "" && strings.HasPrefix(body[i:], l.Enclose):
			quoted = !quoted
			i += len(l.Enclose)
		default:
			i++
		}
	}
	return all
}

// cells cuts one csv row. \N outside of quotes is null.
func (l Layout) cells(line string) []any {
	var found []any
	var cell strings.Builder
	quoted, wasQuoted := false, false
	end := func() {
		if text := cell.String(); text == `\N` && !wasQuoted {
			found = append(found, nil)
		} else {
			found = append(found, text)
		}
		cell.Reset()
		wasQuoted = false
	}
	for i := 0; i < len(line); {
		switch {
		case !quoted && strings.HasPrefix(line[i:], l.Separator):
			end()
			i += len(l.Separator)
		case quoted && l.Escape != "" && strings.HasPrefix(line[i:], l.Escape) && i+len(l.Escape) < len(line):
			i += len(l.Escape)
			cell.WriteByte(line[i])
			i++
		case l.Enclose != "" && strings.HasPrefix(line[i:], l.Enclose):
			quoted, wasQuoted = !quoted, true
			i += len(l.Enclose)
		default:
			cell.WriteByte(line[i])
			i++
		}
	}
	end()
	return found
}
