package reader

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func all(read func([]byte, Yield), body string) []Row {
	var rows []Row
	read([]byte(body), func(r Row) bool {
		rows = append(rows, r)
		return true
	})
	return rows
}

func TestScannerAgreesWithTheStandardLibrary(t *testing.T) {
	t.Parallel()
	for _, doc := range []string{
		`{}`, `[]`, `{"a":{"b":[1,-0.5e+3,true,false,null,"x\n\u00e9\ud83d\ude00"]}}`, `"x"`, `0`, `-0`, `1E5`, ` [ 1 , 2 ] `,
		`{`, `[`, `{"a"}`, `{"a":}`, `{"a":1,}`, `[1,]`, `01`, `-`, `1.`, `.5`, `1e`, `+1`, `tru`, `nul`, `"`, `"\x"`, `"\u12g4"`, "\"\n\"", `{a:1}`, `{'a':1}`, `[1 2]`,
	} {
		s := scanner{b: []byte(doc)}
		_, err := s.raw()
		s.space()
		require.Equal(t, json.Valid([]byte(doc)), err == nil && s.i == len(s.b), doc)
	}
}

func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b":"x"}`, `[{"a":1},{"a":[{}]}]`, "{\"a\":1}\n\n{\"a\":2}", `{"a":{"b":[1]}}`, "\xef\xbb\xbf{}", `{"a":"\ud83d"}`, strings.Repeat("[", 3000)} {
		f.Add(seed, true, true)
		f.Add(seed, false, false)
	}
	path, err := ParsePath("$.a.b[0]")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, body string, byLine, strip bool) {
		plain := JSON{ByLine: byLine, Strip: strip, Columns: []string{"a", "b"}}
		for _, row := range all(plain.Read, body) {
			if row.Bad == "" {
				require.Len(t, row.Cells, 2)
				require.True(t, strings.HasPrefix(row.Src, "{"), row.Src)
			}
		}
		all(JSON{ByLine: byLine, Strip: strip, Root: path, Paths: []Path{path, path}, Columns: []string{"a", "b", "c"}}.Read, body)
		plain.FirstFields([]byte(body))
		// One object that the standard library takes is read, with all its keys.
		var object map[string]json.RawMessage
		if !byLine && !strip && json.Unmarshal([]byte(body), &object) == nil && object["a"] != nil && !strings.Contains(body, `\ud`) && !strings.Contains(body, `\uD`) {
			rows := all(plain.Read, body)
			if len(rows) == 1 && strings.Contains(rows[0].Bad, "UTF-8") {
				return
			}
			require.Len(t, rows, 1)
			require.Empty(t, rows[0].Bad)
			require.False(t, rows[0].Cells[0].Missing)
		}
	})
}

func FuzzCSV(f *testing.F) {
	for _, seed := range []string{"1,2\n3,4", "'a,\n''b',c\n", `a\,b,\N`, ",,,\n\r\n", "\xff,1", "'", `\`} {
		f.Add(seed, ",", "\n", byte('\''), byte('\\'))
		f.Add(seed, "||", "@@", byte(0), byte(0))
	}
	f.Fuzz(func(t *testing.T, body, sep, delim string, enclose, escape byte) {
		c := CSV{Separator: sep, Delimiter: delim, Enclose: enclose, Escape: escape, Width: 2}
		for _, row := range all(c.Read, body) {
			require.True(t, row.Bad != "" || len(row.Cells) == 2)
		}
		c.FirstLine([]byte(body), 0)
		if enclose == 0 && escape == 0 && sep != "" && delim != "" && !strings.Contains(body, "\r") && !strings.HasPrefix(body, "\xef\xbb\xbf") {
			// Without quoting, lines and fields are exactly what splitting gives.
			n := 0
			for line := range strings.SplitSeq(body, delim) {
				if line != "" {
					n++
				}
			}
			require.Len(t, all(c.Read, body), n)
		}
	})
}

func TestPaths(t *testing.T) {
	t.Parallel()
	doc := []byte(`{"a":{"b":[10,{"c":"x"}]},"d.e":1,"a":2}`)
	for text, want := range map[string]string{
		"$.a.b[0]": "10", "$.a.b.[1].c": `"x"`, `$."d.e"`: "1", "$": string(doc), "$.": string(doc), "$.x": "", "$.a[0]": "", "$.a.b[2]": "", "$.a.b[0].c": "",
	} {
		p, err := ParsePath(text)
		require.NoError(t, err, text)
		found, ok := p.find(doc)
		require.Equal(t, want, string(found)[:len(want)], text)
		require.Equal(t, want != "", ok, text)
	}
	for _, text := range []string{"", "a", "$a", "$.a.", "$.a[*]", "$.a[-1]", "$.*", "$..a", "$[", `$."a`, "$.a[?(@.b)]"} {
		_, err := ParsePath(text)
		require.ErrorContains(t, err, "Invalid json path: "+text)
	}
	for _, text := range []string{"", "[]", "{}", `["$.a",1]`, `["a"]`} {
		_, err := ParsePaths(text)
		require.ErrorContains(t, err, "Invalid json path")
	}
}

func FuzzPath(f *testing.F) {
	f.Add("$.a[0].b")
	f.Add(`$."x".y`)
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := ParsePath(text); err == nil {
			require.NotEmpty(t, p)
			p.find([]byte(`{"a":[{"b":1}],"x":{"y":2}}`))
		}
	})
}
