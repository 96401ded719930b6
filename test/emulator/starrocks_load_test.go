package emulator_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

func TestStarRocksAnswer(t *testing.T) {
	t.Parallel()
	emu := rocks(t, emulator.Options{})
	r := put(t, emu, `{"id":1} {"id":"x"}`, "format: json", "label: abc", "max_filter_ratio: 0.5", "Accept-Encoding: gzip")
	require.Equal(t, http.StatusOK, r.http)
	require.Equal(t, "application/json", r.header.Get("Content-Type"))
	got := regexp.MustCompile(`(Ms|TxnId)": \d+`).ReplaceAllString(r.raw, `$1": N`)
	got = regexp.MustCompile(`http://.*"`).ReplaceAllString(got, `URL"`)
	exact(t, `{
    "TxnId": N,
    "Label": "abc",
    "Status": "Success",
    "Message": "OK",
    "NumberTotalRows": 2,
    "NumberLoadedRows": 1,
    "NumberFilteredRows": 1,
    "NumberUnselectedRows": 0,
    "LoadBytes": 19,
    "LoadTimeMs": N,
    "BeginTxnTimeMs": N,
    "StreamLoadPlanTimeMs": N,
    "ReadDataTimeMs": N,
    "WriteDataTimeMs": N,
    "CommitAndPublishTimeMs": N,
    "ErrorURL": "URL"
}`, got)
	require.Equal(t, "Error: column(id) value is incorrect while strict mode is false, src value is x. Row: {\"id\":\"x\"}\n", do(t, http.MethodGet, r.ErrorURL, "").raw)

	r = put(t, emu, "1\ta\t1\n", "label: abc")
	require.Equal(t, "Label Already Exists", r.Status)
	require.Equal(t, "FINISHED", r.ExistingJobStatus)
	require.Equal(t, "Label [abc] has already been used.", r.Message)
	require.EqualValues(t, -1, r.TxnID)
}

func TestStarRocksBodies(t *testing.T) {
	t.Parallel()
	const two = `{"id":1,"n":2,"name":"a"} {"id":2,"n":null,"name":null}`
	for _, tc := range []struct {
		name, body string
		headers    []string
		rows       string
		message    string
	}{
		{"csv", "1\ta\t2\n2\t\\N\t\n", nil, two, ""},
		{"row delimiter", "1,a,2@@2,\\N,", []string{"column_separator: ,", "row_delimiter: @@"}, two, ""},
		{"line_delimiter of Doris is not known", "1,a,2@@2,b,3", []string{"column_separator: ,", "line_delimiter: @@"}, "", "too many filtered rows"},
		{"skip header", "id,name,n\n1,a,2\n2,\\N,", []string{"column_separator: ,", "skip_header: 1"}, two, ""},
		{"skip_lines of Doris loads the header", "id,name,n\n1,a,2", []string{"column_separator: ,", "skip_lines: 1"}, "", "too many filtered rows"},
		{"trim space", " 1 , a , 2 \n2, \\N ,", []string{"column_separator: ,", "trim_space: TRUE"}, two, ""},
		{"trim space word", "1,a,2", []string{"trim_space: yes"}, "", "Invalid trim space format. Must be bool type"},
		{"enclose", "1,\"a\",\"2\"\n2,\\N,", []string{"column_separator: ,", `enclose: "`}, two, ""},
		{"only the first byte of enclose", "1,'a',2\n2,\\N,", []string{"column_separator: ,", "enclose: 'x"}, two, ""},
		{"an escaped null is null", "1,a,2\n2,\\\\N,", []string{"column_separator: ,", `enclose: "`, `escape: \`}, two, ""},
		{"a null in quotes is null", "1,a,2\n2,\"\\N\",", []string{"column_separator: ,", `enclose: "`}, two, ""},
		{"an escape before a letter is lost", `1,\a,2`, []string{"column_separator: ,", `escape: \`}, `{"id":1,"n":2,"name":"a"}`, ""},
		{"an escape outside of quotes", "1,a\\,b\\\nc,2", []string{"column_separator: ,", `escape: \`}, `{"id":1,"n":2,"name":"a,b\nc"}`, ""},
		{"two quotes are one", `1,"a""b",2`, []string{"column_separator: ,", `enclose: "`}, `{"id":1,"n":2,"name":"a\"b"}`, ""},
		{"quotes of nothing", `1,"",2`, []string{"column_separator: ,", `enclose: "`}, `{"id":1,"n":2,"name":""}`, ""},
		{"a quote in the middle is an escape", `1,a"",2`, []string{"column_separator: ,", `enclose: "`}, `{"id":1,"n":2,"name":"a\""}`, ""},
		{"separators in quotes", "1,'a||@@',2@@2,\\N,", []string{"column_separator: ,", "row_delimiter: @@", "enclose: '"}, `{"id":1,"n":2,"name":"a||@@"} {"id":2,"n":null,"name":null}`, ""},
		{"csv with names is no format", "id\tname\tn\n", []string{"format: csv_with_names"}, "", "unknown data format, format=csv_with_names"},
		{"long separator", "1", []string{"column_separator: " + strings.Repeat("x", 51)}, "", "The valid bytes length for 'column separator' is [1, 50]"},
		{"json lines", "{\"id\":1,\"n\":2,\"name\":\"a\"}\n{\"id\":2}\n", []string{"format: json"}, two, ""},
		{"json without lines", `{"id":1,"n":2,"name":"a"}{"id":2}`, []string{"format: JSON"}, two, ""},
		{"json array", `[{"id":1,"n":2,"name":"a"},{"id":2}]`, []string{"format: json", "strip_outer_array: true"}, two, ""},
		{"json array without strip", `[{"id":1}]`, []string{"format: json"}, "", "too many filtered rows"},
		{"json root", `{"d":{"id":1,"n":2,"name":"a"}} {"d":{"id":2}}`, []string{"format: json", "json_root: $.d"}, two, ""},
		{"json paths", `{"x":1,"y":["a"],"z":2} {"x":2}`, []string{"format: json", `jsonpaths: ["$.x","$.y[0]","$.z"]`, "columns: id, name, n"}, two, ""},
		{"no column of the table", `{"other":1}`, []string{"format: json", "columns: name, id=3"}, `{"id":3,"n":null,"name":null}`, ""},
		{"syntax error", `{"id":1} {"id":`, []string{"format: json"}, "", "too many filtered rows"},
		{"strict mode word", "1\ta\t2", []string{"strict_mode: yes"}, "", "Invalid strict mode format. Must be bool type"},
		{"memory", "1\ta\t2", []string{"load_mem_limit: x"}, "", "Invalid load mem limit format"},
		{"exec memory", "1\ta\t2", []string{"exec_mem_limit: 0"}, "", "exec_mem_limit must be greater than 0"},
		{"both partitions", "1\ta\t2", []string{"partitions: a", "temporary_partitions: b"}, "", "Can not specify both partitions and temporary partitions"},
		{"label", "1\ta\t2", []string{"label: a:b"}, "", `Label format error. regex: ^[-\w]{1,128}$, label: a:b`},
		{"long label", "1\ta\t2", []string{"label: " + strings.Repeat("a", 129)}, "", "Label format error"},
		{"timeout", "1\ta\t2", []string{"timeout: soon"}, "", "Invalid timeout format"},
		{"timeout range", "1\ta\t2", []string{"timeout: 259201"}, "", "Invalid timeout: 259201. Timeout should between 1 and 259200 seconds"},
		{"no account", "1\ta\t2", []string{"Authorization: -"}, "", "no valid Basic authorization"},
		{"nothing", "", nil, "", "all partitions have no load data"},
		{"nothing selected", "1\ta\t2", []string{"where: n > 5"}, "", "all partitions have no load data"},
		{"nothing good", "x\ta\t2", []string{"max_filter_ratio: 1"}, "", "all partitions have no load data"},
		{"headers of Doris", "1\ta\t2\n2\t\\N\t", []string{"two_phase_commit: true", "group_commit: sync_mode", "merge_type: DELETE", "hidden_columns: x", "compress_type: gz", "read_json_by_line: true"}, two, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			emu := rocks(t, emulator.Options{})
			r := put(t, emu, tc.body, tc.headers...)
			if tc.message != "" {
				require.Equal(t, "Fail", r.Status)
				require.Contains(t, r.Message, tc.message)
			} else {
				require.Equal(t, "Success", r.Status, r.raw)
			}
			require.Equal(t, tc.rows, show(t, emu.Rows("db", "t")))
		})
	}
}

func TestStarRocksBadRows(t *testing.T) {
	t.Parallel()
	emu := rocks(t, emulator.Options{})
	r := put(t, emu, "1,a\n2,b,3\n", "column_separator: ,", "max_filter_ratio: 0.5")
	require.Equal(t, "Success", r.Status, r.raw)
	require.Regexp(t, `^http://[^/]+/api/_load_error_log\?file=error_log_[0-9a-f]+_[0-9a-f]+$`, r.ErrorURL)
	require.Equal(t, "Error: Value count does not match column count. Expect 3, but got 2. Row: 1,a\n", do(t, http.MethodGet, r.ErrorURL, "").raw)
	r = put(t, emu, `{"id":5}[1]{"id":6}`, "format: json", "max_filter_ratio: 0.5")
	require.Equal(t, [2]int64{2, 1}, [2]int64{r.Loaded, r.Filtered})
	require.Contains(t, do(t, http.MethodGet, r.ErrorURL, "").raw, "you can set strip_outer_array=true")
	r = put(t, emu, `{"id":7} {"id" {"id":8}`, "format: json", "max_filter_ratio: 0.5")
	require.Equal(t, [2]int64{1, 1}, [2]int64{r.Loaded, r.Filtered}, "nothing is read after a syntax error")
	r = put(t, emu, strings.Repeat("x\ta\t1\n", 100)+"9\ta\t1\n", "max_filter_ratio: 1")
	require.EqualValues(t, 100, r.Filtered)
	require.Equal(t, 50, strings.Count(do(t, http.MethodGet, r.ErrorURL, "").raw, "\n"))
}

func TestStarRocksCompression(t *testing.T) {
	t.Parallel()
	csvName := map[string]string{"gz": "gzip", "bz2": "bzip2", "lz4": "lz4", "deflate": "deflate", "zstd": "zstd"}
	jsonName := map[string]string{"gz": "gzip", "bz2": "BZIP2", "lz4": "lz4_frame", "deflate": "deflate", "zstd": "zstd"}
	for _, name := range allCodecs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			emu := rocks(t, emulator.Options{})
			one, doc := packed(t, name, csvBody), packed(t, name, jsonBody)
			require.Equal(t, "Success", put(t, emu, one, "format: "+csvName[name]).Status)
			require.Equal(t, "Success", put(t, emu, one+one, "format: "+csvName[name]).Status)
			require.Equal(t, 6, emu.Count("db", "t"))
			require.Equal(t, "Success", put(t, emu, doc, "format: json", "compression: "+jsonName[name]).Status)
			r := put(t, emu, doc+doc, "format: json", "Content-Encoding: "+jsonName[name])
			require.EqualValues(t, 2, r.Loaded, "what follows the first stream is lost")
			require.Equal(t, 10, emu.Count("db", "t"))
			// Not with CSV, and not before 3.2.7.
			require.Equal(t, "too many filtered rows", put(t, emu, one, "compression: "+jsonName[name]).Message)
			old := rocks(t, emulator.Options{Version: "3.2.6"})
			require.NotEqual(t, "Success", put(t, old, doc, "format: json", "compression: "+jsonName[name]).Status)
			require.Equal(t, "Success", put(t, old, one, "format: "+csvName[name]).Status)
			// A word for CSV makes JSON rows bad CSV.
			require.Equal(t, "Fail", put(t, emu, doc, "format: "+csvName[name]).Status)
			require.Contains(t, put(t, emu, doc[:len(doc)-1], "format: json", "compression: "+jsonName[name]).Message, "cut short")
		})
	}
	emu := rocks(t, emulator.Options{})
	for word, want := range map[string]string{"lz4": "not supported by the emulator", "brotli": "Unsupported compression type: brotli", "gzip, x": "Unsupported"} {
		require.Contains(t, put(t, emu, jsonBody, "format: json", "compression: "+word).Message, want)
	}
	require.Contains(t, put(t, emu, jsonBody, "format: json", "compression: gzip", "Content-Encoding: gzip").Message, "Only one of http header content-encoding and compression can be set")
	require.Contains(t, put(t, emu, "no zstd at all", "format: zstd").Message, "ZSTD decompress failed. error: Unknown frame descriptor")
}

func TestStarRocksSizes(t *testing.T) {
	t.Parallel()
	emu := rocks(t, emulator.Options{MaxJSONBytes: 20, MaxBodyBytes: 60})
	body := `{"id":1,"name":"abcdef"}`
	require.Contains(t, put(t, emu, body, "format: json").Message, "The size of this batch exceed the max size [20]  of json type data  data [ 24 ]. Set ignore_json_size")
	require.Equal(t, "Success", put(t, emu, body, "format: json", "ignore_json_size: true").Status)
	require.Contains(t, put(t, emu, strings.Repeat("1\ta\t1\n", 11)).Message, "body size 66 exceed limit: 60")
	require.Equal(t, "Success", put(t, emu, strings.Repeat("1\ta\t1\n", 10)).Status)
}

// The answer waits until the rows are visible, or until the time of the load is
// over.
func TestStarRocksPublishWait(t *testing.T) {
	t.Parallel()
	c := newClock()
	emu := rocks(t, emulator.Options{Now: c.now})
	emu.Inject(emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.PublishTimeout, Times: 2})
	answers := make(chan reply, 1)
	load := func(label string) {
		go func() {
			r, err := try(t.Context(), t, http.MethodPut, "http://"+emu.BEAddr()+"/api/db/t/_stream_load", "1\ta\t1\n", "label: "+label, "timeout: 100")
			if err == nil {
				answers <- r
			}
		}()
		require.Eventually(t, func() bool { return emu.LabelState("db", label) == emulator.Committed }, 10*time.Second, time.Millisecond)
	}
	load("a")
	require.Empty(t, answers)
	require.NoError(t, emu.PublishLabel("db", "a"))
	require.Equal(t, "Success", (<-answers).Status)

	load("b")
	c.move(101 * time.Second)
	r := <-answers
	require.Equal(t, "Publish Timeout", r.Status)
	require.Contains(t, r.Message, "Publish timeout. The data will be visible after a while")
	require.Equal(t, "FINISHED", put(t, emu, "1\ta\t1\n", "label: b").ExistingJobStatus)
}

func TestStarRocksFaults(t *testing.T) {
	t.Parallel()
	emu := rocks(t, emulator.Options{})
	for do, want := range map[emulator.Action]string{
		emulator.TooManyVersions: "because of too many versions, current/limit: 1001/1000",
		emulator.Fail:            "Tablet [1] success replica num 0",
	} {
		emu.Inject(emulator.Fault{At: emulator.BEBeforeCommit, Do: do, Times: 1, Message: "Tablet [1] success replica num 0"})
		r := put(t, emu, "1\ta\t1\n", "label: l")
		require.Equal(t, "Fail", r.Status)
		require.Contains(t, r.Message, want)
		require.Equal(t, emulator.Aborted, emu.LabelState("db", "l"))
	}
	emu.Inject(emulator.Fault{At: emulator.BEBegin, Do: emulator.TxnLimit, Times: 1})
	require.Equal(t, "current running txns on db 10000 is 1000, larger than limit 1000", put(t, emu, "1\ta\t1\n").Message)
	emu.Inject(emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.Fail, Times: 1})
	require.Contains(t, put(t, emu, "1\ta\t1\n", "label: k").Message, "Transaction status unknown, you can retry with same label.")
	require.Equal(t, emulator.Visible, emu.LabelState("db", "k"))
}

func TestIgnoredHeaders(t *testing.T) {
	t.Parallel()
	last := func(emu *emulator.Emulator) []string {
		list := emu.Loads()
		return list[len(list)-1].Ignored
	}
	emu := rocks(t, emulator.Options{})
	put(t, emu, "1\ta\t1\n", "row_delimiter: \\n", "strict_mode: true")
	require.Empty(t, last(emu))
	put(t, emu, "1\ta\t1\n", "line_delimiter: \\n", "compress_type: gz", "X-Mine: 1", "prepared_timeout: 5", "Content-Encoding: gzip")
	require.Equal(t, []string{"compress_type", "line_delimiter", "x-mine"}, last(emu))
	old := rocks(t, emulator.Options{Version: "2.5"})
	put(t, old, "1\ta\t1\n", "skip_header: 1", "compression: gzip")
	require.Equal(t, []string{"compression", "skip_header"}, last(old))
	require.Equal(t, 1, old.Count("db", "t"), "the header is not skipped")

	doris := start(t, emulator.Options{})
	put(t, doris, "1\ta\t1\n", "row_delimiter: \\n", "Content-Encoding: gzip", "line_delimiter: \\n", "compute_group: x")
	require.Equal(t, []string{"content-encoding", "row_delimiter"}, last(doris))
	old = start(t, emulator.Options{Version: "1.2"})
	put(t, old, "1\ta\t1\n", "group_commit: off_mode", "partial_columns: false", "hidden_columns: x")
	require.Equal(t, []string{"group_commit", "partial_columns"}, last(old))
}
