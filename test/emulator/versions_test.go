package emulator_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// each runs a test for each version of Doris; since says whether the version is
// that one or a later one.
func each(t *testing.T, opt emulator.Options, run func(t *testing.T, emu *emulator.Emulator, since func(string) bool)) {
	t.Helper()
	versions := emulator.Versions(emulator.Doris)
	for i, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			opt := opt
			opt.Version = version
			run(t, start(t, opt), func(v string) bool {
				at := slices.Index(versions, v)
				require.GreaterOrEqual(t, at, 0)
				return i >= at
			})
		})
	}
}

func TestVersionsRedirect(t *testing.T) {
	t.Parallel()
	each(t, emulator.Options{}, func(t *testing.T, emu *emulator.Emulator, since func(string) bool) {
		get := func(path string, headers ...string) string {
			r := do(t, http.MethodPut, emu.FEURL()+path, "", append([]string{"Expect: 100-continue"}, headers...)...)
			require.Equal(t, http.StatusTemporaryRedirect, r.http, r.raw)
			return r.header.Get("Location")
		}
		user, end := "root:", "?"
		if !since("2.1") {
			user = "root%40default_cluster:"
		}
		if since("master") {
			end = ""
		}
		base := "http://" + user + "@" + emu.BEAddr()
		require.Equal(t, base+"/api/db/t/_stream_load"+end, get("/api/db/t/_stream_load"))
		require.Equal(t, base+"/api/db/t/_stream_load?x=1", get("/api/db/t/_stream_load?x=1"))
		u, err := url.Parse(get("/api/db/t/_stream_load"))
		require.NoError(t, err)
		r := do(t, http.MethodPut, u.String(), "1\ta\t1\n")
		require.Equal(t, "Success", r.Status, "the account in Location is good")
		path := "/api/db/t/_stream_load"
		if since("master") {
			path = "/api/d%62/t/_stream_load"
		}
		require.Equal(t, base+path+end, get("/api/d%62/t/_stream_load"))
	})
}

func TestVersionsMessages(t *testing.T) {
	t.Parallel()
	each(t, emulator.Options{}, func(t *testing.T, emu *emulator.Emulator, since func(string) bool) {
		fe := func(code, text string) string {
			switch {
			case !since("2.0"):
				return "errCode = 2, detailMessage = " + text
			case !since("2.1"):
				return "[" + code + "]TStatus: errCode = 2, detailMessage = " + text + "\n\n\t0#  doris::"
			}
			return "[" + code + "]TStatus: errCode = 2, detailMessage = " + text
		}
		require.Equal(t, "Success", put(t, emu, "1\ta\t1\n", "label: used").Status)
		r := put(t, emu, "1\ta\t1\n", "label: used")
		require.Equal(t, "Label Already Exists", r.Status)
		require.Equal(t, "FINISHED", r.ExistingJobStatus)
		require.True(t, strings.HasPrefix(r.Message, fe("LABEL_ALREADY_EXISTS", "Label [used] has already been used, relate to txn [1001]")), r.Message)
		regex := `^[-_A-Za-z0-9:]{1,128}$`
		if !since("2.1") {
			regex = `^[-_A-Za-z0-9]{1,128}$`
		}
		require.True(t, strings.HasPrefix(put(t, emu, "1\ta\t1\n", "label: a.b").Message, fe("ANALYSIS_ERROR", "Label format error. regex: "+regex+", label: a.b")))
		require.Equal(t, since("2.1"), put(t, emu, "1\ta\t1\n", "label: a:b").Status == "Success")

		code := "ANALYSIS_ERROR"
		if since("master") {
			code = "NOT_FOUND"
		}
		r = do(t, http.MethodPut, "http://"+emu.BEAddr()+"/api/no/t/_stream_load", "1")
		require.True(t, strings.HasPrefix(r.Message, fe(code, "unknown database, database=no")), r.Message)
		require.True(t, strings.HasPrefix(put(t, emu, "1", "strict_mode: x").Message, "[INVALID_ARGUMENT]Invalid strict mode format. Must be bool type"))

		r = put(t, emu, "x\ta\t1\n")
		code = "[DATA_QUALITY_ERROR]"
		if !since("2.0") {
			code = "[INTERNAL_ERROR]"
		}
		require.True(t, strings.HasPrefix(r.Message, code+"too many filtered rows"), r.Message)
		require.Equal(t, since("4.0"), strings.Contains(r.raw, `"FirstErrorMsg": "column(id) value is incorrect`))
		require.Equal(t, since("2.0"), strings.Contains(r.raw, `"Comment": `))
		require.Equal(t, since("3.0"), strings.Contains(r.raw, `"ReceiveDataTimeMs": `))
	})
}

func TestVersionsLabelState(t *testing.T) {
	t.Parallel()
	each(t, emulator.Options{}, func(t *testing.T, emu *emulator.Emulator, since func(string) bool) {
		require.Equal(t, "Success", put(t, emu, "1\ta\t1\n", "label: l", "two_phase_commit: true").Status)
		require.Equal(t, "PRECOMMITTED", state(t, emu, "l"))
		two := func(headers ...string) string {
			return do(t, http.MethodPut, "http://"+emu.BEAddr()+"/api/db/_stream_load_2pc", "", headers...).raw
		}
		byLabel := two("label: l", "txn_operation: commit")
		if since("2.0") {
			exact(t, `{"status":"Success","msg":"label [l] commit successfully."}`, byLabel)
		} else {
			exact(t, `{"status":"Fail","msg":"transaction id or label is empty"}`, byLabel)
			r := do(t, http.MethodPut, emu.FEURL()+"/api/db/_stream_load_2pc", "", "label: l", "txn_operation: commit")
			require.Equal(t, "No transaction id selected.", r.Msg)
			exact(t, `{"status":"Success","msg":"transaction [1001] commit successfully."}`, two("txn_id: 1001", "label: l", "txn_operation: commit"))
			exact(t, `{"status":"Internal error","msg":"transaction operation should be 'commit' or 'abort'"}`, two("txn_id: 1001", "txn_operation: x"))
		}
		repeated := two("txn_id: 1001", "txn_operation: commit")
		want := `{"status":"ANALYSIS_ERROR","msg":"TStatus: errCode = 2, detailMessage = transaction [1001] is already visible, not pre-committed."}`
		switch {
		case !since("2.0"):
			want = `{"status":"Fail","msg":"errCode = 2, detailMessage = transaction [1001] is already VISIBLE, not pre-committed."}`
		case !since("2.1"):
			want = strings.Replace(want, "visible", "VISIBLE", 1)
		}
		exact(t, want, repeated)
		require.Equal(t, since("2.0"), do(t, http.MethodPut, "http://"+emu.BEAddr()+"/api/db/t/_stream_load_2pc", "").http == http.StatusOK)
		exact(t, `{"msg":"success","code":0,"data":"VISIBLE","count":0}`, do(t, http.MethodGet, emu.FEURL()+"/api/db/get_load_state?label=l", "").raw)
	})
}

func TestVersionsGroupCommit(t *testing.T) {
	t.Parallel()
	each(t, emulator.Options{BEs: 3}, func(t *testing.T, emu *emulator.Emulator, since func(string) bool) {
		r := put(t, emu, "1\ta\t1\n", "group_commit: sync_mode")
		require.Equal(t, "Success", r.Status)
		require.Equal(t, since("2.1"), r.GroupCommit)
		require.Equal(t, since("master"), strings.Contains(r.raw, `"GroupCommitMode": "sync_mode"`))
		r = put(t, emu, "1\ta\t1\n", "group_commit: sync_mode", "label: l")
		require.Equal(t, !since("2.1"), r.Label == "l" && r.Status == "Success", "an unknown header does nothing")
		fe := func() reply {
			return do(t, http.MethodPut, emu.FEURL()+"/api/db/t/_stream_load", "", "Expect: 100-continue", "group_commit: sync_mode")
		}
		at := map[string]bool{}
		for range 6 {
			u, err := url.Parse(fe().header.Get("Location"))
			require.NoError(t, err)
			at[u.Host] = true
		}
		if since("3.1") {
			require.Len(t, at, 1, "the BE of the table")
			list := emu.BEAddrs()
			for i, addr := range list {
				if at[addr] {
					emu.StopBE(i)
				}
			}
			require.Equal(t, http.StatusTemporaryRedirect, fe().http)
		} else {
			require.Len(t, at, 3)
		}
		bad := do(t, http.MethodPut, emu.FEURL()+"/api/db/t/_stream_load", "", "Expect: 100-continue", "group_commit: yes")
		require.Equal(t, since("2.1"), strings.Contains(bad.Msg, "Header `group_commit` can only be"))
	})
}

// chunked loads a body of chunks.
func chunked(t *testing.T, emu *emulator.Emulator, body string, headers ...string) string {
	t.Helper()
	w := dial(t, emu.BEAddr())
	w.send("PUT /api/db/t/_stream_load HTTP/1.1\r\nHost: x\r\nAuthorization: Basic cm9vdDo=\r\nTransfer-Encoding: chunked\r\n" +
		strings.Join(append(headers, ""), "\r\n") + "\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body))
	_, text := w.answer()
	return text
}

func TestVersionsChunkedLabel(t *testing.T) {
	t.Parallel()
	each(t, emulator.Options{}, func(t *testing.T, emu *emulator.Emulator, since func(string) bool) {
		text := chunked(t, emu, "1\ta\t1\n", "label: l")
		require.Contains(t, text, `"Status": "Success"`)
		require.Equal(t, !since("master"), strings.Contains(text, `"Label": "l"`), text)
		require.Contains(t, chunked(t, emu, "1\ta\t1\n", "label: m", "group_commit: off_mode"), `"Label": "m"`)
	})
}

func TestVersionsTableGroupCommit(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"4.0", "master"} {
		emu := emulator.New(t, emulator.Options{Version: version, Tables: []emulator.Table{{Database: "db", Name: "t", GroupCommit: "sync_mode", Columns: []emulator.Column{{Name: "k", Type: "INT"}}}}})
		r := put(t, emu, "1\n", "label: mine")
		require.Equal(t, "Success", r.Status)
		require.Equal(t, version == "master", r.GroupCommit)
		require.Equal(t, version != "master", r.Label == "mine")
		require.Equal(t, "kept", put(t, emu, "1\n", "label: kept", "group_commit: off_mode").Label)
		require.Equal(t, "two", put(t, emu, "1\n", "label: two", "two_phase_commit: true").Label)
	}
	_, err := emulator.Start(emulator.Options{Tables: []emulator.Table{{Database: "db", Name: "t", GroupCommit: "on", Columns: []emulator.Column{{Name: "k", Type: "INT"}}}}})
	require.ErrorContains(t, err, `group_commit "on": want sync_mode or async_mode`)
}

func TestVersionsReadJSON(t *testing.T) {
	t.Parallel()
	each(t, emulator.Options{}, func(t *testing.T, emu *emulator.Emulator, since func(string) bool) {
		const lines = "{\"id\":1}\n{\"id\":2}\n"
		r := put(t, emu, lines, "format: json")
		switch {
		case since("4.0"):
			require.EqualValues(t, 2, r.Loaded, "by line is the default")
		case since("2.0"):
			require.EqualValues(t, 1, r.Loaded, "what follows the first document is lost")
		default:
			require.Equal(t, "Fail", r.Status)
			require.Contains(t, do(t, http.MethodGet, r.ErrorURL, "").raw, "The document root must not be followed by other values.")
		}
		require.EqualValues(t, 2, put(t, emu, lines, "format: json", "read_json_by_line: true").Loaded)
		require.EqualValues(t, 2, put(t, emu, `[{"id":1},{"id":2}]`, "format: json", "strip_outer_array: true").Loaded)
		r = put(t, emu, lines, "format: json", "strip_outer_array: false")
		require.Equal(t, since("2.0"), r.Loaded == 1, "either header ends the new default")
	})
}

func TestVersionsReadCSV(t *testing.T) {
	t.Parallel()
	each(t, emulator.Options{}, func(t *testing.T, emu *emulator.Emulator, since func(string) bool) {
		r := put(t, emu, "id,name,n\n1,a,2\n", "column_separator: ,", "skip_lines: 1")
		require.Equal(t, since("2.0"), r.Status == "Success", r.raw)
		require.Equal(t, since("2.0"), put(t, emu, `1,'a,b',2`, "column_separator: ,", "enclose: '").Status == "Success")
		r = put(t, emu, `1,'a,b',2`, "column_separator: ,", "enclose: 'x")
		switch {
		case since("3.0"):
			require.Contains(t, r.Message, "enclose must be single-char, actually is 'x")
		default:
			require.Equal(t, since("2.0"), r.Status == "Success", "only the first byte counts")
		}
		put(t, emu, "5,,1", "column_separator: ,", "empty_field_as_null: true")
		require.Equal(t, since("3.0"), strings.Contains(show(t, emu.Rows("db", "t")), `{"id":5,"n":1,"name":null}`))
		for format, version := range map[string]string{"orc": "1.2", "hive_text": "2.1", "arrow": "3.0"} {
			r := put(t, emu, "x", "format: "+format)
			want := "unknown data format, format=" + format
			if since(version) {
				want = "the format " + format + " is not supported by the emulator"
			}
			require.Contains(t, r.Message, want)
		}
	})
}

func TestVersionsLimits(t *testing.T) {
	t.Parallel()
	each(t, emulator.Options{MaxJSONBytes: 20, MaxBodyBytes: 40}, func(t *testing.T, emu *emulator.Emulator, since func(string) bool) {
		json, body := put(t, emu, strings.Repeat(" ", 21), "format: json").Message, put(t, emu, strings.Repeat("x", 41)).Message
		if since("3.0") {
			require.Contains(t, json, "[E-217]json body size 21 exceed BE's conf `streaming_load_json_max_mb` 20")
			require.Contains(t, body, "[E-217]body size 41 exceed BE's conf `streaming_load_max_mb` 40")
		} else {
			require.Contains(t, json, "[INTERNAL_ERROR]The size of this batch exceed the max size [20]  of json type data  data [ 21 ]. Split the file, or use 'read_json_by_line'")
			require.Contains(t, body, "[INTERNAL_ERROR]body exceed max size: 40, data: 41")
		}
		w := dial(t, emu.BEAddr())
		w.send("PUT /api/db/t/_stream_load HTTP/1.1\r\nHost: x\r\nAuthorization: Basic cm9vdDo=\r\n\r\n")
		_, text := w.answer()
		require.Equal(t, since("2.1"), strings.Contains(text, "content_length is empty and transfer-encoding!=chunked"), text)
	})
}

func TestVersionsTimeout(t *testing.T) {
	t.Parallel()
	for _, version := range emulator.Versions(emulator.Doris) {
		c := newClock()
		emu := start(t, emulator.Options{Version: version, Now: c.now})
		_, err := emu.BeginLabel("db", "l")
		require.NoError(t, err)
		c.move(601 * time.Second)
		require.Equal(t, version < "2.1", emu.LabelState("db", "l") == emulator.Aborted, version)
		c.move(259200 * time.Second)
		require.NotEqual(t, emulator.Prepare, emu.LabelState("db", "l"))
	}
}

func TestVersionsUnqualified(t *testing.T) {
	t.Parallel()
	bad := strings.Repeat("x\ta\t1\n", 60)
	for version, stops := range map[string]bool{"1.2": false, "2.0": true, "2.1.4": true, "2.1.5": false, "2.1": false, "3.1": false} {
		emu := start(t, emulator.Options{Version: version})
		r := put(t, emu, bad)
		require.Equal(t, stops, strings.Contains(r.Message, "[DATA_QUALITY_ERROR]Encountered unqualified data, stop processing"), "%s: %s", version, r.raw)
		require.Equal(t, stops, r.ErrorURL == "")
		r = put(t, emu, bad, "max_filter_ratio: 0.1")
		require.Contains(t, r.Message, "too many filtered rows")
		require.NotEmpty(t, r.ErrorURL)
	}
}

func TestVersionsToken(t *testing.T) {
	t.Parallel()
	opt := emulator.Options{Users: []emulator.User{{Name: "root", AnyPassword: true, Load: []string{"*"}}}}
	each(t, opt, func(t *testing.T, emu *emulator.Emulator, since func(string) bool) {
		load := func(auth string) reply {
			return do(t, http.MethodPut, emu.FEURL()+"/api/db/t/_stream_load", "", "Expect: 100-continue", "token: nope", "Authorization: "+auth)
		}
		require.Equal(t, !since("3.1"), load("Basic cm9vdDo=").http == http.StatusTemporaryRedirect, "a good account is enough")
		require.Equal(t, "Invalid token: nope", load("Basic Ym9iOng=").Data)
	})
}

func TestRedirectPolicies(t *testing.T) {
	t.Parallel()
	to := func(emu *emulator.Emulator, host string, headers ...string) string {
		w := dial(t, emu.FEURL())
		w.send("PUT /api/db/t/_stream_load HTTP/1.1\r\nHost: " + host + "\r\nAuthorization: Basic cm9vdDo=\r\nExpect: 100-continue\r\nContent-Length: 1\r\n" + strings.Join(append(headers, ""), "\r\n") + "\r\n")
		text, err := io.ReadAll(w.in)
		require.NoError(t, err)
		if _, rest, ok := strings.Cut(string(text), "root:@"); ok {
			host, _, _ := strings.Cut(rest, "/")
			return host
		}
		_, rest, _ := strings.Cut(string(text), `"msg":"`)
		msg, _, _ := strings.Cut(rest, `"`)
		return msg
	}
	public, private := "be.public.example:8040", "10.0.0.7:8040"
	both := start(t, emulator.Options{BEPublic: []string{public}, BEPrivate: []string{private}})
	own := both.BEAddr()
	for _, tc := range []struct{ host, policy, want string }{
		{"fe:8030", "direct", own},
		{"fe:8030", "random-be", own},
		{"fe:8030", "public", public},
		{"fe:8030", "PRIVATE", private},
		{"10.1.2.3:8030", "public-private", private},
		{"8.8.8.8:8030", "public-private", public},
		{"[2001:db8::1]:8030", "public-private", public},
		{"fe.public.example", "public-private", public},
		{"fe.example:8030", "public-private", private},
		{"", "public-private", "Invalid header host: "},
		{"fe:8030", "", private},
		{"be.public.example:8030", "", public},
		{"fe:8030", "whatever", private},
	} {
		require.Equal(t, tc.want, to(both, tc.host, "redirect-policy: "+tc.policy), "%+v", tc)
	}
	none := start(t, emulator.Options{})
	require.Equal(t, "private endpoint is null, please check be private endpoint config", to(none, "fe", "redirect-policy: private"))
	require.Equal(t, none.BEAddr(), to(none, "fe"))
	set := start(t, emulator.Options{BEPublic: []string{public}, RedirectPolicy: "public"})
	require.Equal(t, public, to(set, "fe"))
	require.Equal(t, set.BEAddr(), to(set, "fe", "redirect-policy: direct"))

	older := start(t, emulator.Options{Version: "3.0", BEPublic: []string{public}, BEPrivate: []string{private}})
	require.Equal(t, public, to(older, "8.8.8.8", "redirect-policy: public-private"))
	require.Equal(t, older.BEAddr(), to(older, "be.public.example"))
	require.Equal(t, older.BEAddr(), to(older, "fe", "redirect-policy: private"), "not known yet")
	old := start(t, emulator.Options{Version: "2.1", BEPublic: []string{public}})
	require.Equal(t, old.BEAddr(), to(old, "8.8.8.8", "redirect-policy: public-private"))
}
