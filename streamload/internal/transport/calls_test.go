package transport

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// says is a server that gives one answer to every request.
func says(t *testing.T, text string) *wire {
	t.Helper()
	return serve(t, func(p *peer) {
		if p.head() != nil {
			p.say("%s", text)
		}
	})
}

func TestState(t *testing.T) {
	t.Parallel()
	fe := serve(t, func(p *peer) {
		for p.head() != nil {
			p.sayJSON(200, `{"msg":"success","code":0,"data":"VISIBLE","count":0}`)
		}
	})
	tr := client(t)
	for range 3 {
		s, r, err := tr.State(within(t, time.Minute), at(t, fe.addr), "d b", "a+b&c=%20ä")
		require.NoError(t, err)
		require.Equal(t, answer.StateVisible, s.State)
		require.Equal(t, 200, r.HTTPStatus)
		require.Equal(t, fe.addr, r.Server)
	}
	require.EqualValues(t, 1, fe.conns.Load())
	req := fe.seen()[0]
	require.Equal(t, http.MethodGet, req.Method)
	require.Equal(t, "/api/d%20b/get_load_state", req.URL.EscapedPath())
	require.Equal(t, "a+b&c=%20ä", req.URL.Query().Get("label"))
	user, password, _ := req.BasicAuth()
	require.Equal(t, "root:hunter22", user+":"+password)
	require.Empty(t, req.Header["Expect"])
}

func TestStateFollowsToTheMaster(t *testing.T) {
	t.Parallel()
	master := says(t, "HTTP/1.1 200 OK\r\n\r\n"+`{"msg":"success","code":0,"data":"ABORTED"}`)
	follower := says(t, "HTTP/1.1 307 T\r\nLocation: http://root:other@"+master.addr+"/api/db/get_load_state?label=b\r\nContent-Length: 0\r\n\r\n")
	s, r, err := client(t).State(within(t, time.Minute), at(t, follower.addr), "db", "b")
	require.NoError(t, err)
	require.Equal(t, answer.StateAborted, s.State)
	require.Equal(t, master.addr, r.Server)
	req := master.seen()[0]
	require.Equal(t, "label=b", req.URL.RawQuery)
	user, password, _ := req.BasicAuth()
	require.Equal(t, "root:hunter22", user+":"+password)
}

func TestStateThatIsNone(t *testing.T) {
	t.Parallel()
	login := says(t, "HTTP/1.1 200 OK\r\n\r\n"+`{"code":0,"data":"VISIBLE"}`)
	for name, test := range map[string]struct{ say, message, err string }{
		"an error":                    {"HTTP/1.1 200 OK\r\n\r\n" + `{"msg":"Error","code":1,"data":"no database"}`, "Error: no database", ""},
		"a state with an error":       {"HTTP/1.1 500 E\r\n\r\n" + `{"code":0,"data":"VISIBLE"}`, `{"code":0,"data":"VISIBLE"}`, ""},
		"not allowed":                 {"HTTP/1.1 401 U\r\nContent-Length: 0\r\n\r\n", "", ""},
		"HTML":                        {"HTTP/1.1 200 OK\r\n\r\n<html>", "<html>", ""},
		"more than anybody reads":     {"HTTP/1.1 200 OK\r\n\r\n" + `{"code":0,"data":"VISIBLE","x":"` + strings.Repeat("x", 2<<20) + `"}`, `an answer of more than 1048576 bytes: {"code":0,"data":"VISIBLE","x":"xxx`, ""},
		"cut":                         {"HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n" + `{"code":0,"data":"VISIBLE"}`, "", "HTTP 200, and the answer broke off"},
		"nothing":                     {"", "", "EOF"},
		"garbage":                     {"SSH-2.0\r\n", "", "malformed"},
		"a redirect to a login":       {"HTTP/1.1 302 F\r\nLocation: http://root:pw@" + login.addr + "/login\r\nContent-Length: 0\r\n\r\n", "", "not the address of this call"},
		"a redirect to nowhere":       {"HTTP/1.1 302 F\r\nContent-Length: 0\r\n\r\n", "", "without a Location"},
		"a redirect to another label": {"HTTP/1.1 302 F\r\nLocation: /api/db/get_load_state?label=bb\r\nContent-Length: 0\r\n\r\n", "", "does not ask about the same label"},
		"a redirect without a label":  {"HTTP/1.1 302 F\r\nLocation: /api/db/get_load_state\r\nContent-Length: 0\r\n\r\n", "", "does not ask about the same label"},
		"a redirect to a load":        {"HTTP/1.1 302 F\r\nLocation: /api/db/t/_stream_load?label=b\r\nContent-Length: 0\r\n\r\n", "", "not the address of this call"},
		"a state, and white space beyond what is read": {"HTTP/1.1 200 OK\r\n\r\n" + `{"code":0,"data":"VISIBLE"}` + strings.Repeat(" ", maxCallAnswer), "an answer of more than 1048576 bytes: {", ""},
		"a state, and white space as far as is read":   {"HTTP/1.1 200 OK\r\n\r\n" + `{"code":0,"data":"VISIBLE"x}` + strings.Repeat(" ", maxCallAnswer-28), `{"code":0,"data":"VISIBLE"x}`, ""},
		"a redirect in a circle":                       {"HTTP/1.1 302 F\r\nLocation: /api/db/get_load_state?label=b\r\nContent-Length: 0\r\n\r\n", "", "more than 5 redirects"},
		"a redirect to nobody":                         {"HTTP/1.1 302 F\r\nLocation: http://127.0.0.1:1/api/db/get_load_state?label=b\r\nContent-Length: 0\r\n\r\n", "", "127.0.0.1:1"},
		"a redirect to no address":                     {"HTTP/1.1 302 F\r\nLocation: http://root:pw@%zz\r\nContent-Length: 0\r\n\r\n", "", "no URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, err := client(t).State(within(t, time.Minute), at(t, says(t, test.say).addr), "db", "b")
			require.Equal(t, answer.NoState, s.State)
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				require.NotContains(t, err.Error(), "pw")
				return
			}
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(s.Message, test.message), s.Message)
			require.LessOrEqual(t, len(s.Message), 300)
		})
	}
	require.Zero(t, login.conns.Load(), "the login page gets nothing")
}

func TestCallsHang(t *testing.T) {
	t.Parallel()
	for name, say := range map[string]string{"no answer": "", "half of one": "HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n{"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fe := serve(t, func(p *peer) {
				if p.head() != nil {
					p.say("%s", say)
					<-p.quit
				}
			})
			began := time.Now()
			_, _, err := client(t).State(within(t, 200*time.Millisecond), at(t, fe.addr), "db", "b")
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Less(t, time.Since(began), 10*time.Second)
		})
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	master := says(t, "HTTP/1.1 200 OK\r\n\r\n"+`{"msg":"success","code":0}`)
	follower := says(t, "HTTP/1.1 307 T\r\nLocation: http://root:other@"+master.addr+"/api/db/_cancel?label=b\r\nContent-Length: 0\r\n\r\n")
	r, err := client(t).Cancel(within(t, time.Minute), at(t, follower.addr), "db", "b")
	require.NoError(t, err)
	require.Equal(t, 200, r.HTTPStatus)
	require.JSONEq(t, `{"msg":"success","code":0}`, string(r.Body))
	for _, w := range []*wire{follower, master} {
		req := w.seen()[0]
		require.Equal(t, http.MethodPost, req.Method)
		require.Equal(t, "/api/db/_cancel?label=b", req.RequestURI)
		_, _, ok := req.BasicAuth()
		require.True(t, ok)
	}
}

func TestPing(t *testing.T) {
	t.Parallel()
	fe := says(t, "HTTP/1.1 503 U\r\nContent-Length: 0\r\n\r\n")
	r, err := client(t).Ping(within(t, time.Minute), at(t, fe.addr))
	require.NoError(t, err)
	require.Equal(t, 503, r.HTTPStatus)
	require.Equal(t, "/api/bootstrap", fe.seen()[0].RequestURI)
	_, err = client(t).Ping(within(t, time.Minute), at(t, "127.0.0.1:1"))
	require.ErrorContains(t, err, "127.0.0.1:1")
}

func TestErrorLog(t *testing.T) {
	t.Parallel()
	page := strings.Repeat("Reason: bad. src line [1];\n", 10)
	be := serve(t, func(p *peer) {
		for r := p.head(); r != nil; r = p.head() {
			p.say("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(page), page)
		}
	})
	from := Attempt{Server: be.addr}
	got, err := client(t).ErrorLog(within(t, time.Minute), "http://root:other@"+be.addr+"/api/_load_error_log?file=a/b&c", from)
	require.NoError(t, err)
	require.Equal(t, page, string(got))
	req := be.seen()[0]
	require.Equal(t, "/api/_load_error_log?file=a/b&c", req.RequestURI)
	user, password, _ := req.BasicAuth()
	require.Equal(t, "root:hunter22", user+":"+password, "ours, not that of the address")
}

// An answer can name any address. Our password goes to none but the server that gave it, and never in clear text where that
// server speaks TLS.
func TestErrorLogKeepsThePassword(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	other := serve(t, func(p *peer) {
		for p.head() != nil {
			p.sayJSON(200, "page")
		}
	})
	secure := ca.serve(t, "127.0.0.1", func(p *peer) {
		for p.head() != nil {
			p.sayJSON(200, "page")
		}
	})
	for name, test := range map[string]struct {
		address string
		of      Attempt
		on      *wire
		want    bool
	}{
		"another server":                    {"http://" + other.addr + "/log", Attempt{Server: "be:8040"}, other, false},
		"user info of the address":          {"http://root:hunter22@" + other.addr + "/log", Attempt{Server: "be:8040"}, other, false},
		"the server, in clear text":         {"http://" + other.addr + "/log", Attempt{Server: other.addr, Secure: true}, other, false},
		"the server":                        {"http://" + other.addr + "/log", Attempt{Server: other.addr}, other, true},
		"the server, which speaks TLS":      {"https://" + secure.addr + "/log", Attempt{Server: secure.addr, Secure: true}, secure, true},
		"the server, which speaks TLS here": {"https://" + secure.addr + "/log", Attempt{Server: secure.addr}, secure, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(test.on.seen())
			_, err := client(t, ca.trusted).ErrorLog(within(t, time.Minute), test.address, test.of)
			require.NoError(t, err)
			_, _, ok := test.on.seen()[before].BasicAuth()
			require.Equal(t, test.want, ok)
		})
	}
}

func TestErrorLogThatIsNone(t *testing.T) {
	t.Parallel()
	elsewhere := says(t, "HTTP/1.1 200 OK\r\n\r\npage")
	for name, test := range map[string]struct{ address, want string }{
		"no URL":       {"http://root:pw@%zz", "no URL"},
		"no host":      {"/log", "has the scheme"},
		"a file":       {"file:///etc/passwd", "has the scheme"},
		"nobody there": {"http://127.0.0.1:1/log", "127.0.0.1:1"},
		"not found":    {"http://" + says(t, "HTTP/1.1 404 N\r\n\r\n<html>").addr + "/log", "HTTP 404"},
		"a redirect":   {"http://" + says(t, "HTTP/1.1 302 F\r\nLocation: http://"+elsewhere.addr+"\r\nContent-Length: 0\r\n\r\n").addr + "/log", "HTTP 302"},
		"cut at once":  {"http://" + says(t, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n").addr + "/log", "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := client(t).ErrorLog(within(t, time.Minute), test.address, Attempt{})
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), "pw")
		})
	}
	require.Zero(t, elsewhere.conns.Load())
}

func TestErrorLogIsBounded(t *testing.T) {
	t.Parallel()
	endless := serve(t, func(p *peer) {
		if p.head() == nil {
			return
		}
		p.say("HTTP/1.1 200 OK\r\n\r\n")
		for line := bytes.Repeat([]byte("x"), 1<<16); ; {
			if _, err := p.Write(line); err != nil {
				return
			}
		}
	})
	got, err := client(t).ErrorLog(within(t, time.Minute), "http://"+endless.addr+"/log", Attempt{})
	require.NoError(t, err)
	require.Len(t, got, maxErrorLog)

	// A page that breaks off tells its first rows all the same.
	cut := says(t, "HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\nReason: bad")
	got, err = client(t).ErrorLog(within(t, time.Minute), "http://"+cut.addr+"/log", Attempt{})
	require.NoError(t, err)
	require.Equal(t, "Reason: bad", string(got))
}
