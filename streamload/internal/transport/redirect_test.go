package transport

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// sends is a server that answers every request with a status and a Location; "" leaves the header out.
func sends(t *testing.T, status int, location string) *wire {
	t.Helper()
	return serve(t, func(p *peer) {
		for p.head() != nil {
			p.say("HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
			if location != "" {
				p.say("Location: %s\r\n", location)
			}
			p.say("Content-Length: 0\r\n\r\n")
		}
	})
}

func TestRedirectStatus(t *testing.T) {
	t.Parallel()
	be := backend(t, nobody)
	for _, status := range []int{301, 302, 303, 307, 308} {
		fe := sends(t, status, "http://"+be.addr+"/api/db/t/_stream_load")
		a := load(t, client(t), fe.addr, rows(smallBody))
		require.NoError(t, a.Err, status)
		require.Equal(t, answer.Success, a.Load.Word, status)
		require.Equal(t, 1, a.Hops)
	}
	for _, r := range be.seen() {
		require.Equal(t, http.MethodPut, r.Method, "a redirected load is still a load")
		require.EqualValues(t, len(smallBody), r.ContentLength)
	}
	for _, status := range []int{300, 304, 305, 306} {
		fe := sends(t, status, "http://"+be.addr+"/api/db/t/_stream_load")
		a := load(t, client(t), fe.addr, rows(smallBody))
		require.True(t, a.HasAnswer, status)
		require.Equal(t, status, a.HTTPStatus)
		require.Equal(t, answer.Unclear, a.Load.Word)
		require.Zero(t, a.Hops)
	}
}

func TestRedirectRelative(t *testing.T) {
	t.Parallel()
	fe := serve(t, func(p *peer) {
		for r := p.head(); r != nil; r = p.head() {
			if r.URL.Path == "/api/db/t/_stream_load" {
				p.say("HTTP/1.1 307 T\r\nLocation: /be/api/db/t/_stream_load?\r\nContent-Length: 0\r\n\r\n")
				continue
			}
			p.say("HTTP/1.1 100 Continue\r\n\r\n")
			p.body(r)
			p.sayJSON(200, successJSON)
		}
	})
	a := load(t, client(t), fe.addr, rows(smallBody))
	require.NoError(t, a.Err)
	require.Equal(t, answer.Success, a.Load.Word)
	require.Equal(t, "/be/api/db/t/_stream_load", fe.seen()[1].RequestURI, "and no question mark behind it")
}

// The user info of a Location is used for nothing, and whatever is wrong with one, its password is not in the error.
func TestRedirectThatCannotBeFollowed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ location, want string }{
		"no Location":      {"", "without a Location"},
		"no URL":           {"http://root:hunter22@%zz/_stream_load", "no URL"},
		"no host":          {"http:///api/db/t/_stream_load", "no host"},
		"bare IPv6":        {"http://root:hunter22@fe80::1:8040/api/db/t/_stream_load", "redirect to a Location that"},
		"another scheme":   {"ftp://root:hunter22@be/api/db/t/_stream_load", `has the scheme "ftp"`},
		"a script":         {"javascript:alert(1)", "scheme"},
		"a login page":     {"http://root:hunter22@sso.example.com/login?from=_stream_load", "not the address of this call"},
		"the second phase": {"http://root:hunter22@127.0.0.1:1/api/db/t/_stream_load_2pc", "not the address of this call"},
		"another table":    {"http://root:hunter22@127.0.0.1:1/api/db/t2/_stream_load", "not the address of this call"},
		"nobody's address": {"http://root:hunter22@127.0.0.1:1/api/db/t/_stream_load", "the FE sent us to 127.0.0.1:1, which cannot be reached"},
		"nobody's name":    {"http://root:hunter22@doris-be-0.invalid:8040/api/db/t/_stream_load", "the FE sent us to doris-be-0.invalid:8040, which cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := load(t, client(t), sends(t, 307, test.location).addr, rows(smallBody))
			require.ErrorContains(t, a.Err, test.want)
			require.NotContains(t, a.Err.Error(), "hunter22")
			require.NotContains(t, a.Err.Error(), "root")
			require.Equal(t, decide.NotSent, a.Sent)
			require.False(t, a.HasAnswer)
			if a.Hops == 0 {
				require.Equal(t, decide.BadRedirect, a.Trouble)
				require.Equal(t, 307, a.HTTPStatus)
			} else {
				require.Equal(t, decide.Unreachable, a.Trouble)
			}
		})
	}
}

func TestRedirectCircle(t *testing.T) {
	t.Parallel()
	var b *wire
	a := serve(t, func(p *peer) {
		for p.head() != nil {
			p.redirect(b.addr)
		}
	})
	b = serve(t, func(p *peer) {
		for p.head() != nil {
			p.redirect(a.addr)
		}
	})
	got := load(t, client(t), a.addr, rows(smallBody))
	require.ErrorContains(t, got.Err, "more than 5 redirects")
	require.NotContains(t, got.Err.Error(), "hunter22")
	require.Equal(t, decide.BadRedirect, got.Trouble)
	require.Equal(t, decide.NotSent, got.Sent)
	require.False(t, got.HasAnswer)
	require.Equal(t, maxHops, got.Hops)
	require.Len(t, append(a.seen(), b.seen()...), 1+maxHops)
}

func TestRedirectFiveTimes(t *testing.T) {
	t.Parallel()
	end := backend(t, nobody)
	addr := end.addr
	for range maxHops {
		addr = frontend(t, addr).addr
	}
	a := load(t, client(t), addr, rows(smallBody))
	require.NoError(t, a.Err)
	require.Equal(t, answer.Success, a.Load.Word)
	require.Equal(t, maxHops, a.Hops)
}

// Our own user goes to the BE, not the one that the FE names.
func TestRedirectUserInfoIsIgnored(t *testing.T) {
	t.Parallel()
	be := backend(t, nobody)
	fe := sends(t, 307, "http://admin:other@"+be.addr+"/api/db/t/_stream_load")
	require.NoError(t, load(t, client(t), fe.addr, rows(smallBody)).Err)
	user, password, _ := be.seen()[0].BasicAuth()
	require.Equal(t, "root:hunter22", user+":"+password)
	require.Empty(t, be.seen()[0].URL.User)

	// Nor is it used when we have no user at all.
	tr := client(t, func(c *Config) { c.Username, c.Password = "", "" })
	require.NoError(t, load(t, tr, fe.addr, rows(smallBody)).Err)
	require.Empty(t, be.seen()[1].Header["Authorization"])
}

func TestPasswordOfAllLetters(t *testing.T) {
	t.Parallel()
	be := backend(t, nobody)
	fe := frontend(t, be.addr)
	const all = `p:%@äß密/?#"&<>'\ x`
	require.NoError(t, load(t, client(t, func(c *Config) { c.Password = all }), fe.addr, rows(smallBody)).Err)
	for _, r := range append(fe.seen(), be.seen()...) {
		user, password, _ := r.BasicAuth()
		require.Equal(t, "root:"+all, user+":"+password)
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	for _, fe := range []string{"127.0.0.1:1", "fe.invalid:8030"} {
		a := load(t, client(t), fe, rows(smallBody))
		require.ErrorContains(t, a.Err, fe)
		require.Equal(t, decide.Unreachable, a.Trouble)
		require.Equal(t, decide.NotSent, a.Sent)
		require.False(t, a.Stale)
		require.Equal(t, fe, a.Server)
	}
}

func TestIPv6(t *testing.T) {
	t.Parallel()
	be := serveOn(t, listen(t, "tcp6", "[::1]:0"), func(p *peer) {
		for r := p.head(); r != nil; r = p.head() {
			p.say("HTTP/1.1 100 Continue\r\n\r\n")
			p.body(r)
			p.sayJSON(200, successJSON)
		}
	})
	fe := serveOn(t, listen(t, "tcp6", "[::1]:0"), func(p *peer) {
		for p.head() != nil {
			p.redirect(be.addr)
		}
	})
	a := load(t, client(t), fe.addr, rows(smallBody))
	require.NoError(t, a.Err)
	require.Equal(t, answer.Success, a.Load.Word)
	require.Equal(t, be.addr, a.Server)
	require.Equal(t, be.addr, be.seen()[0].Host)
}

func TestPathPrefixAndNames(t *testing.T) {
	t.Parallel()
	be := backend(t, nobody)
	a := client(t).Load(within(t, time.Minute), at(t, "http://"+be.addr+"/gate/way/"), Load{Database: "größe", Table: "a b+c", Body: rows(smallBody)})
	require.NoError(t, a.Err)
	require.Equal(t, "/gate/way/api/gr%C3%B6%C3%9Fe/a%20b+c/_stream_load", be.seen()[0].RequestURI)
}
