package contract

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

// Not a byte of the rows goes to an FE that redirects, whatever it does with the connection.
func TestNoBodyGoesToTheFE(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]emulator.ConnPolicy{
		"which closes the connection": emulator.CloseAfterRedirect,
		"which keeps the connection":  emulator.KeepAfterRedirect,
		"which resets the connection": emulator.ResetAfterRedirect,
	} {
		for size, n := range map[string]int{"small": 3, "large": 20_000} {
			t.Run(name+", "+size, func(t *testing.T) {
				t.Parallel()
				c := newCluster(t, emulator.Options{AfterRedirect: policy})
				client, _ := c.client()
				for range 3 {
					report, err := client.Load(within(t, ended), batch(n))
					require.NoError(t, err)
					require.Equal(t, 1, report.Attempts)
				}
				require.Zero(t, c.FEBodyBytes())
				require.Equal(t, 3*n, c.Count(db, table))
			})
		}
	}
}

func TestLocationFormsAreFollowed(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]emulator.Options{
		"with user and trailing query": {},
		"without user":                 {PlainLocation: true},
		"without trailing query":       {NoTrailingQuery: true},
		"with neither":                 {PlainLocation: true, NoTrailingQuery: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, opt)
			client, _ := c.client()
			_, err := client.Load(within(t, ended), batch(3))
			require.NoError(t, err)
			c.requireSameRequests(1)
			require.Equal(t, ids(3), c.stored(table))
		})
	}
}

// What is configured as an FE may be a BE: the rows are loaded, and an answer to an empty load is never taken for theirs.
func TestAddressOfABE(t *testing.T) {
	t.Parallel()
	c := with(t)
	client, _ := newClient(t, c.through([]string{"http://" + c.BEAddr()}))
	report, err := client.Load(within(t, ended), batch(30))
	require.NoError(t, err)
	require.Equal(t, "success", report.Evidence)
	require.EqualValues(t, 30, report.Loaded)
	require.Equal(t, ids(30), c.stored(table))
}

// A server that says Success without having taken the rows is not believed.
func TestSuccessWithoutTheRowsIsNoAck(t *testing.T) {
	t.Parallel()
	s := (&script{head: func(_ int, s sent) *reply {
		r := result{TxnID: 7, Label: s.label, Status: "Success", Message: "OK"}.reply()
		return &r
	}}).start(t)
	for name, address := range map[string]string{"by the BE": s.fe.URL, "by the FE": s.be.URL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, _ := newClient(t, config([]string{address}, retries(1)))
			_, err := client.Load(within(t, ended), batch(30))
			e := failed(t, err)
			require.Equal(t, 2, e.Attempts)
			require.Contains(t, err.Error(), "Success")
		})
	}
}

func TestLoadsRotateOverTheFEs(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{FEs: 3, BEs: 2})
	client, _ := c.client(askFEs)
	for range 9 {
		_, err := client.Load(within(t, ended), batch(1))
		require.NoError(t, err)
	}
	count := map[string]int{}
	for _, r := range c.puts("fe") {
		count[r.Server]++
	}
	require.Equal(t, map[string]int{"fe1": 3, "fe2": 3, "fe3": 3}, count)
}

func TestFEFailsOverAndComesBack(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{FEs: 2})
	client, j := c.client(askFEs)
	load := func() streamload.Report {
		report, err := client.Load(within(t, ended), batch(1))
		require.NoError(t, err)
		return report
	}
	use := func(n int) map[string]int {
		before := len(c.puts("fe"))
		for range n {
			load()
		}
		count := map[string]int{}
		for _, r := range c.puts("fe")[before:] {
			count[r.Server]++
		}
		return count
	}
	require.Equal(t, map[string]int{"fe1": 2, "fe2": 2}, use(4))

	c.StopFE(0)
	require.Equal(t, map[string]int{"fe2": 6}, use(6), "every load goes to the other one")
	down := strings.TrimPrefix(c.FEURLs()[0], "http://")
	require.Equal(t, []string{down + " false"}, j.fes, "found down once, then passed over")
	require.Contains(t, client.Ping(within(t, ended)), down)

	require.NoError(t, c.StartFE(0))
	require.Empty(t, client.Ping(within(t, ended)))
	require.Equal(t, []string{down + " false", down + " true"}, j.fes)
	require.Equal(t, map[string]int{"fe1": 3, "fe2": 3}, use(6))
	require.Equal(t, 16, c.Count(db, table))
}

func TestAnFEThatRefusesIsFollowedByTheNextAtOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{FEs: 2})
	var refused atomic.Int64
	shut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			refused.Add(1)
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(shut.Close)
	client, _ := newClient(t, c.through([]string{shut.URL, c.FEURL()}, askFEs))
	for range 4 {
		_, err := client.Load(within(t, ended), batch(1))
		require.NoError(t, err)
	}
	require.EqualValues(t, 2, refused.Load())
	require.Equal(t, 4, c.Count(db, table))
}

func TestFollowerRedirectsTheStateCall(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{FEs: 2, Faults: []emulator.Fault{{At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 1}}})
	require.Zero(t, c.Master())
	client, j := newClient(t, c.through(c.FEURLs()[1:]))
	report, err := client.Load(within(t, ended), batch(5))
	require.NoError(t, err)
	require.Equal(t, "state_visible", report.Evidence)
	require.Equal(t, []string{"VISIBLE"}, j.states())
	var servers []string
	for _, r := range c.Requests() {
		if strings.HasSuffix(r.Path, "/get_load_state") {
			servers = append(servers, r.Server)
			require.NotEmpty(t, r.Header.Get("Authorization"))
		}
	}
	require.Equal(t, []string{"fe2", "fe1"}, servers)
	require.Equal(t, ids(5), c.stored(table))
}

func TestFollowerRedirectsTheCancel(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{FEs: 2, Faults: []emulator.Fault{{At: emulator.BEBeforeCommit, Do: emulator.Reset, Keep: true, Times: 1}}})
	client, j := newClient(t, c.through(c.FEURLs()[1:], shortPoll))
	_, err := client.Load(within(t, ended), batch(5))
	require.NoError(t, err)
	same(t, j.sent(), 2)
	require.Equal(t, 2, c.asked("POST", "/_cancel"), "at the follower and at the master")
	require.Equal(t, ids(5), c.stored(table))
}

func TestMasterSwitchDuringTheLoad(t *testing.T) {
	t.Parallel()
	for _, at := range []emulator.Point{
		emulator.FEBeforeAnswer, emulator.FERedirect, emulator.BEHeaders, emulator.BEBegin, emulator.BEBody,
		emulator.BEBeforeCommit, emulator.BEAfterCommit, emulator.BEAnswer,
	} {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, emulator.Options{FEs: 2, Faults: []emulator.Fault{{At: at, Do: emulator.MasterSwitch, Times: 1, Bytes: 10}}})
			client, j := c.client()
			_, err := client.Load(within(t, ended), batch(30))
			require.NoError(t, err)
			require.Equal(t, 1, c.Master())
			if len(j.sent()) > 1 { // its transaction was forgotten
				require.Contains(t, j.attempts[0].Message, "not found")
				same(t, j.sent(), 2)
			}
			require.Equal(t, ids(30), c.stored(table))
		})
	}
}

// A label is looked up at another FE when the one that took the load has died.
func TestStateIsAskedAtAnotherFE(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{FEs: 2})
	c.SwitchMaster() // to fe2, so that it can answer alone
	client, j := c.client(askFEs)
	_, err := client.Load(within(t, ended), batch(1)) // by fe2; the next one goes by fe1
	require.NoError(t, err)
	require.Equal(t, "fe2", c.puts("fe")[0].Server)
	c.Truncate(db, table)
	c.Inject(emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.FEDown, Times: 1}) // fe1
	c.Inject(emulator.Fault{At: emulator.BEAnswer, Do: emulator.Reset, Times: 1})
	report, err := client.Load(within(t, ended), batch(5))
	require.NoError(t, err)
	require.Equal(t, "fe1", c.puts("fe")[1].Server)
	require.Equal(t, "state_visible", report.Evidence)
	require.Equal(t, []string{"VISIBLE"}, j.states(), "one question: all FEs are tried for it")
	require.Equal(t, ids(5), c.stored(table))
}

// Credentials are for the servers that we were configured with and sent to, and a redirect elsewhere gets nothing.
func TestRedirectToALoginPageGetsNoRows(t *testing.T) {
	t.Parallel()
	var visits atomic.Int64
	login := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		visits.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "log in")
	}))
	t.Cleanup(login.Close)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", login.URL+"/login?next=/api")
		w.WriteHeader(http.StatusFound)
	}))
	t.Cleanup(front.Close)
	client, _ := newClient(t, config([]string{front.URL}, retries(1)))
	_, err := client.Load(within(t, ended), batch(5))
	e := failed(t, err)
	require.Equal(t, streamload.StageFrontend, e.Stage)
	require.Contains(t, err.Error(), "login page")
	require.Zero(t, visits.Load())
}

func TestRedirectsInACircle(t *testing.T) {
	t.Parallel()
	var front *httptest.Server
	var visits atomic.Int64
	front = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		visits.Add(1)
		w.Header().Set("Location", front.URL+r.URL.Path)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
	t.Cleanup(front.Close)
	client, _ := newClient(t, config([]string{front.URL}, retries(-1)))
	_, err := client.Load(within(t, ended), batch(5))
	require.Contains(t, failed(t, err).Message, "circle")
	require.EqualValues(t, 6, visits.Load())
}

func TestPingOfAClusterThatIsDown(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{FEs: 2})
	client, _ := c.client()
	require.Empty(t, client.Ping(within(t, ended)))
	c.StopFE(0)
	c.StopFE(1)
	down := client.Ping(within(t, ended))
	require.Len(t, down, 2)
	for _, err := range down {
		require.ErrorContains(t, err, "refused")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Len(t, client.Ping(ctx), 2)
}
