package encode

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// cut separates the rows in the input of a fuzz test; no UTF-8 has this byte.
const cut = "\xfe"

// wholeEscapes finds all escapes of valid JSON but halves of surrogate pairs.
var wholeEscapes = regexp.MustCompile(`(?i)\\u(?:d[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|[0-9abcef][0-9a-f]{3}|d[0-7][0-9a-f]{2})|\\[^u]`)

// FuzzValidAgainstStdlib: the fast validator and encoding/json agree on every
// input that is not too deep for either, so that neither a row is sent that is
// no JSON nor one rejected that is. And a row passes exactly if it is one
// object by the standard library's word.
func FuzzValidAgainstStdlib(f *testing.F) {
	for _, s := range jsonSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, row []byte) {
		std := json.Valid(row)
		good := std && utf8.Valid(row) && !strings.Contains(wholeEscapes.ReplaceAllString(string(row), ""), `\`)
		ok, broken := validJSON(row)
		require.Equal(t, good && depthOf(t, row) <= maxDepth, ok, "%q", row)
		if ok {
			require.Equal(t, bytes.ContainsAny(row, "\r\n"), broken, "%q", row)
		}
		object := good && bytes.HasPrefix(bytes.TrimLeft(row, " \t\r\n"), []byte("{")) &&
			depthOf(t, row) <= maxDepth
		_, rejected := Encode([][]byte{row}, Options{})
		require.Equal(t, object, len(rejected) == 0, "%q: %v", row, rejected)
	})
}

// FuzzEncodeJSON: every row is in the body or rejected; the body read back the
// way the server does gives the very same documents; and the input is left
// alone.
func FuzzEncodeJSON(f *testing.F) {
	for i, s := range jsonSeeds {
		f.Add([]byte(s), i%2 == 0, i%3 == 0)
	}
	f.Add([]byte(strings.Join(jsonSeeds, cut)), false, false)
	f.Add([]byte(strings.Join(jsonSeeds, cut)), true, false)
	f.Add([]byte(strings.Join(jsonSeeds, cut)), false, true)
	f.Fuzz(func(t *testing.T, data []byte, array, skip bool) {
		before := bytes.Clone(data)
		rows := bytes.Split(data, []byte(cut))
		b, rejected := Encode(rows, Options{StripOuterArray: array, SkipValidation: skip})
		require.True(t, bytes.Equal(before, data), "the input was modified")
		checkConserved(t, len(rows), &b, rejected)
		for _, r := range rejected {
			checkReason(t, r.Err)
			require.Contains(t, r.Err.Error(), "JSON")
		}
		text := checkReaders(t, &b)
		if b.Rows() == 0 {
			return
		}
		var docs [][]byte
		switch {
		case !array:
			docs = bytes.Split(text, []byte("\n"))
			require.NotContains(t, string(text), "\r")
		case skip:
			return // no telling where one row ends if it is not valid
		default:
			var raw []json.RawMessage
			require.NoError(t, json.Unmarshal(text, &raw))
			for _, d := range raw {
				docs = append(docs, d)
			}
		}
		require.Len(t, docs, b.Rows())
		for i, d := range docs {
			row := rows[b.Index(i)]
			if json.Valid(row) {
				require.Equal(t, compact(t, row), compact(t, d))
				continue
			}
			require.True(t, skip, "%q", row)
			require.Equal(t, string(bytes.Trim(row, " \t\r\n")), string(d))
		}
	})
}

func compact(tb testing.TB, doc []byte) string {
	tb.Helper()
	var out bytes.Buffer
	require.NoError(tb, json.Compact(&out, doc))
	return out.String()
}

// checkReaders reads a body in each way, requires the same text each time and
// returns it.
func checkReaders(tb testing.TB, b *Body) []byte {
	tb.Helper()
	text := []byte(bodyText(tb, b))
	// Also as the readers of large bodies would, whatever its length.
	for _, r := range []io.ReadCloser{b.Open(), &rowReader{rows: b.rows, layout: b.layout}} {
		if b.Rows() == 0 {
			break
		}
		head := make([]byte, len(text)/2)
		_, err := io.ReadFull(r, head)
		require.NoError(tb, err)
		tail := bytes.NewBuffer(head)
		_, err = r.(io.WriterTo).WriteTo(tail)
		require.NoError(tb, err)
		require.True(tb, bytes.Equal(text, tail.Bytes()))
	}
	return text
}

// FuzzEncodeCSV: the body cut into lines as the server does gives the rows that
// are said to be in it, no more, no fewer, none changed but for its line end.
func FuzzEncodeCSV(f *testing.F) {
	for _, s := range csvSeeds {
		f.Add([]byte(s), ",", "\n", byte(0), byte(0))
		f.Add([]byte(s), ",", "\n", byte('"'), byte('\\'))
		f.Add([]byte(s), "||", "||\n", byte('\''), byte(0))
		f.Add([]byte(s), "\x01", "\x02", byte('"'), byte('"'))
		f.Add([]byte(s), ",\n", "\n", byte('"'), byte(0))
		f.Add([]byte(s), "a", "aba", byte('b'), byte('a'))
	}
	f.Fuzz(func(t *testing.T, data []byte, separator, delimiter string, enclose, escape byte) {
		before := bytes.Clone(data)
		rows := bytes.Split(data, []byte(cut))
		o := Options{Format: CSV, ColumnSeparator: separator, LineDelimiter: delimiter, Enclose: enclose, Escape: escape}
		b, rejected := Encode(rows, o)
		require.True(t, bytes.Equal(before, data), "the input was modified")
		checkConserved(t, len(rows), &b, rejected)
		for _, r := range rejected {
			checkReason(t, r.Err)
		}
		text := checkReaders(t, &b)
		want := make([][]byte, b.Rows())
		for i := range want {
			want[i] = trimLineEndForTest(rows[b.Index(i)], delimiter)
		}
		require.Equal(t, want, serverLines(text, o))
		require.True(t, utf8.Valid(bytes.ReplaceAll(text, []byte(delimiter), nil)) || !utf8.ValidString(delimiter) || delimiter == "")
	})
}

// trimLineEndForTest is what Encode says it drops from the end of a CSV row.
func trimLineEndForTest(row []byte, delimiter string) []byte {
	if delimiter == "" || delimiter == "\n" {
		return bytes.TrimRight(bytes.TrimSuffix(row, []byte("\n")), "\r")
	}
	return bytes.TrimSuffix(row, []byte(delimiter))
}

var jsonSeeds = []string{
	``, ` `, `{}`, ` {"a":1} `, "{\n\"a\" : [1,2,{}]\r\n}", `[{"a":1}]`, `1`, `"x"`, `true`, `null`,
	`{"a":1}{"b":2}`, "{\"a\":1}\n{\"b\":2}", `{"a":1},`, `{"a":1,}`, `{"a"}`, `{"a":}`, `{,}`, `{"a":1 "b":2}`,
	`{"a":-0}`, `{"a":01}`, `{"a":-}`, `{"a":1.}`, `{"a":.1}`, `{"a":1e}`, `{"a":1e+}`, `{"a":1E-05}`, `{"a":0e0}`,
	`{"a":NaN}`, `{"a":-Infinity}`, `{"a":tru}`, `{"a":nulll}`, `{"a":[}`, `{"a":[1,]}`, `{"a":[,1]}`,
	`{"a":"\u0000\ud83d\ude00\ud800"}`, `{"a":"\u12"}`, `{"a":"\x41"}`, `{"a":"\"}`, "{\"a\":\"\t\"}", "{\"a\":\"\x00\"}",
	"{\"a\":\"\x7f\u0085\u2028\"}", "{\"a\":\"\xff\"}", "{\"a\":\"\xed\xa0\x80\"}", "\ufeff{}", "{}\ufeff", "{}\x00", "\u00a0{}",
	`{"a":{"a":{"a":[[[[]]]]}}}`, `{"":""}`, `{"a":1,"a":2}`, `{"a":"}{"}`, `{"a":1]`, `{"a":1}}`,
	strings.Repeat(`{"a":[`, 512) + strings.Repeat(`]}`, 512), strings.Repeat(`{"a":[`, 513) + strings.Repeat(`]}`, 513),
}

var csvSeeds = []string{
	"", "\n", "\r\n", "1,a", "1,a\n" + cut + "2,b\r\n", "1,a\nb", "\"a\nb\",c" + cut + "d", `"a""b",c`, `"a`, `"a"b`, `a"b`,
	`"a\"` + cut + `b"`, `"a"\`, "'a||\n'||b", "a|" + cut + "|b", "a\x02b\x01c", "\ufeffa,b", "\xff", "a\x00,\"b\x00\"\n",
	",,", `"",""`, "ab" + cut + "ba" + cut + "aba", "1,\n2", "\r" + cut + "a\r\r\n",
}
