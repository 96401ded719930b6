package encode

import (
	"bytes"
	"fmt"
)

// manyChecker judges rows of the input that are any number of lines each.
//
// A text of a megabyte is looked at line by line and goes into the body as it
// is. It is only copied where something has to be left out between its lines.
type manyChecker struct {
	delimiter []byte
	// begin is told of each text before its lines are looked for.
	begin func(text []byte)
	// first returns where the first line of a text ends, which is not empty.
	first func(text []byte) (end int, err error)
	// line returns the beginning of a line that goes into the body, nil if there
	// is no row in it.
	line func(line []byte) (kept []byte, err error)

	lines int // of the last text that was checked: with rows in them or, if it was rejected, about
}

func newManyJSON(o Options) *manyChecker {
	return &manyChecker{
		delimiter: jsonLines.between,
		begin:     func([]byte) {},
		first: func(text []byte) (int, error) {
			if end := bytes.IndexByte(text, '\n'); end >= 0 {
				return end, nil
			}
			return len(text), nil
		},
		line: func(line []byte) ([]byte, error) {
			r := trimSpace(line)
			if len(r) == 0 {
				return nil, nil
			}
			// White space around and in it is no line break, so it may stay.
			_, err := checkJSON(line, r, !o.SkipValidation, aLine)
			return line, err
		},
	}
}

func newManyCSV(o Options) *manyChecker {
	c := newCSVChecker(o)
	c.what = aLine
	var quoted bool
	var cells int
	var count func(int)
	if c.columns > 0 {
		count = func(int) { cells++ }
	}
	return &manyChecker{
		delimiter: c.delimiter,
		begin:     func(text []byte) { quoted = c.quoted(text) },
		first: func(text []byte) (int, error) {
			cells = 0
			if c.enclose != 0 && bytes.IndexByte(c.delimiter, c.enclose) >= 0 {
				return 0, errCSVDelimiter
			}
			return c.first(text, quoted, count)
		},
		line: func(line []byte) ([]byte, error) {
			kept := c.trimLineEnd(line)
			if len(kept) == 0 {
				return nil, nil
			}
			if err := c.checkText(kept); err != nil {
				return nil, err
			}
			if cells != c.columns && c.columns > 0 {
				return nil, cellCountError(cells, c.columns)
			}
			return kept, nil
		},
	}
}

// check returns the lines of a text that hold a row, or an error that names the
// first bad line. It returns nil if the text has no row.
func (c *manyChecker) check(text []byte) ([]byte, error) {
	c.lines = 0
	c.begin(text)
	k := keeper{text: text, delimiter: c.delimiter}
	for pos, number := 0, 1; pos < len(text); number++ {
		end, err := c.first(text[pos:])
		var kept []byte
		switch rest := text[pos+end:]; {
		case err != nil:
		case len(rest) > 0 && !bytes.HasPrefix(rest, c.delimiter):
			err = c.overlap() // it begins in the text and ends behind it
		default:
			kept, err = c.line(text[pos : pos+end])
		}
		if err != nil {
			c.lines += 1 + bytes.Count(bytes.TrimSuffix(text[pos+end:], c.delimiter), c.delimiter)
			return nil, fmt.Errorf("line %d of the message: %w", number, err)
		}
		if kept != nil {
			k.keep(pos, kept)
			c.lines++
		}
		pos += end + len(c.delimiter)
	}
	out := k.kept()
	if runsInto(out, c.delimiter) {
		return nil, c.overlap()
	}
	return out, nil
}

// overlap says that the end of the text makes a delimiter together with the one
// that follows it.
func (c *manyChecker) overlap() error { return runsIntoDelimiterError(c.delimiter) }

// keeper collects lines of a text, with delimiters between them. As long as they
// follow on each other in the text, they are a part of it.
type keeper struct {
	text, delimiter []byte
	from, to        int // of the lines so far, in text
	own             []byte
}

func (k *keeper) keep(at int, line []byte) {
	switch {
	case k.own != nil:
		k.own = append(append(k.own, k.delimiter...), line...)
	case k.to == k.from:
		k.from, k.to = at, at+len(line)
	case at == k.to+len(k.delimiter):
		k.to = at + len(line)
	default:
		k.own = append(make([]byte, 0, len(k.text)-k.from), k.text[k.from:k.to]...)
		k.own = append(append(k.own, k.delimiter...), line...)
	}
}

func (k *keeper) kept() []byte {
	if k.own != nil {
		return k.own
	}
	return k.text[k.from:k.to]
}
