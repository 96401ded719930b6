package encode

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestManyRows(t *testing.T) {
	t.Parallel()
	csv := Options{Format: CSV, ManyRows: true}
	quoted := Options{Format: CSV, ManyRows: true, Enclose: '"', Escape: '\\', Columns: 2}
	odd := Options{Format: CSV, ManyRows: true, LineDelimiter: "||", ColumnSeparator: "|,"}
	lines := Options{ManyRows: true}
	for _, c := range []struct {
		name   string
		o      Options
		in     []string
		body   string
		counts []int // lines of each message in the body
		shared bool  // the body refers to the messages as they are
	}{
		{"one line each", lines, []string{`{"a":1}`, `{"a":2}`}, "{\"a\":1}\n{\"a\":2}", []int{1, 1}, true},
		{"several lines", lines, []string{"{\"a\":1}\n{\"a\":2}", "{\"a\":3}\n{\"a\":4}\n{\"a\":5}\n"}, "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n{\"a\":4}\n{\"a\":5}", []int{2, 3}, true},
		{"CRLF", lines, []string{"{\"a\":1}\r\n{\"a\":2}\r\n"}, "{\"a\":1}\r\n{\"a\":2}\r", []int{2}, true},
		{"white space around", lines, []string{" {\"a\":1}\t\n\t{\"a\" : 2} "}, " {\"a\":1}\t\n\t{\"a\" : 2} ", []int{2}, true},
		{"empty lines at the ends", lines, []string{"\n\n{\"a\":1}\n{\"a\":2}\n\n \n"}, "{\"a\":1}\n{\"a\":2}", []int{2}, true},
		{"empty lines between", lines, []string{"{\"a\":1}\n\n{\"a\":2}\n \t\r\n{\"a\":3}\n"}, "{\"a\":1}\n{\"a\":2}\n{\"a\":3}", []int{3}, false},
		{"messages without a row between others", lines, []string{"", `{"a":1}`, "\n", " \r\n\n", "{\"a\":2}\n{\"a\":3}"}, "{\"a\":1}\n{\"a\":2}\n{\"a\":3}", []int{1, 2}, true},
		{"no validation", Options{ManyRows: true, SkipValidation: true}, []string{"{a:1}\n{b}\n\n{}"}, "{a:1}\n{b}\n{}", []int{3}, false},
		{"csv", csv, []string{"1,a\n2,b", "3,c\n"}, "1,a\n2,b\n3,c", []int{2, 1}, true},
		{"csv with CRLF", csv, []string{"1,a\r\n2,b\r\n"}, "1,a\n2,b", []int{2}, false},
		{"csv with CRLF at the end only", csv, []string{"1,a\n2,b\r\n"}, "1,a\n2,b", []int{2}, true},
		{"csv with empty lines", csv, []string{"\n1,a\n\r\n\n2, \n"}, "1,a\n2, ", []int{2}, false},
		{"csv with spaces is no empty line", csv, []string{" \n1"}, " \n1", []int{2}, true},
		{"csv, quoted", quoted, []string{"1,\"a\nb\"\n\"2\n\",\"\\\"\n\"\n", "3,\"\"\"\""}, "1,\"a\nb\"\n\"2\n\",\"\\\"\n\"\n3,\"\"\"\"", []int{2, 1}, true},
		{"csv, quoted, CRLF in and behind a cell", quoted, []string{"1,\"a\r\nb\"\r\n2,c\r\n"}, "1,\"a\r\nb\"\n2,c", []int{2}, false},
		{"csv with other separators", odd, []string{"1|,a||2|,b||", "3|,c"}, "1|,a||2|,b||3|,c", []int{2, 1}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := rowsOf(c.in...)
			b, rejected := Encode(in, c.o)
			require.Empty(t, rejected)
			require.Equal(t, c.body, bodyText(t, &b))
			require.Equal(t, c.in, textsOf(in), "the input was modified")
			counts, sum := []int{}, 0
			for i := range b.Rows() {
				counts = append(counts, b.LinesOf(i))
				sum += b.LinesOf(i)
				if c.shared {
					require.Contains(t, c.in[b.Index(i)], string(b.Row(i)))
					at := strings.Index(c.in[b.Index(i)], string(b.Row(i)))
					require.Same(t, &in[b.Index(i)][at], &b.Row(i)[0], "it was copied")
				}
			}
			require.Equal(t, c.counts, counts)
			require.Equal(t, sum, b.Lines())
		})
	}
}

func textsOf(rows [][]byte) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = string(r)
	}
	return out
}

// One bad line rejects its message and no other.
func TestManyRowsRejected(t *testing.T) {
	t.Parallel()
	csv := Options{Format: CSV, ManyRows: true, Columns: 2}
	quoted := Options{Format: CSV, ManyRows: true, Enclose: '"'}
	lines := Options{ManyRows: true}
	for _, c := range []struct {
		name   string
		o      Options
		bad    string
		reason string
		lines  int
	}{
		{"cut off", lines, "{\"a\":1}\n{\"a\":\n{\"a\":3}\n", "line 2 of the message: the JSON object is cut off, it ends at byte 5 of the line with `{\"a\":`", 3},
		{"pretty printed", lines, "{\n  \"a\": 1\n}\n", "line 1 of the message: the JSON object is cut off, it ends at byte 1 of the line with `{`", 3},
		{"an array of lines", lines, "[{\"a\":1},\n{\"a\":2}]", "line 1 of the message: the line is not a JSON object, it begins with `[{\"a\":1},`", 2},
		{"two objects on a line, after empty lines", lines, "\n\n{\"a\":1}{\"a\":2}", "line 3 of the message: the line holds more than one JSON document, the second begins at byte 7: `{\"a\":2}`", 1},
		{"no UTF-8", lines, "{\"a\":1}\r\n{\"a\":\"\xff\"}", "line 2 of the message: the line is not valid UTF-8 at byte 6, so it is no JSON: `{\"a\":\"\\xff\"}`", 2},
		{"half a surrogate pair", lines, "{}\n {\"a\":\"\\ud800\"}\n", "line 2 of the message: the line holds the escape `\\ud800` at byte 7, which is half of a surrogate pair without the other half; the server's JSON parser does not take it: ` {\"a\":\"\\ud800\"}`", 2},
		{"a byte order mark", lines, "\ufeff{}", "line 1 of the message: the line begins with a byte order mark (U+FEFF), which JSON does not allow", 1},
		{"the words of an error in a line", lines, "{}\nthe message is ...", "line 2 of the message: the line is not a JSON object, it begins with `the message is ...`", 2},
		{"only the frame", Options{ManyRows: true, SkipValidation: true}, "{}\n{\"a\":\n1}", "line 2 of the message: the JSON object is cut off, it ends at byte 5 of the line with `{\"a\":`", 3},
		{"csv, cells", csv, "1,a\n2,b,c\n3,d\n4,e", "line 2 of the message: the row has 3 cell(s) and columns names 2, so the server would refuse it", 4},
		{"csv, no UTF-8", csv, "1,a\n\n2,\xff", "line 3 of the message: the line is not valid UTF-8 at byte 2: `2,\\xff`", 2},
		{"csv, a byte order mark", csv, "\ufeff1,a\n2,b", "line 1 of the message: the line begins with a byte order mark (U+FEFF), which the server takes for data in some places of a load and drops in others", 2},
		{"csv, an open quote", quoted, "1,a\n2,\"b\n3,c\n", "line 2 of the message: the line has a cell that the enclose byte `\"` opens at byte 2 and nothing closes; it would swallow the line_delimiter and the rows that follow: `2,\"b\\n3,c\\n`", 3},
		{"csv, a delimiter that the end makes", Options{Format: CSV, ManyRows: true, LineDelimiter: "||"}, "a||b|", "the end of the message and the line_delimiter `||` after it would be read as a line_delimiter that begins earlier", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			good := `{"a":0}`
			if c.o.Format == CSV {
				good = "0,0"
			}
			b, rejected := Encode(rowsOf(good, c.bad, good), c.o)
			require.Len(t, rejected, 1)
			require.Equal(t, 1, rejected[0].Index)
			require.Equal(t, c.reason, rejected[0].Err.Error())
			require.Equal(t, c.lines, rejected[0].Lines)
			checkReason(t, rejected[0].Err)
			require.Equal(t, 2, b.Lines())
			require.Equal(t, 2, b.Index(1))
		})
	}
	for _, o := range []Options{{ManyRows: true, StripOuterArray: true}, {ManyRows: true, Format: Parquet}, {ManyRows: true, Format: CSVWithNames}} {
		b, rejected := Encode(rowsOf(`{}`, `{}`), o)
		require.Zero(t, b.Rows())
		require.Len(t, rejected, 2)
		require.ErrorContains(t, rejected[0], "many rows in one message are for JSON by line and for csv, not for "+o.Format.String())
	}
}

func TestManyRowsInParts(t *testing.T) {
	t.Parallel()
	b, rejected := Encode(rowsOf("{}\n{}\n{}", "x", "{}", "{}\n{}", "", "{}"), Options{ManyRows: true})
	require.Len(t, rejected, 1)
	require.Equal(t, 4, b.Rows())
	require.Equal(t, 7, b.Lines())
	for _, c := range []struct{ from, max, want int }{
		{0, 1, 1}, {0, 2, 1}, {0, 3, 1}, {0, 4, 2}, {0, 5, 2}, {0, 6, 3}, {0, 7, 4}, {0, 100, 4}, {0, 0, 4}, {1, 1, 2}, {1, 3, 3}, {3, 1, 4},
	} {
		require.Equal(t, c.want, b.Fit(c.from, c.max, 0), "%+v", c)
	}
	require.Equal(t, 0, b.Fit(0, 1, 7), "8 bytes")
	require.Equal(t, 1, b.Fit(0, 1, 8))

	part := b.Part(1, 4)
	require.Equal(t, 4, part.Lines())
	require.Equal(t, []int{2, 3, 5}, []int{part.Index(0), part.Index(1), part.Index(2)})
	require.Equal(t, 2, part.LinesOf(1))
	chosen := b.Select(func(i int) bool { return i%2 == 0 })
	require.Equal(t, 5, chosen.Lines())
	require.Equal(t, []int{0, 3}, []int{chosen.Index(0), chosen.Index(1)})
	require.Equal(t, "{}\n{}\n{}\n{}\n{}", bodyText(t, &chosen))
	smaller := chosen.Part(1, 2)
	require.Equal(t, 2, smaller.Lines())
	require.Panics(t, func() { b.LinesOf(4) })

	plain, _ := Encode(rowsOf("{}", "{}"), Options{})
	require.Equal(t, 2, plain.Lines())
	require.Equal(t, 1, plain.LinesOf(1))
}

// FuzzManyJSON: a message of many lines gives the same rows as its lines would by themselves, and is rejected exactly if one of
// them would be.
func FuzzManyJSON(f *testing.F) {
	for i := range jsonSeeds {
		f.Add([]byte(strings.Join(jsonSeeds[i:], "\n")), i%2 == 0)
		f.Add([]byte("{}\r\n \n"+jsonSeeds[i]+cut+"{}"), i%2 == 1)
	}
	f.Fuzz(func(t *testing.T, data []byte, skip bool) {
		before := bytes.Clone(data)
		rows := bytes.Split(data, []byte(cut))
		b, rejected := Encode(rows, Options{ManyRows: true, SkipValidation: skip})
		require.True(t, bytes.Equal(before, data), "the input was modified")
		bad := map[int]bool{}
		for _, r := range rejected {
			bad[r.Index] = true
			checkReason(t, r.Err)
			require.Positive(t, r.Lines)
		}
		var want [][]byte
		kept := 0
		for i, row := range rows {
			var lines [][]byte
			for line := range bytes.SplitSeq(row, []byte("\n")) {
				if line = bytes.Trim(line, " \t\r\n"); len(line) > 0 {
					// A carriage return in the middle would make Encode look at all of the line, as it replaces it.
					lines = append(lines, bytes.ReplaceAll(line, []byte("\r"), []byte(" ")))
				}
			}
			_, badLines := Encode(lines, Options{SkipValidation: skip})
			require.Equal(t, len(badLines) > 0, bad[i], "message %d: %v", i, badLines)
			if len(badLines) > 0 || len(lines) == 0 {
				continue
			}
			require.Equal(t, i, b.Index(kept))
			require.Equal(t, len(lines), b.LinesOf(kept))
			kept++
			want = append(want, lines...)
		}
		require.Equal(t, kept, b.Rows())
		require.Equal(t, len(want), b.Lines())
		text := checkReaders(t, &b)
		if kept == 0 {
			return
		}
		got := bytes.Split(text, []byte("\n"))
		require.Len(t, got, len(want))
		for i, line := range got {
			line = bytes.ReplaceAll(bytes.Trim(line, " \t\r"), []byte("\r"), []byte(" "))
			require.Equal(t, string(want[i]), string(line))
			require.True(t, skip || json.Valid(line), "%q", line)
		}
	})
}

// FuzzManyCSV: the body read as the server does gives the lines that each message has when it is read like that by itself.
func FuzzManyCSV(f *testing.F) {
	for _, s := range csvSeeds {
		f.Add([]byte(s), ",", "\n", byte(0), byte(0))
		f.Add([]byte(s+"\n"+s), ",", "\n", byte('"'), byte('\\'))
		f.Add([]byte(s+"||\n"+s), "||", "||\n", byte('\''), byte(0))
		f.Add([]byte(s), "\x01", "\x02", byte('"'), byte('"'))
		f.Add([]byte(s+s), "a", "aba", byte('b'), byte('a'))
	}
	f.Fuzz(func(t *testing.T, data []byte, separator, delimiter string, enclose, escape byte) {
		before := bytes.Clone(data)
		rows := bytes.Split(data, []byte(cut))
		o := Options{Format: CSV, ColumnSeparator: separator, LineDelimiter: delimiter, Enclose: enclose, Escape: escape, ManyRows: true}
		b, rejected := Encode(rows, o)
		require.True(t, bytes.Equal(before, data), "the input was modified")
		for _, r := range rejected {
			checkReason(t, r.Err)
		}
		want := [][]byte{}
		for i := range b.Rows() {
			n := len(want)
			for _, line := range serverLines(rows[b.Index(i)], o) {
				if line = trimLineEndForTest(line, delimiter); len(line) > 0 {
					want = append(want, line)
				}
			}
			require.Equal(t, len(want)-n, b.LinesOf(i))
		}
		require.Equal(t, want, serverLines(checkReaders(t, &b), o))
		require.Equal(t, len(want), b.Lines())
	})
}
