package reader

import (
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

var errJSON = errors.New("the JSON document has an improper structure")

// maxDepth bounds nesting, so that a hostile document cannot exhaust the stack.
const maxDepth = 1024

// scanner reads one JSON value at a time and never looks behind it: what
// follows a complete value is not its business, as in the on-demand parser of
// the server.
type scanner struct {
	b []byte
	i int
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

func (s *scanner) peek() byte {
	s.space()
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

func (s *scanner) take(c byte) bool {
	if s.peek() == c && s.i < len(s.b) {
		s.i++
		return true
	}
	return false
}

// raw consumes one value and returns its bytes.
func (s *scanner) raw() ([]byte, error) {
	s.space()
	from := s.i
	if err := s.skip(0); err != nil {
		return nil, err
	}
	return s.b[from:s.i], nil
}

func (s *scanner) skip(depth int) error {
	if depth > maxDepth {
		return errJSON
	}
	switch c := s.peek(); {
	case c == '{':
		return s.members(depth, func([]byte) error { return s.skip(depth + 1) })
	case c == '[':
		return s.elements(func() error { return s.skip(depth + 1) })
	case c == '"':
		_, err := s.str()
		return err
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	default:
		for _, word := range []string{"true", "false", "null"} {
			if len(s.b)-s.i >= len(word) && string(s.b[s.i:s.i+len(word)]) == word {
				s.i += len(word)
				return nil
			}
		}
		return errJSON
	}
}

// members walks an object; value must consume the value of the key.
func (s *scanner) members(depth int, value func(key []byte) error) error {
	if depth > maxDepth || !s.take('{') {
		return errJSON
	}
	if s.take('}') {
		return nil
	}
	for {
		if s.peek() != '"' {
			return errJSON
		}
		key, err := s.str()
		if err != nil {
			return err
		}
		if !s.take(':') {
			return errJSON
		}
		if err := value(key); err != nil {
			return err
		}
		if s.take(',') {
			continue
		}
		if s.take('}') {
			return nil
		}
		return errJSON
	}
}

// elements walks an array; value must consume one element.
func (s *scanner) elements(value func() error) error {
	if !s.take('[') {
		return errJSON
	}
	if s.take(']') {
		return nil
	}
	for {
		if err := value(); err != nil {
			return err
		}
		if s.take(',') {
			continue
		}
		if s.take(']') {
			return nil
		}
		return errJSON
	}
}

func (s *scanner) number() error {
	digits := func() bool {
		from := s.i
		for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
			s.i++
		}
		return s.i > from
	}
	if s.i < len(s.b) && s.b[s.i] == '-' {
		s.i++
	}
	from := s.i
	if !digits() || s.b[from] == '0' && s.i-from > 1 {
		return errJSON
	}
	if s.i < len(s.b) && s.b[s.i] == '.' {
		s.i++
		if !digits() {
			return errJSON
		}
	}
	if s.i < len(s.b) && (s.b[s.i] == 'e' || s.b[s.i] == 'E') {
		s.i++
		if s.i < len(s.b) && (s.b[s.i] == '+' || s.b[s.i] == '-') {
			s.i++
		}
		if !digits() {
			return errJSON
		}
	}
	return nil
}

// str consumes a string and returns it unescaped. Without escapes the result
// is a part of the input.
func (s *scanner) str() ([]byte, error) {
	s.i++ // the opening quote
	from := s.i
	for s.i < len(s.b) {
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return s.b[from : s.i-1], nil
		case c == '\\':
			return s.escaped(append([]byte(nil), s.b[from:s.i]...))
		case c < 0x20:
			return nil, errJSON
		default:
			s.i++
		}
	}
	return nil, errJSON
}

func (s *scanner) escaped(out []byte) ([]byte, error) {
	for s.i < len(s.b) {
		c := s.b[s.i]
		s.i++
		switch {
		case c == '"':
			return out, nil
		case c < 0x20:
			return nil, errJSON
		case c != '\\':
			out = append(out, c)
			continue
		}
		if s.i >= len(s.b) {
			break
		}
		c = s.b[s.i]
		s.i++
		switch c {
		case '"', '\\', '/':
			out = append(out, c)
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, ok := s.hex4()
			if !ok {
				return nil, errJSON
			}
			if utf16.IsSurrogate(r) {
				if s.i+1 >= len(s.b) || s.b[s.i] != '\\' || s.b[s.i+1] != 'u' {
					return nil, errJSON
				}
				s.i += 2
				low, ok := s.hex4()
				if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
					return nil, errJSON
				}
			}
			out = utf8.AppendRune(out, r)
		default:
			return nil, errJSON
		}
	}
	return nil, errJSON
}

func (s *scanner) hex4() (rune, bool) {
	if len(s.b)-s.i < 4 {
		return 0, false
	}
	var r rune
	for _, c := range s.b[s.i : s.i+4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	s.i += 4
	return r, true
}

// cell turns the text of one JSON value into a cell.
func cell(raw []byte) (Cell, error) {
	switch raw[0] {
	case '"':
		s := scanner{b: raw}
		text, err := s.str()
		return Cell{Text: string(text)}, err
	case 'n':
		return Cell{Null: true}, nil
	case 't':
		return Cell{Text: "1"}, nil
	case 'f':
		return Cell{Text: "0"}, nil
	default:
		return Cell{Text: string(raw)}, nil
	}
}
