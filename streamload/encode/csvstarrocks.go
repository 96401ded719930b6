package encode

import "fmt"

// firstStarRocks is first as StarRocks reads a line when enclose or escape are set
// (be formats/csv/csv_reader.cpp, more_rows). Other than in Doris an escape counts
// outside of quotes too, a quote in the middle of a cell is an escape, and an
// escape before a letter without a meaning ends the quotes. A byte that is not
// set compares as NUL.
func (c *csvChecker) firstStarRocks(line []byte, cell func(end int)) (int, error) {
	const (
		start = iota
		ordinary
		inQuotes
	)
	at := func(i int) byte { // the delimiter follows the line
		if i < len(line) {
			return line[i]
		}
		return c.delimiter[min(i-len(line), len(c.delimiter)-1)]
	}
	ends := func(i int, s []byte) bool {
		for k := range s {
			if i+k >= len(line)+len(c.delimiter) || at(i+k) != s[k] {
				return false
			}
		}
		return true
	}
	opened := 0
	for pos, state := 0, start; ; {
		switch b := at(pos); {
		case pos > len(line):
			if state == inQuotes {
				return 0, c.openQuoteError(line, opened)
			}
			return 0, fmt.Errorf("the end of the message would swallow the line_delimiter and the rows that follow: %s", excerptAround(line, len(line)))
		case state == inQuotes && b == c.enclose:
			pos++
			if at(pos) == c.enclose {
				pos++
			} else {
				state = ordinary
			}
		case state == inQuotes && b != c.escape:
			pos++
		case b == c.escape && (state == inQuotes || !ends(pos, c.delimiter) && !ends(pos, c.separator)):
			pos++
			switch next := at(pos); {
			case next == c.enclose, next == c.escape:
				pos++
			case ends(pos, c.delimiter):
				pos += len(c.delimiter)
			case ends(pos, c.separator):
				pos += len(c.separator)
			default:
				state = ordinary
				continue
			}
			if state == start {
				state = ordinary
			}
		case ends(pos, c.delimiter):
			if cell != nil {
				cell(pos)
			}
			return pos, nil
		case ends(pos, c.separator):
			if cell != nil {
				cell(pos)
			}
			pos += len(c.separator)
			state = start
		case b == c.enclose && state == start:
			opened = pos
			if pos++; at(pos) != c.enclose {
				state = inQuotes
			} else {
				pos++
				state = ordinary
			}
		case b == c.enclose:
			pos += 2 // it is an escape for whatever follows
		default:
			pos++
			state = ordinary
		}
	}
}
