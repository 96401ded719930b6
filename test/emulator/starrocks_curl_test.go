package emulator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// The requests of the StarRocks documentation, made by curl.
func TestCurlStarRocks(t *testing.T) {
	t.Parallel()
	emu := rocks(t, emulator.Options{FEs: 2})
	fe, follower := emu.FEURL(), emu.FEURLs()[1]
	load := func(data string, args ...string) string {
		args = append([]string{"--location-trusted", "-u", "root:", "-H", "Expect:100-continue"}, args...)
		return curl(t, data, append(args, "-T", "data", "-XPUT", follower+"/api/db/t/_stream_load")...)
	}
	for _, args := range [][]string{
		{"1,Tom,20\n", "-H", "label:123", "-H", "column_separator:,"},
		{"1;Tom;20|", "-H", "column_separator:;", "-H", "row_delimiter:|"},
		{`[{"id":1,"name":"Tom"}]`, "-H", "format: json", "-H", "strip_outer_array: true", "-H", `jsonpaths: ["$.id", "$.name"]`, "-H", "columns: id, name"},
		{`{"id":1}`, "-H", "format: json", "-H", "ignore_json_size: true"},
		{"1,Tom,20\n", "-H", "column_separator:,", "-H", "enable_merge_commit:true", "-H", "merge_commit_interval_ms:1000", "-H", "merge_commit_parallel:2"},
	} {
		require.Contains(t, load(args[0], args[1:]...), `"Status": "Success"`)
	}
	require.Equal(t, 5, emu.Count("db", "t"))
	exact(t, `{"state":"VISIBLE","reason":"","status":"OK","code":"0","msg":"Success","message":"OK"}`, curl(t, "", "--location-trusted", "-u", "root:", follower+"/api/db/get_load_state?label=123"))

	txn := func(op string, args ...string) string {
		args = append([]string{"--location-trusted", "-u", "root:", "-H", "Expect:100-continue", "-H", "db:db", "-H", "table:t", "-H", "label:txn"}, args...)
		return curl(t, "7,Ann,7\n", append(args, follower+"/api/transaction/"+op)...)
	}
	for _, out := range []string{
		txn("begin", "-X", "POST"),
		txn("load", "-H", "column_separator:,", "-T", "data", "-X", "PUT"),
		txn("load", "-H", "column_separator:,", "-T", "data", "-X", "PUT"),
		txn("prepare", "-X", "POST"),
		txn("commit", "-X", "POST"),
	} {
		require.Contains(t, out, `"Status": "OK"`)
	}
	require.Equal(t, 7, emu.Count("db", "t"))
	require.Contains(t, curl(t, "", "-u", "root:", "-X", "POST", fe+"/api/db/none/_cancel"), "transaction not found, label=none")
	require.Zero(t, emu.FEBodyBytes())
}
