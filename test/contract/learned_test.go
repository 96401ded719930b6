package contract

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

// loadMany loads so many batches of three rows, some at the same time.
func loadMany(t *testing.T, client *streamload.Client, first, loads, inFlight int) {
	t.Helper()
	ctx := within(t, 4*ended)
	var next atomic.Int64
	var failures sync.Map
	var wg sync.WaitGroup
	for range inFlight {
		wg.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= loads {
					return
				}
				b := streamload.Batch{Database: db, Table: table, Rows: rows(first+3*n, 3)}
				if _, err := client.Load(ctx, b); err != nil {
					failures.Store(n, err)
				}
			}
		})
	}
	wg.Wait()
	failures.Range(func(n, err any) bool {
		require.NoError(t, err.(error), "load %d", n)
		return true
	})
}

// loadsOf counts the loads that each server saw, from the from-th request on.
func (c *cluster) loadsOf(from int) map[string]int {
	got := map[string]int{}
	for _, r := range c.Requests()[from:] {
		if r.Method == http.MethodPut {
			got[r.Server]++
		}
	}
	return got
}

// Small loads mostly go straight to BEs that FEs have named, and all BEs get their share, as do all FEs.
func TestLearnedBEsShareTheLoads(t *testing.T) {
	t.Parallel()
	for _, inFlight := range []int{1, 8} {
		t.Run(fmt.Sprint(inFlight, " in flight"), func(t *testing.T) {
			t.Parallel()
			const loads = 480
			c := newCluster(t, emulator.Options{FEs: 2, BEs: 3})
			client, _ := c.client()
			loadMany(t, client, 1, loads, inFlight)
			require.Equal(t, ids(3*loads), c.stored(table))
			got := c.loadsOf(0)
			asked := got["fe1"] + got["fe2"]
			require.LessOrEqual(t, asked, loads/10, "%v", got)
			require.GreaterOrEqual(t, asked, loads/32, "%v", got)
			require.InDelta(t, got["fe1"], got["fe2"], 3, "%v", got)
			for _, be := range []string{"be1", "be2", "be3"} {
				require.InDelta(t, loads/3, got[be], loads/8, "%v", got)
			}
			require.Equal(t, loads, got["be1"]+got["be2"]+got["be3"], "%v", got)
		})
	}
}

// A BE that FEs do not name any more, as one that is being decommissioned, gets its last loads soon.
func TestABEThatFEsNameNoMoreIsLeft(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{BEs: 2})
	client, _ := c.client()
	loadMany(t, client, 1, 64, 1)
	require.NotZero(t, c.loadsOf(0)["be1"])
	c.Inject(emulator.Fault{
		At: emulator.FERedirect, Do: emulator.HTTP, Status: http.StatusTemporaryRedirect,
		Location: loadAt(c.BEAddrs()[1]),
	})
	loadMany(t, client, 1000, 64, 1) // at most 31 more without asking
	from := len(c.Requests())
	loadMany(t, client, 2000, 64, 1)
	require.Equal(t, 64, c.loadsOf(from)["be2"])
	require.Zero(t, c.loadsOf(from)["be1"])
}

// Each way in which a learned BE may let a load down: the load goes through an FE at once, is stored once, and the BE gets no more.
func TestALearnedBEThatFailsIsForgotten(t *testing.T) {
	t.Parallel()
	fault := func(f emulator.Fault) func(*cluster) {
		f.Times = 1
		return func(c *cluster) { c.Inject(f) }
	}
	for name, test := range map[string]struct {
		fail  func(c *cluster)
		again int // loads sent again
	}{
		"is down":          {func(c *cluster) { c.StopBE(1) }, 1},
		"moves":            {func(c *cluster) { require.NoError(c.t, c.MoveBE(1)) }, 1},
		"resets":           {fault(emulator.Fault{At: emulator.BEHeaders, Do: emulator.Reset}), 1},
		"closes":           {fault(emulator.Fault{At: emulator.BEHeaders, Do: emulator.Close}), 1},
		"refuses":          {fault(emulator.Fault{At: emulator.BEHeaders, Do: emulator.Fail}), 1},
		"refuses the rows": {fault(emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions}), 1},
		"knows no such path": {fault(emulator.Fault{
			At: emulator.BEHeaders, Do: emulator.HTTP, Status: http.StatusNotFound, Body: "not found",
		}), 1},
		"sends the load on": {func(c *cluster) {
			fault(emulator.Fault{At: emulator.BEHeaders, Do: emulator.HTTP, Status: http.StatusTemporaryRedirect, Location: loadAt(c.BEAddrs()[0])})(c)
		}, 0},
		"loses its answer":  {fault(emulator.Fault{At: emulator.BEAnswer, Do: emulator.Reset}), 0},
		"answers by halves": {fault(emulator.Fault{At: emulator.BEAnswer, Do: emulator.Truncate, Bytes: 20}), 0},
		"is an FE of others": {takeOver(func(c *cluster) (int, string, string) {
			return http.StatusTemporaryRedirect, "", loadAt(c.DeadAddr())
		}), 1},
		"is a web server": {takeOver(func(*cluster) (int, string, string) { return http.StatusOK, "<html>It works!</html>", "" }), 1},
		"is a proxy":      {takeOver(func(*cluster) (int, string, string) { return http.StatusBadGateway, "bad gateway", "" }), 1},
		"is a BE of others": {takeOver(func(*cluster) (int, string, string) {
			return http.StatusOK, `{"TxnId":-1,"Status":"Fail","Message":"[ANALYSIS_ERROR]TStatus: errCode = 2, detailMessage = unknown table, tableName=orders"}`, ""
		}), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, emulator.Options{BEs: 2})
			client, j := c.client()
			begun := 0
			for ; c.loadsOf(0)["be2"] == 0; begun++ { // before that the first one has got all it gets
				loadMany(t, client, 1+3*begun, 1, 1)
			}
			test.fail(c)
			loadMany(t, client, 1+3*begun, 40, 1)
			require.Equal(t, ids(3*(begun+40)), c.stored(table))
			require.Len(t, j.sent(), begun+40+test.again, "attempts")
		})
	}
}

// loadAt is the address of a load at a server.
func loadAt(host string) string {
	return "http://" + host + "/api/" + db + "/" + table + "/_stream_load"
}

// takeOver puts another server, which answers everything the same, in the place of the second BE.
func takeOver(answer func(c *cluster) (status int, body, location string)) func(c *cluster) {
	return func(c *cluster) {
		address := c.BEAddrs()[1]
		c.StopBE(1)
		l, err := (&net.ListenConfig{}).Listen(c.t.Context(), "tcp", address)
		require.NoError(c.t, err)
		status, body, location := answer(c)
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if location != "" {
				w.Header().Set("Location", location)
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		_ = s.Listener.Close()
		s.Listener = l
		s.Start()
		c.t.Cleanup(s.Close)
	}
}

// Without a label nothing tells what became of a load, and a large one is worth a question: these ask an FE each time.
func TestLoadsThatAlwaysAskAnFE(t *testing.T) {
	t.Parallel()
	t.Run("group commit", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t, emulator.Options{BEs: 2})
		client, _ := c.client(func(conf *streamload.Config) { conf.Options.GroupCommit = "sync_mode" })
		loadMany(t, client, 1, 10, 1)
		require.Len(t, c.puts("fe"), 10)
	})
	t.Run("turned off", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t, emulator.Options{BEs: 2})
		client, _ := c.client(askFEs)
		loadMany(t, client, 1, 10, 1)
		require.Len(t, c.puts("fe"), 10)
	})
}

// While no FE answers, BEs that were named just before still get loads; when they are used up, or one of them fails, the loads fail.
func TestLearnedBEsOutliveTheFEs(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{})
	client, _ := c.client(retries(-1))
	loadMany(t, client, 1, 1, 1)
	c.StopFE(0)
	loadMany(t, client, 4, 31, 1)
	require.Equal(t, ids(3*32), c.stored(table))
	_, err := client.Load(within(t, ended), batch(3))
	require.True(t, failed(t, err).NoFE, "%v", err)
}
