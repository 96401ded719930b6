package encode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJSONRows(t *testing.T) {
	t.Parallel()
	pass := func(row string) [2]string { return [2]string{row, row} }
	for name, c := range map[string][2]string{
		"object":                {`{"a":1}`, `{"a":1}`},
		"empty object":          pass(`{}`),
		"big numbers":           pass(`{"a":9223372036854775808,"b":37778931862957161709568,"c":-0.1e-400}`),
		"duplicate keys":        pass(`{"a":1,"a":2}`),
		"nulls":                 pass(`{"a":null,"b":{"c":[1,null,{"d":""}]}}`),
		"inner spaces":          pass("{ \"a\" :\t1 }"),
		"escapes":               pass(`{"a":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"}`),
		"surrogate pairs":       pass(`{"\uD83D\uDE00":"\ud83d\ude00\uDBFF\udfff\uD800\uDC00"}`),
		"no surrogates":         pass(`{"a":"\ud7ff\ue000\uD7FF\uFFFD\\ud800\\\\uDC00 ud800"}`),
		"escaped NUL":           pass(`{"a":"\u0000"}`),
		"delete character":      pass("{\"a\":\"\x7f\"}"),
		"line separator U+2028": pass("{\"a\":\"\u2028\u0085\"}"),
		"unicode":               pass(`{"ключ":"значение 😀"}`),
		"BOM in a string":       pass("{\"a\":\"\ufeff\"}"),
		"brackets in strings":   pass(`{"a":"}{","b":"]["}`),
		"trailing line feed":    {"{\"a\":1}\n", `{"a":1}`},
		"white space around":    {" \t\r\n{\"a\":1} \r\n\t", `{"a":1}`},
		"pretty printed":        {"{\n  \"a\": [\n    1\n  ]\n}", `{   "a": [     1   ] }`},
		"pretty printed, CRLF":  {"{\r\n\"a\":1\r\n}\r\n", `{  "a":1  }`},
		"pretty printed, CR":    {"{\r\"a\":1\r}", `{ "a":1 }`},
		"1024 levels":           pass(nested(1024)),
		"many objects, shallow": pass(`{"a":[` + strings.Repeat(`{"b":[]},`, 3000) + `{}]}`),
		"brackets as text":      pass(`{"a":"` + strings.Repeat(`[{\"`, 3000) + `"}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, skip := range []bool{false, true} {
				in := []byte(c[0])
				b, rejected := Encode([][]byte{in}, Options{SkipValidation: skip})
				require.Empty(t, rejected)
				require.Equal(t, c[1], bodyText(t, &b))
				require.Equal(t, c[0], string(in), "the row was modified")
				require.True(t, json.Valid([]byte(bodyText(t, &b))))
			}
		})
	}
}

// nested is an object of that many levels.
func nested(levels int) string {
	if levels == 1 {
		return `{"a":1}`
	}
	return `{"a":` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + "}"
}

func TestJSONRowsRejected(t *testing.T) {
	t.Parallel()
	type reject struct {
		name, row, reason string
		frameToo          bool // also without validation
	}
	lone := func(escape string, at int, row string) string {
		return fmt.Sprintf("the message holds the escape `%s` at byte %d, which is half of a surrogate pair without the other half; "+
			"the server's JSON parser does not take it: `%s`", escape, at, strings.ReplaceAll(row, "\n", `\n`))
	}
	cases := []reject{
		{"empty", "", "the message is empty, it must be one JSON object", true},
		{"white space", " \t\r\n", "the message is only white space, it must be one JSON object", true},
		{"no-break space", "\u00a0", "the message is not a JSON object, it begins with `\\u00a0`", true},
		{"byte order mark", "\ufeff{\"a\":1}", "the message begins with a byte order mark (U+FEFF), which JSON does not allow", true},
		{"number", "42", "the message is a JSON number, it must be one JSON object: `42`", true},
		{"string", `"x"`, "the message is a JSON string, it must be one JSON object: `\"x\"`", true},
		{"boolean", "true", "the message is a JSON boolean, it must be one JSON object: `true`", true},
		{"null", "null", "the message is a JSON null, it must be one JSON object: `null`", true},
		{"array", `[{"a":1}]`, "the message is a JSON array, it must be one JSON object; make one message of each element: `[{\"a\":1}]`", true},
		{"broken array", `[1,`, "the message is not a JSON object, it begins with `[1,`", true},
		{"word", "hello", "the message is not a JSON object, it begins with `hello`", true},
		{"NaN alone", "NaN", "the message is NaN, which JSON does not know; it must be one JSON object", true},
		{"CSV", "1,2", "the message is not a JSON object, it begins with `1,2`", true},
		{"cut off", `{"a":{"b":1`, "the JSON object is cut off, it ends at byte 11 of the message with `{\"a\":{\"b\":1`", true},
		{"cut off, closed brace", `{"a":{"b":1}`, "the JSON object is cut off, it ends at byte 12 of the message with `{\"a\":{\"b\":1}`", false},
		{"cut off in a string", `{"a":"}`, "the JSON object is cut off, it ends at byte 7 of the message with `{\"a\":\"}`", false},
		{"two documents", ` {"a":1}{"a":2}`, "the message holds more than one JSON document, the second begins at byte 8: `{\"a\":2}`", false},
		{"two documents, spaced", `{"a":1}  {"a":2}`, "the message holds more than one JSON document, the second begins at byte 9: `{\"a\":2}`", false},
		{"two lines", "{\"a\":100}\n{\"a\":2}", "the message holds more than one JSON document, the second begins at byte 10: `{\"a\":2}`", true},
		{"two documents, CR between", "{\"a\":1000}\r{\"a\":2}", "the message holds more than one JSON document, the second begins at byte 11: `{\"a\":2}`", true},
		{"two documents, array", `{"a":1}[{}`, "the message holds more than one JSON document, the second begins at byte 7: `[{}`", false},
		{"comma after", `{"a":1},`, "the message goes on after its JSON object, at byte 7: `,`", true},
		{"objects with comma", `{"a":1},{"a":2}`, "the message goes on after its JSON object, at byte 7: `,{\"a\":2}`", false},
		{"brace after", `{"a":1}}`, "the message goes on after its JSON object, at byte 7: `}`", false},
		{"NUL after", "{}\x00", "the message goes on after its JSON object, at byte 2: `\\x00`", true},
		{"NaN", `{"a":NaN}`, "the message is not valid JSON: it holds NaN, which JSON does not know, at byte 5", false},
		{"Infinity", `{"a":Infinity}`, "the message is not valid JSON: it holds Infinity, which JSON does not know, at byte 5", false},
		{"minus Infinity", `{"a":-Infinity}`, "the message is not valid JSON: it holds -Infinity, which JSON does not know, at byte 5", false},
		{"bad escape", `{"a":"dir (\.)"}`, "the message is not valid JSON: invalid escape `\\.` in a string, at byte 11", false},
		{"bad escape N", `{"a":"\NaN"}`, "the message is not valid JSON: invalid escape `\\N` in a string, at byte 6", false},
		{"bad unicode escape", `{"a":"\u12g4"}`, "the message is not valid JSON: invalid escape `\\u12g` in a string, at byte 6", false},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", "the message is not valid UTF-8 at byte 6, so it is no JSON: `{\"a\":\"\\xff\"}`", false},
		{"overlong UTF-8", "{\"a\":\"\xc0\xaf\"}", "the message is not valid UTF-8 at byte 6, so it is no JSON: `{\"a\":\"\\xc0\\xaf\"}`", false},
		{"surrogate in UTF-8", "{\"a\":\"\xed\xa0\x80\"}", "the message is not valid UTF-8 at byte 6, so it is no JSON: `{\"a\":\"\\xed\\xa0\\x80\"}`", false},
		{"high surrogate alone", ` {"a":"x\ud83d"}`, lone(`\ud83d`, 8, ` {"a":"x\ud83d"}`), false},
		{"low surrogate alone", `{"a":"\uDE00"}`, lone(`\uDE00`, 6, `{"a":"\uDE00"}`), false},
		{"surrogates the wrong way round", `{"a":"\ude00\ud83d"}`, lone(`\ude00`, 6, `{"a":"\ude00\ud83d"}`), false},
		{"two high surrogates", `{"a":"\ud83d\ud83d\ude00"}`, lone(`\ud83d`, 6, `{"a":"\ud83d\ud83d\ude00"}`), false},
		{"surrogate pair that is interrupted", `{"a":"\ud83d \ude00"}`, lone(`\ud83d`, 6, `{"a":"\ud83d \ude00"}`), false},
		{"half a surrogate pair, half of its other half", `{"a":"\ud83d\\ude00"}`, lone(`\ud83d`, 6, `{"a":"\ud83d\\ude00"}`), false},
		{"surrogate after a pair", `{"a":"\ud83d\ude00\ude00"}`, lone(`\ude00`, 18, `{"a":"\ud83d\ude00\ude00"}`), false},
		{"surrogate in a key", `{"a":{"\udfff":1}}`, lone(`\udfff`, 7, `{"a":{"\udfff":1}}`), false},
		{"surrogate in a broken row", "{\"a\":\n\"\\ud800\"}", lone(`\ud800`, 7, "{\"a\":\n\"\\ud800\"}"), true},
		{"binary", "\x1f\x8b\x08", "the message is not valid UTF-8 at byte 1, so it is no JSON: `\\x1f\\x8b\\b`", true},
		{"raw tab in a string", "{\"a\":\"\t\"}", "the message is not valid JSON: control character 0x09 at byte 6, which must be escaped, in `{\"a\":\"\\t\"}`", false},
		{"raw line feed in a string", "{\"a\":\"\n\"}", "the message is not valid JSON: control character 0x0A at byte 6, which must be escaped, in `{\"a\":\"\\n\"}`", true},
		{"leading zero", `{"a":01}`, "the message is not valid JSON: unexpected `1` at byte 6, in `{\"a\":01}`", false},
		{"plus sign", `{"a":+1}`, "the message is not valid JSON: unexpected `+` at byte 5, in `{\"a\":+1}`", false},
		{"bare point", `{"a":.5}`, "the message is not valid JSON: unexpected `.` at byte 5, in `{\"a\":.5}`", false},
		{"no digit after point", `{"a":1.}`, "the message is not valid JSON: unexpected `}` at byte 7, in `{\"a\":1.}`", false},
		{"trailing comma", `{"a":1,}`, "the message is not valid JSON: unexpected `}` at byte 7, in `{\"a\":1,}`", false},
		{"single quotes", `{'a':1}`, "the message is not valid JSON: unexpected `'` at byte 1, in `{'a':1}`", false},
		{"bare key", `{ключ:1}`, "the message is not valid JSON: unexpected `к` at byte 1, in `{ключ:1}`", false},
		{"comment", `{"a":1/*x*/}`, "the message is not valid JSON: unexpected `/` at byte 6, in `{\"a\":1/*x*/}`", false},
		{"upper case word", `{"a":True}`, "the message is not valid JSON: unexpected `T` at byte 5, in `{\"a\":True}`", false},
		{"1025 levels", nested(1025), "the JSON object is nested more than 1024 levels deep", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, o := range []Options{{}, {StripOuterArray: true}} {
				b, rejected := Encode(rowsOf(`{"n":1}`, c.row, `{"n":3}`), o)
				require.Len(t, rejected, 1)
				require.Equal(t, c.reason, rejected[0].Err.Error())
				require.Equal(t, "row 1: "+c.reason, rejected[0].Error())
				require.ErrorIs(t, rejected[0], rejected[0].Err)
				checkReason(t, rejected[0].Err)
				checkConserved(t, 3, &b, rejected)
				want := "{\"n\":1}\n{\"n\":3}"
				if o.StripOuterArray {
					want = `[{"n":1},{"n":3}]`
				}
				require.Equal(t, want, bodyText(t, &b))
			}
			_, rejected := Encode(rowsOf(c.row), Options{SkipValidation: true})
			require.Equal(t, c.frameToo, len(rejected) == 1, "without validation")
			if c.frameToo {
				require.Equal(t, c.reason, rejected[0].Err.Error())
			}
		})
	}
	reasons := map[string]bool{}
	for _, c := range cases {
		reasons[c.reason] = true
	}
	require.Len(t, reasons, len(cases), "each reason is another one")
}

// Far more levels than the stack would bear if they were all walked, in each
// form that a recursive validator descends into.
func TestJSONDeepNestingIsHarmless(t *testing.T) {
	// With 1 MiB of stack a walk of 100,000 levels would end the process.
	defer debug.SetMaxStack(debug.SetMaxStack(1 << 20))
	const levels = 100_000
	for name, row := range map[string]string{
		"arrays":           nested(levels),
		"objects":          strings.Repeat(`{"a":`, levels) + "1" + strings.Repeat("}", levels),
		"mixed":            strings.Repeat(`{"a":[`, levels) + strings.Repeat("]}", levels),
		"spaced":           `{"a":` + strings.Repeat("[ \t", levels) + strings.Repeat(" ]", levels) + "}",
		"never closed":     strings.Repeat(`{"a":`, levels),
		"never closed, ]":  `{"a":` + strings.Repeat("[", levels) + "}",
		"after an escape":  `{"a":"\"[","b":` + strings.Repeat("[", levels) + strings.Repeat("]", levels) + "}",
		"strings between":  strings.Repeat(`{"[\\":`, levels) + "1" + strings.Repeat("}", levels),
		"closed too often": `{"a":1` + strings.Repeat("]", levels) + strings.Repeat("[", levels) + "}",
	} {
		for _, skip := range []bool{false, true} {
			// A line break makes even a row that is not validated be.
			in := strings.Replace(row, "{", "{\n", 1)
			b, rejected := Encode(rowsOf(`{"n":1}`, in), Options{SkipValidation: skip})
			require.Len(t, rejected, 1, name)
			checkReason(t, rejected[0].Err)
			require.Equal(t, `{"n":1}`, bodyText(t, &b))
		}
	}
}

func TestTooDeepMatchesDecoder(t *testing.T) {
	t.Parallel()
	for _, levels := range []int{1, 2, 1023, 1024, 1025, 1026, 5000} {
		for name, row := range map[string]string{
			"arrays":  nested(levels),
			"objects": strings.Repeat(`{"]":`, levels-1) + "{}" + strings.Repeat("}", levels-1),
			"siblings": `{"x":[` + strings.Repeat(`{"y":"[\\\"{"},`, 2000) + `[]],"a":` +
				nested(levels) + "}",
		} {
			t.Run(fmt.Sprintf("%s %d", name, levels), func(t *testing.T) {
				t.Parallel()
				require.Equal(t, depthOf(t, []byte(row)) > maxDepth, tooDeep([]byte(row)))
			})
		}
	}
}

// depthOf counts the levels of a valid document with the standard decoder.
func depthOf(tb testing.TB, doc []byte) int {
	tb.Helper()
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber() // a number may be too large for a float64
	depth, deepest := 0, 0
	for d.More() || depth > 0 {
		tok, err := d.Token()
		require.NoError(tb, err)
		switch tok {
		case json.Delim('{'), json.Delim('['):
			depth++
			deepest = max(deepest, depth)
		case json.Delim('}'), json.Delim(']'):
			depth--
			if depth == 0 {
				return deepest
			}
		}
	}
	return deepest
}

func TestJSONLayouts(t *testing.T) {
	t.Parallel()
	rows := rowsOf(`{"a":1}`, `{"a":2}`, `{"a":3}`)
	for _, c := range []struct {
		name      string
		n         int
		line, arr string
	}{
		{"none", 0, "", ""},
		{"one", 1, `{"a":1}`, `[{"a":1}]`},
		{"three", 3, "{\"a\":1}\n{\"a\":2}\n{\"a\":3}", `[{"a":1},{"a":2},{"a":3}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, rejected := Encode(rows[:c.n], Options{})
			require.Empty(t, rejected)
			require.Equal(t, c.line, bodyText(t, &b))
			b, rejected = Encode(rows[:c.n], Options{StripOuterArray: true})
			require.Empty(t, rejected)
			require.Equal(t, c.arr, bodyText(t, &b))
		})
	}
}

// An error text stays short whatever the row holds.
func TestReasonsAreShort(t *testing.T) {
	t.Parallel()
	for _, tail := range []string{
		strings.Repeat("x", 1<<12), strings.Repeat("\x00", 1<<12), strings.Repeat("é", 1<<11),
		strings.Repeat("\xff", 1<<12), strings.Repeat("😀", 1<<10), strings.Repeat("\U000e0001", 1<<10),
		strings.Repeat("{", 900), strings.Repeat("\\", 1<<12), strings.Repeat("`", 100),
	} {
		for _, head := range []string{"", "{", "[", `"`, `{"a":"`, `{"a":1}`, `{"a":1}{`, `{"a":"\u`, "\ufeff", "1"} {
			for _, o := range []Options{{}, {SkipValidation: true}, {Format: CSV}, {Format: CSV, Enclose: '"', LineDelimiter: tail}, {Format: 9}} {
				_, rejected := Encode(rowsOf(head+tail, head+tail+"}", tail+head+tail), o)
				for _, r := range rejected {
					checkReason(t, r.Err)
				}
			}
		}
	}
}
