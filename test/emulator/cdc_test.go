package emulator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// unique starts a cluster with db.t: UNIQUE KEY(id), id INT, a INT, b STRING, c INT
// NOT NULL DEFAULT 7, and two rows in it.
func unique(t *testing.T, version string, change func(*emulator.Table)) *emulator.Emulator {
	t.Helper()
	tab := emulator.Table{Database: "db", Name: "t", Model: emulator.Unique, Keys: []string{"id"}, MergeOnWrite: new(true), FlexibleUpdate: true, Columns: []emulator.Column{
		{Name: "id", Type: "INT", NotNull: true}, {Name: "a", Type: "INT"}, {Name: "b", Type: "STRING"}, {Name: "c", Type: "INT", NotNull: true, Default: new("7")},
	}}
	sequence := []string{}
	if change != nil {
		change(&tab)
		if tab.SequenceType != "" {
			sequence = []string{"columns: id, a, b, c, s", "function_column.sequence_col: s"}
		}
	}
	emu := emulator.New(t, emulator.Options{Tables: []emulator.Table{tab}, Version: version})
	r := putJSON(t, emu, "{\"id\":1,\"a\":10,\"b\":\"x\",\"c\":1,\"s\":5}\n{\"id\":2,\"a\":20,\"b\":\"y\",\"c\":2,\"s\":5}", sequence...)
	require.Equal(t, "Success", r.Status, r.raw)
	require.Equal(t, both, show(t, emu.Rows("db", "t")))
	return emu
}

const (
	row1 = `{"a":10,"b":"x","c":1,"id":1}`
	row2 = `{"a":20,"b":"y","c":2,"id":2}`
	both = row1 + " " + row2
)

func TestChangesOfUniqueTables(t *testing.T) {
	t.Parallel()
	const (
		sign     = "__DORIS_DELETE_SIGN__"
		fixed    = "unique_key_update_mode: UPDATE_FIXED_COLUMNS"
		flexible = "unique_key_update_mode: update_flexible_columns"
		noNew    = "partial_update_new_key_behavior: error"
	)
	for _, tc := range []struct {
		name, body string
		headers    []string
		rows       string
		message    string
	}{
		{"upsert", `{"id":1,"a":11}`, nil, `{"a":11,"b":null,"c":7,"id":1} ` + row2, ""},
		{"delete", `{"id":1}`, []string{"merge_type: DELETE"}, row2, ""},
		{"merge", "{\"id\":1,\"b\":\"gone\"}\n{\"id\":3,\"a\":1,\"b\":\"new\",\"c\":1}", []string{"merge_type: merge", "delete: b = 'gone'"}, row2 + ` {"a":1,"b":"new","c":1,"id":3}`, ""},
		{"merge by a field that is no column", "{\"id\":1,\"op\":\"d\"}\n{\"id\":3,\"op\":\"c\"}", []string{"merge_type: MERGE", "delete: op = 'd'", "columns: id, op"}, row2 + ` {"a":null,"b":null,"c":7,"id":3}`, ""},
		{"delete sign", "{\"id\":1,\"" + sign + "\":1}\n{\"id\":2,\"a\":2,\"" + sign + "\":0}", []string{"hidden_columns: " + sign}, `{"a":2,"b":null,"c":7,"id":2}`, ""},
		{"delete sign that is not asked for", `{"id":1,"` + sign + `":1}`, nil, `{"a":null,"b":null,"c":7,"id":1} ` + row2, ""},
		{"delete sign in columns", `{"id":1,"k":"d"}`, []string{"columns: id, k, " + sign + " = if(k = 'd', 1, 0)"}, row2, ""},
		{"deleted and back", "{\"id\":1,\"" + sign + "\":1}\n{\"id\":1,\"a\":3,\"c\":3}", []string{"hidden_columns: " + sign}, `{"a":3,"b":null,"c":3,"id":1} ` + row2, ""},

		{"partial", "{\"id\":1,\"a\":11}\n{\"id\":3,\"a\":30}", []string{"partial_columns: true", "columns: id, a"}, `{"a":11,"b":"x","c":1,"id":1} ` + row2 + ` {"a":30,"b":null,"c":7,"id":3}`, ""},
		{"partial, the same key twice", "{\"id\":3,\"a\":1}\n{\"id\":3,\"a\":null}", []string{fixed, "columns: id, a", "partial_update_new_key_behavior: APPEND"}, both + ` {"a":null,"b":null,"c":7,"id":3}`, ""},
		{"partial with a key that is missing in a row", `{"id":1}`, []string{fixed, "columns: id, a"}, `{"a":null,"b":"x","c":1,"id":1} ` + row2, ""},
		{"partial without columns is an upsert", `{"id":1,"a":11}`, []string{"partial_columns: true"}, `{"a":11,"b":null,"c":7,"id":1} ` + row2, ""},
		{"partial and delete", `{"id":1}`, []string{"partial_columns: true", "columns: id", "merge_type: DELETE"}, row2, ""},
		{"partial and delete sign", "{\"id\":1,\"a\":1,\"" + sign + "\":1}\n{\"id\":2,\"a\":2,\"" + sign + "\":0}", []string{"partial_columns: true", "columns: id, a, " + sign}, `{"a":2,"b":"y","c":2,"id":2}`, ""},
		{"partial after a delete is a new row", "{\"id\":1,\"a\":1,\"" + sign + "\":1}\n{\"id\":1,\"a\":2,\"" + sign + "\":0}", []string{fixed, "columns: id, a, " + sign}, `{"a":2,"b":null,"c":7,"id":1} ` + row2, ""},
		{"partial without a key", `{"a":1}`, []string{fixed, "columns: a"}, both, "Partial update should include all key columns, missing: id"},
		{"partial with the sequence", `{"id":1}`, []string{fixed, "columns: id, __DORIS_SEQUENCE_COL__"}, both, "Partial update should not include invisible column except delete sign column"},
		{"no new keys", "{\"id\":1,\"a\":11}\n{\"id\":5,\"a\":5}", []string{fixed, "columns: id, a", noNew}, both, "[E-7003]Can't append new rows in partial update when partial_update_new_key_behavior is ERROR. Row with key=[5] is not in table."},
		{"no new keys, and none came", `{"id":1,"a":11}`, []string{fixed, "columns: id, a", noNew}, `{"a":11,"b":"x","c":1,"id":1} ` + row2, ""},
		{"no new keys, but a delete", `{"id":5,"` + sign + `":1}`, []string{fixed, "columns: id, " + sign, noNew}, both, ""},
		{"no new keys means nothing to an upsert", `{"id":5}`, []string{noNew}, both + ` {"a":null,"b":null,"c":7,"id":5}`, ""},
		{"new key word", `{"id":5}`, []string{"partial_update_new_key_behavior: maybe"}, both, "[INVALID_ARGUMENT]Invalid partial_update_new_key_behavior MAYBE, must be one of {'APPEND', 'ERROR'}"},
		{"mode word", `{"id":5}`, []string{"unique_key_update_mode: partial"}, both, "[INVALID_ARGUMENT]Invalid unique_key_partial_mode partial, must be one of 'UPSERT', 'UPDATE_FIXED_COLUMNS' or 'UPDATE_FLEXIBLE_COLUMNS'"},
		{"mode before partial_columns", `{"id":1}`, []string{"unique_key_update_mode: UPSERT", "partial_columns: true", "columns: id"}, `{"a":null,"b":null,"c":7,"id":1} ` + row2, ""},

		{"flexible", "{\"id\":1,\"a\":11}\n{\"id\":2,\"b\":\"z\"}\n{\"id\":3}", []string{flexible}, `{"a":11,"b":"x","c":1,"id":1} {"a":20,"b":"z","c":2,"id":2} {"a":null,"b":null,"c":7,"id":3}`, ""},
		{"flexible and null", `{"id":1,"a":null}`, []string{flexible}, `{"a":null,"b":"x","c":1,"id":1} ` + row2, ""},
		{"flexible and delete sign", "{\"id\":1,\"" + sign + "\":1}\n{\"id\":2,\"a\":3,\"" + sign + "\":0}", []string{flexible}, `{"a":3,"b":"y","c":2,"id":2}`, ""},
		{"flexible without a key", "{\"a\":11}\n{\"id\":1,\"a\":12}", []string{flexible, "max_filter_ratio: 0.5"}, `{"a":12,"b":"x","c":1,"id":1} ` + row2, ""},
		{"flexible and new keys", `{"id":9,"a":1}`, []string{flexible, noNew}, both, "Row with key=[9] is not in table."},
		{"flexible and columns", `{"id":9}`, []string{flexible, "columns: id"}, both, "[INVALID_ARGUMENT]Don't support flexible partial update when 'columns' is specified"},
		{"flexible and merge type", `{"id":9}`, []string{flexible, "merge_type: DELETE"}, both, "Don't support flexible partial update when 'merge_type' is specified"},
		{"flexible and hidden columns", `{"id":9}`, []string{flexible, "hidden_columns: " + sign}, both, "Don't support flexible partial update when 'hidden_columns' is specified"},
		{"flexible and where", `{"id":9}`, []string{flexible, "where: id > 1"}, both, "Don't support flexible partial update when 'where' is specified"},
		{"flexible and fuzzy", `{"id":9}`, []string{flexible, "fuzzy_parse: true"}, both, "Don't support flexible partial update when 'fuzzy_parse' is enabled"},
		{"flexible csv", "9", []string{flexible, "format: csv"}, both, "flexible partial update only support json format as input file currently"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			emu := unique(t, "", nil)
			r := putJSON(t, emu, tc.body, tc.headers...)
			if tc.message != "" {
				require.Equal(t, "Fail", r.Status, r.raw)
				require.Contains(t, r.Message, tc.message)
			} else {
				require.Equal(t, "Success", r.Status, r.raw)
			}
			require.Equal(t, tc.rows, show(t, emu.Rows("db", "t")))
		})
	}
}

func TestPartialUpdateOfOtherTables(t *testing.T) {
	t.Parallel()
	fixed := []string{"partial_columns: true", "columns: id, a"}
	emu := unique(t, "", func(tab *emulator.Table) { tab.MergeOnWrite, tab.FlexibleUpdate = new(false), false })
	require.Contains(t, putJSON(t, emu, `{"id":1,"a":1}`, fixed...).Message, "Only unique key merge on write support partial update")
	emu = unique(t, "2.0", func(tab *emulator.Table) { tab.MergeOnWrite = nil })
	require.Contains(t, putJSON(t, emu, `{"id":1,"a":1}`, fixed...).Message, "Only unique key merge on write", "not the default yet")
	emu = unique(t, "", func(tab *emulator.Table) { tab.FlexibleUpdate = false })
	require.Contains(t, putJSON(t, emu, `{"id":1}`, "unique_key_update_mode: UPDATE_FLEXIBLE_COLUMNS").Message, `You can use `+"`ALTER TABLE t ENABLE FEATURE \"UPDATE_FLEXIBLE_COLUMNS\";`")
	emu = unique(t, "", func(tab *emulator.Table) { tab.Columns[3].Default = nil })
	require.Contains(t, putJSON(t, emu, `{"id":5,"a":1}`, fixed...).Message, "the unmentioned column `c` should have default value or be nullable for newly inserted rows in non-strict mode partial update")
	require.Contains(t, putJSON(t, emu, `{"id":5,"a":1}`, "unique_key_update_mode: UPDATE_FLEXIBLE_COLUMNS").Message, "non-strict mode flexible partial update")
	require.Equal(t, "Success", putJSON(t, emu, `{"id":1,"a":1}`, fixed...).Status)

	_, err := emulator.Start(emulator.Options{Tables: []emulator.Table{
		{Database: "db", Name: "d", MergeOnWrite: new(true), Columns: []emulator.Column{{Name: "k", Type: "INT"}}},
		{Database: "db", Name: "e", SequenceType: "INT", Columns: []emulator.Column{{Name: "k", Type: "INT"}}},
		{Database: "db", Name: "f", Model: emulator.Unique, Keys: []string{"k"}, SequenceType: "MAP", Columns: []emulator.Column{{Name: "k", Type: "INT"}}},
	}})
	require.ErrorContains(t, err, "merge_on_write and flexible_update are for UNIQUE tables")
	require.ErrorContains(t, err, "sequence_type is for UNIQUE tables without a sequence_column")
	require.ErrorContains(t, err, `sequence_type: column type "MAP" is not supported by the emulator`)
}

func TestPartialUpdateOfOlderVersions(t *testing.T) {
	t.Parallel()
	emu := unique(t, "1.2", nil)
	require.Equal(t, "Success", putJSON(t, emu, `{"id":1,"a":1}`, "partial_columns: true", "columns: id, a").Status)
	require.Equal(t, `{"a":1,"b":null,"c":7,"id":1} `+row2, show(t, emu.Rows("db", "t")), "the header is not known")
	for _, version := range []string{"2.0", "2.1", "3.0"} {
		emu = unique(t, version, nil)
		require.Contains(t, putJSON(t, emu, `{"id":1,"a":1}`, "partial_columns: true").Message, "Partial update should include all key columns, missing: id")
		r := putJSON(t, emu, "{\"id\":1,\"a\":1}\n{\"id\":8,\"a\":8}", "partial_columns: true", "columns: id, a", "strict_mode: true", "max_filter_ratio: 0.5")
		require.Equal(t, [3]int64{2, 1, 1}, [3]int64{r.Total, r.Loaded, r.Filtered}, "in strict mode new keys are filtered")
		require.Equal(t, `{"a":1,"b":"x","c":1,"id":1} `+row2, show(t, emu.Rows("db", "t")))
		require.Equal(t, "Success", putJSON(t, emu, `{"id":8,"a":8}`, "unique_key_update_mode: UPDATE_FLEXIBLE_COLUMNS", "partial_update_new_key_behavior: error").Status)
		require.Equal(t, 3, emu.Count("db", "t"), "headers that came later")
	}
}

func TestSequences(t *testing.T) {
	t.Parallel()
	// A hidden column of its own.
	emu := unique(t, "", func(tab *emulator.Table) { tab.SequenceType = "BIGINT" })
	load := func(body string, headers ...string) string {
		r := putJSON(t, emu, body, headers...)
		require.Equal(t, "Success", r.Status, r.raw)
		return show(t, emu.Rows("db", "t"))
	}
	by := func(columns string) []string {
		return []string{"columns: " + columns, "function_column.sequence_col: s"}
	}
	require.Contains(t, putJSON(t, emu, `{"id":1}`).Message, "Table t has sequence column, need to specify the sequence column")
	require.Contains(t, putJSON(t, emu, `{"id":1}`, "columns: id, a", "function_column.sequence_col: s").Message, "There is no sequence column s in the columns of the load")
	require.Equal(t, both, load(`{"id":1,"a":0,"s":4}`, by("id, a, s")...), "it is older")
	require.Equal(t, row2, load(`{"id":1,"s":6}`, append(by("id, s"), "merge_type: DELETE")...))
	require.Equal(t, row2, load(`{"id":1,"a":1,"s":5}`, by("id, a, s")...), "the delete is newer")
	require.Equal(t, `{"a":2,"b":null,"c":7,"id":1} `+row2, load(`{"id":1,"b":null,"t":3}`, "columns: id, t, a = t - 1, c = t * 2 + 1, b", "function_column.sequence_col: c", "where: c = 7"), "computed, and newer")
	// In a partial update the sequence is compared, and stays when it is not given.
	require.Equal(t, `{"a":2,"b":null,"c":7,"id":1} `+row2, load(`{"id":1,"b":"old","s":1}`, append(by("id, b, s"), "partial_columns: true")...))
	require.Equal(t, `{"a":2,"b":"new","c":7,"id":1} `+row2, load(`{"id":1,"b":"new","s":9}`, append(by("id, b, s"), "partial_columns: true")...))
	flexible := "unique_key_update_mode: UPDATE_FLEXIBLE_COLUMNS"
	require.Equal(t, `{"a":5,"b":"new","c":7,"id":1} `+row2, load(`{"id":1,"a":5}`, flexible))
	require.Equal(t, `{"a":5,"b":"new","c":7,"id":1} `+row2, load(`{"id":1,"a":6,"__DORIS_SEQUENCE_COL__":8}`, flexible))
	require.Equal(t, `{"a":6,"b":"new","c":7,"id":1} `+row2, load(`{"id":1,"a":6,"__DORIS_SEQUENCE_COL__":10}`, flexible))
	require.Equal(t, `{"a":6,"b":"new","c":7,"id":1} `+row2, load(`{"id":1,"a":7,"s":9}`, by("id, a, s")...))

	// A column of the table.
	emu = unique(t, "", func(tab *emulator.Table) { tab.SequenceColumn = "a" })
	require.Equal(t, both, load(`{"id":1,"a":9,"b":"old"}`))
	require.Equal(t, `{"a":10,"b":"p","c":1,"id":1} `+row2, load(`{"id":1,"b":"p"}`, "partial_columns: true", "columns: id, b"), "without it the row is updated")
	require.Equal(t, `{"a":10,"b":"p","c":1,"id":1} `+row2, load(`{"id":1,"a":9,"b":"q"}`, "partial_columns: true", "columns: id, a, b"))
	require.Equal(t, `{"a":12,"b":"q","c":1,"id":1} `+row2, load(`{"id":1,"a":12,"b":"q"}`, "partial_columns: true", "columns: id, a, b"))
	require.Contains(t, putJSON(t, emu, `{"id":1,"b":"p"}`, "columns: id, b").Message, "need to specify the sequence column")
	emu = unique(t, "", nil)
	require.Contains(t, putJSON(t, emu, `{"id":1,"s":1}`, by("id, s")...).Message, "There is no sequence column in the table t")
}

// Changes as they come from a database, by curl as the documentation has it.
func TestCurlChanges(t *testing.T) {
	t.Parallel()
	emu := unique(t, "", nil)
	load := func(data string, args ...string) {
		t.Helper()
		args = append([]string{"--location-trusted", "-u", "root:", "-H", "Expect:100-continue", "-H", "column_separator:,"}, args...)
		require.Contains(t, curl(t, data, append(args, "-T", "data", emu.FEURL()+"/api/db/t/_stream_load")...), `"Status": "Success"`)
	}
	load("1,,,1\n", "-H", "merge_type: DELETE")
	load("2,5,w,9\n3,6,v,9\n", "-H", "merge_type: MERGE", "-H", "delete: id=3")
	load("4,1,u,1,0\n2,0,,0,1\n", "-H", "hidden_columns: __DORIS_DELETE_SIGN__")
	load("4,2\n", "-H", "partial_columns:true", "-H", "columns:id,a")
	require.Equal(t, `{"a":2,"b":"u","c":1,"id":4}`, show(t, emu.Rows("db", "t")))
}
