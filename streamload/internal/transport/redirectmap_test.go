package transport

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRedirectMap(t *testing.T) {
	t.Parallel()
	m, err := NewRedirectMap(map[string]string{
		"172.20.80.3:8040":        "localhost:18040",
		"be1":                     "be1.example.com",
		"be1:9999":                "[::1]:9999",
		"[2001:db8::1]":           "be6.example.com",
		"doris-be-0.doris.svc:80": "edge:8080",
		"Upper.Case:8040":         "lower:1",
		"to-six":                  "[2001:db8::2]",
	})
	require.NoError(t, err)
	for at, want := range map[string]string{
		"http://172.20.80.3:8040/api/d/t/_stream_load?x=1": "http://localhost:18040/api/d/t/_stream_load?x=1",
		"http://172.20.80.3:8041/api":                      "http://172.20.80.3:8041/api",
		"http://be1:8040/api":                              "http://be1.example.com:8040/api",
		"http://be1:9999/api":                              "http://[::1]:9999/api",
		"http://BE1:8040/api":                              "http://be1.example.com:8040/api",
		"http://[2001:db8::1]:8040/api":                    "http://be6.example.com:8040/api",
		"http://doris-be-0.doris.svc/api":                  "http://edge:8080/api",
		"https://doris-be-0.doris.svc/api":                 "https://doris-be-0.doris.svc/api",
		"http://upper.case:8040/api":                       "http://lower:1/api",
		"http://to-six:8040/api":                           "http://[2001:db8::2]:8040/api",
		"http://other:8040/api":                            "http://other:8040/api",
	} {
		u, err := url.Parse(at)
		require.NoError(t, err)
		require.Equal(t, want, m.reach(u).String())
		require.Equal(t, at, u.String(), "the address itself stays as it is")
	}
}

func TestRedirectMapProblems(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]struct{ to, want string }{
		"http://be:8040": {"be:8040", `has the entry "http://be:8040", which must be host:port`},
		"be:8040":        {"http://x:1", `sends "be:8040" to "http://x:1", which must be host:port`},
		"be:8041":        {"x", `sends "be:8041" to "x", which has no port`},
		"be":             {"x:1", `sends every port of "be" to one, "x:1"`},
		"":               {"x", `has the entry "", which has no host`},
		"be:70000":       {"x:1", `has the entry "be:70000", which`},
		"u:p@be:1":       {"x:1", `has the entry "u:p@be:1", which must be host:port`},
	} {
		_, err := NewRedirectMap(map[string]string{from: want.to})
		require.ErrorContains(t, err, want.want)
	}
}
