package reader

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// CSV says how a CSV body is laid out.
type CSV struct {
	// Separator stands between fields, Delimiter after lines; both may be
	// longer than one byte. Defaults: tab and newline.
	Separator, Delimiter string
	// Enclose may stand around a field, Escape before a byte that is meant
	// literally; 0 means none.
	Enclose, Escape byte
	// Doubled lets two Enclose bytes be one where there is an Escape.
	Doubled bool
	// StarRocks reads fields as StarRocks does; see readMarked.
	StarRocks bool
	// TrimDoubleQuotes takes one pair of double quotes off each field. With
	// Enclose '"' the quotes stay in the field unless this is set.
	TrimDoubleQuotes bool
	// EmptyAsNull turns empty fields into NULL.
	EmptyAsNull bool
	// TrimSpace takes spaces off both ends of each field, inside of the quotes too.
	TrimSpace bool
	// Skip is the number of lines to leave out at the beginning.
	Skip int
	// Width is the number of fields a row must have; 0 accepts any.
	Width int
	// WidthText words the reason of a row with another number of fields; nil: as
	// Doris.
	WidthText func(got int) string
}

func (c CSV) defaults() CSV {
	if c.Separator == "" {
		c.Separator = "\t"
	}
	if c.Delimiter == "" {
		c.Delimiter = "\n"
	}
	return c
}

// Read gives the rows of the body, in order. Empty lines do not count.
func (c CSV) Read(body []byte, yield Yield) {
	c = c.defaults()
	body = trimBOM(body)
	if c.StarRocks && (c.Enclose != 0 || c.Escape != 0) {
		c.readMarked(body, yield)
		return
	}
	for n := 0; len(body) > 0; n++ {
		var line []byte
		line, body = c.line(body)
		if n < c.Skip || len(line) == 0 {
			continue
		}
		if !yield(c.row(line)) {
			return
		}
	}
}

// FirstLine gives the fields of line n (from 0) of the body, nil when there is
// no such line.
func (c CSV) FirstLine(body []byte, n int) []string {
	var fields []string
	c.Skip, c.Width = n, 0
	c.Read(body, func(row Row) bool {
		for _, cell := range row.Cells {
			fields = append(fields, cell.Text)
		}
		return false
	})
	return fields
}

// line cuts the next line off the body. A delimiter inside an enclosed field
// does not end it.
func (c CSV) line(body []byte) (line, rest []byte) {
	if c.Enclose == 0 {
		line, rest, _ = bytes.Cut(body, []byte(c.Delimiter))
	} else {
		end, after := len(body), len(body)
		c.fields(body, func(int, int) {}, func(at int) bool {
			end, after = at, at+len(c.Delimiter)
			return true
		})
		line, rest = body[:end], body[min(after, len(body)):]
	}
	if c.Delimiter == "\n" {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	return line, rest
}

// notUTF8 is what is wrong with a line that is no text.
const notUTF8 = "Unable to display, only support csv data in utf8 codec, please check the data encoding"

// null is NULL.
const null = `\N`

// fields walks over text, calling field with the bounds of each field, and
// eol at each delimiter outside of enclosed fields; eol returning true ends the
// walk. eol may be nil when text is known to be one line.
func (c CSV) fields(text []byte, field func(from, to int), eol func(at int) bool) {
	from, inside := 0, false
	for i := 0; i < len(text); {
		switch {
		case inside:
			// Only here an escape counts (new_plain_text_line_reader.cpp).
			if c.Escape != 0 && text[i] == c.Escape && i+1 < len(text) {
				i++
			} else if text[i] == c.Enclose {
				if i+1 < len(text) && text[i+1] == c.Enclose {
					i++ // a doubled mark is a literal one
				} else {
					inside = false
				}
			}
			i++
		case c.Enclose != 0 && i == from && text[i] == c.Enclose:
			inside = true
			i++
		case hasAt(text, i, c.Separator):
			field(from, i)
			i += len(c.Separator)
			from = i
		case eol != nil && hasAt(text, i, c.Delimiter):
			field(from, i)
			if eol(i) {
				return
			}
			i += len(c.Delimiter)
			from = i
		default:
			i++
		}
	}
	field(from, len(text))
}

func hasAt(text []byte, i int, word string) bool {
	return len(text)-i >= len(word) && string(text[i:i+len(word)]) == word
}

func (c CSV) row(line []byte) Row {
	if !utf8.Valid(line) {
		return Row{Bad: notUTF8}
	}
	row := Row{Src: string(line)}
	if c.Enclose == 0 {
		for f := range strings.SplitSeq(row.Src, c.Separator) {
			row.Cells = append(row.Cells, c.cell(f))
		}
	} else {
		c.fields(line, func(from, to int) {
			row.Cells = append(row.Cells, c.cell(row.Src[from:to]))
		}, nil)
	}
	return c.counted(row)
}

// counted is a row, or why it is bad where it has another number of fields than it must have.
func (c CSV) counted(row Row) Row {
	switch {
	case row.Bad != "" || c.Width == 0 || len(row.Cells) == c.Width:
	case c.WidthText != nil:
		row.Bad, row.Cells = c.WidthText(len(row.Cells)), nil
	default:
		than := "more than"
		if len(row.Cells) < c.Width {
			than = "less than"
		}
		row.Bad = fmt.Sprintf("actual column number in csv file is  %s  schema column number.actual number: %d, schema column number: %d; line delimiter: [%s], column separator: [%s]; ",
			than, len(row.Cells), c.Width, c.Delimiter, c.Separator)
		row.Cells = nil
	}
	return row
}

func (c CSV) cell(f string) Cell {
	if c.TrimSpace {
		f = strings.Trim(f, " ")
	}
	keepMarks := c.Enclose == '"' && !c.TrimDoubleQuotes
	enclosed := c.Enclose != 0 && len(f) >= 2 && f[0] == c.Enclose && f[len(f)-1] == c.Enclose
	switch {
	case enclosed && !keepMarks:
		f = f[1 : len(f)-1]
	case c.TrimDoubleQuotes && len(f) >= 2 && f[0] == '"' && f[len(f)-1] == '"':
		f = f[1 : len(f)-1]
	}
	if c.TrimSpace && enclosed {
		f = strings.Trim(f, " ")
	}
	if f == null || f == "" && c.EmptyAsNull {
		return Cell{Null: true}
	}
	if c.Escape != 0 {
		f = c.unescape(f)
	}
	return Cell{Text: f}
}

// unescape takes the escapes away, in any field (data_type_string_serde.cpp). One at the end of a field is lost.
func (c CSV) unescape(f string) string {
	if strings.IndexByte(f, c.Escape) < 0 && strings.IndexByte(f, c.Enclose) < 0 {
		return f
	}
	out := make([]byte, 0, len(f))
	for i := 0; i < len(f); i++ {
		if f[i] == c.Escape || c.Doubled && f[i] == c.Enclose && i+1 < len(f) && f[i+1] == c.Enclose {
			if i++; i == len(f) {
				break
			}
		}
		out = append(out, f[i])
	}
	return string(out)
}
