package emulator_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

func TestBEAnswerIsPrettyAndOrdered(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{})
	r := putJSON(t, emu, "{\"id\":1}\n{\"id\":\"x\"}\n", "label: abc", "comment: a \"b\"", "max_filter_ratio: 0.5")
	require.Equal(t, http.StatusOK, r.http)
	require.Equal(t, "text/html; charset=ISO-8859-1", r.header.Get("Content-Type"))
	got := regexp.MustCompile(`(Ms|TxnId)": \d+`).ReplaceAllString(r.raw, `$1": N`)
	got = regexp.MustCompile(`http://.*"`).ReplaceAllString(got, `URL"`)
	exact(t, `{
    "TxnId": N,
    "Label": "abc",
    "Comment": "a \"b\"",
    "TwoPhaseCommit": "false",
    "Status": "Success",
    "Message": "OK",
    "NumberTotalRows": 2,
    "NumberLoadedRows": 1,
    "NumberFilteredRows": 1,
    "NumberUnselectedRows": 0,
    "LoadBytes": 20,
    "LoadTimeMs": N,
    "BeginTxnTimeMs": N,
    "StreamLoadPutTimeMs": N,
    "ReadDataTimeMs": N,
    "WriteDataTimeMs": N,
    "ReceiveDataTimeMs": N,
    "CommitAndPublishTimeMs": N,
    "ErrorURL": "URL"
}
`, got)
	page := do(t, http.MethodGet, r.ErrorURL, "")
	require.Equal(t, "Reason: column(id) value is incorrect while strict mode is false, src value is x. src line [{\"id\":\"x\"}]; \n", page.raw)
	require.Equal(t, "text/plain; charset=utf-8", page.header.Get("Content-Type"))
}

// What is wrong with the header is answered without 100 Continue and without
// waiting for a body.
func TestBERefusesAtTheHeader(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{
		MaxJSONBytes: 1000, MaxBodyBytes: 2000,
		Users: []emulator.User{{Name: "root", AnyPassword: true, Load: []string{"db", "no"}}, {Name: "bob", Password: "x"}},
	})
	_, err := emu.BeginLabel("db", "used")
	require.NoError(t, err)
	const fe = "TStatus: errCode = 2, detailMessage = "
	for _, tc := range []struct {
		name, path string
		size       int
		headers    []string
		status     string
		message    string
	}{
		{"group commit word", "db/t", 5, []string{"group_commit: yes", "Authorization: none"}, "Fail", "[INVALID_ARGUMENT]group_commit can only be [async_mode, sync_mode, off_mode]"},
		{"label and group commit", "db/t", 5, []string{"group_commit: sync_mode", "label: a"}, "Fail", "[INVALID_ARGUMENT]label and group_commit can't be set at the same time"},
		{"no auth before format", "db/t", 5, []string{"Authorization: basic cm9vdDo=", "format: x"}, "Fail", "[NOT_AUTHORIZED]no valid Basic authorization"},
		{"format before size", "db/t", 5000, []string{"format: xml"}, "Fail", "[INTERNAL_ERROR]unknown data format, format=xml"},
		{"gzip is no name", "db/t", 5, []string{"compress_type: gzip"}, "Fail", "[INTERNAL_ERROR]unknown data format, format="},
		{"format that is not built", "db/t", 5, []string{"format: parquet"}, "Fail", "[NOT_IMPLEMENTED_ERROR]the format parquet is not supported by the emulator"},
		{"compression that is not built", "db/t", 5, []string{"compress_type: LZOP"}, "Fail", "[NOT_IMPLEMENTED_ERROR]the compress_type lzop is not supported by the emulator"},
		{"compression that is too new", "db/t", 5, []string{"compress_type: zstd"}, "Fail", "[INTERNAL_ERROR]unknown data format, format="},
		{"json size", "db/t", 1001, []string{"format: json"}, "Fail", "[E-217]json body size 1001 exceed BE's conf `streaming_load_json_max_mb` 1000. increase it if you are sure this load is reasonable"},
		{"size before timeout", "db/t", 2001, []string{"timeout: x"}, "Fail", "[E-217]body size 2001 exceed BE's conf `streaming_load_max_mb` 2000"},
		{"timeout format before database", "no/t", 5, []string{"timeout: soon"}, "Fail", "[INVALID_ARGUMENT]Invalid timeout format"},
		{"password before database", "none/t", 5, []string{"Authorization: Basic Ym9iOnk="}, "Fail", "[ANALYSIS_ERROR]" + fe + "Access denied for user 'bob@127.0.0.1' (using password: YES)"},
		{"grant before database", "none/t", 5, []string{"Authorization: Basic Ym9iOng="}, "Fail", "[ANALYSIS_ERROR]" + fe + "Access denied; you need (at least one of) the (LOAD) privilege(s) for this operation"},
		{"database before label", "no/t", 5, []string{"label: a.b"}, "Fail", "[ANALYSIS_ERROR]" + fe + "unknown database, database=no"},
		{"table before timeout", "db/no", 5, []string{"timeout: 0"}, "Fail", "[ANALYSIS_ERROR]" + fe + "unknown table, tableName=no"},
		{"timeout before label", "db/t", 5, []string{"timeout: 259201", "label: a.b"}, "Fail", "[ANALYSIS_ERROR]" + fe + "Invalid timeout: 259201. Timeout should between 1 and 259200 seconds"},
		{"label", "db/t", 5, []string{"label: a.b"}, "Fail", "[ANALYSIS_ERROR]" + fe + "Label format error. regex: ^[-_A-Za-z0-9:]{1,128}$, label: a.b"},
		{"long label", "db/t", 5, []string{"label: " + strings.Repeat("a", 129)}, "Fail", "Label format error"},
		{"used label", "db/t", 5, []string{"label: used"}, "Label Already Exists", "[LABEL_ALREADY_EXISTS]" + fe + "Label [used] has already been used, relate to txn ["},
		{"plan", "db/t", 5, []string{"columns: id, n = median(id)"}, "Fail", "[ANALYSIS_ERROR]" + fe + "Can not found function 'median'"},
		{"unknown column", "db/t", 5, []string{"columns: id, x, y = x"}, "Fail", "[ANALYSIS_ERROR]" + fe + "Unknown column 'y' in 't'"},
		{"no default", "db/t", 5, []string{"columns: name"}, "Fail", "[ANALYSIS_ERROR]" + fe + "Column has no default value. column: id"},
		{"where", "db/t", 5, []string{"where: n like 'x'"}, "Fail", "not supported by the emulator"},
		{"strict mode", "db/t", 5, []string{"strict_mode: yes"}, "Fail", "[INVALID_ARGUMENT]Invalid strict mode format. Must be bool type"},
		{"memory", "db/t", 5, []string{"exec_mem_limit: lots"}, "Fail", "[INVALID_ARGUMENT]Invalid mem limit format, lots"},
		{"time zone", "db/t", 5, []string{"timezone: Mars/Base"}, "Fail", "Unknown or incorrect time zone: 'Mars/Base'"},
		{"partition", "db/t", 5, []string{"partitions: p1"}, "Fail", "unknown partition, partition=p1"},
		{"both partitions", "db/t", 5, []string{"partitions: p1", "temporary_partitions: p2"}, "Fail", "Can not specify both partitions and temporary partitions"},
		{"enclose", "db/t", 5, []string{"enclose: ab"}, "Fail", "[INVALID_ARGUMENT]enclose must be single-char, actually is ab"},
		{"skip lines", "db/t", 5, []string{"skip_lines: -1"}, "Fail", "[INVALID_ARGUMENT]Invalid 'skip_lines': -1"},
		{"separator", "db/t", 5, []string{`column_separator: \xzz`}, "Fail", "hex str format error"},
		{"json path", "db/t", 5, []string{"format: json", `jsonpaths: ["id"]`}, "Fail", "[INVALID_JSON_PATH]Invalid json path: id"},
		{"json root", "db/t", 5, []string{"format: json", "json_root: x"}, "Fail", "[INVALID_JSON_PATH]Invalid json path: x"},
		{"merge type", "db/t", 5, []string{"merge_type: both"}, "Fail", "[INVALID_ARGUMENT]Invalid merge type both"},
		{"merge without delete", "db/t", 5, []string{"merge_type: MERGE"}, "Fail", "Excepted DELETE ON clause when merge type is MERGE."},
		{"delete without merge", "db/t", 5, []string{"delete: n=1"}, "Fail", "Not support DELETE ON clause when merge type is not MERGE."},
		{"delete of a duplicate table", "db/t", 5, []string{"merge_type: DELETE"}, "Fail", "load by MERGE or DELETE is only supported in unique tables."},
		{"partial update", "db/t", 5, []string{"partial_columns: true"}, "Fail", "Only unique key merge on write support partial update"},
		{"sequence", "db/t", 5, []string{"function_column.sequence_col: n"}, "Fail", "There is no sequence column in the table t"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			db, table, _ := strings.Cut(tc.path, "/")
			w := dial(t, emu.BEAddr())
			auth := false
			for _, h := range tc.headers {
				auth = auth || strings.HasPrefix(h, "Authorization")
			}
			if !auth {
				tc.headers = append(tc.headers, "Authorization: Basic cm9vdDo=")
			}
			w.send("PUT /api/" + db + "/" + table + "/_stream_load HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n" +
				"Content-Length: " + intText(tc.size) + "\r\n" + strings.Join(tc.headers, "\r\n") + "\r\n\r\n")
			resp, text := w.answer()
			require.Equal(t, http.StatusOK, resp.status, "no 100 before it")
			require.Contains(t, text, `"Status": "`+tc.status+`"`)
			require.Contains(t, unescape(text), tc.message)
		})
	}
}

func TestBERefusesWithoutExpectToo(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{})
	w := dial(t, emu.BEAddr())
	w.head("db", "t", 1000, "label: a.b") // and no body
	a, text := w.answer()
	require.Contains(t, text, "Label format error")
	require.True(t, a.close)

	// A connection whose body was read is kept.
	w = dial(t, emu.BEAddr())
	for range 2 {
		w.head("db", "t", 6)
		w.send("1\ta\t2\n")
		a, text = w.answer()
		require.Contains(t, text, "Success")
		require.False(t, a.close)
	}
}

func TestBEContinuesAfterTheBegin(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{})
	w := dial(t, emu.BEAddr())
	w.head("db", "t", 6, "Expect: 100-continue", "label: l")
	require.Equal(t, "HTTP/1.1 100 Continue", w.line())
	require.Empty(t, w.line())
	require.Equal(t, emulator.Prepare, emu.LabelState("db", "l"), "begun before the body")
	w.send("1\ta\t")
	require.Equal(t, "RUNNING", put(t, emu, "1\tb\t2\n", "label: l").ExistingJobStatus)
	_ = w.Close()
	require.Eventually(t, func() bool { return emu.LabelState("db", "l") == emulator.Aborted }, 10*time.Second, time.Millisecond)
	require.Equal(t, "Success", put(t, emu, "1\tb\t2\n", "label: l").Status, "the label of an aborted load is free")
	require.Equal(t, 1, emu.Count("db", "t"))
}

func TestBECommitsWhenTheClientLeavesAfterTheBody(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	emu := start(t, emulator.Options{Injector: injectAt(emulator.BEBeforeCommit, func() {
		close(entered)
		<-release
	})})
	w := dial(t, emu.BEAddr())
	w.head("db", "t", 6, "label: l")
	w.send("1\ta\t2\n")
	<-entered
	_ = w.Close()
	close(release)
	require.Eventually(t, func() bool { return emu.LabelState("db", "l") == emulator.Visible }, 10*time.Second, time.Millisecond)
	require.Equal(t, 1, emu.Count("db", "t"))
}

func TestBEFraming(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{MaxBodyBytes: 100})
	w := dial(t, emu.BEAddr())
	w.send("PUT /api/db/t/_stream_load HTTP/1.1\r\nHost: x\r\nAuthorization: Basic cm9vdDo=\r\n\r\n")
	_, text := w.answer()
	require.Contains(t, text, "[INVALID_ARGUMENT]content_length is empty and transfer-encoding!=chunked")

	chunked := "PUT /api/db/t/_stream_load HTTP/1.1\r\nHost: x\r\nAuthorization: Basic cm9vdDo=\r\nTransfer-Encoding: chunked\r\n"
	w = dial(t, emu.BEAddr())
	w.send(chunked + "label: chunks\r\n\r\n4\r\n1\ta\t\r\n2\r\n2\n\r\n0\r\n\r\n")
	_, text = w.answer()
	require.Contains(t, text, `"Status": "Success"`)
	require.Contains(t, text, `"Label": "chunks"`)
	require.Contains(t, text, `"LoadBytes": 6`)

	w = dial(t, emu.BEAddr())
	w.send(chunked + "label: large\r\n\r\nc8\r\n" + strings.Repeat("x", 200) + "\r\n0\r\n\r\n")
	resp, _ := w.answer()
	require.Equal(t, http.StatusRequestEntityTooLarge, resp.status)
	require.Equal(t, emulator.Aborted, emu.LabelState("db", "large"))

	r := put(t, emu, "", "label: empty")
	require.Equal(t, "Success", r.Status, "an empty load commits")
	require.Equal(t, emulator.Visible, emu.LabelState("db", "empty"))
}

func TestBEPaths(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{})
	base := "http://" + emu.BEAddr()
	exact(t, `{"status":"OK","msg":"To Be Added"}`, do(t, http.MethodGet, base+"/api/health", "").raw)
	for _, path := range []string{"/", "/api/db/t/_load", "/api/_http_stream", "/x/db/t/_stream_load"} {
		r := do(t, http.MethodPut, base+path, "x", "Expect: 100-continue")
		require.Equal(t, http.StatusNotFound, r.http, path)
		require.Equal(t, "Not Found", r.raw)
	}
	require.Equal(t, http.StatusNotFound, do(t, http.MethodGet, base+"/api/_load_error_log?file=gone", "").http)
	require.Equal(t, http.StatusForbidden, do(t, http.MethodGet, base+"/api/_load_error_log?file=../x", "").http)
	// Names are unescaped.
	require.Equal(t, "Success", do(t, http.MethodPut, base+"/api/d%62/%74/_stream_load", "1\ta\t2").Status)
}

func TestBECompressesAnswers(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{})
	r := putJSON(t, emu, `{"id":4}`, "Accept-Encoding: gzip")
	require.Equal(t, "gzip", r.header.Get("Content-Encoding"))
	z, err := gzip.NewReader(strings.NewReader(r.raw))
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	require.Contains(t, string(text), `"Status": "Success"`)
}

func TestBEErrorPageIsCapped(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{})
	bad := strings.Repeat("{\"id\":\"x\"}\n", 200)
	r := putJSON(t, emu, bad+"{\"id\":1}", "max_filter_ratio: 1")
	require.EqualValues(t, 200, r.Filtered)
	page := do(t, http.MethodGet, r.ErrorURL, "").raw
	require.Equal(t, 51, strings.Count(page, "\n"))
	require.True(t, strings.HasSuffix(page, "TOO MUCH ERROR! already reach 50. show no more next error.\n"))

	r = putJSON(t, emu, bad)
	require.Equal(t, "[DATA_QUALITY_ERROR]too many filtered rows", r.Message)
	require.EqualValues(t, 51, r.Total, "without tolerance the scan ends early")
	require.Zero(t, r.Loaded)
}

func TestGroupCommit(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{})
	for _, mode := range []string{"sync_mode", "ASYNC_MODE"} {
		r := put(t, emu, "1\ta\t1\n", "group_commit: "+mode)
		require.Equal(t, "Success", r.Status)
		require.True(t, r.GroupCommit)
		require.Regexp(t, `^group_commit_[0-9a-f]+_[0-9a-f]+$`, r.Label)
		for _, key := range []string{"TwoPhaseCommit", "BeginTxnTimeMs", "CommitAndPublishTimeMs"} {
			require.NotContains(t, r.raw, key)
		}
	}
	for _, headers := range [][]string{{"group_commit: off_mode"}, {"group_commit: sync_mode", "two_phase_commit: true"}} {
		r := put(t, emu, "1\ta\t1\n", append(headers, "label: kept"+intText(len(headers)))...)
		require.Equal(t, "Success", r.Status, headers)
		require.False(t, r.GroupCommit)
		require.Equal(t, "kept"+intText(len(headers)), r.Label)
	}
	require.Equal(t, "empty", put(t, emu, "", "group_commit: sync_mode", "label: empty").Label, "an empty body is never grouped")

	// A chunked load loses its label without a word.
	w := dial(t, emu.BEAddr())
	w.send("PUT /api/db/t/_stream_load HTTP/1.1\r\nHost: x\r\nAuthorization: Basic cm9vdDo=\r\ngroup_commit: sync_mode\r\nlabel: mine\r\n" +
		"Transfer-Encoding: chunked\r\n\r\n6\r\n1\ta\t2\n\r\n0\r\n\r\n")
	_, text := w.answer()
	require.Contains(t, text, `"Status": "Success"`)
	require.NotContains(t, text, "mine")
}
