package emulator_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

func TestFEChecksInOrder(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{Users: []emulator.User{
		{Name: "root", AnyPassword: true, Load: []string{"*"}}, {Name: "bob", Password: "s:c", Load: []string{"other"}},
	}})
	bob := "Authorization: Basic Ym9iOnM6Yw=="
	expect := "Expect: 100-continue"
	for _, tc := range []struct {
		name, path string
		headers    []string
		want       string
	}{
		{"group commit word before all", "/api/db/t", []string{"group_commit: on", "Authorization: -"}, `{"status":"FAILED","msg":"Header ` + "`group_commit` can only be `sync_mode`, `async_mode` or `off_mode`" + `."}`},
		{"no auth before Expect", "/api/db/t", []string{"Authorization: -"}, `{"msg":"Unauthorized","code":401,"data":"Need auth information.","count":0}`},
		{"token", "/api/db/t", []string{"token: abc", "Authorization: -"}, `{"msg":"Unauthorized","code":401,"data":"Invalid token: abc","count":0}`},
		{"unreadable auth", "/api/db/t", []string{"Authorization: Basic ???"}, `{"msg":"Unauthorized","code":401,"data":"Need auth information.","count":0}`},
		{"wrong password", "/api/db/t", []string{"Authorization: Basic Ym9iOng="}, `{"msg":"Unauthorized","code":401,"data":"errCode = 2, detailMessage = Access denied for user 'bob@127.0.0.1' (using password: YES)","count":0}`},
		{"no Expect before the table", "/api/db/", []string{}, `{"status":"FAILED","msg":"There is no 100-continue header"}`},
		{"no database", "/api//t", []string{expect}, `{"status":"FAILED","msg":"No database selected."}`},
		{"no table", "/api/db/", []string{expect}, `{"status":"FAILED","msg":"No table selected."}`},
		{"no grant", "/api/db/t", []string{expect, bob}, `{"status":"FAILED","msg":"Access denied; you need (at least one of) the (LOAD) privilege(s) for this operation"}`},
		{"group commit without database", "/api/no/t", []string{expect, "group_commit: sync_mode"}, `{"status":"FAILED","msg":"Database not found."}`},
		{"group commit without table", "/api/db/no", []string{expect, "group_commit: ASYNC_MODE"}, `{"status":"FAILED","msg":"OlapTable not found."}`},
		{"redirect policy", "/api/db/t", []string{expect, "redirect-policy: public"}, `{"status":"FAILED","msg":"public endpoint is null, please check be public endpoint config"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := do(t, http.MethodPut, emu.FEURL()+tc.path+"/_stream_load", "x", tc.headers...)
			require.Equal(t, http.StatusOK, r.http)
			require.Equal(t, tc.want, r.raw)
		})
	}
}

func TestFERedirects(t *testing.T) {
	t.Parallel()
	users := []emulator.User{{Name: "bob", Password: "p@:/%", Load: []string{"db"}}}
	const auth = "Authorization: Basic Ym9iQGNsdXN0ZXI6cEA6LyU=" // bob@cluster
	for _, tc := range []struct {
		name, path, want string
		opt              emulator.Options
	}{
		{"default", "/api/db/no_such_table/_stream_load", "http://bob:p%40:%2F%25@BE/api/db/no_such_table/_stream_load?", emulator.Options{Users: users}},
		{"query", "/api/db/t/_stream_load?a=b", "http://bob:p%40:%2F%25@BE/api/db/t/_stream_load?a=b", emulator.Options{Users: users}},
		{"no credentials", "/api/db/t/_stream_load", "http://BE/api/db/t/_stream_load?", emulator.Options{Users: users, PlainLocation: true}},
		{"no question mark", "/api/db/t/_stream_load", "http://bob:p%40:%2F%25@BE/api/db/t/_stream_load", emulator.Options{Users: users, NoTrailingQuery: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			emu := start(t, tc.opt)
			r := do(t, http.MethodPut, emu.FEURL()+tc.path, "body", "Expect: 100-continue", auth)
			require.Equal(t, http.StatusTemporaryRedirect, r.http)
			require.Equal(t, strings.Replace(tc.want, "BE", emu.BEAddr(), 1), r.header.Get("Location"))
			require.Empty(t, r.raw)
			require.Zero(t, emu.FEBodyBytes())
		})
	}
}

func TestFETakesBEsInTurn(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{BEs: 3})
	seen := map[string]int{}
	load := func() reply {
		return do(t, http.MethodPut, emu.FEURL()+"/api/db/t/_stream_load", "x", "Expect: 100-continue")
	}
	for range 6 {
		seen[load().header.Get("Location")]++
	}
	require.Len(t, seen, 3)
	emu.StopBE(0)
	emu.StopBE(1)
	require.Contains(t, load().header.Get("Location"), emu.BEAddrs()[2])
	require.Contains(t, load().header.Get("Location"), emu.BEAddrs()[2])
	emu.StopBE(2)
	require.Contains(t, load().Msg, "No backend load available")
	require.NoError(t, emu.StartBE(1))
	require.Contains(t, load().header.Get("Location"), emu.BEAddrs()[1])
}

// The FE answers from the header alone, sends no 100 Continue, and counts a
// body that comes in spite of that.
func TestFEConnectionAfterAnswer(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("{\"id\":1}\n", 2000)
	for _, tc := range []struct {
		name   string
		policy emulator.ConnPolicy
	}{{"close", emulator.CloseAfterRedirect}, {"reset", emulator.ResetAfterRedirect}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			emu := start(t, emulator.Options{AfterRedirect: tc.policy})
			w := dial(t, emu.FEURL())
			w.head("db", "t", len(body), "Expect: 100-continue")
			resp, _ := w.answer()
			require.Equal(t, http.StatusTemporaryRedirect, resp.status)
			require.True(t, resp.close)
			_, err := w.in.ReadByte()
			require.Error(t, err, "nothing follows")
			_ = w.Close()
			require.Zero(t, emu.FEBodyBytes())

			w = dial(t, emu.FEURL())
			w.head("db", "t", len(body), "Expect: 100-continue")
			w.send("some of it")
			w.answer()
			_ = w.Close()
			require.EqualValues(t, len("some of it"), emu.FEBodyBytes())
		})
	}
	t.Run("keep", func(t *testing.T) {
		t.Parallel()
		emu := start(t, emulator.Options{AfterRedirect: emulator.KeepAfterRedirect})
		w := dial(t, emu.FEURL())
		for range 2 {
			w.head("db", "t", len(body), "Expect: 100-continue")
			resp, _ := w.answer()
			require.Equal(t, http.StatusTemporaryRedirect, resp.status)
			require.False(t, resp.close)
		}
		w.send("GET /api/health HTTP/1.1\r\nHost: x\r\n\r\n")
		_, text := w.answer()
		require.Contains(t, text, "online_backend_num")
		require.Zero(t, emu.FEBodyBytes())

		w.head("db", "t", len(body), "Expect: 100-continue")
		w.send(body)
		w.answer()
		w.send("GET /api/health HTTP/1.1\r\nHost: x\r\n\r\n")
		_, text = w.answer()
		require.Contains(t, text, "online_backend_num")
		require.EqualValues(t, len(body), emu.FEBodyBytes())
	})
}

func TestFEStateAndCancel(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{FEs: 2, Users: []emulator.User{
		{Name: "root", AnyPassword: true, Load: []string{"*"}}, {Name: "eve", AnyPassword: true},
	}})
	_, err := emu.BeginLabel("db", "open")
	require.NoError(t, err)
	base := emu.FEURL() + "/api/db/"
	require.Equal(t, "PREPARE", state(t, emu, "open"))
	require.Equal(t, "UNKNOWN", state(t, emu, "never"))
	for _, tc := range []struct{ name, method, url, want string }{
		{"no label", http.MethodGet, base + "get_load_state", `{"msg":"Bad Request","code":403,"data":"No label selected","count":0}`},
		{"unknown database", http.MethodGet, emu.FEURL() + "/api/no/get_load_state?label=x", `{"msg":"Error","code":1,"data":"errCode = 2, detailMessage = unknown databases, dbName=no","count":0}`},
		{"cancel without label", http.MethodPost, base + "_cancel", `{"msg":"Bad Request","code":403,"data":"No label selected","count":0}`},
		{"cancel of nothing", http.MethodPost, base + "_cancel?label=never", `{"msg":"Error","code":1,"data":"errCode = 2, detailMessage = transaction not found, label=never","count":0}`},
	} {
		require.Equal(t, tc.want, do(t, tc.method, tc.url, "").raw, tc.name)
	}
	require.Equal(t, 401, do(t, http.MethodGet, base+"get_load_state?label=x", "", "Authorization: -").Code)
	eve := "Authorization: Basic ZXZlOg=="
	require.Equal(t, "PREPARE", do(t, http.MethodGet, base+"get_load_state?label=open", "", eve).Data, "no grant is needed to look")
	require.Equal(t, 401, do(t, http.MethodPost, base+"_cancel?label=open", "", eve).Code)

	// A follower sends these calls to the master.
	r := do(t, http.MethodPost, emu.FEURLs()[1]+"/api/db/_cancel?label=open", "")
	require.Equal(t, http.StatusTemporaryRedirect, r.http)
	require.Equal(t, strings.Replace(emu.FEURL(), "http://", "http://root:@", 1)+"/api/db/_cancel?label=open", r.header.Get("Location"))
	exact(t, `{"msg":"success","code":0,"data":null,"count":0}`, do(t, http.MethodPost, r.header.Get("Location"), "").raw)
	require.Equal(t, "ABORTED", state(t, emu, "open"))
	require.Contains(t, do(t, http.MethodPost, base+"_cancel?label=open", "").raw, "running transaction not found, label=open")

	emu.SwitchMaster()
	require.Equal(t, 1, emu.Master())
	require.Equal(t, http.StatusTemporaryRedirect, do(t, http.MethodGet, base+"get_load_state?label=open", "").http)
}

func TestFEInformation(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{BEs: 2, Tables: []emulator.Table{{
		Database: "db", Name: "u", Model: emulator.Unique, Keys: []string{"k"},
		Columns: []emulator.Column{{Name: "k", Type: "int"}, {Name: "d", Type: "decimal(9, 2)"}},
	}}})
	emu.StopBE(1)
	get := func(path string) string { return do(t, http.MethodGet, emu.FEURL()+path, "").raw }
	require.Contains(t, get("/api/bootstrap"), `"code":0`)
	exact(t, `{"msg":"success","code":0,"data":{"online_backend_num":1,"total_backend_num":2},"count":0}`, get("/api/health"))
	require.NotContains(t, get("/api/backends?is_alive=true"), `"is_alive":false`)
	require.Contains(t, get("/api/backends"), `"is_alive":false`)
	exact(t, `{"msg":"success","code":0,"data":{"keysType":"UNIQUE_KEYS","properties":[`+
		`{"aggregation_type":"","comment":"","name":"k","type":"INT"},{"aggregation_type":"","comment":"","name":"d","precision":"9","scale":"2","type":"DECIMAL"}],"status":200},"count":0}`,
		get("/api/db/u/_schema"))
	require.Contains(t, get("/api/db/no/_schema"), `"code":404`)
	require.Equal(t, http.StatusNotFound, do(t, http.MethodGet, emu.FEURL()+"/nothing", "").http)
	require.Equal(t, http.StatusMethodNotAllowed, do(t, http.MethodPost, emu.FEURL()+"/api/db/t/_stream_load", "x").http)
	require.Contains(t, do(t, http.MethodPut, emu.FEURL()+"/api/_http_stream", "x").Msg, "does not support http_stream")
}

func TestFEGoesDownAndComesBack(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{FEs: 2})
	emu.StopFE(0)
	_, err := try(t.Context(), t, http.MethodGet, emu.FEURL()+"/api/health", "")
	require.ErrorContains(t, err, "refused")
	require.NoError(t, emu.StartFE(0))
	require.NoError(t, emu.StartFE(0), "a second start does nothing")
	require.Equal(t, 200, do(t, http.MethodGet, emu.FEURL()+"/api/health", "").http)
}

func TestFEOverTLS(t *testing.T) {
	t.Parallel()
	// The test server of the standard library has a certificate at hand.
	srv := httptest.NewTLSServer(nil)
	defer srv.Close()
	emu := start(t, emulator.Options{FEs: 2, FETLS: &tls.Config{Certificates: srv.TLS.Certificates, MinVersion: tls.VersionTLS12}})
	require.True(t, strings.HasPrefix(emu.FEURL(), "https://127.0.0.1:"))
	hc := client(t)
	tr, ok := hc.Transport.(*http.Transport)
	require.True(t, ok)
	pool := x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	tr.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	for _, tc := range []struct{ method, url, location string }{
		{http.MethodPut, emu.FEURL() + "/api/db/t/_stream_load", "http://root:@" + emu.BEAddr() + "/api/db/t/_stream_load?"},
		{http.MethodGet, emu.FEURLs()[1] + "/api/db/get_load_state?label=x", strings.Replace(emu.FEURL(), "://", "://root:@", 1) + "/api/db/get_load_state?label=x"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tc.method, tc.url, http.NoBody)
		require.NoError(t, err)
		req.SetBasicAuth("root", "")
		req.Header.Set("Expect", "100-continue")
		resp, err := hc.Do(req)
		require.NoError(t, err)
		_ = resp.Body.Close()
		require.Equal(t, http.StatusTemporaryRedirect, resp.StatusCode)
		require.Equal(t, tc.location, resp.Header.Get("Location"))
	}
}
