package encode

import "bytes"

// maxDepth is the nesting that a row may have. It is the default limit of
// simdjson, the parser of Doris' JSON reader (simdjson's DEFAULT_MAX_DEPTH). It
// also keeps the validator, which recurses, from running out of stack.
const maxDepth = 1024

// jsonChecker judges rows that must be one JSON object each.
type jsonChecker struct {
	skipValidation bool
}

func (c jsonChecker) check(row []byte) ([]byte, error) {
	r := trimSpace(row)
	// Where line breaks may stand is only known of valid JSON.
	all := !c.skipValidation || hasBreaks(r)
	broken, err := checkJSON(row, r, all, aMessage)
	if err != nil {
		return nil, err
	}
	if broken {
		r = spacesForBreaks(r)
	}
	return r, nil
}

// checkJSON says what keeps row from being one JSON object, looking only at its
// ends unless all is true. r is row without white space at its ends. broken says
// whether there are line breaks in r, which it only knows if all is true.
func checkJSON(row, r []byte, all bool, w what) (broken bool, err error) {
	if !framed(r) {
		// Never nil: a valid object has these bytes at its ends.
		return false, w.explainJSON(row)
	}
	if !all {
		return false, nil
	}
	ok, broken := validJSON(r)
	if ok {
		return broken, nil
	}
	// The explanation comes from encoding/json, which has the last word: a row
	// that it finds nothing wrong with is loaded.
	return hasBreaks(r), w.explainJSON(row)
}

// framed says whether r begins and ends as an object does.
func framed(r []byte) bool { return len(r) > 0 && r[0] == '{' && r[len(r)-1] == '}' }

// hasBreaks says whether there are line breaks in r.
func hasBreaks(r []byte) bool { return bytes.IndexByte(r, '\n') >= 0 || bytes.IndexByte(r, '\r') >= 0 }

// spacesForBreaks returns a copy of the valid JSON document r with a space in
// place of each carriage return and line feed. They can only be white space
// between its tokens, as a string cannot hold them raw.
func spacesForBreaks(r []byte) []byte {
	out := bytes.Clone(r)
	for i, c := range out {
		if c == '\n' || c == '\r' {
			out[i] = ' '
		}
	}
	return out
}

// tooDeep says whether the document r is nested more than maxDepth levels. Of
// bytes that are no JSON it says so at least for as far as they are.
func tooDeep(r []byte) bool {
	// A row this short, or with so few brackets, cannot be; this spares nearly
	// every row the walk.
	if len(r) <= maxDepth ||
		bytes.Count(r, []byte{'{'})+bytes.Count(r, []byte{'['}) <= maxDepth {
		return false
	}
	depth := 0
	for i := 0; i < len(r); i++ {
		switch r[i] {
		case '"':
			for i++; i < len(r) && r[i] != '"'; i++ {
				if r[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			if depth++; depth > maxDepth {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// trimSpace returns r without JSON white space at its ends. bytes.TrimSpace
// would take away more than JSON knows as white space.
func trimSpace(r []byte) []byte {
	if len(r) > 0 && r[0] > ' ' && r[len(r)-1] > ' ' {
		return r // nearly always
	}
	start, end := 0, len(r)
	for start < end && isSpace(r[start]) {
		start++
	}
	for end > start && isSpace(r[end-1]) {
		end--
	}
	return r[start:end]
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }
