package contract

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/test/emulator"
)

func tooManyVersions(times int) emulator.Fault {
	return emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions, Times: times}
}

func txnLimit(times int) emulator.Fault {
	return emulator.Fault{At: emulator.BEBegin, Do: emulator.TxnLimit, Times: times}
}

// requireSameRequests requires that all loads at FEs and BEs have the credentials, and those at BEs the same body and the same
// headers but for the label.
func (c *cluster) requireSameRequests(n int) {
	c.t.Helper()
	auth := "Basic " + base64.StdEncoding.EncodeToString([]byte(c.user+":"+password))
	fes, bes := c.puts("fe"), c.puts("be")
	require.Len(c.t, fes, n, "each attempt goes through an FE")
	require.Len(c.t, bes, n)
	for _, r := range append(fes, bes...) {
		require.Equal(c.t, auth, r.Header.Get("Authorization"))
		require.Equal(c.t, "100-continue", r.Header.Get("Expect"))
	}
	first := bes[0].Header.Clone()
	first.Del("Label")
	whole := bes[n-1].Body
	require.NotEmpty(c.t, whole)
	for _, r := range bes {
		if len(r.Body) > 0 { // not kept when a fault ended the request before its body was whole
			require.Equal(c.t, string(whole), string(r.Body))
		}
		require.Equal(c.t, int64(len(whole)), r.ContentLength)
		h := r.Header.Clone()
		h.Del("Label")
		require.Equal(c.t, first, h)
	}
}

func TestTooManyVersionsIsRetriedWithAFreshLabel(t *testing.T) {
	t.Parallel()
	c := with(t, tooManyVersions(2))
	client, j := c.client()
	report, err := client.Load(within(t, ended), batch(50))
	require.NoError(t, err)
	require.Equal(t, 3, report.Attempts)
	require.Equal(t, "success", report.Evidence)
	require.False(t, report.LabelIgnored)
	fresh(t, j.sent(), 3)
	require.Equal(t, j.sent(), c.labels())
	require.Equal(t, []string{"ABORTED", "ABORTED"}, j.states(), "a label is closed before the next one is used")
	require.Equal(t, decide.Capacity, j.attempts[0].Class)
	require.Contains(t, j.attempts[0].Message, "version count: 2001, exceed limit: 2000")
	require.Empty(t, j.attempts[2].Class)
	c.requireSameRequests(3)
	require.Equal(t, ids(50), c.stored(table))
	require.Zero(t, c.FEBodyBytes())
}

// requireNoBodies is for loads that were refused before their body.
func (c *cluster) requireNoBodies() {
	c.t.Helper()
	for _, r := range c.puts("be") {
		require.Zero(c.t, r.BodyBytes, "a BE that refuses by the head gets no body")
	}
}

func TestRunningTxnLimit(t *testing.T) {
	t.Parallel()
	t.Run("uses the retries up", func(t *testing.T) {
		t.Parallel()
		c := with(t, txnLimit(0))
		client, j := c.client(retries(2))
		report, err := client.Load(within(t, ended), batch(5))
		e := failed(t, err)
		require.Equal(t, decide.Capacity, e.Class)
		require.Equal(t, 3, e.Attempts)
		require.Equal(t, 3, report.Attempts)
		require.Equal(t, "retries used up", e.Reason)
		require.Equal(t, "Fail", e.Status)
		require.Contains(t, e.Message, "current running txns on db")
		require.Contains(t, err.Error(), e.Label)
		require.False(t, e.Unresolved, "no transaction was ever begun")
		same(t, j.sent(), 3)
		require.Len(t, c.puts("fe"), 3)
		c.requireNoBodies()
		require.Empty(t, c.stored(table))
	})
	t.Run("the last message and ErrorURL are in the error", func(t *testing.T) {
		t.Parallel()
		s := (&script{
			load: func(n int, s sent) reply {
				r := fails(s, "[ANALYSIS_ERROR]TStatus: errCode = 2, detailMessage = current running txns on db 10005 is %d, larger than limit 100", 101+n)
				r.ErrorURL = fmt.Sprintf("http://%s:%s@127.0.0.1:1/api/_load_error_log?file=page_%d&token=abcdef", user, "s3cr3t", n)
				return r.reply()
			},
			state: func(int, string) reply { return stateIs("ABORTED") },
		}).start(t)
		client, _ := newClient(t, config([]string{s.fe.URL}, retries(2)))
		_, err := client.Load(within(t, ended), batch(5))
		e := failed(t, err)
		require.Len(t, s.loads(), 3)
		require.Contains(t, e.Message, "txns on db 10005 is 103, larger")
		require.Contains(t, err.Error(), "txns on db 10005 is 103, larger")
		require.Contains(t, e.ErrorURL, "file=page_2")
		require.Contains(t, err.Error(), e.ErrorURL)
		require.NotContains(t, err.Error(), "s3cr3t")
		fresh(t, s.labels(), 3)
	})
	t.Run("is over when the other load ends", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t, emulator.Options{MaxRunningTxns: 1})
		_, err := c.BeginLabel(db, "somebody_elses")
		require.NoError(t, err)
		client, j := c.client(retries(1000))
		j.onAttempt = func(a streamload.AttemptInfo) {
			if a.Attempt == 3 {
				require.NoError(t, c.AbortLabel(db, "somebody_elses", "done"))
			}
		}
		report, err := client.Load(within(t, ended), batch(5))
		require.NoError(t, err)
		require.Equal(t, 4, report.Attempts)
		require.Equal(t, ids(5), c.stored(table))
	})
}

// Every answer that is not a success is worth another try, whatever its HTTP status.
func TestOtherHTTPStatusIsRetried(t *testing.T) {
	t.Parallel()
	classes := map[int]streamload.Class{
		400: decide.Protocol, 401: decide.Auth, 403: decide.Auth, 404: decide.NotFound, 405: decide.Protocol, 408: decide.Timeout,
		411: decide.Protocol, 418: decide.Protocol, 429: decide.Capacity, 500: decide.Unavailable,
		502: decide.Unavailable, 503: decide.Unavailable, 504: decide.Timeout,
	}
	for _, at := range []emulator.Point{emulator.FEBeforeAnswer, emulator.FERedirect, emulator.BEHeaders, emulator.BEBegin, emulator.BEBody, emulator.BEBeforeCommit} {
		for status, class := range classes {
			t.Run(fmt.Sprintf("%s %d", at, status), func(t *testing.T) {
				t.Parallel()
				c := with(t, emulator.Fault{At: at, Do: emulator.HTTP, Status: status, Body: http.StatusText(status), Times: 1, Bytes: 1 << 20})
				client, j := c.client()
				report, err := client.Load(within(t, ended), batch(5))
				require.NoError(t, err)
				require.Equal(t, class, j.attempts[0].Class)
				require.Contains(t, j.attempts[0].Message, fmt.Sprintf("HTTP %d", status))
				if beforeBody := at != emulator.BEBody && at != emulator.BEBeforeCommit; status == http.StatusRequestEntityTooLarge && beforeBody {
					require.Equal(t, 3, report.Attempts, "both halves are loaded by themselves")
				} else {
					require.Equal(t, 2, report.Attempts)
					same(t, j.sent(), 2)
				}
				require.Equal(t, ids(5), c.stored(table))
			})
		}
	}
}

func TestMaxRetriesMinusOneFailsAtOnce(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]emulator.Fault{
		"too many versions": tooManyVersions(0),
		"running txn limit": txnLimit(0),
		"HTTP 503":          {At: emulator.FEBeforeAnswer, Do: emulator.HTTP, Status: 503},
		"no backend":        {At: emulator.FERedirect, Do: emulator.NoBackend},
		"connection lost":   {At: emulator.BEBody, Do: emulator.Reset},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := with(t, fault)
			client, _ := c.client(retries(-1))
			_, err := client.Load(within(t, ended), batch(5))
			e := failed(t, err)
			require.Equal(t, 1, e.Attempts)
			require.Equal(t, "retries used up", e.Reason)
			require.Len(t, c.puts("fe"), 1)
			require.Empty(t, c.stored(table))
		})
	}
}

func TestElapsedTimeBoundsTheResends(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]emulator.Fault{
		"answered failures":  tooManyVersions(0),
		"refusals of the FE": {At: emulator.FERedirect, Do: emulator.NoBackend},
		"lost connections":   {At: emulator.BEBeforeCommit, Do: emulator.Reset},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := with(t, fault)
			client, _ := c.client(retries(1_000_000), func(conf *streamload.Config) {
				conf.Backoff.MaxElapsed = time.Second
			})
			report, err := client.Load(within(t, ended), batch(5))
			e := failed(t, err)
			require.Equal(t, "time used up", e.Reason)
			require.Greater(t, e.Attempts, 1)
			require.Len(t, c.puts("fe"), e.Attempts)
			require.Less(t, report.Took, 10*time.Second)
			require.Empty(t, c.stored(table))
		})
	}
}

func TestConnectionRefused(t *testing.T) {
	t.Parallel()
	t.Run("by the FE: retried without polling, up to the bound", func(t *testing.T) {
		t.Parallel()
		c := with(t)
		client, j := newClient(t, c.through([]string{"http://" + c.DeadAddr()}, retries(2)))
		report, err := client.Load(within(t, ended), batch(5))
		e := failed(t, err)
		require.Equal(t, decide.Unavailable, e.Class)
		require.Equal(t, streamload.StageConnect, e.Stage)
		require.Equal(t, 3, e.Attempts)
		require.Zero(t, report.Polls)
		require.False(t, e.Unresolved, "nothing was sent")
		require.Contains(t, err.Error(), c.DeadAddr())
		same(t, j.sent(), 3)
	})
	t.Run("by the FE, which comes up", func(t *testing.T) {
		t.Parallel()
		c := with(t)
		c.StopFE(0)
		client, j := c.client(retries(100))
		j.onAttempt = func(a streamload.AttemptInfo) {
			if a.Attempt == 2 {
				require.NoError(t, c.StartFE(0))
			}
		}
		report, err := client.Load(within(t, ended), batch(5))
		require.NoError(t, err)
		require.Equal(t, 3, report.Attempts)
		require.Zero(t, report.Polls)
		require.Equal(t, ids(5), c.stored(table))
	})
	t.Run("by the BE that the FE names", func(t *testing.T) {
		t.Parallel()
		c := with(t, emulator.Fault{At: emulator.FERedirect, Do: emulator.DeadBE, Times: 2})
		client, j := c.client()
		report, err := client.Load(within(t, ended), batch(5))
		require.NoError(t, err)
		require.Equal(t, 3, report.Attempts)
		require.Zero(t, report.Polls)
		require.Contains(t, j.attempts[0].Message, "the FE sent us to "+c.DeadAddr())
		require.Len(t, c.puts("fe"), 3)
		same(t, j.sent(), 3)
		require.Equal(t, ids(5), c.stored(table))
	})
}

func TestNoBackendIsRetriedWithoutPolling(t *testing.T) {
	t.Parallel()
	c := with(t, emulator.Fault{At: emulator.FERedirect, Do: emulator.NoBackend, Times: 2})
	client, j := c.client()
	report, err := client.Load(within(t, ended), batch(5))
	require.NoError(t, err)
	require.Equal(t, 3, report.Attempts)
	require.Zero(t, report.Polls)
	require.Equal(t, decide.Unavailable, j.attempts[0].Class)
	require.Equal(t, ids(5), c.stored(table))
}

// A retry goes through the FE again: the FE picks another BE.
func TestRetryGoesThroughTheFEToAnotherBE(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{BEs: 2, Faults: []emulator.Fault{tooManyVersions(1)}})
	client, _ := c.client()
	_, err := client.Load(within(t, ended), batch(5))
	require.NoError(t, err)
	c.requireSameRequests(2)
	bes := c.puts("be")
	require.NotEqual(t, bes[0].Server, bes[1].Server)
	require.Equal(t, ids(5), c.stored(table))
}

func TestWrongPasswordAndMissingGrantSayWhatToDo(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{Users: []emulator.User{{Password: password, Load: []string{"other"}}}})
	for name, tt := range map[string]struct{ user, password, want string }{
		"wrong password":   {c.user, "nope-nope", "Access denied for user"},
		"unknown user":     {"nobody", password, "Access denied for user"},
		"no user at all":   {"", "", "Need auth information"},
		"no right to load": {c.user, password, "(LOAD) privilege"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, _ := c.client(retries(1), func(conf *streamload.Config) {
				conf.Username, conf.Password = tt.user, tt.password
			})
			_, err := client.Load(within(t, ended), batch(5))
			e := failed(t, err)
			require.Equal(t, decide.Auth, e.Class)
			require.Equal(t, streamload.StageFrontend, e.Stage)
			require.Contains(t, err.Error(), tt.want)
			require.Equal(t, 2, e.Attempts, "all failures are retried")
			require.False(t, e.Unresolved)
			require.Empty(t, c.puts("be"))
		})
	}
}

func TestMissingTableAndDatabase(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{Users: []emulator.User{{Password: password, Load: []string{"*"}}}})
	for name, b := range map[string]streamload.Batch{
		"unknown table":    {Database: db, Table: "nowhere", Rows: rows(1, 2)},
		"unknown database": {Database: "nowhere", Table: table, Rows: rows(1, 2)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, _ := c.client(retries(1))
			_, err := client.Load(within(t, ended), b)
			e := failed(t, err)
			require.Equal(t, decide.NotFound, e.Class)
			require.Contains(t, err.Error(), name)
			require.Contains(t, err.Error(), b.Database+"."+b.Table)
			require.False(t, e.Unresolved)
		})
	}
}

// Errors keep the server's words, but are bounded and valid text.
func TestHugeServerMessagesAreCut(t *testing.T) {
	t.Parallel()
	s := (&script{
		load: func(_ int, s sent) reply {
			return fails(s, "%s", "[INTERNAL_ERROR]the beginning "+strings.Repeat("x\x00\x1b[31m", 1<<17)).reply()
		},
		state: func(int, string) reply { return stateIs("ABORTED") },
	}).start(t)
	client, _ := newClient(t, config([]string{s.fe.URL}, retries(1)))
	_, err := client.Load(within(t, ended), batch(5))
	e := failed(t, err)
	require.Contains(t, err.Error(), "the beginning")
	require.LessOrEqual(t, len(e.Message), 2100)
	require.NotContains(t, err.Error(), "\x00")
	require.NotContains(t, err.Error(), "\n")
	require.NotErrorIs(t, err, streamload.ErrUnresolved)
}
