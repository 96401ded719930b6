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

// maxMembers is several times what any server sends. An object of millions of tiny members would take many times its own
// size in memory.
const maxMembers = 256

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
		if len(o) == maxMembers {
			return nil, false
		}
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
	if _, err := dec.Token(); err != io.EOF {
		return nil, false
	}
	return o, true
}

// all returns the values of the first name that is there: each name exactly as written first, then in any letter case.
func (o object) all(names ...string) (values []json.RawMessage) {
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		for _, name := range names {
			for _, m := range o {
				if same(m.key, name) {
					values = append(values, m.raw)
				}
			}
			if len(values) > 0 {
				return values
			}
		}
	}
	return nil
}

// find returns the first of all.
func (o object) find(names ...string) (json.RawMessage, bool) {
	values := o.all(names...)
	if len(values) == 0 {
		return nil, false
	}
	return values[0], true
}

// contradict is true when the values do not all say the same.
func contradict(values []json.RawMessage) bool {
	for _, v := range values {
		if plainText(v) != plainText(values[0]) {
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
		if r == utf8.RuneError || !unicode.IsPrint(r) {
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
