package contract

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/streamload/decide"
)

// Something takes the body, and then sends us on to nobody: the rows may be stored, by whoever took them.
func TestBodyTakenAndThenSentToNobody(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		// forwards says whether the n-th load is passed on to the cluster.
		forwards func(n int) bool
		// sends says whether the n-th load is answered with a redirect.
		sends    func(n int) bool
		evidence string // "" when the load fails
	}{
		"stored": {
			forwards: func(int) bool { return true },
			sends:    func(int) bool { return true },
			evidence: "state_visible",
		},
		"not stored, and the next one is": {
			forwards: func(n int) bool { return n > 0 },
			sends:    func(n int) bool { return n == 0 },
			evidence: "success",
		},
		"not stored, and the next one is stored the same way": {
			forwards: func(n int) bool { return n > 0 },
			sends:    func(int) bool { return true },
			evidence: "state_visible",
		},
		"never stored": {
			forwards: func(int) bool { return false },
			sends:    func(int) bool { return true },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := with(t)
			nobody := "http://" + c.DeadAddr() + "/api/" + db + "/" + table + "/_stream_load?"
			g := newGateway(t, c, func(n int, forward func() reply) reply {
				a := reply{http.StatusTemporaryRedirect, nobody}
				if tt.forwards(n) {
					a = forward()
				}
				if tt.sends(n) {
					return reply{http.StatusTemporaryRedirect, nobody}
				}
				return a
			})
			client, j := newClient(t, c.through([]string{g.srv.URL}, retries(2)))
			report, err := client.Load(within(t, ended), batch(5))
			if tt.evidence == "" {
				require.True(t, unresolved(t, err).Unresolved) // any of them may still come
				require.Empty(t, c.stored(table))
				same(t, j.sent(), 3)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.evidence, report.Evidence)
			same(t, j.sent(), report.Attempts)
			require.Equal(t, ids(5), c.stored(table))
		})
	}
}

// A redirect is followed to the same call and to nothing else: rows must not go into another table, nor to a call that means something else.
func TestRedirectElsewhere(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{
		"another table":     "/api/" + db + "/other/_stream_load",
		"another database":  "/api/other/" + table + "/_stream_load",
		"the second phase":  "/api/" + db + "/" + table + "/_stream_load_2pc",
		"behind a prefix":   "/be1/api/" + db + "/" + table + "/_stream_load",
		"a call by a query": "/login?next=/api/" + db + "/" + table + "/_stream_load",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := with(t)
			front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "http://root:"+password+"@"+c.BEAddr()+path)
				w.Header().Set("Connection", "close")
				w.WriteHeader(http.StatusTemporaryRedirect)
			}))
			t.Cleanup(front.Close)
			client, _ := newClient(t, c.through([]string{front.URL}, retries(1)))
			_, err := client.Load(within(t, ended), batch(5))
			e := failed(t, err)
			require.Equal(t, decide.Protocol, e.Class)
			require.Equal(t, streamload.StageFrontend, e.Stage)
			require.Contains(t, err.Error(), "not the address of this call")
			require.Empty(t, c.Requests(), "neither rows nor password")
		})
	}
}

// A gateway may have the BEs behind other prefixes than the FE.
func TestRedirectBehindAPrefix(t *testing.T) {
	t.Parallel()
	c := with(t)
	gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rest, ok := strings.CutPrefix(r.URL.Path, "/fe"); ok {
			w.Header().Set("Location", "http://"+r.Host+"/be-1"+rest+"?")
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		req, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+c.BEAddr()+strings.TrimPrefix(r.URL.Path, "/be-1"), r.Body)
		if err != nil {
			return
		}
		req.Header, req.ContentLength = r.Header.Clone(), r.ContentLength
		req.Header.Del("Accept-Encoding") // our own transport asks for gzip, and undoes it
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		_, _ = io.Copy(w, resp.Body)
	}))
	t.Cleanup(gate.Close)
	client, _ := newClient(t, c.through([]string{gate.URL + "/fe/"}))
	for n := range 2 {
		report, err := client.Load(within(t, ended), streamload.Batch{Database: db, Table: table, Rows: rows(1+5*n, 5)})
		require.NoError(t, err)
		require.Equal(t, "success", report.Evidence)
		require.Equal(t, 1, report.Attempts)
	}
	require.Equal(t, ids(10), c.stored(table))
}

// A success that does not end is none: what is behind it nobody has read.
func TestSuccessWithoutAnEnd(t *testing.T) {
	t.Parallel()
	for name, tail := range map[string]string{"white space": strings.Repeat(" ", 1<<16), "junk": strings.Repeat(`{"Status":"Fail"}`, 1<<12)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := with(t)
			g := newGateway(t, c, func(n int, forward func() reply) reply {
				if n > 0 {
					return forward()
				}
				return ok(`{"TxnId":7,"Status":"Success","Message":"OK","NumberTotalRows":5,"NumberLoadedRows":5}` + strings.Repeat(tail, 8<<20/len(tail)))
			})
			client, j := newClient(t, c.through([]string{g.srv.URL}))
			report, err := client.Load(within(t, ended), batch(5))
			require.NoError(t, err)
			require.Equal(t, 2, report.Attempts)
			require.True(t, report.Ambiguous)
			require.Contains(t, j.attempts[0].Message, "an answer of more than 4194304 bytes: {")
			require.Less(t, len(j.attempts[0].Message), 1000)
			require.Equal(t, ids(5), c.stored(table))
		})
	}
}
