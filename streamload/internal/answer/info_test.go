package answer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInfo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		ok         bool
		code       int64
		message    string
	}{
		{"Doris", `{"msg":"success","code":0,"data":{},"count":0}`, true, 0, ""},
		{"a refusal", `{"msg":"Unauthorized","code":401,"data":"Need auth information.","count":0}`, false, 401, "Need auth information."},
		{"a refusal without data", `{"msg":"Error","code":1,"data":null,"count":0}`, false, 1, "Error"},
		{"a code in quotes", `{"code":"1","msg":"no"}`, false, 1, "no"},
		{"a code that is no number", `{"code":"x","msg":"no"}`, false, -1, "no"},
		{"StarRocks refuses", `{"status":"FAILED","msg":"Access denied"}`, false, 1, "Access denied"},
		{"no frame", `{"status":200}`, true, 0, ""},
		{"HTML", `<html>`, false, 0, "<html>"},
		{"nothing", ``, false, 0, ""},
		{"a list", `[1]`, false, 0, "[1]"},
	} {
		i := ParseInfo([]byte(c.body))
		require.Equal(t, c.ok, i.OK(), c.name)
		require.Equal(t, c.code, i.Code, c.name)
		require.Equal(t, c.message, i.Message, c.name)
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	s := ParseSchema([]byte(`{"code":0,"data":{"status":200,"keysType":"UNIQUE_KEYS","properties":[
		{"name":"id","type":"BIGINT","aggregation_type":"","comment":"x"},{"name":"v","type":"VARCHAR","aggregation_type":"NONE"}]}}`))
	require.True(t, s.OK())
	require.Equal(t, "UNIQUE_KEYS", s.KeysType)
	require.True(t, s.HasKeys)
	require.Equal(t, []Column{{"id", "BIGINT", true}, {"v", "VARCHAR", false}}, s.Columns)

	s = ParseSchema([]byte(`{"code":0,"data":{"status":401,"exception":"Access denied"}}`))
	require.False(t, s.OK())
	require.Equal(t, int64(401), s.Code)
	require.Equal(t, "Access denied", s.Message)
	for _, body := range []string{`{"code":0}`, `{"code":0,"data":[]}`, `{"code":0,"data":{"status":"x"}}`, `{"code":0,"data":{"status":200,"properties":7}}`} {
		require.False(t, ParseSchema([]byte(body)).OK(), body)
	}
}

func TestBackendsAndSettings(t *testing.T) {
	t.Parallel()
	list, i := ParseBackends([]byte(`{"code":0,"data":{"backends":[{"ip":"10.0.0.1","http_port":8040,"is_alive":true}]}}`))
	require.True(t, i.OK())
	require.Equal(t, []Backend{{"10.0.0.1", 8040, true}}, list)
	_, i = ParseBackends([]byte(`{"code":0,"data":{"backends":{}}}`))
	require.False(t, i.OK())

	settings, i := ParseSettings([]byte(`{"code":0,"data":{"column_names":["Name","Value"],"rows":[{"Name":"a","Value":" 7 "},{"Name":"b","Value":"x"}]}}`))
	require.True(t, i.OK())
	n, ok := Whole(settings, "a")
	require.True(t, ok)
	require.Equal(t, int64(7), n)
	for _, name := range []string{"b", "c"} {
		_, ok = Whole(settings, name)
		require.False(t, ok)
	}
	_, i = ParseSettings([]byte(`{"code":0,"data":{"rows":[]}}`))
	require.False(t, i.OK())
}

func FuzzInfo(f *testing.F) {
	f.Add([]byte(`{"code":0,"data":{"meta":[{"name":"a"}],"data":[["1"]]}}`))
	f.Add([]byte(`{"code":0,"data":{"status":200,"keysType":"","properties":[{"name":"a"}],"backends":[{"ip":"x"}],"rows":[{"Name":"a"}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		s := ParseSchema(body)
		if s.OK() && !s.Readable {
			t.Fatal("a schema out of nothing")
		}
		ParseBackends(body)
		ParseSettings(body)
		if rows, i := ParseRows(body); len(rows) > 0 && !i.OK() {
			t.Fatal("rows out of nothing")
		}
	})
}

func TestParseRows(t *testing.T) {
	t.Parallel()
	rows, i := ParseRows([]byte(`{"msg":"success","code":0,"data":{"type":"result_set","meta":[{"name":"TransactionId","type":"CHAR"},{"name":"Label","type":"CHAR"}],` +
		`"data":[["7","a"],[8,null],["9"],["10","b","more"]],"time":3},"count":0}`))
	require.True(t, i.OK())
	require.Equal(t, []map[string]string{
		{"transactionid": "7", "label": "a"},
		{"transactionid": "8", "label": ""},
		{"transactionid": "9"},
		{"transactionid": "10", "label": "b"},
	}, rows)
	for _, body := range []string{
		`{"msg":"Error","code":1,"data":"Failed to execute sql: no","count":0}`, `{"code":0,"data":{"type":"exec_status"}}`, `{"code":0,"data":[]}`, `<html>`, ``,
		`{"code":0,"data":{"meta":[{"name":"a"}],"data":[{"a":1}]}}`,
	} {
		rows, i = ParseRows([]byte(body))
		require.Empty(t, rows, body)
		require.False(t, i.OK(), body)
	}
}
