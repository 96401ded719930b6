package answer

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const excerptBytes = 300

// member is one key of the outermost object, in the order sent.
type member struct {
	key string
	raw json.RawMessage
}

// object is a JSON object that may hold a key more than once, in different letter cases
// (newer BEs repeat "Comment" when they answer with the load record).
type object []member

var bom = []byte("\xef\xbb\xbf")

// parseObject reads one whole JSON object and nothing behind it. Anything else is not ok: an answer that is cut or has
// junk behind it is an answer that something has touched, and must not decide a load.
func parseObject(body []byte) (object, bool) {
	body = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(body), bom))
	if len(body) < 2 || body[0] != '{' {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	var o object
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, false
		}
		key, ok := t.(string)
		if !ok {
			return nil, false
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, false
		}
		o = append(o, member{key, raw})
	}
	if t, err := dec.Token(); err != nil || t != json.Delim('}') {
		return nil, false
	}
	if _, err := dec.Token(); err != io.EOF { //nolint:errorlint // json.Decoder returns io.EOF itself
		return nil, false
	}
	return o, true
}

// find returns the first value of the first name that is there: each name exactly as written first, then in any letter case.
func (o object) find(names ...string) (json.RawMessage, bool) {
	for _, name := range names {
		for _, m := range o {
			if m.key == name {
				return m.raw, true
			}
		}
	}
	for _, name := range names {
		for _, m := range o {
			if strings.EqualFold(m.key, name) {
				return m.raw, true
			}
		}
	}
	return nil, false
}

// contradicts is true when a key that is written exactly so has two different values.
func (o object) contradicts(name string) bool {
	var first json.RawMessage
	for _, m := range o {
		if m.key != name {
			continue
		}
		if first == nil {
			first = m.raw
		} else if !bytes.Equal(first, m.raw) {
			return true
		}
	}
	return false
}

func (o object) text(names ...string) string {
	raw, ok := o.find(names...)
	if !ok {
		return ""
	}
	return plainText(raw)
}

func (o object) number(name string) int64 {
	raw, ok := o.find(name)
	if !ok {
		return 0
	}
	n, _ := integer(raw)
	return n
}

// plainText is a string's content, "" for null, and the JSON text of anything else.
func plainText(raw json.RawMessage) string {
	var s string
	if len(raw) > 0 && raw[0] == '"' {
		if json.Unmarshal(raw, &s) == nil {
			return s
		}
		return ""
	}
	if string(raw) == "null" {
		return ""
	}
	return strings.ToValidUTF8(string(raw), "\uFFFD")
}

// integer takes 12, "12" and 12.0: servers and proxies have sent all of them.
func integer(raw json.RawMessage) (int64, bool) {
	s := strings.TrimSpace(plainText(raw))
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && f == float64(int64(f)) && f > -1<<62 && f < 1<<62 {
		return int64(f), true
	}
	return 0, false
}

// Excerpt is the start of any bytes as one line of printable, valid UTF-8, at most 300 bytes.
func Excerpt(body []byte) string {
	if len(body) > 4*excerptBytes {
		body = body[:4*excerptBytes]
	}
	s := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, string(body))
	s = strings.Join(strings.Fields(s), " ")
	for len(s) > excerptBytes {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s
}
