package encode

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

var (
	errCSVEmpty     = errors.New("the message is an empty CSV line, which the server skips without counting it")
	errCSVDelimiter = errors.New("the line_delimiter contains the enclose byte, so that no line can be framed for sure")
)

// csvChecker judges rows that are ready CSV lines.
//
// How the server finds the end of a line is its line reader's business
// (new_plain_text_line_reader.cpp in Doris' BE): without enclose it cuts at
// every line delimiter, with it at every one outside a quoted cell; it then
// skips lines of length 0 (csv_reader.cpp, get_next_block).
type csvChecker struct {
	separator, delimiter []byte
	enclose, escape      byte
	columns              int // cells that a line must have; 0: any number
	starRocks            bool
	what                 what // a line is in the words of errors
}

func newCSVChecker(o Options) *csvChecker {
	c := &csvChecker{
		separator: []byte(o.ColumnSeparator),
		delimiter: []byte(o.LineDelimiter),
		enclose:   o.Enclose,
		escape:    o.Escape,
		columns:   o.Columns,
		starRocks: o.Dialect == StarRocks,
		what:      aMessage,
	}
	if len(c.separator) == 0 {
		c.separator = []byte{','}
	}
	if len(c.delimiter) == 0 {
		c.delimiter = []byte{'\n'}
	}
	return c
}

func (c *csvChecker) check(row []byte) ([]byte, error) {
	if c.enclose != 0 && bytes.IndexByte(c.delimiter, c.enclose) >= 0 {
		return nil, errCSVDelimiter
	}
	line := c.trimLineEnd(row)
	if len(line) == 0 {
		return nil, errCSVEmpty
	}
	if err := c.checkText(line); err != nil {
		return nil, err
	}
	if err := c.checkCells(line); err != nil {
		return nil, err
	}
	if c.runsIntoDelimiter(line) {
		return nil, runsIntoDelimiterError(c.delimiter)
	}
	return line, nil
}

// checkText looks at what a line is made of.
func (c *csvChecker) checkText(line []byte) error {
	if bytes.HasPrefix(line, byteOrderMark) {
		return c.what.errorf("the message begins with a byte order mark (U+FEFF), which the server takes for data in some places of a load and drops in others")
	}
	if !utf8.Valid(line) {
		i := invalidUTF8(line)
		return c.what.errorf("the message is not valid UTF-8 at byte %d: %s", i, excerptAround(line, i))
	}
	return nil
}

// checkCells looks that the line would end at its end, and that it has the right
// number of cells. What Doris does with a line of another number is in
// csv_reader.cpp, _line_split_to_values: it refuses it, and with it the load.
func (c *csvChecker) checkCells(line []byte) error {
	if c.columns == 0 {
		return c.walk(line, nil)
	}
	cells := 0
	if err := c.walk(line, func(int) { cells++ }); err != nil {
		return err
	}
	if cells != c.columns {
		return cellCountError(cells, c.columns)
	}
	return nil
}

func cellCountError(cells, columns int) error {
	return fmt.Errorf("the row has %d cell(s) and columns names %d, so the server would refuse it", cells, columns)
}

// walk finds the cells of a line as the server does, and calls end with the
// offset at which each one ends. end may be nil. The error says where the server
// would not find the end of the line.
func (c *csvChecker) walk(line []byte, end func(int)) error {
	at, err := c.first(line, c.quoted(line), end)
	if err == nil && at < len(line) {
		return c.delimiterError(line, at)
	}
	return err
}

// quoted says whether cells of a text may be quoted.
func (c *csvChecker) quoted(text []byte) bool {
	return c.enclose != 0 && bytes.IndexByte(text, c.enclose) >= 0
}

// first finds the end of the first line of a text as the server does, which is
// the end of the text if no delimiter counts, and the cells of it as walk does.
// quoted is what that says of the text, or of one that it is a part of.
func (c *csvChecker) first(text []byte, quoted bool, end func(int)) (at int, err error) {
	switch {
	case c.starRocks && (c.enclose != 0 || c.escape != 0):
		return c.firstStarRocks(text, end)
	case quoted:
		return c.firstQuoted(text, end)
	}
	// No cell can be quoted, so every delimiter counts.
	if at = bytes.Index(text, c.delimiter); at < 0 {
		at = len(text)
	}
	if end == nil {
		return at, nil
	}
	line, pos := text[:at], 0
	for i := bytes.Index(line, c.separator); i >= 0; i = bytes.Index(line[pos:], c.separator) {
		end(pos + i)
		pos += i + len(c.separator)
	}
	end(at)
	return at, nil
}

// delimiterError says that the line has a delimiter at offset i that counts.
func (c *csvChecker) delimiterError(line []byte, i int) error {
	advice := "quote the cell with the enclose byte"
	if c.enclose == 0 {
		advice = "set enclose and quote the cell"
	}
	return fmt.Errorf("the message contains the line_delimiter %s at byte %d outside a quoted cell and would be cut there; "+
		"%s, or choose a line_delimiter that does not occur: %s",
		excerpt(c.delimiter), i, advice, excerptAround(line, i))
}

// trimLineEnd drops one line delimiter from the end of a row. With "\n" it also
// drops the carriage returns before it: the server takes "\r\n" for a line end
// but keeps the "\r" of a last line without "\n", so that the same row would
// give different cells in different places.
func (c *csvChecker) trimLineEnd(row []byte) []byte {
	line := bytes.TrimSuffix(row, c.delimiter)
	if len(c.delimiter) == 1 && c.delimiter[0] == '\n' {
		for len(line) > 0 && line[len(line)-1] == '\r' {
			line = line[:len(line)-1]
		}
	}
	return line
}

// firstQuoted is first as Doris' line reader reads when an enclose byte is set.
//
// A quote opens a cell only as the cell's first byte; elsewhere it is a letter.
// What follows a closing quote is skipped up to the next separator.
func (c *csvChecker) firstQuoted(line []byte, cell func(end int)) (int, error) {
	delim := 0 // next line delimiter outside quotes, found anew when pos has passed it
	for pos, known := 0, false; ; {
		if pos < len(line) && line[pos] == c.enclose {
			end := c.quotedEnd(line, pos+1)
			if end < 0 {
				return 0, c.openQuoteError(line, pos)
			}
			pos = end
		}
		if !known || delim < pos {
			known = true
			if delim = bytes.Index(line[pos:], c.delimiter); delim < 0 {
				delim = len(line)
			} else {
				delim += pos
			}
		}
		// One that runs into the delimiter does not count.
		if sep := bytes.Index(line[pos:max(pos, delim)], c.separator); sep >= 0 {
			if cell != nil {
				cell(pos + sep)
			}
			pos += sep + len(c.separator)
			continue
		}
		if cell != nil {
			cell(delim)
		}
		return delim, nil
	}
}

func (c *csvChecker) openQuoteError(line []byte, pos int) error {
	return c.what.errorf("the message has a cell that the enclose byte %s opens at byte %d and nothing closes; "+
		"it would swallow the line_delimiter and the rows that follow: %s",
		excerpt(line[pos:pos+1]), pos, excerptAround(line, pos))
}

// quotedEnd returns the offset after the closing quote of the cell whose
// opening quote stands before pos, or -1 if nothing closes it.
//
// Two quotes are one letter, and the escape byte makes a letter of the byte
// that follows it. The order of the tests is the server's, and so is that a NUL
// is the escape byte when none is set (the reader compares with its zero value).
func (c *csvChecker) quotedEnd(line []byte, pos int) int {
	escaped, quote := false, false
	for ; pos < len(line); pos++ {
		switch b := line[pos]; {
		case b == c.escape:
			escaped = !escaped
		case escaped:
			escaped = false
		case quote && b == c.enclose:
			quote = false
		case quote:
			return pos
		case b == c.enclose:
			quote = true
		}
	}
	// The byte after the line shows the reader that the quote was no first half
	// of two; it does not look at one that it takes for an escape.
	if quote && !escaped && c.delimiter[0] != c.escape {
		return pos
	}
	return -1
}

// runsIntoDelimiter says whether the line with a delimiter after it has a
// delimiter that begins before the end of the line. That takes a delimiter of
// several bytes that begins as it ends, such as "||": after "a|" the server
// would cut one byte early.
func (c *csvChecker) runsIntoDelimiter(line []byte) bool { return runsInto(line, c.delimiter) }

func runsIntoDelimiterError(delimiter []byte) error {
	return fmt.Errorf("the end of the message and the line_delimiter %s after it would be read as a line_delimiter that begins earlier",
		excerpt(delimiter))
}

// runsInto says whether s with the separator behind it holds a separator that
// begins in s.
func runsInto(s, separator []byte) bool {
	for n := 1; n < len(separator) && n <= len(s); n++ {
		if bytes.HasSuffix(s, separator[:n]) && bytes.HasPrefix(separator, separator[n:]) {
			return true
		}
	}
	return false
}
