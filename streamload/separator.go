package streamload

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// maxSeparator is the longest separator, in bytes.
const maxSeparator = 64

// readSeparator makes the real bytes of a separator as people write it. It understands what an FE understands (fe Separator.java):
// \n, \t, \r, \\, \' and \", and a separator that is all hex behind \x, as in \x01 or \x0102. Beyond that, \x01 may stand
// between other characters. A backslash before anything else stands for itself.
func readSeparator(s string) (string, error) {
	if len(s) > 4*maxSeparator {
		return "", errTooLongSeparator
	}
	out, err := unescape(s)
	switch {
	case err != nil:
		return "", err
	case len(out) > maxSeparator:
		return "", errTooLongSeparator
	case needsHex(out) && !isASCII(out):
		return "", errors.New("has control characters, or spaces at an end, together with characters beyond ASCII, which servers do not understand")
	}
	return out, nil
}

var errTooLongSeparator = fmt.Errorf("is longer than %d bytes", maxSeparator)

func unescape(s string) (string, error) {
	if isHex := strings.HasPrefix(s, `\x`) || strings.HasPrefix(s, `\X`); isHex {
		digits := strings.NewReplacer(`\x`, "", `\X`, "").Replace(s)
		if b, err := hex.DecodeString(digits); err == nil && len(b) > 0 {
			return string(b), nil
		}
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case '\\', '\'', '"':
			b.WriteByte(c)
		case 'x', 'X':
			digits := s[i+1 : min(i+3, len(s))]
			code, err := hex.DecodeString(digits)
			if err != nil || len(code) != 1 {
				return "", fmt.Errorf(`has \%c without two hex digits behind it; a backslash is written \\`, c)
			}
			b.Write(code)
			i += 2
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

// writeSeparator is the form of a separator that a header can carry and an FE reads back. An FE does not look for \x01 between other
// characters, so one character that needs it puts all of them into that form.
func writeSeparator(s string) string {
	var b strings.Builder
	if needsHex(s) {
		for i := range len(s) {
			fmt.Fprintf(&b, `\x%02x`, s[i])
		}
		return b.String()
	}
	for i := range len(s) {
		switch c := s[i]; c {
		case '\n':
			b.WriteString(`\n`)
		case '\t':
			b.WriteString(`\t`)
		case '\r':
			b.WriteString(`\r`)
		case '\\':
			b.WriteString(`\\`)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// needsHex is true for what has no other escape, and for spaces that HTTP would strip from the ends of a header.
func needsHex(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return isControl(r) && r != '\n' && r != '\r' }) ||
		strings.HasPrefix(s, " ") || strings.HasSuffix(s, " ")
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}
