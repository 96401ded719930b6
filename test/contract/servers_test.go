package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/test/emulator"
)

// server is a Doris, real or not, with an account that may load into a database.
type server interface {
	config(change ...func(*streamload.Config)) streamload.Config
	database() string
	// newTable makes a table of orders and gives its name.
	newTable(t *testing.T) string
	// ids are the ids in a table, sorted.
	ids(t *testing.T, table string) []int64
}

// everyServer are the scenarios that need no fault. They hold for every Doris, and for StarRocks except where it is said.
var everyServer = []struct {
	name string
	run  func(t *testing.T, s server)
}{
	{"JSON by line", func(t *testing.T, s server) {
		name := s.newTable(t)
		report := loads(t, s, streamload.Batch{Database: s.database(), Table: name, Rows: rows(1, 500)})
		require.Equal(t, "success", report.Evidence)
		require.EqualValues(t, 500, report.Total)
		require.EqualValues(t, 500, report.Loaded)
		require.Zero(t, report.Unaccounted())
		require.False(t, report.LabelIgnored)
		require.Positive(t, report.TxnID)
		require.NotEmpty(t, report.Timings)
		require.Equal(t, ids(500), s.ids(t, name))
	}},
	{"JSON in an array", func(t *testing.T, s server) {
		name := s.newTable(t)
		report := loads(t, s, streamload.Batch{Database: s.database(), Table: name, Rows: rows(1, 500)}, func(c *streamload.Config) {
			c.Options.StripOuterArray = true
		})
		require.EqualValues(t, 500, report.Loaded)
		require.Equal(t, ids(500), s.ids(t, name))
	}},
	{"CSV", func(t *testing.T, s server) {
		name := s.newTable(t)
		report := loads(t, s, streamload.Batch{Database: s.database(), Table: name, Rows: [][]byte{[]byte("1\x01one"), []byte("2\x01\\N"), []byte("3\x01three, and more")}}, func(c *streamload.Config) {
			c.Options.Format, c.Options.ColumnSeparator = "csv", `\x01`
		})
		require.EqualValues(t, 3, report.Loaded)
		require.Equal(t, ids(3), s.ids(t, name))
	}},
	{"rows that are no JSON object fail alone", func(t *testing.T, s server) {
		name := s.newTable(t)
		client, _ := newClient(t, s.config())
		_, err := client.Load(within(t, time.Minute), streamload.Batch{Database: s.database(), Table: name, Rows: [][]byte{
			[]byte(`{"id":1,"note":"a"}`), []byte(`{"id":`), []byte("{\n \"id\": 2\n}"), []byte("7"), []byte(`{"id":3}`),
		}})
		e := failed(t, err)
		require.True(t, e.Partial)
		require.Len(t, e.Rejected, 2)
		require.Error(t, e.Row(1))
		require.Error(t, e.Row(3))
		require.Equal(t, ids(3), s.ids(t, name))
	}},
	{"rows that do not fit the table fail the load, and the error shows them", func(t *testing.T, s server) {
		name := s.newTable(t)
		client, _ := newClient(t, s.config(retries(1), strict))
		_, err := client.Load(within(t, time.Minute), streamload.Batch{Database: s.database(), Table: name, Rows: append(rows(1, 3), []byte(`{"id":null,"note":"x"}`))})
		e := failed(t, err)
		require.Equal(t, decide.DataQuality, e.Class)
		require.NotEmpty(t, e.ErrorURL)
		require.NotEmpty(t, e.ErrorLines)
		require.False(t, e.Unresolved)
		require.Empty(t, s.ids(t, name))
	}},
	{"rows that are filtered within the ratio are reported", func(t *testing.T, s server) {
		name := s.newTable(t)
		ratio := 0.5
		report := loads(t, s, streamload.Batch{Database: s.database(), Table: name, Rows: append(rows(1, 3), []byte(`{"id":null,"note":"x"}`))}, strict, func(c *streamload.Config) {
			c.Options.MaxFilterRatio = &ratio
		})
		require.EqualValues(t, 3, report.Loaded)
		require.EqualValues(t, 1, report.Filtered)
		require.NotEmpty(t, report.ErrorLines)
		require.Equal(t, ids(3), s.ids(t, name))
	}},
	{"where", func(t *testing.T, s server) {
		name := s.newTable(t)
		report := loads(t, s, streamload.Batch{Database: s.database(), Table: name, Rows: rows(1, 10)}, func(c *streamload.Config) { c.Options.Where = "id <= 4" })
		require.EqualValues(t, 4, report.Loaded)
		require.EqualValues(t, 6, report.Unselected)
		require.Equal(t, ids(4), s.ids(t, name))
	}},
	{"a second delivery of the same identity and rows stores nothing new", func(t *testing.T, s server) {
		name := s.newTable(t)
		b := streamload.Batch{Database: s.database(), Table: name, Identity: "topic-1-" + name, Rows: rows(1, 20)}
		one, two := loads(t, s, b), loads(t, s, b)
		require.Equal(t, "success", one.Evidence)
		require.Equal(t, "label_finished", two.Evidence)
		require.Equal(t, one.Label, two.Label)
		require.Equal(t, ids(20), s.ids(t, name))
		b.Rows = rows(21, 5)
		require.Equal(t, "success", loads(t, s, b).Evidence)
		require.Equal(t, ids(25), s.ids(t, name))
	}},
	{"the state of a label", func(t *testing.T, s server) {
		name := s.newTable(t)
		report := loads(t, s, streamload.Batch{Database: s.database(), Table: name, Rows: rows(1, 2)})
		client, _ := newClient(t, s.config())
		ctx := within(t, time.Minute)
		state, err := client.LabelState(ctx, s.database(), report.Label)
		require.NoError(t, err)
		require.Equal(t, "VISIBLE", state)
		state, err = client.LabelState(ctx, s.database(), report.Label+"_never_used")
		require.NoError(t, err)
		require.Equal(t, "UNKNOWN", state)
		// Too late to cancel: whatever the FE says to it, the label stays what it is.
		_ = client.CancelLabel(ctx, s.database(), report.Label)
		state, err = client.LabelState(ctx, s.database(), report.Label)
		require.NoError(t, err)
		require.Equal(t, "VISIBLE", state)
	}},
	{"labels of any prefix are taken", func(t *testing.T, s server) {
		name := s.newTable(t)
		for i, prefix := range []string{"a.b:c/d", strings.Repeat("long", 60), "größe 🚀", ""} {
			report := loads(t, s, streamload.Batch{Database: s.database(), Table: name, Identity: "x/" + name + ".1", Rows: rows(1+i, 1)}, func(c *streamload.Config) { c.LabelPrefix = prefix })
			require.False(t, report.LabelIgnored)
			require.LessOrEqual(t, len(report.Label), 128)
		}
		require.Equal(t, ids(4), s.ids(t, name))
	}},
	{"two phases", func(t *testing.T, s server) {
		name := s.newTable(t)
		report := loads(t, s, streamload.Batch{Database: s.database(), Table: name, Rows: rows(1, 5)}, inTwoPhases)
		require.Equal(t, "commit", report.Evidence)
		require.EqualValues(t, 5, report.Loaded)
		require.Equal(t, ids(5), s.ids(t, name))
	}},
	{"compressed CSV", func(t *testing.T, s server) {
		name := s.newTable(t)
		report := loads(t, s, streamload.Batch{Database: s.database(), Table: name, Rows: [][]byte{[]byte("1,one"), []byte("2,two")}}, func(c *streamload.Config) {
			c.Options.Format, c.Options.Compression = "csv", "gzip"
		})
		require.EqualValues(t, 2, report.Loaded)
		require.Equal(t, ids(2), s.ids(t, name))
	}},
	{"bad rows are found, and the others are stored", func(t *testing.T, s server) {
		name := s.newTable(t)
		client, _ := newClient(t, s.config(strict, func(c *streamload.Config) { c.IsolateBadRows = true }))
		b := streamload.Batch{Database: s.database(), Table: name, Rows: append(rows(1, 20), []byte(`{"id":null,"note":"x"}`), []byte(`{"id":"y","note":"x"}`))}
		_, err := client.Load(within(t, time.Minute), b)
		e := failed(t, err)
		require.True(t, e.Partial, "%v", err)
		require.Len(t, e.Failed, 2)
		require.Equal(t, ids(20), s.ids(t, name))
	}},
	{"group commit", func(t *testing.T, s server) {
		name := s.newTable(t)
		report := loads(t, s, streamload.Batch{Database: s.database(), Table: name, Rows: rows(1, 5)}, grouped("sync_mode"))
		require.Equal(t, "success", report.Evidence)
		require.Empty(t, report.Label)
		require.Equal(t, ids(5), s.ids(t, name))
	}},
	{"a table that does not exist", func(t *testing.T, s server) {
		client, _ := newClient(t, s.config(retries(-1)))
		_, err := client.Load(within(t, time.Minute), streamload.Batch{Database: s.database(), Table: "no_such_table_here", Rows: rows(1, 1)})
		e := failed(t, err)
		require.Contains(t, []streamload.Class{decide.NotFound, decide.Auth}, e.Class, "%v", err)
	}},
	{"a wrong password", func(t *testing.T, s server) {
		client, _ := newClient(t, s.config(retries(-1), func(c *streamload.Config) { c.Password = "certainly-wrong-4711" }))
		_, err := client.Load(within(t, time.Minute), streamload.Batch{Database: s.database(), Table: "any", Rows: rows(1, 1)})
		e := failed(t, err)
		require.Equal(t, decide.Auth, e.Class)
		require.NotContains(t, err.Error(), "certainly-wrong-4711")
	}},
	{"loads at the same time", func(t *testing.T, s server) {
		name := s.newTable(t)
		client, _ := newClient(t, s.config())
		ctx := within(t, time.Minute)
		errs := make(chan error, 8)
		for i := range cap(errs) {
			go func() {
				_, err := client.Load(ctx, streamload.Batch{Database: s.database(), Table: name, Rows: rows(1+i*50, 50)})
				errs <- err
			}()
		}
		for range cap(errs) {
			require.NoError(t, <-errs)
		}
		require.Equal(t, ids(400), s.ids(t, name))
	}},
	{"all FEs are up", func(t *testing.T, s server) {
		client, _ := newClient(t, s.config())
		require.Empty(t, client.Ping(within(t, time.Minute)))
	}},
}

func strict(c *streamload.Config) { c.Options.StrictMode = true }

// loads is a load that succeeds.
func loads(t *testing.T, s server, b streamload.Batch, change ...func(*streamload.Config)) streamload.Report {
	t.Helper()
	client, _ := newClient(t, s.config(change...))
	report, err := client.Load(within(t, time.Minute), b)
	require.NoError(t, err)
	return report
}

func TestEveryServer(t *testing.T) {
	t.Parallel()
	for _, tt := range everyServer {
		t.Run("emulator/"+tt.name, func(t *testing.T) {
			t.Parallel()
			everyRelease(t, func(t *testing.T, r release) {
				tt.run(t, &emulated{cluster: newCluster(t, emulator.Options{Version: string(r), Users: []emulator.User{{Password: password, Load: []string{"*"}}}})})
			})
			t.Run("StarRocks", func(t *testing.T) {
				t.Parallel()
				tt.run(t, &starRocksServer{emulated{cluster: newStarRocks(t, emulator.Options{Users: []emulator.User{{Password: password, Load: []string{"*"}}}})}})
			})
		})
	}
	fe := os.Getenv("DORIS_FE_URL")
	if fe == "" {
		t.Run("real server", func(t *testing.T) {
			t.Parallel()
			t.Skip("SKIPPED: these scenarios were not run against a real Doris, because DORIS_FE_URL is not set")
		})
		return
	}
	doris := realServer(t)
	for _, tt := range everyServer {
		t.Run("real server/"+tt.name, func(t *testing.T) { //nolint:paralleltest // one after the other is kinder to a small cluster
			tt.run(t, doris)
		})
	}
}

// realServer is the Doris that the environment names.
func realServer(t *testing.T) *actual {
	t.Helper()
	doris := &actual{fes: strings.Split(os.Getenv("DORIS_FE_URL"), ","), user: os.Getenv("DORIS_USER"), password: os.Getenv("DORIS_PASSWORD"), db: os.Getenv("DORIS_DB")}
	if doris.user == "" {
		doris.user = "root"
	}
	require.NotEmpty(t, doris.db, "DORIS_DB must name the database to make tables in")
	return doris
}

// emulated is the emulator as a server.
type emulated struct {
	*cluster
	tables int
}

func (e *emulated) database() string { return db }

func (e *emulated) newTable(t *testing.T) string {
	t.Helper()
	e.tables++
	name := fmt.Sprintf("contract_%d", e.tables)
	require.NoError(t, e.CreateTable(orders(name)))
	return name
}

func (e *emulated) ids(_ *testing.T, table string) []int64 { return e.stored(table) }

// starRocksServer is the emulator as StarRocks.
type starRocksServer struct{ emulated }

func (s *starRocksServer) config(change ...func(*streamload.Config)) streamload.Config {
	return s.emulated.config(append([]func(*streamload.Config){starRocks}, change...)...)
}

// actual is a real Doris. Statements go through the FE's HTTP API (fe StmtExecutionAction.java).
type actual struct {
	fes                []string
	user, password, db string
}

func (a *actual) database() string { return a.db }

func (a *actual) config(change ...func(*streamload.Config)) streamload.Config {
	return config(a.fes, append([]func(*streamload.Config){func(c *streamload.Config) {
		c.Username, c.Password = a.user, a.password
		c.Timeout = time.Minute
		c.LabelPrefix = "contract"
	}}, change...)...)
}

func (a *actual) newTable(t *testing.T) string {
	t.Helper()
	name := "contract_" + strconv.FormatInt(time.Now().UnixNano(), 36)
	a.query(t, "CREATE TABLE `"+name+"` (id BIGINT NOT NULL, note VARCHAR(64) NULL) DUPLICATE KEY(id) "+
		`DISTRIBUTED BY HASH(id) BUCKETS 1 PROPERTIES ("replication_num" = "1")`)
	t.Cleanup(func() { a.query(t, "DROP TABLE `"+name+"`") })
	return name
}

func (a *actual) ids(t *testing.T, table string) (found []int64) {
	t.Helper()
	for _, row := range a.query(t, "SELECT id FROM `"+table+"` ORDER BY id LIMIT 1000") {
		require.Len(t, row, 1)
		id, err := strconv.ParseInt(fmt.Sprint(row[0]), 10, 64)
		require.NoError(t, err)
		found = append(found, id)
	}
	slices.Sort(found)
	return found
}

// query runs one statement and gives its rows.
func (a *actual) query(t *testing.T, statement string) [][]any {
	t.Helper()
	body, err := json.Marshal(map[string]any{"stmt": statement, "limit": 1000, "is_sync": true})
	require.NoError(t, err)
	// The context of the test has ended when its tables are dropped, so the client's own timeout bounds this.
	req, err := http.NewRequest(http.MethodPost, strings.TrimRight(a.fes[0], "/")+"/api/query/internal/"+a.db, bytes.NewReader(body)) //nolint:noctx // see above
	require.NoError(t, err)
	req.SetBasicAuth(a.user, a.password)
	req.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := (&http.Client{Timeout: time.Minute, Transport: transport}).Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	var answer struct {
		Msg  string          `json:"msg"`
		Code int             `json:"code"`
		Data json.RawMessage `json:"data"`
	}
	decode := func(data []byte, into any) {
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		require.NoError(t, d.Decode(into), "%s", text)
	}
	decode(text, &answer)
	require.Zero(t, answer.Code, "%s: %s", statement, text)
	if !bytes.HasPrefix(answer.Data, []byte("{")) {
		return nil // what a statement without rows answers is of no interest
	}
	var set struct {
		Type string  `json:"type"`
		Data [][]any `json:"data"`
	}
	if bytes.Contains(answer.Data, []byte(`"result_set"`)) {
		decode(answer.Data, &set)
	}
	return set.Data
}
