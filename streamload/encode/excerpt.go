package encode

import (
	"strconv"
	"unicode/utf8"
)

// excerptLen bounds what an error text quotes of a row, in bytes of the text.
const excerptLen = 72

// excerpt returns the beginning of b for an error text: in backquotes, what
// cannot be printed in Go's escaped form, and at most 80 bytes long.
func excerpt(b []byte) string {
	out := make([]byte, 0, excerptLen+8)
	out = append(out, '`')
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		var esc []byte
		switch {
		case r == utf8.RuneError && size == 1:
			const hex = "0123456789abcdef"
			esc = []byte{'\\', 'x', hex[b[0]>>4], hex[b[0]&15]}
		case strconv.IsPrint(r):
			esc = b[:size]
		default:
			esc = strconv.AppendQuoteRuneToASCII(nil, r)
			esc = esc[1 : len(esc)-1]
		}
		if len(out)+len(esc) > excerptLen {
			out = append(out, "..."...)
			break
		}
		out = append(out, esc...)
		b = b[size:]
	}
	return string(append(out, '`'))
}

// excerptAround is excerpt with the place at offset in it, so that a reader
// finds it in a long row.
func excerptAround(b []byte, offset int) string {
	const before = 24
	start := max(0, offset-before)
	for start > 0 && start < offset && !utf8.RuneStart(b[start]) {
		start++
	}
	return excerpt(b[start:])
}
