package emulator_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// rocks starts a StarRocks with db.t as in start, and db.p, a PRIMARY KEY table:
// id BIGINT, name STRING, n INT, note STRING DEFAULT 'none'.
func rocks(t *testing.T, opt emulator.Options) *emulator.Emulator {
	t.Helper()
	opt.Dialect = emulator.StarRocks
	opt.Tables = append(opt.Tables, emulator.Table{Database: "db", Name: "p", Model: emulator.Primary, Keys: []string{"id"}, Columns: []emulator.Column{
		{Name: "id", Type: "BIGINT", NotNull: true}, {Name: "name", Type: "STRING"}, {Name: "n", Type: "INT"}, {Name: "note", Type: "STRING", Default: new("none")},
	}})
	return start(t, opt)
}

func TestStarRocksFrontend(t *testing.T) {
	t.Parallel()
	emu := rocks(t, emulator.Options{Users: []emulator.User{{Name: "root", AnyPassword: true, Load: []string{"db"}}, {Name: "bob", Password: "x"}}})
	load := emu.FEURL() + "/api/db/t/_stream_load"
	r := do(t, http.MethodPut, load+"?a=b", "x", "Expect: 100-continue", "label: a.b")
	require.Equal(t, http.StatusTemporaryRedirect, r.http)
	require.Equal(t, "http://"+emu.BEAddr()+"/api/db/t/_stream_load?a=b", r.header.Get("Location"), "no account in it")
	require.Equal(t, "http://"+emu.BEAddr()+"/api/db/t/_stream_load", do(t, http.MethodPut, load, "x", "Expect: 100-continue").header.Get("Location"), "no ? at its end")

	r = do(t, http.MethodPut, load, "x")
	require.Equal(t, http.StatusOK, r.http)
	exact(t, "{\n    \"Status\": \"FAILED\",\n    \"Message\": \"class com.starrocks.common.DdlException: There is no 100-continue header\"\n}", r.raw)
	for auth, want := range map[string]string{
		"-":                    "Need auth information.",
		"Basic Ym9iOnk=":       "Access denied for bob@127.",
		"Basic Ym9iOng=":       "Access denied; you need (at least one of) the INSERT privilege(s)",
		"Basic nobase64!":      "Need auth information.",
		"Basic bm9ib2R5OnBhc3": "Need auth information.",
	} {
		r = do(t, http.MethodPut, load, "x", "Expect: 100-continue", "Authorization: "+auth)
		require.Equal(t, http.StatusUnauthorized, r.http, auth)
		require.Equal(t, `Basic realm=""`, r.header.Get("WWW-Authenticate"))
		require.Contains(t, r.raw, `{"status":"FAILED","code":"1","msg":"`+want, auth)
	}
	require.Equal(t, http.StatusNotFound, do(t, http.MethodPut, emu.FEURL()+"/api/db/_stream_load_2pc", "").http, "that is of Doris")
	require.Equal(t, http.StatusNotFound, do(t, http.MethodPut, "http://"+emu.BEAddr()+"/api/db/_stream_load_2pc", "").http)
	require.Contains(t, do(t, http.MethodGet, emu.FEURL()+"/api/health", "").raw, `"online_backend_num":1,"total_backend_num":1,"status":"OK"`)
	require.Contains(t, do(t, http.MethodGet, emu.FEURL()+"/api/bootstrap", "").raw, `"status":"OK"`)

	emu.StopBE(0)
	require.Contains(t, do(t, http.MethodPut, load, "x", "Expect: 100-continue").raw, "class com.starrocks.common.DdlException: No backend alive.")
}

func TestStarRocksLabelState(t *testing.T) {
	t.Parallel()
	emu := rocks(t, emulator.Options{})
	get := func(query string) string {
		return do(t, http.MethodGet, emu.FEURL()+"/api/db/get_load_state"+query, "").raw
	}
	exact(t, `{"state":"UNKNOWN","reason":"","status":"OK","code":"0","msg":"Success","message":"OK"}`, get("?label=l"))
	exact(t, `{"status":"FAILED","code":"1","msg":"No label selected.","message":"No label selected."}`, get(""))
	exact(t, `{"status":"FAILED","code":"1","msg":"unknown database, database=no","message":"unknown database, database=no"}`, do(t, http.MethodGet, emu.FEURL()+"/api/no/get_load_state?label=l", "").raw)
	require.Equal(t, http.StatusUnauthorized, do(t, http.MethodGet, emu.FEURL()+"/api/db/get_load_state?label=l", "", "Authorization: -").http)

	require.Equal(t, "Success", put(t, emu, "1\ta\t1\n", "label: l").Status)
	require.Contains(t, get("?label=l"), `{"state":"VISIBLE",`)
	put(t, emu, "x\ta\t1\n", "label: bad")
	require.Contains(t, get("?label=bad"), `{"state":"ABORTED","reason":"too many filtered rows",`)
}

func TestStarRocksCancel(t *testing.T) {
	t.Parallel()
	emu := rocks(t, emulator.Options{})
	for _, path := range []string{"/api/db/l1/_cancel", "/api/db/t/_cancel?label=l2"} {
		label := "l" + string(path[len(path)-1])
		if strings.HasSuffix(path, "_cancel") {
			label = "l1"
		}
		_, err := emu.BeginLabel("db", label)
		require.NoError(t, err)
		exact(t, `{"status":"OK","code":"0","msg":"Success","message":"OK"}`, do(t, http.MethodPost, emu.FEURL()+path, "").raw)
		require.Equal(t, emulator.Aborted, emu.LabelState("db", label))
		require.Contains(t, do(t, http.MethodPost, emu.FEURL()+path, "").raw, `"status":"FAILED","code":"1","msg":"running transaction not found, label=`+label)
	}
	require.Contains(t, do(t, http.MethodPost, emu.FEURL()+"/api/no/l/_cancel", "").raw, "unknown database, database=no")
	require.Equal(t, http.StatusNotFound, do(t, http.MethodPost, emu.FEURL()+"/api/db/_cancel?label=l", "").http, "the form of Doris")
}

// Followers answer loads, and send everything else on to the leader.
func TestStarRocksFollower(t *testing.T) {
	t.Parallel()
	emu := rocks(t, emulator.Options{FEs: 2})
	leader, follower := emu.FEURLs()[0], emu.FEURLs()[1]
	for _, tc := range []struct {
		method, path, to string
		headers          []string
	}{
		{http.MethodPut, "/api/db/t/_stream_load", "http://" + emu.BEAddr(), []string{"Expect: 100-continue"}},
		{http.MethodPut, "/api/db/t/_stream_load", leader, []string{"Expect: 100-continue", "enable_merge_commit: true"}},
		{http.MethodGet, "/api/db/get_load_state?label=l", leader, nil},
		{http.MethodPost, "/api/db/l/_cancel", leader, nil},
		{http.MethodPost, "/api/transaction/begin", leader, []string{"db: db", "table: t", "label: l"}},
		{http.MethodPut, "/api/transaction/load", leader, []string{"db: db", "table: t", "label: l", "Expect: 100-continue"}},
	} {
		r := do(t, tc.method, follower+tc.path, "", tc.headers...)
		require.Equal(t, http.StatusTemporaryRedirect, r.http, tc.path)
		require.Equal(t, tc.to+tc.path, r.header.Get("Location"))
	}
}

func TestStarRocksTablesAndVersions(t *testing.T) {
	t.Parallel()
	for _, opt := range []emulator.Options{{Dialect: "mysql"}, {Dialect: emulator.StarRocks, Version: "2.1"}, {Dialect: emulator.StarRocks, Version: "master"}} {
		_, err := emulator.Start(opt)
		require.ErrorContains(t, err, "unknown ")
	}
	emu := rocks(t, emulator.Options{})
	cols := []emulator.Column{{Name: "k", Type: "INT"}, {Name: "v", Type: "INT"}}
	require.ErrorContains(t, emu.CreateTable(emulator.Table{Database: "db", Name: "s", Model: emulator.Unique, Keys: []string{"k"}, SequenceColumn: "v", Columns: cols}), "StarRocks has no sequence columns")
	doris := emulator.New(t, emulator.Options{})
	require.ErrorContains(t, doris.CreateTable(emulator.Table{Database: "db", Name: "s", Model: emulator.Primary, Keys: []string{"k"}, Columns: cols}), "is of StarRocks")
}
