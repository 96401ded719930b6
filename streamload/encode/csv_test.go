package encode

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCSVRows(t *testing.T) {
	t.Parallel()
	quoted := Options{Format: CSV, Enclose: '"', Escape: '\\'}
	for _, c := range []struct {
		name    string
		o       Options
		in, out string
	}{
		{"plain", Options{}, "1,a", "1,a"},
		{"one cell", Options{}, "x", "x"},
		{"spaces are cells", Options{}, "  ", "  "},
		{"only separators", Options{}, ",,", ",,"},
		{"null", Options{}, `\N,\N`, `\N,\N`},
		{"unicode", Options{}, "ключ,😀", "ключ,😀"},
		{"NUL", Options{}, "a,\x00", "a,\x00"},
		{"JSON is a line too", Options{}, `{"a":1}`, `{"a":1}`},
		{"line feed at the end", Options{}, "1,a\n", "1,a"},
		{"CRLF at the end", Options{}, "1,a\r\n", "1,a"},
		{"CR at the end", Options{}, "1,a\r", "1,a"},
		{"CR inside", Options{}, "1\r,a", "1\r,a"},
		{"quotes without enclose", Options{}, `"1","a`, `"1","a`},
		{"other delimiter", Options{LineDelimiter: "\x02"}, "1,a\x02", "1,a"},
		{"other delimiter, line feed is data", Options{LineDelimiter: "\x02"}, "1,a\nb\r\n", "1,a\nb\r\n"},
		{"long delimiter", Options{LineDelimiter: "|+|"}, "1|,+|a|+|", "1|,+|a"},
		{"CRLF as the delimiter", Options{LineDelimiter: "\r\n"}, "1\n,\ra\r\n", "1\n,\ra"},
		{"one delimiter is dropped, not two", Options{LineDelimiter: ";"}, "a", "a"},

		{"quoted", quoted, `"1","a"`, `"1","a"`},
		{"quoted, empty", quoted, `"",""`, `"",""`},
		{"separator in quotes", quoted, `"1,2",3`, `"1,2",3`},
		{"delimiter in quotes", quoted, "1,\"a\nb\",2", "1,\"a\nb\",2"},
		{"delimiters in quotes", quoted, "\"\n\",\"\n\n\"", "\"\n\",\"\n\n\""},
		{"delimiter in quotes and at the end", quoted, "1,\"a\nb\"\n", "1,\"a\nb\""},
		{"doubled quotes", quoted, "\"a\"\"\nb\"", "\"a\"\"\nb\""},
		{"escaped quote", quoted, "\"a\\\"\nb\"", "\"a\\\"\nb\""},
		{"escaped escape", quoted, "\"a\\\\\",b", "\"a\\\\\",b"},
		{"quote inside a cell is a letter", quoted, `a"b,c`, `a"b,c`},
		{"quote after a space is a letter", quoted, `1, "b`, `1, "b`},
		{"text after the closing quote", quoted, `"a"b"c,d`, `"a"b"c,d`},
		{"empty cells", quoted, `,"",`, `,"",`},
		{"other separator", Options{ColumnSeparator: "||", Enclose: '\''}, "1||'a\n||b'||2", "1||'a\n||b'||2"},
		{"half a separator", Options{ColumnSeparator: "||", Enclose: '"'}, `1|"a||2`, `1|"a||2`},
		{"long delimiter in quotes", Options{LineDelimiter: "<>", Enclose: '"'}, `1,"a<>b"<>`, `1,"a<>b"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.o.Format = CSV
			in := []byte(c.in)
			b, rejected := Encode([][]byte{in, []byte("last")}, c.o)
			require.Empty(t, rejected)
			delimiter := c.o.LineDelimiter
			if delimiter == "" {
				delimiter = "\n"
			}
			require.Equal(t, c.out+delimiter+"last", bodyText(t, &b))
			require.Equal(t, c.in, string(in), "the row was modified")
			require.Equal(t, rowsOf(c.out, "last"), serverLines([]byte(bodyText(t, &b)), c.o))
		})
	}
}

func TestCSVRowsRejected(t *testing.T) {
	t.Parallel()
	quoted := Options{Enclose: '"', Escape: '\\'}
	const empty = "the message is an empty CSV line, which the server skips without counting it"
	for _, c := range []struct {
		name    string
		o       Options
		in, why string
	}{
		{"empty", Options{}, "", empty},
		{"line feed", Options{}, "\n", empty},
		{"CRLF", Options{}, "\r\n", empty},
		{"CRs", Options{}, "\r\r\n", empty},
		{"delimiter", Options{LineDelimiter: "<>"}, "<>", empty},
		{"empty, quoted", quoted, "\n", empty},
		{
			"delimiter inside",
			Options{},
			"2,bad\nrow",
			"the message contains the line_delimiter `\\n` at byte 5 outside a quoted cell and would be cut there; " +
				"set enclose and quote the cell, or choose a line_delimiter that does not occur: `2,bad\\nrow`",
		},
		{
			"two at the end",
			Options{},
			"a\n\n",
			"the message contains the line_delimiter `\\n` at byte 1 outside a quoted cell and would be cut there; " +
				"set enclose and quote the cell, or choose a line_delimiter that does not occur: `a\\n`",
		},
		{
			"delimiter in quotes without enclose",
			Options{},
			"\"a\nb\"",
			"the message contains the line_delimiter `\\n` at byte 2 outside a quoted cell and would be cut there; " +
				"set enclose and quote the cell, or choose a line_delimiter that does not occur: `\"a\\nb\"`",
		},
		{
			"other delimiter inside",
			Options{LineDelimiter: "\x02"},
			"a\x02b",
			"the message contains the line_delimiter `\\x02` at byte 1 outside a quoted cell and would be cut there; " +
				"set enclose and quote the cell, or choose a line_delimiter that does not occur: `a\\x02b`",
		},
		{
			"delimiter outside quotes",
			quoted, "\"a\nb\",c\nd",
			"the message contains the line_delimiter `\\n` at byte 7 outside a quoted cell and would be cut there; " +
				"quote the cell with the enclose byte, or choose a line_delimiter that does not occur: `\"a\\nb\",c\\nd`",
		},
		{
			"delimiter after a closing quote",
			quoted, "\"a\"\n,b",
			"the message contains the line_delimiter `\\n` at byte 3 outside a quoted cell and would be cut there; " +
				"quote the cell with the enclose byte, or choose a line_delimiter that does not occur: `\"a\"\\n,b`",
		},
		{
			"delimiter before a quoted cell",
			quoted, "a\n,\"b\"",
			"the message contains the line_delimiter `\\n` at byte 1 outside a quoted cell and would be cut there; " +
				"quote the cell with the enclose byte, or choose a line_delimiter that does not occur: `a\\n,\"b\"`",
		},
		{
			"delimiter without any quote",
			quoted, "a\nb",
			"the message contains the line_delimiter `\\n` at byte 1 outside a quoted cell and would be cut there; " +
				"quote the cell with the enclose byte, or choose a line_delimiter that does not occur: `a\\nb`",
		},
		{
			"open quote",
			quoted, `1,"a`,
			"the message has a cell that the enclose byte `\"` opens at byte 2 and nothing closes; " +
				"it would swallow the line_delimiter and the rows that follow: `1,\"a`",
		},
		{
			"open quote with a line feed",
			quoted, "1,\"a\nb\n",
			"the message has a cell that the enclose byte `\"` opens at byte 2 and nothing closes; " +
				"it would swallow the line_delimiter and the rows that follow: `1,\"a\\nb`",
		},
		{
			"closing quote is escaped",
			quoted, `1,"a\"`,
			"the message has a cell that the enclose byte `\"` opens at byte 2 and nothing closes; " +
				"it would swallow the line_delimiter and the rows that follow: `1,\"a\\\"`",
		},
		{
			"doubled quote at the end",
			quoted, `"a""`,
			"the message has a cell that the enclose byte `\"` opens at byte 0 and nothing closes; " +
				"it would swallow the line_delimiter and the rows that follow: `\"a\"\"`",
		},
		{
			"escape after the closing quote",
			quoted, `"a"\`,
			"the message has a cell that the enclose byte `\"` opens at byte 0 and nothing closes; " +
				"it would swallow the line_delimiter and the rows that follow: `\"a\"\\`",
		},
		{
			"escape is the enclose byte",
			Options{Enclose: '"', Escape: '"'},
			`"a"`,
			"the message has a cell that the enclose byte `\"` opens at byte 0 and nothing closes; " +
				"it would swallow the line_delimiter and the rows that follow: `\"a\"`",
		},
		{"invalid UTF-8", Options{}, "1,\xff\xfe", "the message is not valid UTF-8 at byte 2: `1,\\xff\\xfe`"},
		{"Latin-1", Options{}, "1,caf\xe9", "the message is not valid UTF-8 at byte 5: `1,caf\\xe9`"},
		{
			"byte order mark",
			Options{},
			"\ufeff1,a",
			"the message begins with a byte order mark (U+FEFF), which the server takes for data in some places of a load and drops in others",
		},
		{
			"runs into the delimiter",
			Options{LineDelimiter: "||"},
			"a|",
			"the end of the message and the line_delimiter `||` after it would be read as a line_delimiter that begins earlier",
		},
		{
			"the delimiter contains enclose",
			Options{LineDelimiter: "\"\n", Enclose: '"'},
			"a",
			"the line_delimiter contains the enclose byte, so that no line can be framed for sure",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.o.Format = CSV
			b, rejected := Encode(rowsOf("0,a", c.in, "2,c"), c.o)
			checkConserved(t, 3, &b, rejected)
			require.NotEmpty(t, rejected)
			for _, r := range rejected {
				checkReason(t, r.Err)
				if r.Index == 1 {
					require.EqualError(t, r.Err, c.why)
				}
			}
			if c.name != "the delimiter contains enclose" {
				require.Len(t, rejected, 1)
				require.Equal(t, rowsOf("0,a", "2,c"), serverLines([]byte(bodyText(t, &b)), c.o))
			}
		})
	}
}

// Each row that was rejected for its frame would indeed have harmed others.
func TestCSVRejectionsAreNeeded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o  Options
		in string
	}{
		{Options{}, "a\nb"},
		{Options{}, ""},
		{Options{}, "\r"},
		{Options{LineDelimiter: "||"}, "a|"},
		{Options{Enclose: '"'}, `1,"a`},
		{Options{Enclose: '"', Escape: '\\'}, `1,"a\"`},
		{Options{Enclose: '"', Escape: '\\'}, `"a"\`},
		{Options{Enclose: '"', Escape: '"'}, `"a"`},
		{Options{Enclose: '"'}, "\"a\x00\""},
	} {
		_, rejected := Encode(rowsOf(c.in), Options{Format: CSV, LineDelimiter: c.o.LineDelimiter, Enclose: c.o.Enclose, Escape: c.o.Escape})
		require.Len(t, rejected, 1, "%q", c.in)
		delimiter := c.o.LineDelimiter
		if delimiter == "" {
			delimiter = "\n"
		}
		text := strings.Join([]string{"first", c.in, "last"}, delimiter)
		require.NotEqual(t, rowsOf("first", c.in, "last"), serverLines([]byte(text), c.o), "%q", c.in)
	}
}

// serverLines cuts a CSV body into lines the way the server does: at line
// delimiters that are not inside an enclosed cell; empty lines are dropped. It
// is written from the reader's states, byte by byte, and shares nothing with
// the code under test.
func serverLines(body []byte, o Options) [][]byte {
	sep, delim := o.ColumnSeparator, o.LineDelimiter
	if sep == "" {
		sep = ","
	}
	if delim == "" {
		delim = "\n"
	}
	lines := [][]byte{}
	for len(body) > 0 {
		line, rest := body, []byte(nil)
		if end := serverLineEnd(body, sep, delim, o.Enclose, o.Escape); end >= 0 {
			line, rest = body[:end], body[end+len(delim):]
			if delim == "\n" {
				line = bytes.TrimSuffix(line, []byte("\r"))
			}
		}
		if len(line) > 0 {
			lines = append(lines, line)
		}
		body = rest
	}
	return lines
}

// serverLineEnd returns where the first line of body ends, or -1 if it has no
// end but that of the body.
func serverLineEnd(body []byte, sep, delim string, enclose, escape byte) int {
	if enclose == 0 {
		return bytes.Index(body, []byte(delim))
	}
	const (
		cellStart = iota
		plain
		inQuotes
		afterQuotes
	)
	state, escaped, quote := cellStart, false, false
	pos := 0
	for {
		// The reader looks for the next delimiter first and then walks to the
		// end of it; only if it is in quotes there it looks for another one.
		end, bound := bytes.Index(body[pos:], []byte(delim)), len(body)
		if end >= 0 {
			end += pos
			bound = end + len(delim)
		}
		for pos < bound {
			switch state {
			case cellStart:
				state = plain
				if body[pos] == enclose {
					state, escaped, quote = inQuotes, false, false
					pos++
				}
			case plain, afterQuotes:
				if i := bytes.Index(body[pos:bound], []byte(sep)); i >= 0 {
					pos += i + len(sep)
					state = cellStart
				} else {
					pos = bound
				}
			case inQuotes:
				b := body[pos]
				if b == escape {
					escaped = !escaped
				} else if escaped {
					escaped = false
				} else if quote && b != enclose {
					state = afterQuotes
					continue
				} else {
					quote = b == enclose && !quote
				}
				pos++
			}
		}
		if end < 0 || state != inQuotes {
			return end
		}
	}
}
