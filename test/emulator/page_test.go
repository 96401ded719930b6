package emulator_test

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// liveNow is what the tests read of /emulator/live.
type liveNow struct {
	Dialect, Version string
	Nodes            []struct {
		Name, Address string
		Up, Master    bool
		BackInMS      int64 `json:"back_in_ms"`
	}
	Tables []struct {
		Database, Name, Model string
		Rows, Waiting         int
		Columns               []string
		ColumnsTotal          int `json:"columns_total"`
		Last                  [][]*string
	}
	TablesTotal int `json:"tables_total"`
	Rows        int
	Running     []struct {
		Database, Table, Label, BE, State string
		Txn                               int64
		AgeMS                             int64 `json:"age_ms"`
	}
	RunningTotal int `json:"running_total"`
	Loads        []struct {
		Label, Database, Table, Status, Message, State string
		Rows                                           int
		Answered                                       bool
	}
	LoadsTotal int `json:"loads_total"`
	Switches   []struct {
		Name, Title, Help, Strike string
		On                        bool
		Struck                    int
	}
	Faults []struct {
		Fault string
		Hits  int
	}
	FaultsTotal int `json:"faults_total"`
}

func lookAt(t *testing.T, fe, query string) liveNow {
	t.Helper()
	r := do(t, http.MethodGet, fe+"/emulator/live"+query, "")
	require.Equal(t, http.StatusOK, r.http, r.raw)
	var l liveNow
	require.NoError(t, json.Unmarshal([]byte(r.raw), &l))
	return l
}

func TestPageParts(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{})
	for path, kind := range map[string]string{
		"/":                  "text/html; charset=utf-8",
		"/emulator/page.css": "text/css; charset=utf-8",
		"/emulator/page.js":  "text/javascript; charset=utf-8",
	} {
		r := do(t, http.MethodGet, emu.FEURL()+path, "", "Accept: text/html,application/xhtml+xml,*/*;q=0.8")
		require.Equal(t, http.StatusOK, r.http, path)
		require.Equal(t, kind, r.header.Get("Content-Type"))
		require.Equal(t, "nosniff", r.header.Get("X-Content-Type-Options"))
		require.Contains(t, r.header.Get("Content-Security-Policy"), "default-src 'none'")
		require.Contains(t, r.header.Get("Content-Security-Policy"), "frame-ancestors 'none'")
		require.NotEmpty(t, r.raw)
		head := do(t, http.MethodHead, emu.FEURL()+path, "", "Accept: text/html")
		require.Equal(t, http.StatusOK, head.http, path)
		require.Empty(t, head.raw)
	}
	require.Empty(t, emu.Requests(), "the page does not push loads out of the record")

	// Who does not ask for HTML sees at the root what was always there.
	for _, accept := range []string{"-", "*/*", "application/json"} {
		r := do(t, http.MethodGet, emu.FEURL()+"/", "", "Accept: "+accept)
		require.Equal(t, http.StatusNotFound, r.http, accept)
		exact(t, `{"error":"Not Found","path":"/","status":404}`, r.raw)
	}
	require.Equal(t, http.StatusNotFound, do(t, http.MethodPost, emu.FEURL()+"/", "x", "Accept: text/html").http)
	require.Equal(t, http.StatusNotFound, do(t, http.MethodGet, "http://"+emu.BEAddr()+"/", "", "Accept: text/html").http, "a BE has no page")
}

// The page works offline, and what clients chose never becomes HTML.
func TestPageFilesAreTheirOwn(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		text, err := os.ReadFile("page/" + name)
		require.NoError(t, err)
		return string(text)
	}
	for _, m := range regexp.MustCompile(`(?:href|src|action)="([^"]*)"`).FindAllStringSubmatch(read("page.html"), -1) {
		require.Regexp(t, `^(/emulator/page\.(css|js)$|data:)`, m[1])
	}
	require.NotRegexp(t, `(?i)<script[^>]*>[^<]|<style| on[a-z]+=| style=`, read("page.html"), "the policy lets nothing inline run")
	require.NotRegexp(t, `url\(|@import`, read("page.css"))
	require.NotRegexp(t, `innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(|https?://`, read("page.js"))
}

func TestLive(t *testing.T) {
	t.Parallel()
	c := newClock()
	emu := emulator.New(t, emulator.Options{AutoCreate: true, FEs: 2, BEs: 2, Now: c.now, KeepRecords: 300, Tables: []emulator.Table{
		{Database: "db", Name: "t", Model: emulator.Unique, Keys: []string{"id"}, Columns: []emulator.Column{{Name: "id", Type: "BIGINT"}, {Name: "name", Type: "STRING"}}},
	}})
	putJSON(t, emu, `{"id":1,"name":"a"}`, "label: first")
	putJSON(t, emu, `{"id":9007199254740993,"name":null}`)
	putJSON(t, emu, `{"id":1,"__DORIS_DELETE_SIGN__":1}`, "hidden_columns: __DORIS_DELETE_SIGN__", "label: gone")
	_, err := emu.BeginLabel("db", "open")
	require.NoError(t, err)
	c.move(1500 * time.Millisecond)
	emu.Inject(emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.PublishTimeout, Times: 1})
	putJSON(t, emu, `{"id":3,"name":"late"}`, "label: late")
	bad := putJSON(t, emu, `{"id":4}`, "label: <img src=x onerror=alert(1)>")
	require.Equal(t, "Fail", bad.Status)

	l := lookAt(t, emu.FEURLs()[1], "")
	require.Equal(t, "doris", l.Dialect)
	require.Equal(t, "3.1", l.Version)
	require.Len(t, l.Nodes, 4)
	require.Equal(t, "fe1", l.Nodes[0].Name)
	require.True(t, l.Nodes[0].Up)
	require.True(t, l.Nodes[0].Master)
	require.False(t, l.Nodes[1].Master)
	require.Equal(t, emu.BEAddrs()[1], l.Nodes[3].Address)

	require.Len(t, l.Tables, 1)
	require.Equal(t, 1, l.Rows)
	tab := l.Tables[0]
	require.Equal(t, "UNIQUE", tab.Model)
	require.Equal(t, []string{"id", "name"}, tab.Columns)
	require.Equal(t, 1, tab.Rows)
	require.Equal(t, 1, tab.Waiting)
	require.Len(t, tab.Last, 1)
	require.Equal(t, "9007199254740993", *tab.Last[0][0], "a browser would round the number")
	require.Nil(t, tab.Last[0][1])

	require.Len(t, l.Running, 1)
	require.Equal(t, "open", l.Running[0].Label)
	require.Equal(t, "PREPARE", l.Running[0].State)
	require.Equal(t, int64(1500), l.Running[0].AgeMS)

	require.Equal(t, 5, l.LoadsTotal)
	require.Len(t, l.Loads, 5)
	require.Equal(t, "<img src=x onerror=alert(1)>", l.Loads[0].Label, "newest first, and as it came: the page shows it as text")
	require.Equal(t, "COMMITTED", l.Loads[1].State)
	require.Equal(t, "Publish Timeout", l.Loads[1].Status)
	require.True(t, l.Loads[4].Answered)
	require.Equal(t, 1, l.FaultsTotal)
	require.Equal(t, "be.before-commit:do=publish-timeout,times=1", l.Faults[0].Fault)
	require.Equal(t, 1, l.Faults[0].Hits)

	r := do(t, http.MethodGet, emu.FEURL()+"/emulator/live", "")
	require.Equal(t, "application/json", r.header.Get("Content-Type"))
	require.Equal(t, "nosniff", r.header.Get("X-Content-Type-Options"))
	require.Equal(t, "no-store", r.header.Get("Cache-Control"))
	for _, query := range []string{"?loads=x", "?rows=-1"} {
		require.Equal(t, http.StatusBadRequest, do(t, http.MethodGet, emu.FEURL()+"/emulator/live"+query, "").http)
	}
}

// What an open page costs does not grow with what is loaded.
func TestLiveIsBounded(t *testing.T) {
	t.Parallel()
	emu := emulator.New(t, emulator.Options{AutoCreate: true, KeepRecords: 220})
	var wide []string
	for i := range 40 {
		wide = append(wide, `"c`+intText(i)+`":"`+strings.Repeat("ä", 1000)+`"`)
	}
	row := "{" + strings.Join(wide, ",") + "}"
	url := "http://" + emu.BEAddr() + "/api/db/wide/_stream_load"
	require.Equal(t, "Success", do(t, http.MethodPut, url, strings.Repeat(row+"\n", 30), "format: json", "read_json_by_line: true").Status)
	for i := range 260 {
		require.Equal(t, "Fail", do(t, http.MethodPut, url, "{}", "format: json", "label: "+strings.Repeat("?", 2000)+intText(i)).Status)
	}
	for i := range 60 {
		require.NoError(t, emu.CreateTable(emulator.Table{Database: "more", Name: "t" + intText(i), Columns: []emulator.Column{{Name: "id", Type: "INT"}}}))
		_, err := emu.BeginLabel("more", "open"+intText(i))
		require.NoError(t, err)
		emu.Inject(emulator.Fault{At: emulator.CancelCall, Do: emulator.Fail, Message: strings.Repeat("m", 1000)})
	}
	l := lookAt(t, emu.FEURL(), "")
	require.Len(t, l.Loads, 50)
	require.Equal(t, 261, l.LoadsTotal, "also those that are not kept any more")
	require.Len(t, l.Tables, 50)
	require.Equal(t, 61, l.TablesTotal)
	require.Equal(t, 30, l.Rows)
	require.Len(t, l.Running, 50)
	require.Equal(t, 60, l.RunningTotal)
	require.Equal(t, "open59", l.Running[0].Label, "the newest ones")
	require.Len(t, l.Faults, 20)
	require.Equal(t, 60, l.FaultsTotal)
	require.Len(t, l.Tables[0].Last, 4)

	l = lookAt(t, emu.FEURL(), "?loads=1000000&rows=1000000")
	require.Len(t, l.Loads, 200)
	require.LessOrEqual(t, len([]rune(l.Loads[0].Label)), 401)
	require.LessOrEqual(t, len([]rune(l.Loads[0].Message)), 401)
	require.Len(t, l.Tables[0].Last, 20)
	require.Len(t, l.Tables[0].Columns, 16)
	require.Equal(t, 40, l.Tables[0].ColumnsTotal)
	require.Equal(t, strings.Repeat("ä", 80)+"…", *l.Tables[0].Last[0][0])
	require.Empty(t, lookAt(t, emu.FEURL(), "?loads=0&rows=0").Loads)
}
