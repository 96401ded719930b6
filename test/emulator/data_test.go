package emulator_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

func show(t *testing.T, rows []map[string]any) string {
	t.Helper()
	out := make([]string, len(rows))
	for i, r := range rows {
		text, err := json.Marshal(r)
		require.NoError(t, err)
		out[i] = string(text)
	}
	return strings.Join(out, " ")
}

//go:fix inline
func TestJSONLoads(t *testing.T) {
	t.Parallel()
	const line, strip = "read_json_by_line: true", "strip_outer_array: true"
	for _, tc := range []struct {
		name, body string
		headers    []string
		status     string
		counts     [3]int64 // total, loaded, filtered
		rows       string
		reason     string
	}{
		{"lines", "{\"id\":1,\"name\":\"a\"}\r\n\n{\"id\":2,\"n\":3}", []string{line}, "Success", [3]int64{2, 2, 0}, `{"id":1,"n":null,"name":"a"} {"id":2,"n":3,"name":null}`, ""},
		{"one document", `{"id":1}`, nil, "Success", [3]int64{1, 1, 0}, `{"id":1,"n":null,"name":null}`, ""},
		{"only the first of two documents", `{"id":1}{"id":2}`, nil, "Success", [3]int64{1, 1, 0}, `{"id":1,"n":null,"name":null}`, ""},
		{"rest of a line is ignored", "{\"id\":1} {\"id\":2}\n{\"id\":3}", []string{line}, "Success", [3]int64{2, 2, 0}, `{"id":1,"n":null,"name":null} {"id":3,"n":null,"name":null}`, ""},
		{"array", ` [ {"id":1} , {"id":2} ] `, []string{strip}, "Success", [3]int64{2, 2, 0}, `{"id":1,"n":null,"name":null} {"id":2,"n":null,"name":null}`, ""},
		{"lines of arrays", "[{\"id\":1},{\"id\":2}]\n[{\"id\":3}]", []string{line, strip}, "Success", [3]int64{3, 3, 0}, `{"id":1,"n":null,"name":null} {"id":2,"n":null,"name":null} {"id":3,"n":null,"name":null}`, ""},
		{"array without strip", `[{"id":1}]`, nil, "Fail", [3]int64{1, 0, 1}, "", "JSON data is array-object, `strip_outer_array` must be TRUE."},
		{"object with strip", `{"id":1}`, []string{strip}, "Fail", [3]int64{1, 0, 1}, "", "JSON data is not an array-object, `strip_outer_array` must be FALSE."},
		{"scalar", `7`, nil, "Fail", [3]int64{1, 0, 1}, "", "Not an json object or json array"},
		{"empty array", `[]`, []string{strip}, "Fail", [3]int64{1, 0, 1}, "", "Empty json line"},
		{"broken array is one bad row", `[{"id":1},{"id":2}`, []string{strip}, "Fail", [3]int64{1, 0, 1}, "", "Parse json data for JsonDoc failed"},
		{"broken line", "{\"id\":1}\n{\"id\":\n{\"id\":3}", []string{line, "max_filter_ratio: 0.5"}, "Success", [3]int64{3, 2, 1}, `{"id":1,"n":null,"name":null} {"id":3,"n":null,"name":null}`, "Parse json data for JsonDoc failed"},
		{"blank line is no row", " \n{\"id\":1}", []string{line}, "Fail", [3]int64{2, 0, 1}, "", "Parse json data for JsonDoc failed"},
		{"invalid UTF-8", "{\"id\":1,\"name\":\"\xff\"}", []string{line}, "Fail", [3]int64{1, 0, 1}, "", "not valid UTF-8"},
		{"byte order mark", "\xef\xbb\xbf{\"id\":1}", []string{line}, "Success", [3]int64{1, 1, 0}, `{"id":1,"n":null,"name":null}`, ""},
		{"unknown keys, first of equal keys", `{"x":1,"id":1,"id":2,"ID":3}`, []string{line}, "Success", [3]int64{1, 1, 0}, `{"id":1,"n":null,"name":null}`, ""},
		{"no key fits", `{"ID":1}`, []string{line}, "Fail", [3]int64{1, 0, 1}, "", "There is no column matching jsonpaths in the json file, columns:[id, name, n], please check columns and jsonpaths:"},
		{"null key column", `{"id":null}`, []string{line}, "Fail", [3]int64{1, 0, 1}, "", "Json value is null, but the column `id` is not nullable."},
		{"missing key column", `{"n":1}`, []string{line}, "Fail", [3]int64{1, 0, 1}, "", "column(id) values is null while columns is not nullable"},
		{"bool and object into text", "{\"id\":1,\"name\":true}\n{\"id\":2,\"name\":{\"a\": 1}}", []string{line}, "Success", [3]int64{2, 2, 0}, `{"id":1,"n":null,"name":"1"} {"id":2,"n":null,"name":"{\"a\": 1}"}`, ""},
		{"escapes", `{"id":1,"name":"\u00e9\ud83d\ude00\n"}`, []string{line}, "Success", [3]int64{1, 1, 0}, `{"id":1,"n":null,"name":"é😀\n"}`, ""},
		{"lone surrogate", `{"id":1,"name":"\ud83d"}`, []string{line}, "Fail", [3]int64{1, 0, 1}, "", "Parse json data"},
		{"too long", `{"id":1,"name":"123456789"}`, []string{line}, "Fail", [3]int64{1, 0, 1}, "", "Reason: column_name[name], the length of input is too long than schema. first 32 bytes of input str: [123456789] schema length: 8; actual length: 9; . src line []; \n"},
		{"bad cast", `{"id":1,"n":"x"}`, []string{line}, "Success", [3]int64{1, 1, 0}, `{"id":1,"n":null,"name":null}`, ""},
		{"bad cast, strict", `{"id":1,"n":"x"}`, []string{line, "strict_mode: true"}, "Fail", [3]int64{1, 0, 1}, "", "column(n) value is incorrect while strict mode is true, src value is x"},
		{"delimiter", `{"id":1}|{"id":2}`, []string{line, "line_delimiter: |"}, "Success", [3]int64{2, 2, 0}, `{"id":1,"n":null,"name":null} {"id":2,"n":null,"name":null}`, ""},
		{"paths", `{"a":{"b":[5,6]},"name":"x"}`, []string{line, `jsonpaths: ["$.a.b[1]", "$.name", "$.none"]`}, "Success", [3]int64{1, 1, 0}, `{"id":6,"n":null,"name":"x"}`, ""},
		{"paths and columns", `{"x":2,"y":"q"}`, []string{line, `jsonpaths: ["$.y","$.x"]`, "columns: name, id, n = id * 10"}, "Success", [3]int64{1, 1, 0}, `{"id":2,"n":20,"name":"q"}`, ""},
		{"root", `{"data":{"id":4}}`, []string{line, "json_root: $.data"}, "Success", [3]int64{1, 1, 0}, `{"id":4,"n":null,"name":null}`, ""},
		{"root of an array", `[{"d":{"id":4}},{"d":{"id":5}}]`, []string{strip, "json_root: $.d"}, "Success", [3]int64{2, 2, 0}, `{"id":4,"n":null,"name":null} {"id":5,"n":null,"name":null}`, ""},
		{"root is an array", `{"d":[{"id":4},{"id":5}]}`, []string{strip, "json_root: $.d"}, "Success", [3]int64{2, 2, 0}, `{"id":4,"n":null,"name":null} {"id":5,"n":null,"name":null}`, ""},
		{"no root", `{"id":4}`, []string{line, "json_root: $.d"}, "Fail", [3]int64{1, 0, 1}, "", "JsonRoot not found."},
		{"accepted without effect", `{"id":1}`, []string{line, "num_as_string: true", "fuzzy_parse: true", "exec_mem_limit: 1000", "timezone: +05:30"}, "Success", [3]int64{1, 1, 0}, `{"id":1,"n":null,"name":null}`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			emu := start(t, emulator.Options{})
			r := put(t, emu, tc.body, append([]string{"format: json"}, tc.headers...)...)
			require.Equal(t, tc.status, r.Status, r.raw)
			if tc.name != "blank line is no row" {
				total, loaded, filtered := tc.counts[0], tc.counts[1], tc.counts[2]
				require.Equal(t, [3]int64{total, loaded, filtered}, [3]int64{r.Total, r.Loaded, r.Filtered})
			}
			require.Equal(t, tc.rows, show(t, emu.Rows("db", "t")))
			if tc.reason != "" {
				require.Contains(t, do(t, http.MethodGet, r.ErrorURL, "").raw, tc.reason)
			}
		})
	}
}

func TestCSVLoads(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, body string
		headers    []string
		status     string
		rows       string
		reason     string
	}{
		{"default", "1\ta\t2\r\n\n2\t\\N\t\n", nil, "Success", `{"id":1,"n":2,"name":"a"} {"id":2,"n":null,"name":null}`, ""},
		{"hex separators", "1\x01a\x012\x022\x01b\x013", []string{`column_separator: \x01`, `line_delimiter: \x02`}, "Success", `{"id":1,"n":2,"name":"a"} {"id":2,"n":3,"name":"b"}`, ""},
		{"long separators", "1||a||2@@2||b||3@@", []string{"column_separator: ||", "line_delimiter: @@"}, "Success", `{"id":1,"n":2,"name":"a"} {"id":2,"n":3,"name":"b"}`, ""},
		{"too many fields", "1,a,2,", []string{"column_separator: ,"}, "Fail", "", "actual column number in csv file is  more than  schema column number.actual number: 4, schema column number: 3"},
		{"too few fields", "1,a", []string{"column_separator: ,"}, "Fail", "", "actual column number in csv file is  less than  schema column number.actual number: 2"},
		{"empty text stays", "1,,2", []string{"column_separator: ,"}, "Success", `{"id":1,"n":2,"name":""}`, ""},
		{"empty as null", "1,,2", []string{"column_separator: ,", "empty_field_as_null: true"}, "Success", `{"id":1,"n":2,"name":null}`, ""},
		{"enclosed", "1,'a,\nb',2\n2,'it''s',3\n", []string{"column_separator: ,", "enclose: '"}, "Success", `{"id":1,"n":2,"name":"a,\nb"} {"id":2,"n":3,"name":"it''s"}`, ""},
		{"double quotes stay without trim", `1,"a",2`, []string{"column_separator: ,", `enclose: "`}, "Success", `{"id":1,"n":2,"name":"\"a\""}`, ""},
		{"double quotes trimmed", `1,"a,b",2`, []string{"column_separator: ,", `enclose: "`, "trim_double_quotes: true"}, "Success", `{"id":1,"n":2,"name":"a,b"}`, ""},
		{"trim without enclose", `"1","a","2"`, []string{"column_separator: ,", "trim_double_quotes: true"}, "Success", `{"id":1,"n":2,"name":"a"}`, ""},
		{"escape", `1,a\"b\\,2`, []string{"column_separator: ,", `escape: \`}, "Success", `{"id":1,"n":2,"name":"a\"b\\"}`, ""},
		{"an escape at the end", `1,a\,2`, []string{"column_separator: ,", `escape: \`}, "Success", `{"id":1,"n":2,"name":"a"}`, ""},
		{"an escape hides no separator", `1,a\,b,2`, []string{"column_separator: ,", `escape: \`, `enclose: "`}, "Fail", "", "actual column number in csv file is  more than  schema column number.actual number: 4"},
		{"an escape hides no end of a line", "2,1,a\\\n3,2,b", []string{"column_separator: ,", `escape: \`, `enclose: "`, "columns: n, id, name"}, "Success", `{"id":1,"n":2,"name":"a"} {"id":2,"n":3,"name":"b"}`, ""},
		{"escape in enclosed", `1,"a\"b",2`, []string{"column_separator: ,", `enclose: "`, `escape: \`, "trim_double_quotes: true"}, "Success", `{"id":1,"n":2,"name":"a\"b"}`, ""},
		{"an escaped null", `1,\\N,2`, []string{"column_separator: ,", `escape: \`}, "Success", `{"id":1,"n":2,"name":"\\N"}`, ""},
		{"null with escape", `1,\N,2`, []string{"column_separator: ,", `escape: \`}, "Success", `{"id":1,"n":2,"name":null}`, ""},
		{"skip", "h\nh2\n1\ta\t2", []string{"skip_lines: 2"}, "Success", `{"id":1,"n":2,"name":"a"}`, ""},
		{"names", "id\tname\tn\n1\ta\t2", []string{"format: csv_with_names", "skip_lines: 5"}, "Success", `{"id":1,"n":2,"name":"a"}`, ""},
		{"names and types", "id\tname\tn\nint\ttext\tint\n1\ta\t2", []string{"format: csv_with_names_and_types"}, "Success", `{"id":1,"n":2,"name":"a"}`, ""},
		{"utf8", "1\t\xff\t2", nil, "Fail", "", "only support csv data in utf8 codec"},
		{"columns", "a,7,x", []string{"column_separator: ,", "columns: name, ID, tmp, n = if(tmp = 'x', 1, 0)"}, "Success", `{"id":7,"n":1,"name":"a"}`, ""},
		{"mapping", "1,a,2", []string{"column_separator: ,", "columns: id, name, n, n = n * 2 - 1, name = concat(upper(name), '-', `id`)"}, "Success", `{"id":1,"n":3,"name":"A-1"}`, ""},
		{"where", "1,a,2\n2,b,9\n3,c,\n", []string{"column_separator: ,", "where: n > 1 and (name = 'a' or id in (3, 4))"}, "Success", `{"id":1,"n":2,"name":"a"}`, ""},
		{"where is null", "1,a,2\n2,b,\n", []string{"column_separator: ,", "where: n is null"}, "Success", `{"id":2,"n":null,"name":"b"}`, ""},
		{"all rows unselected", "1,a,2\n", []string{"column_separator: ,", "where: n > 5"}, "Success", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			emu := start(t, emulator.Options{})
			r := put(t, emu, tc.body, tc.headers...)
			require.Equal(t, tc.status, r.Status, r.raw)
			require.Equal(t, tc.rows, show(t, emu.Rows("db", "t")))
			if tc.reason != "" {
				require.Contains(t, do(t, http.MethodGet, r.ErrorURL, "").raw, tc.reason)
			}
			require.Equal(t, r.Total, int64(emu.Count("db", "t"))+r.Filtered+r.Unselected)
		})
	}
}

func TestFilterRatio(t *testing.T) {
	t.Parallel()
	const body = "1\ta\t1\nx\ta\t1\n3\ta\t9\n4\ta\t9\n" // one bad row, two that where leaves out
	for ratio, status := range map[string]string{"0.5": "Success", "0.49": "Fail", "junk": "Fail", "1": "Success", "0": "Fail"} {
		emu := start(t, emulator.Options{})
		r := put(t, emu, body, "where: n = 1", "max_filter_ratio: "+ratio)
		require.Equal(t, status, r.Status, ratio)
		if status == "Success" {
			require.Equal(t, [4]int64{4, 1, 1, 2}, [4]int64{r.Total, r.Loaded, r.Filtered, r.Unselected})
			require.NotEmpty(t, r.ErrorURL, "also on success")
		} else {
			require.Equal(t, "[DATA_QUALITY_ERROR]too many filtered rows", r.Message)
			require.Zero(t, emu.Count("db", "t"))
		}
	}
}

func TestTypedColumns(t *testing.T) {
	t.Parallel()
	emu := emulator.New(t, emulator.Options{Tables: []emulator.Table{{Database: "db", Name: "t", Columns: []emulator.Column{
		{Name: "b", Type: "BOOLEAN"},
		{Name: "l", Type: "LARGEINT"},
		{Name: "d", Type: "DECIMAL(30,3)"},
		{Name: "f", Type: "DOUBLE"},
		{Name: "day", Type: "DATE"},
		{Name: "at", Type: "DATETIME(3)"},
		{Name: "j", Type: "JSON"},
		{Name: "a", Type: "ARRAY<INT>"},
		{Name: "z", Type: "INT", NotNull: true, Default: new("7")},
	}}}})
	r := putJSON(t, emu, `{"b":true,"l":170141183460469231731687303715884105727,"d":123456789012345678901234567.8905,"f":1e-3,"day":"2026-01-02","at":"2026-01-02T03:04:05.67891Z","j":{"k": [1]},"a":[1,"2",null]}`)
	require.Equal(t, "Success", r.Status, r.raw)
	exact(t, `{"a":[1,2,null],"at":"2026-01-02 11:04:05.679","b":true,"d":123456789012345678901234567.891,"day":"2026-01-02","f":0.001,"j":{"k":[1]},"l":170141183460469231731687303715884105727,"z":7}`, show(t, emu.Rows("db", "t")))
	require.Equal(t, "Success", putJSON(t, emu, `{"b":"maybe","l":1e3,"d":"x","f":"y","day":"2026-02-30","at":"noon","j":"{","a":"[1","z":1}`).Status)
	exact(t, `{"a":null,"at":null,"b":null,"d":null,"day":null,"f":null,"j":null,"l":null,"z":1}`, show(t, emu.Rows("db", "t")[1:]))
	require.Equal(t, "Success", putJSON(t, emu, `{"f":"nan"}`, "timezone: UTC").Status)
	require.Contains(t, do(t, http.MethodGet, emu.FEURL()+"/emulator/db/t/rows?offset=2", "").raw, `"f":"NaN"`)
}

func TestUniqueTable(t *testing.T) {
	t.Parallel()
	tab := emulator.Table{Database: "db", Name: "t", Model: "unique", Keys: []string{"k"}, SequenceColumn: "seq", Columns: []emulator.Column{
		{Name: "k", Type: "INT"}, {Name: "v", Type: "STRING"}, {Name: "seq", Type: "INT"},
	}}
	emu := emulator.New(t, emulator.Options{Tables: []emulator.Table{tab}})
	load := func(body string, headers ...string) {
		t.Helper()
		r := putJSON(t, emu, body, headers...)
		require.Equal(t, "Success", r.Status, r.raw)
	}
	load("{\"k\":1,\"v\":\"a\",\"seq\":5}\n{\"k\":2,\"v\":\"b\",\"seq\":5}\n{\"k\":1,\"v\":\"old\",\"seq\":4}\n{\"k\":2,\"v\":\"same\",\"seq\":5}")
	exact(t, `{"k":1,"seq":5,"v":"a"} {"k":2,"seq":5,"v":"same"}`, show(t, emu.Rows("db", "t")))

	load(`{"k":1,"seq":6,"__DORIS_DELETE_SIGN__":1}`, "hidden_columns: __DORIS_DELETE_SIGN__")
	require.Equal(t, 1, emu.Count("db", "t"))
	load(`{"k":1,"v":"late","seq":5}`)
	require.Equal(t, 1, emu.Count("db", "t"), "the delete is newer")
	load(`{"k":1,"v":"back","seq":7,"__DORIS_DELETE_SIGN__":0}`, "hidden_columns: __DORIS_DELETE_SIGN__")
	require.Equal(t, 2, emu.Count("db", "t"))

	load(`{"k":2,"seq":9}`, "merge_type: delete")
	require.Equal(t, 1, emu.Count("db", "t"))
	load("{\"k\":1,\"v\":\"x\",\"seq\":9}\n{\"k\":3,\"v\":\"y\",\"seq\":9}", "merge_type: MERGE", "delete: v = 'x'")
	exact(t, `{"k":3,"seq":9,"v":"y"}`, show(t, emu.Rows("db", "t")))
	load(`{"k":3,"v":"w","seq":1,"other":10}`, "columns: k, v, seq, other", "function_column.sequence_col: other")
	exact(t, `{"k":3,"seq":9,"v":"y"}`, show(t, emu.Rows("db", "t")), "the mapped column decides, whatever the header says")
	r := putJSON(t, emu, `{"k":3,"v":"w"}`, "columns: k, v")
	require.Contains(t, r.Message, "Table t has sequence column, need to specify the sequence column")
}

func TestAggregateTable(t *testing.T) {
	t.Parallel()
	emu := emulator.New(t, emulator.Options{Tables: []emulator.Table{{Database: "db", Name: "t", Model: emulator.Aggregate, Keys: []string{"k"}, Columns: []emulator.Column{
		{Name: "k", Type: "STRING"}, {Name: "n", Type: "BIGINT", Aggregation: "sum"}, {Name: "d", Type: "DECIMAL(9,2)", Aggregation: "SUM"}, {Name: "v", Type: "STRING", Aggregation: "REPLACE"},
	}}}})
	require.Equal(t, "Success", putJSON(t, emu, "{\"k\":\"a\",\"n\":1,\"d\":0.10,\"v\":\"x\"}\n{\"k\":\"a\",\"n\":2,\"d\":0.20,\"v\":\"y\"}\n{\"k\":\"a\",\"d\":1}\n{\"k\":\"b\",\"n\":4}\n{\"k\":\"b\",\"n\":1}").Status)
	exact(t, `{"d":1.30,"k":"a","n":3,"v":null} {"d":null,"k":"b","n":5,"v":null}`, show(t, emu.Rows("db", "t")))
}

func TestAutoCreate(t *testing.T) {
	t.Parallel()
	emu := emulator.New(t, emulator.Options{AutoCreate: true})
	load := func(path, body string, headers ...string) reply {
		return do(t, http.MethodPut, "http://"+emu.BEAddr()+"/api/"+path+"/_stream_load", body, headers...)
	}
	line := []string{"format: json", "read_json_by_line: true"}
	require.Equal(t, "Success", load("demo/none", "", line...).Status, "no rows, no table")
	require.Equal(t, "Fail", load("demo/none", "{}", line...).Status, "no keys, no columns")
	require.Empty(t, emu.Tables())
	r := load("demo/e", "junk\n{\"s\":\"x\",\"i\":1,\"f\":1.5,\"b\":false,\"j\":[1],\"n\":null,\"i\":\"twice\"}\n{\"s\":\"y\",\"later\":1}", append(line, "max_filter_ratio: 0.5")...)
	require.Equal(t, "Success", r.Status, r.raw)
	var types []string
	for _, c := range emu.Tables()[0].Columns {
		types = append(types, c.Name+" "+c.Type)
	}
	require.Equal(t, []string{"s STRING", "i BIGINT", "f DOUBLE", "b BOOLEAN", "j JSON", "n STRING"}, types)
	exact(t, `{"b":false,"f":1.5,"i":1,"j":[1],"n":null,"s":"x"} {"b":null,"f":null,"i":null,"j":null,"n":null,"s":"y"}`, show(t, emu.Rows("demo", "e")))

	require.Equal(t, "Success", load("demo/csv", "1,2\n", "column_separator: ,").Status)
	exact(t, `{"c1":"1","c2":"2"}`, show(t, emu.Rows("demo", "csv")))
	require.Equal(t, "Success", load("demo/named", "a,b\n1,2\n", "column_separator: ,", "format: csv_with_names").Status)
	exact(t, `{"a":"1","b":"2"}`, show(t, emu.Rows("demo", "named")))
	require.Equal(t, "Success", load("demo/cols", "1,2\n", "column_separator: ,", "columns: x, y, z = x + y").Status)
	exact(t, `{"x":"1","y":"2","z":"3"}`, show(t, emu.Rows("demo", "cols")))
	require.Contains(t, load("demo/paths", `{"a":1}`, append(line, `jsonpaths: ["$.a"]`)...).Message, "cannot be created from a load with jsonpaths")
	require.Contains(t, load("demo/dup", `{"a":1,"A":2}`, line...).Message, "repeated name")
	require.Contains(t, load("demo/b@d", `{"a":1}`, line...).Message, "unknown table")
	require.Equal(t, "UNKNOWN", do(t, http.MethodGet, emu.FEURL()+"/api/new/get_load_state?label=x", "").Data)
	require.Zero(t, emu.Count("no", "no"))
	require.Nil(t, emu.Rows("no", "no"))
}

func TestReadBack(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{})
	putJSON(t, emu, "{\"id\":1}\n{\"id\":2}\n{\"id\":3}", "label: l")
	get := func(path string) reply { return do(t, http.MethodGet, emu.FEURL()+"/emulator/"+path, "") }
	exact(t, `{"rows":[{"id":2,"n":null,"name":null}],"total":3}`+"\n", get("db/t/rows?limit=1&offset=1").raw)
	exact(t, `{"rows":[],"total":3}`+"\n", get("db/t/rows?offset=5").raw)
	require.Equal(t, http.StatusBadRequest, get("db/t/rows?limit=x").http)
	require.Equal(t, http.StatusNotFound, get("db/no/rows").http)
	require.Equal(t, http.StatusNotFound, get("nothing").http)
	require.Contains(t, get("tables").raw, `"database":"db","name":"t"`)
	require.Contains(t, get("tables").raw, `"rows":3`)
	require.Contains(t, get("loads").raw, `"label":"l"`)
	require.Contains(t, get("loads").raw, `"state":"VISIBLE"`)
	emu.Truncate("db", "t")
	require.Zero(t, emu.Count("db", "t"))
}

func TestTablesFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tables")
	write := func(body string) { require.NoError(t, os.WriteFile(file, []byte(body), 0o600)) }
	emu := emulator.New(t, emulator.Options{})
	write("tables:\n  - database: a\n    name: y\n    partitions: [p1]\n    columns:\n      - {name: id, type: INT, not_null: true, default: 3}\n      - {name: b, type: BOOLEAN, default: true}\n")
	require.NoError(t, emu.LoadTables(file))
	require.ErrorContains(t, emu.LoadTables(file), "exists already")
	write(`{"tables":[{"database":"a","name":"j","columns":[{"name":"id","type":"INT"}]}]}`)
	require.NoError(t, emu.LoadTables(file))
	require.Len(t, emu.Tables(), 2)
	r := do(t, http.MethodPut, "http://"+emu.BEAddr()+"/api/a/y/_stream_load", `{"b":null}`, "format: json", "partitions: p1")
	require.Equal(t, "Success", r.Status, r.raw)
	exact(t, `{"b":null,"id":3}`, show(t, emu.Rows("a", "y")))
	for body, want := range map[string]string{
		"":                       "no tables",
		"tables: []":             "no tables",
		"tables: [{colums: []}]": `unknown field "colums"`,
		"{":                      "yaml",
		"tables: [{database: 'x y', name: t, model: FOO, columns: [{name: a, type: INT}, {name: A, type: MAP}]}]": "not supported by the emulator",
	} {
		write(body)
		require.ErrorContains(t, emu.LoadTables(file), want, body)
	}
	require.ErrorContains(t, emu.LoadTables(file+"x"), "no such file")
}
