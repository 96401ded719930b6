package rows

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRowsOfABody(t *testing.T) {
	t.Parallel()
	quotes := Layout{Format: "csv", Separator: ",", Delimiter: "\n", Enclose: `"`, Escape: `\`}
	plain := Layout{Format: "csv", Separator: ",", Delimiter: "\n"}
	for _, tc := range []struct {
		name   string
		layout Layout
		body   string
		want   []string
	}{
		{"nothing", Layout{Format: "json"}, "", nil},
		{"lines", Layout{Format: "json"}, "{\"a\":1}\n{\"b\":2}\n", []string{`{"a":1}`, `{"b":2}`}},
		{"array", Layout{Format: "json"}, `[{"a":1},{"a":2}]`, []string{`{"a":1}`, `{"a":2}`}},
		{"keys in any order", Layout{Format: "json"}, `{"b":1,"a":2}`, []string{`{"a":2,"b":1}`}},
		{"digits are kept", Layout{Format: "json"}, `{"a":37778931862957161709568}`, []string{`{"a":37778931862957161709568}`}},
		{"cut", Layout{Format: "json"}, `{"a":1}{"a":`, []string{`{"a":1}`, `unreadable: {"a":1}{"a":`}},
		{"byte order mark", Layout{Format: "json"}, "\ufeff{}", []string{`{}`}},
		{"csv", plain, "1,a\n2,b", []string{`["1","a"]`, `["2","b"]`}},
		{"csv with null and empty", plain, "1,\\N\n2,\n", []string{`["1",null]`, `["2",""]`}},
		{"csv without rows", plain, "\n\n", nil},
		{"carriage returns are data", plain, "1,a\r\n", []string{`["1","a\r"]`}},
		{
			"quoted csv", quotes, "1,\"he said \\\"hi\\\", twice\nor more\"\n2,\"\\N\"",
			[]string{`["1","he said \"hi\", twice\nor more"]`, `["2","N"]`},
		},
		{"control characters", Layout{Format: "csv", Separator: "\x01", Delimiter: "\x02"}, "1\x01a\x022\x01b", []string{`["1","a"]`, `["2","b"]`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, tc.layout.OfBody([]byte(tc.body)))
		})
	}
}

func TestRowsOfAMessage(t *testing.T) {
	t.Parallel()
	plain := Layout{Format: "csv", Separator: ",", Delimiter: "\n"}
	fields := Layout{Format: "csv", Separator: ",", Delimiter: "\n", Fields: []string{"id", "v"}}
	for _, tc := range []struct {
		name    string
		layout  Layout
		message string
		want    []string
	}{
		{"object", Layout{Format: "json"}, "{\n \"b\": 1, \"a\": 2}", []string{`{"a":2,"b":1}`}},
		{"no JSON", Layout{Format: "json"}, `{"a":NaN}`, nil},
		{"empty", Layout{Format: "json"}, "  ", nil},
		{"array", Layout{Format: "json"}, `[1,2]`, []string{"1", "2"}},
		{"line", plain, "1,a\r\n", []string{`["1","a"]`}},
		{"fields", fields, `{"v":null,"id":1}`, []string{`["1",null]`}},
		{"field that is missing", fields, `{"id":"x"}`, []string{`["x",null]`}},
		{"fields of no object", fields, `[1]`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, tc.layout.OfMessage(tc.message))
		})
	}
}
