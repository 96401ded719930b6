package reader

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// readMarked reads a body as StarRocks does where Enclose or Escape are set
// (csv_reader.cpp, more_rows). Other than in Doris an escape counts outside of
// enclosed fields too, two marks are one, and NULL is looked for when all that is
// gone. A mark in the middle of a field stands before a byte that is meant literally.
// The last byte of a field that began with a mark is taken for the mark at its end.
func (c CSV) readMarked(body []byte, yield Yield) {
	for n := 0; len(body) > 0; n++ {
		cells, size := c.record(body)
		line := bytes.TrimSuffix(body[:size], []byte(c.Delimiter))
		body = body[size:]
		if n < c.Skip || len(line) == 0 {
			continue
		}
		row := Row{Src: string(line), Cells: cells}
		if !utf8.Valid(line) {
			row = Row{Bad: notUTF8}
		}
		if !yield(c.counted(row)) {
			return
		}
	}
}

// fieldState is where in a field a byte stands.
type fieldState uint8

const (
	atStart fieldState = iota
	plainly
	inMarks
)

// record reads the fields of the first line of text, and how long it is with its
// delimiter.
func (c CSV) record(text []byte) (cells []Cell, size int) {
	var field []byte
	var marked bool
	state := atStart
	is := func(i int, mark byte) bool { return mark != 0 && i < len(text) && text[i] == mark }
	end := func() {
		if marked && len(field) > 0 {
			field = field[:len(field)-1]
		}
		f := string(field)
		if c.TrimSpace {
			f = strings.Trim(f, " ")
		}
		if f == null {
			cells = append(cells, Cell{Null: true})
		} else {
			cells = append(cells, Cell{Text: f})
		}
		field, marked, state = nil, false, atStart
	}
	// take takes the byte at i literally, if there is one, and returns what is behind it.
	take := func(i int) int {
		if i < len(text) {
			field = append(field, text[i])
		}
		return i + 1
	}
	i := 0
	for i < len(text) {
		separated, ended := hasAt(text, i, c.Separator), hasAt(text, i, c.Delimiter)
		switch {
		case state == inMarks && is(i, c.Enclose) && is(i+1, c.Enclose):
			i = take(i + 1)
		case state == inMarks && is(i, c.Enclose):
			state = plainly
			i = take(i)
		case state != inMarks && ended:
			end()
			return cells, i + len(c.Delimiter)
		case state != inMarks && separated:
			end()
			i += len(c.Separator)
		case is(i, c.Escape):
			if state == atStart {
				state = plainly
			}
			i, state = c.escaped(text, i+1, &field, state)
		case state == inMarks:
			i = take(i)
		case state == atStart && c.TrimSpace && text[i] == ' ':
			i++
		case state == atStart && is(i, c.Enclose) && !is(i+1, c.Enclose):
			state, marked = inMarks, true
			i++
		case state == atStart && is(i, c.Enclose): // two of them: empty, or one that is meant literally
			state = plainly
			marked = hasAt(text, i+2, c.Separator) || hasAt(text, i+2, c.Delimiter) || i+2 == len(text)
			i = take(i + 1)
		case is(i, c.Enclose):
			i = take(i + 1)
		default:
			state = plainly
			i = take(i)
		}
	}
	end()
	return cells, len(text)
}

// escaped appends what stands behind an escape: a mark, a delimiter or a separator.
// An escape before anything else is lost, and so are marks around it.
func (c CSV) escaped(text []byte, i int, field *[]byte, state fieldState) (int, fieldState) {
	var size int
	switch {
	case i < len(text) && (text[i] == c.Enclose && c.Enclose != 0 || text[i] == c.Escape):
		size = 1
	case hasAt(text, i, c.Delimiter):
		size = len(c.Delimiter)
	case hasAt(text, i, c.Separator):
		size = len(c.Separator)
	default:
		return i, plainly
	}
	*field = append(*field, text[i:i+size]...)
	return i + size, state
}
