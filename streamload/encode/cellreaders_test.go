package encode

import (
	"bytes"
	"strings"
)

// dorisVersion is how a version of Doris reads the cells of a line.
type dorisVersion struct {
	name string
	// trimSingle: trim_double_quotes takes a pair of single quotes too.
	trimSingle bool
	// doubled: two enclose bytes are one where there is an escape byte.
	doubled bool
}

var dorisVersions = []dorisVersion{
	{name: "2.1", trimSingle: true},
	{name: "4.0", doubled: true},
}

// dorisRead reads a body as csv_reader.cpp does: the line reader cuts it into
// lines and remembers the separators outside of quotes; then each cell loses its
// enclosing quotes, is compared with \N, and loses its escapes.
func dorisRead(body []byte, o Options, v dorisVersion) (rows [][]any) {
	sep := o.ColumnSeparator
	if sep == "" {
		sep = ","
	}
	for _, line := range serverLines(body, o) {
		var row []any
		for _, cell := range dorisSplit(line, sep, o.Enclose, o.Escape) {
			row = append(row, dorisCell(cell, o, v))
		}
		rows = append(rows, row)
	}
	return rows
}

func dorisSplit(line []byte, sep string, enclose, escape byte) (cells [][]byte) {
	start := 0
	for i := 0; ; {
		if enclose != 0 && i == start && i < len(line) && line[i] == enclose {
			i++
			for escaped, quote := false, false; i < len(line); i++ {
				b := line[i]
				if b == escape {
					escaped = !escaped
				} else if escaped {
					escaped = false
				} else if quote && b != enclose {
					break
				} else {
					quote = b == enclose && !quote
				}
			}
		}
		n := bytes.Index(line[i:], []byte(sep))
		if n < 0 {
			return append(cells, line[start:])
		}
		cells = append(cells, line[start:i+n])
		i += n + len(sep)
		start = i
	}
}

func dorisCell(cell []byte, o Options, v dorisVersion) any {
	pair := func(q byte) bool { return len(cell) >= 2 && cell[0] == q && cell[len(cell)-1] == q }
	if o.Enclose != 0 && (o.Enclose != '"' || o.TrimDoubleQuotes) && pair(o.Enclose) {
		cell = cell[1 : len(cell)-1]
	}
	trimmed := o.TrimDoubleQuotes && (pair('"') || v.trimSingle && pair('\''))
	if trimmed {
		cell = cell[1 : len(cell)-1]
	} else if string(cell) == `\N` {
		return nil
	}
	if o.Escape == 0 {
		return string(cell)
	}
	var out strings.Builder
	escaped := false
	for i := range cell {
		two := v.doubled && i < len(cell)-1 && cell[i] == o.Enclose && cell[i+1] == o.Enclose
		if cell[i] == o.Escape || two {
			escaped = !escaped
		} else {
			escaped = false
		}
		if !escaped {
			out.WriteByte(cell[i])
		}
	}
	return out.String()
}

// starRocksRead reads a body as the state machine of csv_reader.cpp does
// (more_rows), with its states and their order.
func starRocksRead(body []byte, o Options) (rows [][]any) {
	const (
		start = iota
		ordinary
		enclosed
		escape
		encloseEscape
	)
	sep, delim := o.ColumnSeparator, o.LineDelimiter
	if sep == "" {
		sep = ","
	}
	if delim == "" {
		delim = "\n"
	}
	text := string(body) + delim
	var row []any
	var cell []byte
	state, before, quoted := start, start, false
	push := func() {
		if quoted {
			cell = cell[:len(cell)-1]
		}
		if string(cell) == `\N` {
			row = append(row, nil)
		} else {
			row = append(row, string(cell))
		}
		cell, quoted, state = nil, false, start
	}
	for i := 0; i < len(text); {
		b := text[i]
		// What is written, and what of it the cell gets, part ways: an escape is kept out of it.
		switch state {
		case start, ordinary:
			switch {
			case strings.HasPrefix(text[i:], delim):
				push()
				rows, row = append(rows, row), nil
				i += len(delim)
			case strings.HasPrefix(text[i:], sep):
				push()
				i += len(sep)
			case b == o.Escape:
				before, state = ordinary, escape
				i++
			case b == o.Enclose && state == start:
				i++
				if text[i] != o.Enclose {
					state, quoted = enclosed, true
					break
				}
				i++
				if strings.HasPrefix(text[i:], delim) || strings.HasPrefix(text[i:], sep) {
					quoted = true
				}
				cell = append(cell, b)
				state = ordinary
			case b == o.Enclose:
				before, state = ordinary, encloseEscape
				i++
			default:
				cell = append(cell, b)
				state = ordinary
				i++
			}
		case enclosed:
			switch b {
			case o.Enclose:
				i++
				if text[i] == o.Enclose {
					before, state = enclosed, encloseEscape
				} else {
					cell = append(cell, b)
					state = ordinary
				}
			case o.Escape:
				before, state = enclosed, escape
				i++
			default:
				cell = append(cell, b)
				i++
			}
		case escape:
			n := 0
			switch {
			case b == o.Enclose, b == o.Escape:
				n = 1
			case strings.HasPrefix(text[i:], delim):
				n = len(delim)
			case strings.HasPrefix(text[i:], sep):
				n = len(sep)
			}
			state = before
			if n == 0 {
				state = ordinary
			}
			cell = append(cell, text[i:i+n]...)
			i += n
		case encloseEscape:
			cell = append(cell, b)
			state = before
			i++
		}
	}
	return rows
}
