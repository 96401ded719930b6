package output

import (
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"
)

// The lines of CSV that a mapping makes, as they arrive.
func TestCSVMapping(t *testing.T) {
	t.Parallel()
	const quoted = "enclose: '\"'\nescape: '\\'\n"
	for _, c := range []struct {
		name, fields, mapping, message, line string
		header                               map[string]string
	}{
		{
			name: "numbers keep their digits", mapping: "root = [ this.a, this.b, this.c, this.d, this.e ]",
			message: `{"a":12345678901234567890,"b":1e-7,"c":0.1,"d":1.10,"e":-9223372036854775808}`,
			line:    "12345678901234567890,1e-7,0.1,1.10,-9223372036854775808",
		},
		{
			name: "numbers deep inside keep their digits", fields: quoted, mapping: "root = [ this.a ]",
			message: `{"a":{"n":[12345678901234567890,1e-7,0.10]}}`,
			line:    `"{\"n\":[12345678901234567890,1e-7,0.10]}"`,
		},
		{
			name: "computed numbers", mapping: `root = [ this.a + 1, this.b.float64() * 2, this.a.string() ]`,
			message: `{"a":41,"b":"0.05"}`,
			line:    "42,0.1,41",
		},
		{
			name: "null, empty, missing and the words", mapping: `root = [ this.a, this.b, this.missing, this.c, true, false ]`,
			message: `{"a":null,"b":"","c":"null"}`,
			line:    `\N,,\N,null,true,false`,
		},
		{
			name: "quotes", fields: quoted, mapping: "root = [ this.a, this.b, this.c ]",
			message: `{"a":"x,y","b":"line\nbreak","c":"he said \"hi\""}`,
			line:    "\"x,y\",\"line\nbreak\",\"he said \\\"hi\\\"\"",
			header:  map[string]string{"enclose": `"`, "escape": `\`, "trim_double_quotes": "true"},
		},
		{
			name: "quotes by headers", fields: "headers: { enclose: '''', escape: '\\' }\n", mapping: "root = [ this.a ]",
			message: `{"a":"x,'y'"}`,
			line:    `'x,\'y\''`,
			header:  map[string]string{"enclose": `'`, "escape": `\`, "trim_double_quotes": ""},
		},
		{
			name: "separators of control characters", fields: "column_separator: '\\x01'\nline_delimiter: '\\x02'\n", mapping: "root = [ this.a, this.b ]",
			message: `{"a":"x,y","b":"line\nbreak"}`,
			line:    "x,y\x01line\nbreak",
			header:  map[string]string{"column_separator": `\x01`, "line_delimiter": `\x02`},
		},
		{
			name: "metadata, content and time", mapping: `root = [ @key, content(), "2026-01-02T03:04:05.678Z".ts_parse("2006-01-02T15:04:05.999Z07:00") ]`,
			message: `plain text`,
			line:    "k,plain text,2026-01-02T03:04:05.678Z",
		},
		{
			name: "objects and arrays", fields: "column_separator: '|'\n", mapping: `root = [ this, this.b, {}, [] ]`,
			message: `{"b":[1,"<&>"],"a":{"x":null}}`,
			line:    `{"a":{"x":null},"b":[1,"<&>"]}|[1,"<&>"]|{}|[]`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, nil)
			out := build(t, fields(s.fe.URL, "database: d\ntable: t\nformat: csv\n"+c.fields+"csv_mapping: |\n"+indent(1, c.mapping)))
			msg := service.NewMessage([]byte(c.message))
			msg.MetaSet("key", "k")
			require.NoError(t, out.WriteBatch(t.Context(), service.MessageBatch{msg}))
			loads := s.seen()
			require.Len(t, loads, 1)
			require.Equal(t, c.line, strings.Join(loads[0].rows, "\n"))
			for name, value := range c.header {
				require.Equal(t, value, loads[0].header.Get(name), name)
			}
			b, err := msg.AsBytes()
			require.NoError(t, err)
			require.Equal(t, c.message, string(b), "the message itself stays as it is, for whoever keeps those that fail")
		})
	}
}

// A message of which no line can be made fails by itself, and says what to do.
func TestCSVMappingFailsMessagesAlone(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	out := build(t, fields(s.fe.URL, "database: d\ntable: t\nformat: csv\ncolumns: [ id, name ]\ncsv_mapping: |\n  root = match {\n    this.what == \"deleted\" => deleted()\n    this.what == \"text\" => \"no array\"\n    this.what == \"short\" => [ this.id ]\n    this.what == \"throw\" => throw(\"secret row\")\n    _ => [ this.id, this.name ]\n  }\n"))
	batch := batchOf(
		`{"id":1,"name":"a"}`,
		`{"id":2,"name":"b,c"}`,
		`{"id":3,"what":"deleted"}`,
		`{"id":4,"what":"text"}`,
		`{"id":5,"what":"short"}`,
		`{"id":6,"what":"throw"}`,
		`{"id":8,"name":"\\N"}`,
		`{"id":9,"name":null}`,
	)
	failed, err := write(t.Context(), t, out, batch)
	require.ErrorContains(t, err, "data_quality: 6 of 8 messages were not loaded: csv_mapping of the message is no row")
	require.NotContains(t, err.Error(), "secret row", "the headline quotes nothing")
	for i, want := range map[int]string{
		1: "csv_mapping of the message is no row: cell 2 contains the column_separator `,`, which it cannot without quotes; set enclose and escape: `b,c`",
		2: "csv_mapping of the message is deleted(): drop messages with a processor before the output",
		3: "csv_mapping of the message is no array of cells, but a text",
		4: "csv_mapping of the message is no row: the row has 1 cell(s) and columns names 2, so the server would refuse it",
		5: "csv_mapping of the message cannot be worked out: ",
		6: `cell 2 is the text ` + "`\\N`" + `, which would be read as NULL; set escape, or make it null`,
	} {
		require.Contains(t, failed[i], want)
		require.Contains(t, failed[i], "data_quality: ")
	}
	require.Len(t, failed, 6)
	loads := s.seen()
	require.Len(t, loads, 1)
	require.Equal(t, []string{"1,a", `9,\N`}, loads[0].rows)
}

func TestCSVMappingOfWhatIsNoJSON(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	out := build(t, fields(s.fe.URL, "database: d\ntable: t\nformat: csv\ncsv_mapping: root = [ this.id ]\n"))
	failed, _ := write(t.Context(), t, out, batchOf(`{"id":1}`, "no JSON"))
	require.Len(t, failed, 1)
	require.Contains(t, failed[1], "csv_mapping of the message cannot be worked out: failed assignment (line 1): unable to reference message as structured")
	require.Equal(t, []string{"1"}, s.seen()[0].rows)
}

func TestCSVMappingConfig(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, yaml, want string }{
		{"with json", "csv_mapping: root = [ this.a ]", "csv_mapping cannot be used: format is json; it must be csv"},
		{
			"quotes that would be taken away", "format: csv\ntrim_double_quotes: true\ncsv_mapping: root = [ this.a ]",
			"csv_mapping cannot be used: trim_double_quotes takes away double quotes that belong to the cells; leave it out",
		},
		{
			"enclose in the separator", "format: csv\nenclose: '|'\ncolumn_separator: '||'\ncsv_mapping: root = [ this.a ]",
			"csv_mapping cannot be used: the enclose byte `|` is part of a separator",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(t, "url: fe\n"+target+c.yaml+"\n")
			require.EqualError(t, err, c.want)
		})
	}
	require.NotEmpty(t, lintsOf(t, "doris_stream_load:\n  fe_urls: [ http://fe:8030 ]\n  database: d\n  table: t\n  format: csv\n  csv_mapping: root = [ this.\n"))
}

// Rows of many messages share memory, and must not run into each other.
func TestCSVMappingOfManyMessages(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	out := build(t, fields(s.fe.URL, "database: d\ntable: t\nformat: csv\ncsv_mapping: root = [ this.n, this.text ]\n"))
	var rows, want []string
	for i, text := range []string{"", "short", strings.Repeat("x", rowBlock-10), strings.Repeat("y", 2*rowBlock), "end"} {
		for range 50 {
			rows = append(rows, `{"n":`+string(rune('0'+i))+`,"text":"`+text+`"}`)
			want = append(want, string(rune('0'+i))+","+text)
		}
	}
	require.NoError(t, out.WriteBatch(t.Context(), batchOf(rows...)))
	require.Equal(t, want, s.seen()[0].rows)
}
