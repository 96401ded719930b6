package answer

import (
	"bytes"
	"encoding/json"
	"math/bits"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const excerptBytes = 300

// maxMembers is several times what any server sends. An object of millions of tiny members would take many times its own
// size in memory.
const maxMembers = 256 // so that a byte numbers them

// member is one key of the outermost object, in the order sent.
type member struct {
	key string
	raw json.RawMessage
}

// object is a JSON object that may hold a key more than once, in different letter cases
// (newer BEs repeat "Comment" when they answer with the load record).
type object struct {
	members []member
	// present has the bit of each of the names that is there, in any letter case, and twice that of each that is there more than once.
	// Neither is to be trusted where a key is odd.
	present, twice uint32
	odd            bool
	at             [len(names)]uint8 // the member of each name that is there once
}

var bom = []byte("\xef\xbb\xbf")

// usualMembers is more than servers send.
const usualMembers = 24

// parseObject reads one whole JSON object and nothing behind it. Anything else is not ok: an answer that is cut or has
// junk behind it is an answer that something has touched, and must not decide a load. The members are put into room as far as it goes.
func parseObject(body []byte, room []member) (o object, ok bool) {
	body = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(body), bom))
	if len(body) < 2 || body[0] != '{' {
		return object{}, false
	}
	if !json.Valid(body) {
		return object{}, false
	}
	// What is valid needs no more than to find where keys and values end.
	o.members = room[:0]
	for at := skipSpace(body, 1); body[at] != '}'; {
		if len(o.members) == maxMembers {
			return object{}, false
		}
		end := valueEnd(body, at)
		key, plain := spell(body[at:end])
		if key.bit != 0 {
			o.twice |= o.present & key.bit
			o.present |= key.bit
			o.at[bits.TrailingZeros32(key.bit)] = uint8(len(o.members)) //nolint:gosec // at most maxMembers
		}
		o.odd = o.odd || !plain
		at = skipSpace(body, skipSpace(body, end)+1) // behind the colon
		end = valueEnd(body, at)
		o.members = append(o.members, member{key.key, body[at:end:end]})
		if at = skipSpace(body, end); body[at] == ',' {
			at = skipSpace(body, at+1)
		}
	}
	return o, true
}

// skipSpace is where the next byte is that is no white space, at or after a position in valid JSON.
func skipSpace(b []byte, at int) int {
	for b[at] == ' ' || b[at] == '\n' || b[at] == '\r' || b[at] == '\t' {
		at++
	}
	return at
}

// valueEnd is where the value ends that begins at a position in a valid object.
func valueEnd(b []byte, at int) int {
	for depth := 0; ; at++ {
		switch b[at] {
		case '"':
			for at++; b[at] != '"'; at++ {
				if b[at] == '\\' {
					at++
				}
			}
			if depth == 0 {
				return at + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // that of the object: a number or a word ends before it
				return at
			}
			if depth--; depth == 0 {
				return at + 1
			}
		case ',', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return at
			}
		}
	}
}

// text is the content of a string of valid JSON.
func text(raw []byte) string {
	plain := raw[1 : len(raw)-1]
	for _, c := range plain {
		if c == '\\' || c >= utf8.RuneSelf {
			var s string
			_ = json.Unmarshal(raw, &s)
			return s
		}
	}
	return string(plain)
}

// all returns the values of the first name that is there: each name exactly as written first, then in any letter case.
func (o *object) all(names ...string) (values []json.RawMessage) {
	if bit, certain := o.bitOf(names); certain && bit == 0 {
		return nil
	}
	name, same, ok := o.named(names)
	if !ok {
		return nil
	}
	for _, m := range o.members {
		if same(m.key, name) {
			values = append(values, m.raw)
		}
	}
	return values
}

// find returns the first of all.
func (o *object) find(names ...string) (json.RawMessage, bool) {
	if bit, certain := o.bitOf(names); certain {
		if bit == 0 {
			return nil, false
		}
		return o.members[o.at[bits.TrailingZeros32(bit)]].raw, true
	}
	if name, same, ok := o.named(names); ok {
		for _, m := range o.members {
			if same(m.key, name) {
				return m.raw, true
			}
		}
	}
	return nil, false
}

// bitOf is the bit of the one of the names that is there, 0 if none is. It is not certain when more than one is, or one more than once.
func (o *object) bitOf(names []string) (bit uint32, certain bool) {
	for _, name := range names {
		s, known := spellings[name]
		if !known {
			return 0, false
		}
		bit |= s.bit
	}
	bit &= o.present
	return bit, !o.odd && bit&o.twice == 0 && bit&(bit-1) == 0
}

// named finds which of the names is there, and how it is to be compared.
func (o *object) named(names []string) (name string, same func(a, b string) bool, ok bool) {
	for _, same := range [...]func(a, b string) bool{equal, strings.EqualFold} {
		for _, name := range names {
			for _, m := range o.members {
				if same(m.key, name) {
					return name, same, true
				}
			}
		}
	}
	return "", nil, false
}

func equal(a, b string) bool { return a == b }

// contradict is true when the values do not all say the same.
func contradict(values []json.RawMessage) bool {
	for _, v := range values {
		if plainText(v) != plainText(values[0]) {
			return true
		}
	}
	return false
}

func (o *object) text(names ...string) string {
	raw, ok := o.find(names...)
	if !ok {
		return ""
	}
	return plainText(raw)
}

func (o *object) number(name string) int64 {
	raw, ok := o.find(name)
	if !ok {
		return 0
	}
	n, _ := integer(raw)
	return n
}

// hasNumber is true when the name is there and its value is a number, in any of the forms in which they are sent.
func (o object) hasNumber(name string) bool {
	raw, ok := o.find(name)
	if !ok {
		return false
	}
	_, isNumber := integer(raw)
	return isNumber
}

// plainText is a string's content, "" for null, and the JSON text of anything else.
func plainText(raw json.RawMessage) string {
	if len(raw) > 0 && raw[0] == '"' {
		return text(raw)
	}
	if string(raw) == "null" {
		return ""
	}
	return strings.ToValidUTF8(string(raw), "\uFFFD")
}

// integer takes 12, "12" and 12.0: servers and proxies have sent all of them.
func integer(raw json.RawMessage) (int64, bool) {
	if 0 < len(raw) && len(raw) < 19 { // nearly always; more digits may be more than 64 bits
		n, digits := int64(0), true
		for _, c := range raw {
			digits = digits && '0' <= c && c <= '9'
			n = n*10 + int64(c-'0')
		}
		if digits {
			return n, true
		}
	}
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
