package emulator_test

import (
	"os"
	"os/exec"
	"path/filepath"
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
