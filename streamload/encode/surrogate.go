package encode

import "bytes"

// JSON writes a character beyond U+FFFF as two escapes, a surrogate pair. One
// half alone is valid by the grammar of JSON and stands for no character.
// simdjson, with which Doris and StarRocks read JSON, takes a string with one
// for an error, and with it the whole document (simdjson's stringparsing.h,
// handle_unicode_codepoint): one such row fails its load. Encoders write them
// when they cut a text in the middle of a character.

// loneSurrogate returns the offset of the first escape in the valid JSON
// document r that is half a surrogate pair without the other half, or -1.
func loneSurrogate(r []byte) int {
	for at := 0; ; {
		// A backslash stands only before what it escapes, in a string.
		i := bytes.IndexByte(r[at:], '\\')
		if i < 0 {
			return -1
		}
		at += i
		switch {
		case !surrogate(r[at:], '8', 'F'):
			at += 2
		case surrogate(r[at:], '8', 'B') && surrogate(r[at+6:], 'C', 'F'):
			at += 12
		default:
			return at
		}
	}
}

// surrogate says whether s begins with an escape from \uDx00 to \uDyFF, with x
// and y given as low and high.
func surrogate(s []byte, low, high byte) bool {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' || s[2]|0x20 != 'd' {
		return false
	}
	digit := s[3]
	if digit >= 'a' {
		digit -= 'a' - 'A'
	}
	return low <= digit && digit <= high
}
