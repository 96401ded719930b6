package encode

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"unicode/utf8"
)

// Every row is checked, and the check costs more than all the rest of a load, so it is one pass that looks at eight bytes at a time where text may be
// long. It is stricter than the grammar by what the servers' parsers refuse too: nesting, halves of surrogate pairs, and bytes that are no UTF-8.
// The fastest validator that is kept well and needs no assembly (gjson, with utf8.Valid) takes about half as long again for ordinary rows, and five passes. Tests
// and a fuzz test hold this one against encoding/json.

// Each byte of a word is compared at once. Of the marks only the lowest can be relied on: a borrow may set more above it.
const (
	lows  = 0x0101010101010101
	highs = 0x8080808080808080
)

// specials marks the bytes of x that end the plain part of a string: quotes, backslashes and control characters.
func specials(x uint64) uint64 {
	q, s := x^('"'*lows), x^('\\'*lows)
	return ((q-lows)&^q | (s-lows)&^s | (x-' '*lows)&^x) & highs
}

// shallow is the nesting that validJSON can follow; deeper documents are rare, and are left to encoding/json.
const shallow = 64

// validJSON says whether r is one valid JSON document in UTF-8, nested at most maxDepth levels and without half surrogate pairs; and whether there are
// line breaks in it, which can only be between its tokens.
func validJSON(r []byte) (ok, broken bool) {
	var (
		objects uint64 // what the value is in, a bit for each level, the innermost lowest: 1 for an object, 0 for an array
		depth   int
		key     bool // the string that comes is one
	)
	i, broken := spaceEnd(r, 0, false)
	for i < len(r) {
		c := r[i]
		if key && c != '"' {
			return false, broken
		}
		switch c {
		case '"':
			i++
			short := false // it ends within eight bytes, as most do: that needs no call
			if len(r)-i >= 8 {
				x := binary.LittleEndian.Uint64(r[i:])
				if m := specials(x); m != 0 && x&highs == 0 {
					if end := i + bits.TrailingZeros64(m)>>3; r[end] == '"' {
						i, short = end+1, true
					}
				}
			}
			if !short {
				if i = stringEnd(r, i); i < 0 {
					return false, broken
				}
			}
			if key {
				key = false
				if i < len(r) && r[i] <= ' ' {
					i, broken = spaceEnd(r, i, broken)
				}
				if i >= len(r) || r[i] != ':' {
					return false, broken
				}
				if i++; i < len(r) && r[i] <= ' ' {
					i, broken = spaceEnd(r, i, broken)
				}
				continue
			}
		case '{', '[':
			if depth++; depth > shallow {
				return validDeepJSON(r)
			}
			objects <<= 1
			if i++; i < len(r) && r[i] <= ' ' {
				i, broken = spaceEnd(r, i, broken)
			}
			if i >= len(r) {
				return false, broken
			}
			if r[i] != c+2 { // what closes follows two behind what opens, in ASCII
				if key = c == '{'; key {
					objects |= 1
				}
				continue
			}
			i++
			depth--
			objects >>= 1
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			if i = numberEnd(r, i); i < 0 {
				return false, broken
			}
		default:
			switch {
			case len(r)-i >= 4 && (string(r[i:i+4]) == "true" || string(r[i:i+4]) == "null"):
				i += 4
			case len(r)-i >= 5 && string(r[i:i+5]) == "false":
				i += 5
			default:
				return false, broken
			}
		}
		// A value has ended, and with it perhaps what it is in.
		for {
			if i < len(r) && r[i] <= ' ' {
				i, broken = spaceEnd(r, i, broken)
			}
			if depth == 0 {
				return i == len(r), broken
			}
			if i >= len(r) {
				return false, broken
			}
			c := r[i]
			i++
			if c == ',' {
				break
			}
			if c != ']'+byte(objects&1)<<5 { // } is ] with this bit
				return false, broken
			}
			depth--
			objects >>= 1
		}
		if i < len(r) && r[i] <= ' ' {
			i, broken = spaceEnd(r, i, broken)
		}
		key = objects&1 != 0
	}
	return false, broken
}

// spaceEnd returns where the white space at i ends, and whether line breaks are in it, or were before.
func spaceEnd(r []byte, i int, broken bool) (int, bool) {
	for ; i < len(r) && isSpace(r[i]); i++ {
		broken = broken || r[i] == '\n' || r[i] == '\r'
	}
	return i, broken
}

// stringEnd returns where the string ends whose text begins at from, behind its closing quote, or -1 if it is none.
func stringEnd(r []byte, from int) (end int) {
	i := from
	var seen uint64 // its bytes, or'ed, and perhaps some from behind it
	for {
		for len(r)-i >= 8 {
			x := binary.LittleEndian.Uint64(r[i:])
			seen |= x
			if m := specials(x); m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			i += 8
		}
		for len(r)-i < 8 { // the end of the row
			if i >= len(r) {
				return -1
			}
			if c := r[i]; c == '"' || c == '\\' || c < ' ' {
				break
			}
			seen |= uint64(r[i])
			i++
		}
		switch {
		case r[i] == '"':
			if seen&highs != 0 && !utf8.Valid(r[from:i]) {
				return -1
			}
			return i + 1
		case r[i] != '\\':
			return -1 // a control character
		}
		n := escapeLen(r[i:])
		if n == 0 {
			return -1
		}
		i += n
	}
}

// escapeLen is the length of the escape that s begins with, 0 if it is none, or half of a surrogate pair without the other half.
func escapeLen(s []byte) int {
	if len(s) < 2 {
		return 0
	}
	switch s[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
	default:
		return 0
	}
	if len(s) < 6 || !isHex(s[2]) || !isHex(s[3]) || !isHex(s[4]) || !isHex(s[5]) {
		return 0
	}
	switch {
	case !surrogate(s, '8', 'F'):
		return 6
	case surrogate(s, '8', 'B') && surrogate(s[6:], 'C', 'F') && isHex(s[10]) && isHex(s[11]):
		return 12
	default:
		return 0
	}
}

// numberEnd returns where the number at i ends, or -1 if it is none.
func numberEnd(r []byte, i int) int {
	if r[i] == '-' {
		i++
	}
	from := i
	i = digitsEnd(r, i)
	if i == from || r[from] == '0' && i > from+1 {
		return -1
	}
	if i < len(r) && r[i] == '.' {
		from = i + 1
		if i = digitsEnd(r, from); i == from {
			return -1
		}
	}
	if i < len(r) && r[i]|0x20 == 'e' {
		if i++; i < len(r) && (r[i] == '+' || r[i] == '-') {
			i++
		}
		from = i
		if i = digitsEnd(r, from); i == from {
			return -1
		}
	}
	return i
}

func digitsEnd(r []byte, i int) int {
	for i < len(r) && r[i]-'0' <= 9 {
		i++
	}
	return i
}

// validDeepJSON is validJSON for documents of any depth.
func validDeepJSON(r []byte) (ok, broken bool) {
	ok = !tooDeep(r) && json.Valid(r) && utf8.Valid(r) && loneSurrogate(r) < 0
	return ok, ok && hasBreaks(r)
}
