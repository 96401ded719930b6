package emulator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// A PRIMARY KEY table: upserts, deletes by __op, partial updates and conditions.
func TestStarRocksPrimaryKey(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, body string
		headers    []string
		rows       string
		message    string
	}{
		{"upsert", `{"id":1,"name":"x"} {"id":3,"name":"c","n":3,"note":"z"}`, nil, `{"id":1,"n":null,"name":"x","note":"none"} {"id":2,"n":20,"name":"b","note":"q"} {"id":3,"n":3,"name":"c","note":"z"}`, ""},
		{"op in the object", `{"id":1,"__op":1} {"id":2,"__op":0,"name":"B","n":1,"note":"w"}`, nil, `{"id":2,"n":1,"name":"B","note":"w"}`, ""},
		{"op by words", `{"id":1,"__op":"delete"} {"id":2,"__op":"upsert"}`, nil, `{"id":2,"n":null,"name":null,"note":"none"}`, ""},
		{"no op of these", `{"id":1,"__op":2}`, nil, first, "too many filtered rows"},
		{"op by expression", `{"id":1} {"id":2}`, []string{"columns: id, __op='delete'"}, "", ""},
		{"op from a field", `{"id":1,"kind":"D"} {"id":4,"kind":"U"}`, []string{"columns: id, kind, __op=if(kind='D',1,0)"}, `{"id":2,"n":20,"name":"b","note":"q"} {"id":4,"n":null,"name":null,"note":"none"}`, ""},
		{"deleted and back", `{"id":1,"__op":1} {"id":1,"n":7}`, []string{"merge_condition: n"}, `{"id":1,"n":7,"name":null,"note":"none"} {"id":2,"n":20,"name":"b","note":"q"}`, ""},
		{"partial", `{"id":1,"n":11} {"id":5,"n":50}`, []string{"columns: id, n", "partial_update: true"}, `{"id":1,"n":11,"name":"a","note":"p"} {"id":2,"n":20,"name":"b","note":"q"} {"id":5,"n":50,"name":null,"note":"none"}`, ""},
		{"partial by column", `{"id":1,"n":null}`, []string{"columns: id, n", "partial_update: True", "partial_update_mode: column"}, `{"id":1,"n":null,"name":"a","note":"p"} {"id":2,"n":20,"name":"b","note":"q"}`, ""},
		{"partial and delete", `{"id":1,"n":1,"__op":1} {"id":2,"n":2}`, []string{"columns: id, n, __op", "partial_update: true"}, `{"id":2,"n":2,"name":"b","note":"q"}`, ""},
		{"partial_columns of Doris nulls the rest", `{"id":1,"n":11}`, []string{"columns: id, n", "partial_columns: true"}, `{"id":1,"n":11,"name":null,"note":"none"} {"id":2,"n":20,"name":"b","note":"q"}`, ""},
		{"merge_type of Doris inserts", `{"id":1,"n":11}`, []string{"merge_type: DELETE"}, `{"id":1,"n":11,"name":null,"note":"none"} {"id":2,"n":20,"name":"b","note":"q"}`, ""},
		{"partial without a key", `{"n":11}`, []string{"columns: n", "partial_update: true"}, first, "missing: id"},
		{"partial word", `{"id":1}`, []string{"partial_update: yes"}, first, "Invalid partial update flag format. Must be bool type"},
		{"condition", `{"id":1,"n":9,"name":"old"} {"id":2,"n":20,"name":"same"} {"id":3,"n":1}`, []string{"merge_condition: n"}, `{"id":1,"n":10,"name":"a","note":"p"} {"id":2,"n":20,"name":"same","note":"none"} {"id":3,"n":1,"name":null,"note":"none"}`, ""},
		{"condition and null", `{"id":1,"n":null}`, []string{"merge_condition: n"}, first, ""},
		{"condition on a key", `{"id":1}`, []string{"merge_condition: id"}, first, "should not be a key column"},
		{"condition on nothing", `{"id":1}`, []string{"merge_condition: x"}, first, "Merge condition column x does not exist"},
		{"condition that is not loaded", `{"id":1}`, []string{"merge_condition: n", "columns: id", "partial_update: true"}, first, "is not among the columns of the load"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			emu := rocks(t, emulator.Options{})
			load := func(body string, headers ...string) reply {
				return do(t, "PUT", "http://"+emu.BEAddr()+"/api/db/p/_stream_load", body, append([]string{"format: json"}, headers...)...)
			}
			require.Equal(t, "Success", load(`{"id":1,"n":10,"name":"a","note":"p"} {"id":2,"n":20,"name":"b","note":"q"}`).Status)
			require.Equal(t, first, show(t, emu.Rows("db", "p")))
			r := load(tc.body, tc.headers...)
			if tc.message != "" {
				require.Contains(t, r.Message, tc.message)
			} else {
				require.Equal(t, "Success", r.Status, r.raw)
			}
			require.Equal(t, tc.rows, show(t, emu.Rows("db", "p")))
		})
	}
}

const first = `{"id":1,"n":10,"name":"a","note":"p"} {"id":2,"n":20,"name":"b","note":"q"}`

func TestStarRocksOtherModels(t *testing.T) {
	t.Parallel()
	emu := rocks(t, emulator.Options{})
	for headers, want := range map[[2]string]string{
		{"partial_update: true", "columns: id, n"}:    "Only primary key table support partial update",
		{"merge_condition: n", "strict_mode: true"}:   "Conditional update only support primary key table",
		{"columns: id, __op=1", "strict_mode: false"}: "Unknown column '__op' in 't'",
	} {
		require.Contains(t, put(t, emu, `{"id":1}`, append([]string{"format: json"}, headers[:]...)...).Message, want)
	}
	require.Equal(t, "Success", put(t, emu, `{"id":1,"__op":1}`, "format: json").Status, "a key like any other")
	require.Equal(t, 1, emu.Count("db", "t"))
}
