package encode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// what is a row in the words of an error.
type what string

const (
	aMessage what = "the message"
	aLine    what = "the line"
)

// errorf is fmt.Errorf with "the message" in the format being what it is.
func (w what) errorf(format string, args ...any) error {
	return fmt.Errorf(strings.ReplaceAll(format, string(aMessage), string(w)), args...)
}

// byteOrderMark is U+FEFF in UTF-8.
var byteOrderMark = []byte("\ufeff")

// explainJSON says what keeps row from being one JSON object, or nil if nothing
// does. It is slow and only called for rows that failed a check. All offsets in
// its texts count from the beginning of row.
func (w what) explainJSON(row []byte) error {
	r := trimSpace(row)
	switch {
	case len(row) == 0:
		return w.errorf("the message is empty, it must be one JSON object")
	case len(r) == 0:
		return w.errorf("the message is only white space, it must be one JSON object")
	case bytes.HasPrefix(r, byteOrderMark):
		return w.errorf("the message begins with a byte order mark (U+FEFF), which JSON does not allow")
	}
	if i := invalidUTF8(row); i >= 0 {
		return w.errorf("the message is not valid UTF-8 at byte %d, so it is no JSON: %s", i, excerptAround(row, i))
	}
	if r[0] != '{' {
		return w.explainNotObject(r)
	}
	if tooDeep(r) {
		return fmt.Errorf("the JSON object is nested more than %d levels deep", maxDepth)
	}
	var doc json.RawMessage
	err := json.Unmarshal(r, &doc)
	lead := bytes.Index(row, r[:1])
	if err == nil {
		if i := loneSurrogate(r); i >= 0 {
			return w.errorf("the message holds the escape %s at byte %d, which is half of a surrogate pair without the other half; "+
				"the server's JSON parser does not take it: %s", excerpt(r[i:i+6]), lead+i, excerptAround(row, lead+i))
		}
		return nil
	}
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return w.errorf("the message is not valid JSON: %s", excerpt(r))
	}
	return w.explainSyntax(row, r, lead, syntax)
}

// explainNotObject names what the message is instead of an object.
func (w what) explainNotObject(r []byte) error {
	if word := notANumber(r); word != "" {
		return w.errorf("the message is %s, which JSON does not know; it must be one JSON object", word)
	}
	kind := "number"
	switch r[0] {
	case '[':
		kind = "array"
	case '"':
		kind = "string"
	case 't', 'f':
		kind = "boolean"
	case 'n':
		kind = "null"
	}
	if json.Valid(r) {
		if kind == "array" {
			return w.errorf("the message is a JSON array, it must be one JSON object; make one message of each element: %s", excerpt(r))
		}
		return w.errorf("the message is a JSON %s, it must be one JSON object: %s", kind, excerpt(r))
	}
	return w.errorf("the message is not a JSON object, it begins with %s", excerpt(r))
}

// explainSyntax puts a syntax error of encoding/json into words that name the
// usual causes. Only the place of the error is taken from it where possible, as
// its texts are no promise. r is row without white space at its ends; it begins
// at byte lead of row.
func (w what) explainSyntax(row, r []byte, lead int, syntax *json.SyntaxError) error {
	// Offset counts the bytes read with the one that is wrong.
	at := min(max(int(syntax.Offset)-1, 0), len(r)-1)
	if strings.HasPrefix(syntax.Error(), "unexpected end") {
		return w.errorf("the JSON object is cut off, it ends at byte %d of the message with %s",
			lead+len(r), excerpt(r[max(0, len(r)-24):]))
	}
	where := lead + at
	if json.Valid(r[:at]) {
		if r[at] == '{' || r[at] == '[' {
			return w.errorf("the message holds more than one JSON document, the second begins at byte %d: %s", where, excerpt(r[at:]))
		}
		return w.errorf("the message goes on after its JSON object, at byte %d: %s", where, excerpt(r[at:]))
	}
	if esc := escapeBefore(r, at); esc >= 0 {
		return w.errorf("the message is not valid JSON: invalid escape %s in a string, at byte %d",
			excerpt(r[esc:at+1]), lead+esc)
	}
	if r[at] < ' ' {
		return w.errorf("the message is not valid JSON: control character 0x%02X at byte %d, which must be escaped, in %s",
			r[at], where, excerptAround(row, where))
	}
	for _, start := range [...]int{at - 1, at} {
		if start < 0 {
			continue
		}
		if word := notANumber(r[start:]); word != "" {
			return w.errorf("the message is not valid JSON: it holds %s, which JSON does not know, at byte %d", word, lead+start)
		}
	}
	return w.errorf("the message is not valid JSON: unexpected %s at byte %d, in %s",
		excerpt(runeAt(r, at)), where, excerptAround(row, where))
}

// escapeBefore returns where the escape sequence begins that the byte at makes
// invalid, or -1 if the error at that byte is another one.
func escapeBefore(r []byte, at int) int {
	if at >= 1 && r[at-1] == '\\' {
		return at - 1
	}
	// In \uXXXX the error may be up to three digits on.
	for i := at - 1; i >= 1 && i >= at-4; i-- {
		if r[i] == 'u' && r[i-1] == '\\' {
			return i - 1
		}
		if !isHex(r[i]) {
			break
		}
	}
	return -1
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// notANumber returns the word at the beginning of r that other languages write
// for a float that JSON has no number for, or "".
func notANumber(r []byte) string {
	for _, word := range [...]string{"NaN", "-NaN", "Infinity", "-Infinity"} {
		if len(r) >= len(word) && string(r[:len(word)]) == word {
			return word
		}
	}
	return ""
}

// invalidUTF8 returns the offset of the first byte that is not part of valid
// UTF-8, or -1.
func invalidUTF8(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// runeAt returns the bytes of the character at offset i.
func runeAt(b []byte, i int) []byte {
	_, size := utf8.DecodeRune(b[i:])
	return b[i : i+size]
}
