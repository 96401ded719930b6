package preflight

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var users = []emulator.User{
	{Name: "loader", Password: "pw-of-loader", Load: []string{"d"}},
	{Name: "guest", Password: "pw-of-guest", Load: []string{"other"}},
}

func columns(names ...string) []emulator.Column {
	var list []emulator.Column
	for _, name := range names {
		list = append(list, emulator.Column{Name: name, Type: "INT"})
	}
	return list
}

var tables = []emulator.Table{
	{Database: "d", Name: "t", Columns: columns("id", "a", "b")},
	{Database: "d", Name: "u", Model: emulator.Unique, Keys: []string{"id"}, Columns: columns("id", "a", "b")},
}

// look runs a preflight of table d.t as the user loader, after change.
func look(t *testing.T, fes []string, change func(*Subject, *streamload.Config)) Report {
	t.Helper()
	conf := streamload.Config{FEs: fes, Username: "loader", Password: "pw-of-loader", ConnectTimeout: 5 * time.Second}
	s := Subject{Database: "d", Table: "t", MaxInFlight: 8}
	if change != nil {
		change(&s, &conf)
	}
	client, err := streamload.New(conf)
	require.NoError(t, err)
	defer client.Close()
	s.Client = client
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r := Run(ctx, s)
	for _, f := range r.Findings {
		require.NotEmpty(t, f.Text)
		require.NotContains(t, f.Text+f.Advice, "pw-of-")
		require.NotContains(t, f.Text, "\n")
	}
	return r
}

// lines are the findings, one a line.
func lines(r Report) []string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, fmt.Sprintf("%s %s: %s | %s", f.Status, f.Check, f.Text, f.Advice))
	}
	return out
}

// requireFinding looks for one finding that begins with the words before the first "..." and has all others in it.
func requireFinding(t *testing.T, r Report, want string) {
	t.Helper()
	parts := strings.Split(want, "...")
	for _, line := range lines(r) {
		found := strings.HasPrefix(line, parts[0])
		for _, part := range parts[1:] {
			found = found && strings.Contains(line, part)
		}
		if found {
			return
		}
	}
	require.Fail(t, "no such finding", "%s\nin\n%s", want, strings.Join(lines(r), "\n"))
}

func TestAllIsWell(t *testing.T) {
	t.Parallel()
	e := emulator.New(t, emulator.Options{FEs: 2, BEs: 2, Users: users, Tables: tables})
	r := look(t, e.FEURLs(), func(s *Subject, _ *streamload.Config) { s.Identity, s.Load = true, true })
	require.NoError(t, r.Err())
	require.LessOrEqual(t, r.Worst(), Skipped)
	for _, want := range []string{
		"ok fe: FE " + strings.TrimPrefix(e.FEURLs()[0], "http://") + " answers in ",
		"ok fe: FE " + strings.TrimPrefix(e.FEURLs()[1], "http://") + " answers in ",
		`ok user: the user "loader" is accepted`,
		"ok table: d.t exists; columns: id, a, b",
		"ok columns: keys of the messages",
		"ok key: duplicate key: labels are made from label",
		"ok way: loads into d.t are let through, to BE 127.",
		"ok be: BE " + e.BEAddr() + " can be reached from here",
		"ok load: a load of no rows went all the way to d.t",
		"skipped labels: ",
	} {
		requireFinding(t, r, want)
	}
	require.Equal(t, 2, strings.Count(strings.Join(lines(r), "\n"), "ok be: "))
	require.Len(t, e.Loads(), 1, "the load of no rows, and nothing else")
	require.Zero(t, e.Count("d", "t"))
	require.True(t, strings.HasPrefix(e.Loads()[0].Label, "benthos_check_"), e.Loads()[0].Label)
}

func TestStarRocks(t *testing.T) {
	t.Parallel()
	e := emulator.New(t, emulator.Options{Dialect: emulator.StarRocks, Users: users, Tables: []emulator.Table{
		{Database: "d", Name: "t", Model: emulator.Primary, Keys: []string{"id"}, Columns: []emulator.Column{{Name: "id", Type: "INT", NotNull: true}}},
	}})
	starRocks := func(s *Subject, c *streamload.Config) { s.Load, c.Options.Dialect = true, streamload.DialectStarRocks }
	r := look(t, e.FEURLs(), starRocks)
	require.NoError(t, r.Err(), strings.Join(lines(r), "\n"))
	requireFinding(t, r, "ok way: loads into d.t are let through")
	// It commits nothing without rows, and says so when all else is done.
	requireFinding(t, r, "ok load: a load of no rows went all the way to d.t")
	require.Len(t, e.Loads(), 1)

	r = look(t, e.FEURLs(), func(s *Subject, c *streamload.Config) {
		starRocks(s, c)
		c.Username, c.Password = "guest", "pw-of-guest"
	})
	requireFinding(t, r, `failed way: the user "guest" may not load into d.t: ...| GRANT INSERT ON TABLE d.t TO USER 'guest'`)
}

func TestNothingIsStoredUnlessAsked(t *testing.T) {
	t.Parallel()
	e := emulator.New(t, emulator.Options{Users: users, Tables: tables})
	look(t, e.FEURLs(), nil)
	require.Empty(t, e.Loads())
	require.Zero(t, e.FEBodyBytes())
}

func TestFindings(t *testing.T) {
	t.Parallel()
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed := nobody.Addr().String()
	require.NoError(t, nobody.Close())

	as := func(user string) func(*Subject, *streamload.Config) {
		return func(_ *Subject, c *streamload.Config) { c.Username, c.Password = user, "pw-of-"+user }
	}
	options := func(table string, set func(*streamload.Options)) func(*Subject, *streamload.Config) {
		return func(s *Subject, c *streamload.Config) {
			s.Table = table
			set(&c.Options)
		}
	}
	for _, c := range []struct {
		name    string
		options emulator.Options
		before  func(*emulator.Emulator)
		fes     func(*emulator.Emulator) []string
		change  func(*Subject, *streamload.Config)
		want    []string
		failed  int
	}{
		{
			name: "an FE that is down", fes: func(e *emulator.Emulator) []string { return append(e.FEURLs(), "http://"+closed) },
			want:   []string{"ok fe: ", "failed fe: FE " + closed + " cannot be used: ...connection refused...| wrong host or port, a firewall, or the server is down", "ok way: "},
			failed: 1,
		},
		{
			name: "all FEs are down", fes: func(*emulator.Emulator) []string { return []string{closed} },
			want: []string{"failed fe: ", "skipped user: nothing else can be looked at"}, failed: 1,
		},
		{
			name: "a BE in the place of an FE", fes: func(e *emulator.Emulator) []string { return []string{"http://" + e.BEAddr()} },
			want: []string{
				"warning fe: ...answers, but not as an FE does: HTTP 404", "warning user: the state of a label cannot be asked for",
				"warning way: it cannot be seen where loads go: ...asks for the rows itself...| name the HTTP ports of FEs in fe_urls",
			},
		},
		{name: "the password is wrong", change: func(_ *Subject, c *streamload.Config) { c.Password = "pw-of-nobody" }, want: []string{`failed user: the user "loader" is refused: ...Access denied...| look at username and password`}, failed: 1},
		{
			name: "no privilege", change: as("guest"), failed: 1,
			want: []string{
				`failed way: the user "guest" may not load into d.t: ...Access denied...| GRANT LOAD_PRIV ON d.t TO 'guest'`,
				"note table: the columns of d.t cannot be looked at: ...| loads do not need that; for this check GRANT SELECT_PRIV ON d.t TO 'guest'",
			},
		},
		{name: "no such table", change: func(s *Subject, _ *streamload.Config) { s.Table = "x" }, want: []string{"failed table: the table d.x does not exist: ...Unknown table 'x'...| create it"}, failed: 1},
		{name: "no such database", change: func(s *Subject, _ *streamload.Config) { s.Database = "x" }, want: []string{"failed database: the database x does not exist: ...| create it"}, failed: 1},
		{
			name: "the table depends on the messages", change: func(s *Subject, _ *streamload.Config) { s.Table, s.Load = "", true },
			want: []string{"skipped table: ", "skipped way: ", "ok be: ", "skipped load: "},
		},
		{
			name: "both depend on the messages", change: func(s *Subject, _ *streamload.Config) { s.Database, s.Table = "", "" },
			want: []string{`ok user: the user "loader" is accepted`, "skipped table: "},
		},
		{
			name: "a BE that is not alive", options: emulator.Options{BEs: 2}, before: func(e *emulator.Emulator) { e.StopBE(1) },
			want: []string{"warning be: BE ...is not alive, say the FEs", "ok be: "},
		},
		{
			name: "no BE is alive", before: func(e *emulator.Emulator) { e.StopBE(0) }, failed: 2,
			want: []string{"failed way: no BE would take a load: ", "failed be: the FEs know no BE that is alive"},
		},
		{name: "rows come twice", want: []string{"note key: duplicate key: a row that is loaded twice is stored twice. ...| set label"}},
		{
			name: "rows of a unique key come out of order", change: func(s *Subject, _ *streamload.Config) { s.Table = "u" },
			want: []string{"note key: unique key: ...8 loads run at a time...| where the order matters set sequence_column, or max_in_flight: 1"},
		},
		{name: "one load at a time", change: func(s *Subject, _ *streamload.Config) { s.Table, s.MaxInFlight = "u", 1 }, want: []string{"ok key: unique key: "}},
		{name: "a sequence column", change: options("u", func(o *streamload.Options) { o.Unique.SequenceColumn = "b" }), want: []string{"ok key: unique key: "}},
		{
			name: "a sequence column that is none", change: options("u", func(o *streamload.Options) { o.Unique.SequenceColumn = "version" }),
			want: []string{"warning columns: sequence_column is version, which is no column of d.u"},
		},
		{
			name: "settings for a unique key without one", change: options("t", func(o *streamload.Options) {
				o.Unique.PartialColumns, o.Unique.MergeType, o.Columns = true, "DELETE", []string{"id", "a"}
			}), failed: 2,
			want: []string{"failed key: merge_type is set, but d.t has no unique key (it is DUP_KEYS)", "failed key: partial_columns is set"},
		},
		{name: "group commit", change: options("t", func(o *streamload.Options) { o.GroupCommit = "sync_mode" }), want: []string{"note key: with group_commit sync_mode Doris makes the labels"}},
		{
			name: "a load that fails", change: func(s *Subject, _ *streamload.Config) { s.Load = true }, failed: 1,
			options: emulator.Options{Faults: []emulator.Fault{{At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions}}},
			want:    []string{"failed load: a load of no rows fails: capacity: ...| compaction is behind; load larger batches, less often"},
		},
		{
			name: "a load whose columns do not exist", failed: 2,
			change: func(s *Subject, c *streamload.Config) {
				s.Load, c.Options.Columns = true, []string{"id", "zz = id + 1"}
			},
			want: []string{"failed load: a load of no rows fails: schema: ...zz", `failed columns: columns fills "zz"`},
		},
		{
			name: "a server that knows none of the questions", failed: 0,
			fes:  func(*emulator.Emulator) []string { return []string{fake(t, nil)} },
			want: []string{"warning fe: ...not as an FE does", "warning user: ", "skipped table: ", "warning way: "},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.options.Users, c.options.Tables = users, tables
			e := emulator.New(t, c.options)
			if c.before != nil {
				c.before(e)
			}
			fes := e.FEURLs()
			if c.fes != nil {
				fes = c.fes(e)
			}
			r := look(t, fes, c.change)
			for _, want := range c.want {
				requireFinding(t, r, want)
			}
			require.Equal(t, c.failed, r.Count(Failed), strings.Join(lines(r), "\n"))
			require.Equal(t, c.failed > 0, r.Err() != nil)
		})
	}
}

// fake is an FE of scripted answers, by path; everything else is not found.
func fake(t *testing.T, answers map[string]http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer, ok := answers[r.URL.Path]; ok {
			answer(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }
}

func TestFindingsOfScriptedServers(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	dead := closed.Addr().(*net.TCPAddr).Port
	require.NoError(t, closed.Close())

	well := func() map[string]http.HandlerFunc {
		return map[string]http.HandlerFunc{
			"/api/bootstrap":        says(`{"msg":"success","code":0,"data":{"replayedJournalId":0},"count":0}`),
			"/api/d/get_load_state": says(`{"msg":"success","code":0,"data":"UNKNOWN","count":0}`),
			"/api/d/t/_schema":      says(`{"msg":"success","code":0,"data":{"status":200,"keysType":"AGG_KEYS","properties":[{"name":"id","type":"INT","aggregation_type":""},{"name":"n","type":"BIGINT","aggregation_type":"SUM"}]},"count":0}`),
			"/api/backends":         says(`{"msg":"success","code":0,"data":{"backends":[]},"count":0}`),
		}
	}
	settings := func(rows string) http.HandlerFunc {
		return says(`{"msg":"success","code":0,"data":{"column_names":["Name","Value"],"rows":[` + rows + `]},"count":0}`)
	}
	back := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "http://"+r.Host+r.URL.Path)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}
	for _, c := range []struct {
		name   string
		path   string
		answer http.HandlerFunc
		change func(*Subject, *streamload.Config)
		want   string
	}{
		{"an FE that starts", "/api/bootstrap", says(`{"msg":"Error","code":1,"data":"not ready","count":0}`), nil, "warning fe: FE ...is not ready: not ready"},
		{"an FE that is ill", "/api/bootstrap", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no master", http.StatusServiceUnavailable)
		}, nil, "failed fe: FE ...cannot be used: HTTP 503 no master"},
		{"a login page", "/api/bootstrap", says("<html>please log in</html>"), nil, "warning fe: ...not as an FE does: HTTP 200 <html>please log in</html>"},
		{
			"an FE that has moved", "/api/bootstrap", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "https://fe.example:8050/api/bootstrap")
				w.WriteHeader(http.StatusTemporaryRedirect)
			}, nil, "warning fe: ...sends everybody to https://fe.example:8050 | name that address in fe_urls",
		},
		{"an FE that sends everybody in a circle", "/api/bootstrap", back, nil, "warning fe: FE ...sends everybody back to itself | look at the FE, or at the proxy before it"},
		{"an FE that sends loads in a circle", "/api/d/t/_stream_load", back, nil, "failed way: a load would be refused: ...sends loads back to itself, in a circle"},
		{
			"a clock that is ahead", "/api/bootstrap", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Date", time.Now().Add(5*time.Minute).UTC().Format(http.TimeFormat))
				_, _ = w.Write([]byte(`{"code":0}`))
			}, nil, "warning clock: the clock of FE ...is ...s ahead of ours",
		},
		{
			"a clock that is behind", "/api/bootstrap", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
				_, _ = w.Write([]byte(`{"code":0}`))
			}, nil, "warning clock: ...behind ours",
		},
		{"an aggregate key", "", nil, nil, "note key: aggregate key: a row that is loaded twice is aggregated twice"},
		{"a schema with a refusal in it", "/api/d/t/_schema", says(`{"msg":"success","code":0,"data":{"status":401,"exception":"Access denied"},"count":0}`), nil, "note table: the columns of d.t cannot be looked at"},
		{"a table that is not there, in other words", "/api/d/t/_schema", says(`{"msg":"Error","code":1,"data":"errCode = 2, detailMessage = Unknown database 'd'","count":0}`), nil, "failed table: the table d.t does not exist"},
		{"the schema of StarRocks", "/api/d/t/_schema", says(`{"status":200,"keysType":"PRIMARY_KEYS","properties":[{"name":"id","type":"INT","aggregation_type":""}]}`), nil, "note key: unique key"},
		{"a schema that is cut", "/api/d/t/_schema", says(`{"msg":"success","code":0,"data":{"status":200,"prop`), nil, "skipped table: the columns of d.t cannot be looked at"},
		{"a BE that cannot be reached", "/api/backends", says(fmt.Sprintf(`{"code":0,"data":{"backends":[{"ip":"127.0.0.1","http_port":%d,"is_alive":true}]}}`, dead)), nil, "failed be: BE 127.0.0.1:...cannot be reached from here: ...| rows go straight to the BEs"},
		{"labels that are kept long", "/rest/v1/config/fe", settings(`{"Name":"streaming_label_keep_max_second","Value":"43200"},{"Name":"label_num_threshold","Value":"2000"}`), nil, "note labels: a label is remembered for 12h0m0s, and at most 2000 of a database. A load may take 20m0s"},
		{"labels without a bound of number", "/rest/v1/config/fe", settings(`{"Name":"streaming_label_keep_max_second","Value":"43200"},{"Name":"label_num_threshold","Value":"0"}`), nil, "ok labels: "},
		{"labels that are forgotten soon", "/rest/v1/config/fe", settings(`{"Name":"streaming_label_keep_max_second","Value":"600"}`), nil, "warning labels: a label is remembered for 10m0s, and a load may take 20m0s"},
		{
			"retries without end", "/rest/v1/config/fe", settings(`{"Name":"streaming_label_keep_max_second","Value":"43200"}`),
			func(_ *Subject, c *streamload.Config) { c.Backoff.MaxElapsed = -1 }, "warning labels: ...without a bound of time",
		},
		{"settings that are none", "/rest/v1/config/fe", says(`{"code":0,"data":[]}`), nil, "skipped labels: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			answers := well()
			if c.path != "" {
				answers[c.path] = c.answer
			}
			requireFinding(t, look(t, []string{fake(t, answers)}, c.change), c.want)
		})
	}
}

func TestBackendsWithAnAddressForThoseOutside(t *testing.T) {
	t.Parallel()
	outside := fake(t, map[string]http.HandlerFunc{"/api/health": says(`{"status":"OK"}`)})
	fe := fake(t, map[string]http.HandlerFunc{
		"/api/bootstrap":        says(`{"code":0}`),
		"/api/d/get_load_state": says(`{"code":0,"data":"UNKNOWN"}`),
		"/api/backends":         says(`{"code":0,"data":{"backends":[{"ip":"127.0.0.1","http_port":1,"is_alive":true}]}}`),
		"/api/d/t/_stream_load": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", outside+"/api/d/t/_stream_load?")
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
	})
	r := look(t, []string{fe}, nil)
	require.NoError(t, r.Err())
	requireFinding(t, r, "note be: BE 127.0.0.1:1 cannot be reached from here, but loads are sent to another address")
	requireFinding(t, r, "ok be: BE "+strings.TrimPrefix(outside, "http://")+" can be reached from here")
}
