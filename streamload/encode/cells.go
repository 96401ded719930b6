package encode

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Dialect is whose CSV reader will read the rows. The two differ in what a quote
// or an escape outside of quotes means, and in whether an escaped \N is NULL.
type Dialect uint8

const (
	// Doris is Apache Doris (be csv_reader.cpp, new_plain_text_line_reader.cpp).
	Doris Dialect = iota
	// StarRocks is StarRocks (be formats/csv/csv_reader.cpp).
	StarRocks
)

// null is NULL in CSV, in both dialects.
const null = `\N`

// CellWriter makes CSV rows of cells, so that the server reads back exactly what
// the cells are. It is safe for concurrent use.
type CellWriter struct {
	o       Options
	checker *csvChecker
	// look is true for every byte that may have a meaning. A text without any is
	// written as it is.
	look [256]bool
	// walk is true where separator or delimiter are longer than a byte. Then they
	// can come about where two cells meet, so each row is read once to make sure.
	walk bool
}

// NewCellWriter makes a CellWriter for rows that are encoded with the same
// options. Its error says which of them cannot work together.
func NewCellWriter(o Options) (*CellWriter, error) {
	w := &CellWriter{o: o, checker: newCSVChecker(o)}
	c := w.checker
	for _, quoting := range [...]struct {
		name string
		b    byte
	}{{"enclose", o.Enclose}, {"escape", o.Escape}} {
		if b := quoting.b; b != 0 && (bytes.IndexByte(c.separator, b) >= 0 || bytes.IndexByte(c.delimiter, b) >= 0) {
			return nil, fmt.Errorf("the %s byte %s is part of a separator", quoting.name, excerpt([]byte{b}))
		}
	}
	if o.Escape != 0 && o.Escape == o.Enclose {
		return nil, errors.New("escape and enclose are the same byte")
	}
	if bytes.Contains(c.separator, c.delimiter) || bytes.Contains(c.delimiter, c.separator) {
		return nil, errors.New("column_separator and line_delimiter contain each other")
	}
	for _, b := range [...]byte{c.separator[0], c.delimiter[0], o.Enclose, o.Escape, 0, '\r', '\\', '"', '\''} {
		w.look[b] = true
	}
	for b := utf8.RuneSelf; b < len(w.look); b++ {
		w.look[b] = true // it has to be valid UTF-8
	}
	// The end of a text and the separator behind it can make a separator that begins earlier.
	for _, s := range [...][]byte{c.separator, c.delimiter} {
		w.walk = w.walk || len(s) > 1
	}
	return w, nil
}

// errNoCells is a row that would be an empty line.
var errNoCells = errors.New("a row needs at least one cell")

// Append appends the row of cells to dst, without a line delimiter, and returns
// the longer slice. The error says which cell cannot be written, and why; dst is
// then returned as it was.
//
// What a cell may be, and how it is written:
//
//   - nil: \N, which is NULL
//   - string and []byte: as they are, quoted where that is needed
//   - bool: true and false
//   - numbers, json.Number, *big.Int and *big.Float: all their digits; a
//     json.Number as it is written, a float in the shortest form that is read
//     back as the same float
//   - time.Time: RFC 3339 with nanoseconds
//   - map[string]any and []any, of such values: JSON, keys sorted
func (w *CellWriter) Append(dst []byte, cells []any) ([]byte, error) {
	if len(cells) == 0 {
		return dst, errNoCells
	}
	if n := w.o.Columns; n > 0 && len(cells) != n {
		return dst, cellCountError(len(cells), n)
	}
	row, ends, err := w.row(dst, cells, false)
	if err == nil && w.walk && !w.readsBack(row[len(dst):], len(dst), ends) {
		// Inside quotes no byte counts for a separator.
		if row, ends, err = w.row(dst, cells, true); err == nil && !w.readsBack(row[len(dst):], len(dst), ends) {
			err = errors.New("two cells that meet would be read as a separator; set enclose, or choose other separators")
		}
	}
	if err != nil {
		return dst, err
	}
	return row, nil
}

// row writes all cells, and returns where they end. quote is set to quote each text.
func (w *CellWriter) row(dst []byte, cells []any, quote bool) (row []byte, ends []int, err error) {
	row = dst
	for i, cell := range cells {
		if i > 0 {
			row = append(row, w.checker.separator...)
		}
		at := place{first: i == 0, last: i == len(cells)-1, quote: quote && w.o.Enclose != 0}
		if row, err = w.cell(row, cell, at); err != nil {
			return dst, nil, fmt.Errorf("cell %d %w", i+1, err)
		}
		if w.walk {
			ends = append(ends, len(row))
		}
	}
	return row, ends, nil
}

// readsBack says whether the server finds the ends of cells where they are.
func (w *CellWriter) readsBack(line []byte, offset int, ends []int) bool {
	if len(w.checker.trimLineEnd(line)) < len(line) {
		return false
	}
	var found []int
	err := w.checker.walk(line, func(end int) { found = append(found, end+offset) })
	return err == nil && slices.Equal(found, ends) && !w.checker.runsIntoDelimiter(line)
}

// place is where in the row a cell stands.
type place struct {
	first, last bool
	quote       bool // also where it is not needed
}

// plain says whether nothing in a text can have a meaning.
func (w *CellWriter) plain(s []byte) bool {
	for _, b := range s {
		if w.look[b] {
			return false
		}
	}
	return len(s) > 0
}

// text appends a cell that is a text.
func (w *CellWriter) text(dst, s []byte, at place) ([]byte, error) {
	if !at.quote && w.plain(s) {
		return append(dst, s...), nil
	}
	if !utf8.Valid(s) {
		i := invalidUTF8(s)
		return dst, fmt.Errorf("is not valid UTF-8 at byte %d: %s", i, excerptAround(s, i))
	}
	enclose, escape := w.o.Enclose, w.o.Escape
	if string(s) == null && (escape == 0 || w.o.Dialect == StarRocks) {
		if w.o.Dialect == StarRocks {
			return dst, fmt.Errorf(`is the text %s, which StarRocks reads as NULL; load it as JSON, or make it null`, excerpt(s))
		}
		return dst, fmt.Errorf(`is the text %s, which would be read as NULL; set escape, or make it null`, excerpt(s))
	}
	why, of := w.needsQuotes(s, at)
	switch {
	case why != "" && enclose == 0:
		if of != nil {
			why += " " + excerpt(of)
		}
		return dst, fmt.Errorf("%s, which it cannot without quotes; set enclose and escape: %s", why, excerpt(s))
	case why == "" && !at.quote:
		return w.escaped(dst, s, false), nil
	case escape == 0 && bytes.IndexByte(s, enclose) >= 0:
		return dst, fmt.Errorf("needs quotes and contains the enclose byte %s; set escape: %s", excerpt([]byte{enclose}), excerpt(s))
	case escape == 0 && bytes.IndexByte(s, 0) >= 0:
		// The readers take a NUL for the escape byte where none is set.
		return dst, fmt.Errorf("needs quotes and contains a NUL; set escape: %s", excerpt(s))
	}
	dst = append(dst, enclose)
	dst = w.escaped(dst, s, true)
	return append(dst, enclose), nil
}

// needsQuotes says what a text does, with which separator, that it can do in
// quotes only; "" when it can stand for itself.
func (w *CellWriter) needsQuotes(s []byte, at place) (why string, of []byte) {
	c, o := w.checker, &w.o
	switch {
	case len(s) == 0 && at.first && at.last:
		return "is empty and the only one, so that its line would be skipped", nil
	case bytes.Contains(s, c.separator):
		return "contains the column_separator", c.separator
	case bytes.Contains(s, c.delimiter):
		return "contains the line_delimiter", c.delimiter
	case !at.last && runsInto(s, c.separator):
		return "ends with the beginning of the column_separator", c.separator
	case at.last && runsInto(s, c.delimiter):
		return "ends with the beginning of the line_delimiter", c.delimiter
	case at.last && len(c.delimiter) == 1 && c.delimiter[0] == '\n' && bytes.HasSuffix(s, []byte{'\r'}):
		return "ends its line with a carriage return", nil
	case at.first && bytes.HasPrefix(s, byteOrderMark):
		return "begins its line with a byte order mark", nil
	case o.Enclose == 0:
		return "", nil
	case len(s) > 0 && s[0] == o.Enclose:
		return "begins with the enclose byte", nil
	case (o.Escape != 0 || o.Dialect == StarRocks) && bytes.IndexByte(s, o.Enclose) >= 0:
		// StarRocks takes a quote anywhere for the escape of what follows. Doris does not, but where both bytes are set
		// there is no doubt for any reader if they are used.
		return "contains the enclose byte", nil
	case o.Dialect == StarRocks && o.Escape == 0 && bytes.IndexByte(s, 0) >= 0:
		return "contains a NUL", nil
	}
	return "", nil
}

// escaped appends a text with the escape byte before each byte that has a
// meaning, if there is an escape byte. The server takes it away in every cell, in
// quotes or not.
func (w *CellWriter) escaped(dst, s []byte, quoted bool) []byte {
	enclose, escape := w.o.Enclose, w.o.Escape
	if escape == 0 {
		return append(dst, s...)
	}
	// Doris looks for NULL, and for quotes to be trimmed, before it takes the escape away.
	hide := string(s) == null || w.trimsQuotes(s)
	for i, b := range s {
		switch {
		case b == escape, quoted && b == enclose, hide && i == 0:
			dst = append(dst, escape)
		case b == 0 && enclose == 0:
			// Doris makes one NUL of two then, and StarRocks takes a NUL for the enclose byte.
			dst = append(dst, escape)
		}
		dst = append(dst, b)
	}
	return dst
}

// trimsQuotes says whether some version of Doris would take quotes away from a
// text although they are no enclosing ones: with trim_double_quotes any pair of
// double quotes, in 2.1 also one of single quotes (Slice::trim_quote).
func (w *CellWriter) trimsQuotes(s []byte) bool {
	if !w.o.TrimDoubleQuotes || w.o.Dialect != Doris || len(s) < 2 {
		return false
	}
	first, last := s[0], s[len(s)-1]
	return first == last && (first == '"' || first == '\'')
}
