package redact

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf16"
)

const (
	// minPlain is the length in bytes from which a password is looked for in plain.
	minPlain = 4
	// maxExact is how many characters of a password are looked for in all their forms; an expression for thousands would be slow.
	maxExact = 64
)

// plain is an expression for a password in all its forms. Of a long one, what follows the beginning is taken for the rest.
func plain(password string) string {
	n := 0
	for i := range password {
		if n++; n > maxExact {
			return escapedForms(password[:i]) + "(?:" + regexp.QuoteMeta(password[i:]) + `|\S*)`
		}
	}
	return escapedForms(password)
}

// escapedForms is an expression for a text in which any character may be escaped: %2F, also more than once and in either letter case; + for a
// space; \u002f, \/ and \" of JSON; &#47; and &amp; of HTML.
func escapedForms(text string) string {
	var b strings.Builder
	for _, r := range text {
		b.WriteString("(?:" + regexp.QuoteMeta(string(r)))
		b.WriteString("|")
		for _, c := range []byte(string(r)) {
			fmt.Fprintf(&b, "%%(?:25)*(?i:%02x)", c)
		}
		b.WriteString("|")
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\\u(?i:%04x)`, unit)
		}
		fmt.Fprintf(&b, `|&#(?:0*%d|(?i:x0*%x));`, r, r)
		switch r {
		case ' ':
			b.WriteString(`|\+|%(?:25)*2[bB]|&nbsp;`)
		case '"':
			b.WriteString(`|\\"|&quot;`)
		case '\\':
			b.WriteString(`|\\\\`)
		case '/':
			b.WriteString(`|\\/`)
		case '&':
			b.WriteString(`|&amp;`)
		case '<':
			b.WriteString(`|&lt;`)
		case '>':
			b.WriteString(`|&gt;`)
		case '\'':
			b.WriteString(`|\\'|&apos;`)
		}
		b.WriteString(")")
	}
	return b.String()
}

// basicAuth is an expression for what basic auth makes of a user and password, also in the alphabet of URLs, escaped, or without padding.
func basicAuth(username, password string) string {
	var b strings.Builder
	encoded := base64.RawStdEncoding.EncodeToString([]byte(username + ":" + password))
	rest := ""
	if len(encoded) > 4*maxExact {
		encoded, rest = encoded[:4*maxExact], "[A-Za-z0-9+/_-]*"
	}
	for _, c := range encoded {
		switch c {
		case '+':
			b.WriteString(`(?:[+-]|%2[bB]|\\u002[bB])`)
		case '/':
			b.WriteString(`(?:[/_]|%2[fF]|\\/|\\u002[fF])`)
		default:
			b.WriteRune(c)
		}
	}
	return b.String() + rest + `(?:=|%3[dD]|\\u003[dD])*`
}
