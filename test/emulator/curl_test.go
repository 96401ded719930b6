package emulator_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// curl runs the real program, in an empty directory that holds the given file
// as "data", and returns what it prints.
func curl(t *testing.T, data string, args ...string) string {
	t.Helper()
	program, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("the program curl is not installed")
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data"), []byte(data), 0o600))
	cmd := exec.CommandContext(t.Context(), program, append([]string{"--silent", "--show-error", "--max-time", "20"}, args...)...) //nolint:gosec // fixed arguments
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "no_proxy=*")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

func userTable(db string) emulator.Table {
	return emulator.Table{Database: db, Name: "t", Columns: []emulator.Column{
		{Name: "user_id", Type: "BIGINT", NotNull: true},
		{Name: "name", Type: "VARCHAR(20)"},
		{Name: "age", Type: "INT"},
	}}
}

func TestCurlLoadsAsDocumented(t *testing.T) {
	t.Parallel()
	const csv = "1,Emily,25\n2,Benjamin,35\n3,Olivia,28\n"
	const array = `[{"user_id":1,"name":"Emily","age":25},{"user_id":2,"name":"Benjamin","age":35},{"user_id":3,"name":"Olivia","age":28}]`
	for _, tc := range []struct {
		name, data string
		args       []string
		rows       int
		status     string
	}{
		{"csv", csv, []string{"-H", "column_separator:,", "-H", "columns:user_id,name,age"}, 3, `"Status": "Success"`},
		{"csv with a label", csv, []string{"-H", "label:123", "-H", "column_separator:,"}, 3, `"Label": "123"`},
		{"json array", array, []string{"-H", "format:json", "-H", "strip_outer_array:true"}, 3, `"NumberTotalRows": 3`},
		{"json with paths", array, []string{"-H", "format:json", "-H", "strip_outer_array:true", "-H", `jsonpaths:["$.user_id", "$.name", "$.age"]`, "-H", "columns:user_id,name,age"}, 3, `"NumberLoadedRows": 3`},
		{"mapping", csv, []string{"-H", "column_separator:,", "-H", "columns:user_id,name,tmp,age=tmp*2+1"}, 3, `"Status": "Success"`},
		{"where", csv, []string{"-H", "column_separator:,", "-H", "where:age>=35"}, 1, `"NumberUnselectedRows": 2`},
		{"filter ratio", csv + "x,y,z\n", []string{"-H", "column_separator:,", "-H", "max_filter_ratio:0.4"}, 3, `"NumberFilteredRows": 1`},
		{"too many bad rows", csv + "x,y,z\n", []string{"-H", "column_separator:,"}, 0, `[DATA_QUALITY_ERROR]too many filtered rows`},
		{"strict mode", csv + "4,Zoe,old\n", []string{"-H", "column_separator:,", "-H", "strict_mode:true", "-H", "max_filter_ratio:0.5"}, 3, `"NumberFilteredRows": 1`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			emu := emulator.New(t, emulator.Options{Tables: []emulator.Table{userTable("testdb")}})
			args := append([]string{"--location-trusted", "-u", "root:", "-H", "Expect:100-continue"}, tc.args...)
			out := curl(t, tc.data, append(args, "-T", "data", "-XPUT", emu.FEURL()+"/api/testdb/t/_stream_load")...)
			require.Contains(t, out, tc.status)
			require.Equal(t, tc.rows, emu.Count("testdb", "t"))
			require.Zero(t, emu.FEBodyBytes())
		})
	}
}

func TestCurlFurtherExamples(t *testing.T) {
	t.Parallel()
	emu := emulator.New(t, emulator.Options{Tables: []emulator.Table{userTable("testdb")}})
	load := func(data string, args ...string) string {
		return curl(t, data, append([]string{"--location-trusted", "-u", "root:", "-H", "Expect:100-continue", "-XPUT", emu.FEURL() + "/api/testdb/t/_stream_load"}, args...)...)
	}
	ok := func(out string) {
		t.Helper()
		require.Contains(t, out, `"Status": "Success"`)
	}
	// Two-phase commit, by transaction and by label.
	out := load("1,a,1", "-T", "data", "-H", "column_separator:,", "-H", "two_phase_commit:true", "-H", "label:two")
	ok(out)
	require.Contains(t, out, `"TwoPhaseCommit": "true"`)
	require.Zero(t, emu.Count("testdb", "t"))
	out = curl(t, "", "-X", "PUT", "--location-trusted", "-u", "root:", "-H", "label:two", "-H", "txn_operation:commit", emu.FEURL()+"/api/testdb/t/_stream_load_2pc")
	exact(t, `{"status":"Success","msg":"label [two] commit successfully."}`, out)
	require.Equal(t, 1, emu.Count("testdb", "t"))
	exact(t, `{"msg":"success","code":0,"data":"VISIBLE","count":0}`, curl(t, "", "-u", "root:", emu.FEURL()+"/api/testdb/get_load_state?label=two"))
	require.Contains(t, load("1,a,1", "-T", "data", "-H", "label:two"), `"ExistingJobStatus": "FINISHED"`)

	// A file that is too large for any buffer on the way; none of it goes to the FE.
	ok(load(strings.Repeat("7,Grace,30\n", 200_000), "-T", "data", "-H", "column_separator:,"))
	require.Equal(t, 200_001, emu.Count("testdb", "t"))
	require.Zero(t, emu.FEBodyBytes())

	ok(load("user_id,name,age\n8,Alan,41\n", "-T", "data", "-H", "column_separator:,", "-H", "format:csv_with_names"))
	ok(load("9\x01Ada\x0136", "-T", "data", "-H", `column_separator:\x01`, "-H", "group_commit:sync_mode"))
	ok(load("", "-T", "data", "-H", "label:empty"))
	out = load("x,y,z", "-T", "data", "-H", "column_separator:,")
	require.Contains(t, out, `"Status": "Fail"`)
	_, rest, found := strings.Cut(out, `"ErrorURL": "`)
	require.True(t, found)
	url, _, _ := strings.Cut(rest, `"`)
	require.Equal(t, "Reason: column(user_id) value is incorrect while strict mode is false, src value is x. src line [x,y,z]; \n", curl(t, "", url))
	// Without the header Expect, curl adds none for a small body.
	require.Contains(t, curl(t, "1,a,1", "--location-trusted", "-u", "root:", "-H", "Expect:", "-T", "data", emu.FEURL()+"/api/testdb/t/_stream_load"), "There is no 100-continue header")
}
