package transport

import (
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestParseFE(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"http://fe:8030":           "http://fe:8030",
		" https://fe:8030/ ":       "https://fe:8030/",
		"fe:8030":                  "http://fe:8030",
		"fe":                       "http://fe",
		"10.0.0.1:8030":            "http://10.0.0.1:8030",
		"[::1]:8030":               "http://[::1]:8030",
		"http://fe:65535/a:b:c":    "http://fe:65535/a:b:c",
		"http://fe:8030/gate/way?": "http://fe:8030/gate/way",
		"HTTP://FE:8030":           "http://FE:8030",
	} {
		u, err := ParseFE(in)
		require.NoError(t, err, in)
		require.Equal(t, want, u.String(), in)
	}
	for in, want := range map[string]string{
		"":                            "is empty",
		"  ":                          "is empty",
		"ftp://fe":                    `has the scheme "ftp"`,
		"http://":                     "has no host",
		"http://:8030":                "has no host",
		"http:///path":                "has no host",
		"http://root:hunter22@fe":     "must not contain a user",
		"http://root@fe":              "must not contain a user",
		"root:hunter22@fe:8030":       "must not contain a user",
		"http://fe/?a=b":              "must not have a query",
		"http://fe/#a":                "must not have a query",
		"http://root:hunter22@%zz":    "is no URL",
		"http://fe:port":              "is no URL",
		"http://fe:65536":             "has the port 65536; it must be between 1 and 65535",
		"fe:0":                        "has the port 0; it must be between 1 and 65535",
		"http://fe:99999999999999999": "has the port 99999999999999999; it must",
		"http://fe80::1:8030":         "an IPv6 address must be in brackets, for instance http://[2001:db8::1]:8030",
		"::1":                         "an IPv6 address must be in brackets",
		"https://root:a:b@fe80::1/x":  "an IPv6 address must be in brackets",
		"http://a b":                  "is no URL",
		"http://fe\n":                 "",
		"http://fe:8030,http://fe2:8": "has several colons in its host",
	} {
		u, err := ParseFE(in)
		if want == "" {
			require.NoError(t, err, in)
			continue
		}
		require.ErrorContains(t, err, want, "%q gives %v", in, u)
		require.NotContains(t, err.Error(), "hunter22")
	}
}

// Older versions of net/url let these pass.
func TestCheckAuthority(t *testing.T) {
	t.Parallel()
	require.NoError(t, checkAuthority(&url.URL{Scheme: "http", Host: "[fe80::1]:8040"}))
	require.ErrorContains(t, checkAuthority(&url.URL{Scheme: "http", Host: "fe80::1:8040"}), "brackets")
	require.ErrorContains(t, checkAuthority(&url.URL{Scheme: "http", Host: "a b"}), "white space")
}

func TestPath(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		base     string
		segments []string
		want     string
	}{
		{"http://fe:8030", []string{"db", "t", "_stream_load"}, "http://fe:8030/api/db/t/_stream_load"},
		{"http://fe:8030/", []string{"db", "get_load_state"}, "http://fe:8030/api/db/get_load_state"},
		{"https://fe/gate%2Fway/x/", []string{"db"}, "https://fe/gate%2Fway/x/api/db"},
		{"http://fe", []string{"a/b", "c?d", "e#f", "g%h", "i j", "k;l"}, "http://fe/api/a%2Fb/c%3Fd/e%23f/g%25h/i%20j/k%3Bl"},
		{"http://fe", []string{"größe", "表"}, "http://fe/api/gr%C3%B6%C3%9Fe/%E8%A1%A8"},
	} {
		require.Equal(t, test.want, Path(at(t, test.base), test.segments...).String())
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	tr := New(Config{})
	defer tr.Close()
	require.Equal(t, Config{
		ConnectTimeout: 10 * time.Second, ContinueWait: time.Second, FEWait: 30 * time.Second, MaxAnswer: 4 << 20,
	}, tr.conf)
}

func TestFollow(t *testing.T) {
	t.Parallel()
	const from, path = "http://fe:8030/api/db/t/_stream_load", "/api/db/t/_stream_load"
	for _, test := range []struct {
		name, from, location string
		insecure             bool
		want                 string // the address, or what the error says after "!"
	}{
		{"an FE's", from, "http://root:pw@be:8040" + path + "?", false, "http://be:8040" + path},
		{"an old FE's", from, "http://root%40default_cluster:pw@be:8040" + path + "?", false, "http://be:8040" + path},
		{"a user without a password", from, "http://root@be:8040" + path, false, "http://be:8040" + path},
		{"a password with everything in it", from, "http://root:p%40%2F%3F%23%5B@be:8040" + path, false, "http://be:8040" + path},
		{"a query stays", from, "http://be:8040" + path + "?a=b&c", false, "http://be:8040" + path + "?a=b&c"},
		{"a fragment does not", from, "http://be:8040" + path + "#x", false, "http://be:8040" + path},
		{"IPv6", from, "http://root:pw@[fe80::1]:8040" + path, false, "http://[fe80::1]:8040" + path},
		{"relative to the host", from, path + "?x", false, "http://fe:8030" + path + "?x"},
		{"relative to the path", from, "_stream_load?x", false, "http://fe:8030/api/db/t/_stream_load?x"},
		{"relative to the path, elsewhere", from, "x/_stream_load", false, "!not the address of this call"},
		{"behind a prefix of the same server", from, "/be" + path + "?x", false, "http://fe:8030/be" + path + "?x"},
		{"behind a prefix of the same server, in full", from, "http://u:pw@FE:8030/be" + path, false, "http://FE:8030/be" + path},
		{"behind a prefix of another server", from, "http://be:8040/be" + path, false, "!not the address of this call"},
		{"behind a prefix of another port", from, "http://fe:8040/be" + path, false, "!not the address of this call"},
		{"behind a prefix, as we are", "http://gate/fe" + path, "http://gate2/be-1" + path + "?", false, "http://gate2/be-1" + path},
		{"without the prefix that we are behind", "http://gate/fe" + path, "http://root:pw@be:8040" + path + "?", false, "http://be:8040" + path},
		{"behind a prefix that climbs out", "http://gate/fe" + path, "http://gate/x/%2e%2e" + path, false, "!not the address of this call"},
		{"behind a prefix that hides a way", "http://gate/fe" + path, "http://gate/x%2f.." + path, false, "!not the address of this call"},
		{"relative to the scheme", from, "//root:pw@be:8040" + path, false, "http://be:8040" + path},
		{"a forwarding BE's", from, "http://be:8040" + path + "_forward?forward_to=be2:8040", false, "http://be:8040" + path + "_forward?forward_to=be2:8040"},
		{"escapes in the path", from, "http://be:8040/api/d%62/%74/_stream%5Fload", false, "http://be:8040/api/d%62/%74/_stream%5Fload"},
		{"escaped escapes in the path", from, "http://be:8040/api/d%2562/%252574/_stream_load", false, "http://be:8040/api/d%2562/%252574/_stream_load"},
		{"doubled slashes before the path", from, "http://be:8040//" + path[1:], false, "http://be:8040/" + path},
		{"another table", from, "http://root:pw@be:8040/api/db/t2/_stream_load", false, "!not the address of this call"},
		{"another database", from, "http://root:pw@be:8040/api/db2/t/_stream_load", false, "!not the address of this call"},
		{"another letter case", from, "http://root:pw@be:8040/api/db/T/_stream_load", false, "!not the address of this call"},
		{"a slash in a name", from, "http://root:pw@be:8040/api/db%2Ft/_stream_load", false, "!not the address of this call"},
		{"a slash at the end", from, "http://root:pw@be:8040" + path + "/", false, "!not the address of this call"},
		{"more at the end", from, "http://root:pw@be:8040" + path + "/x", false, "!not the address of this call"},
		{"the second phase", from, "http://root:pw@be:8040" + path + "_2pc", false, "!not the address of this call"},
		{"the second phase of a database", from, "http://root:pw@be:8040/api/db/_stream_load_2pc", false, "!not the address of this call"},
		{"a call that begins so", from, "http://root:pw@be:8040" + path + "_forwarded", false, "!not the address of this call"},
		{"a matching end of another path", from, "http://root:pw@be:8040/apix/db/t/_stream_load", false, "!not the address of this call"},
		{"http to https", from, "https://be:8040" + path, false, "https://be:8040" + path},
		{"https to https", "https://fe" + path, "https://be:8040" + path, false, "https://be:8040" + path},
		{"https to http, allowed", "https://fe" + path, "http://be:8040" + path, true, "http://be:8040" + path},
		{"https to http", "https://fe" + path, "http://root:pw@be:8040" + path, false, "!allow_insecure_redirect"},
		{"https to http, letter case", "https://fe" + path, "HTTP://root:pw@be:8040" + path, false, "!allow_insecure_redirect"},
		{"nothing", from, "", false, "!without a Location"},
		{"elsewhere", from, "http://root:pw@sso/login", false, "!not the address of this call"},
		{"elsewhere, the call in the query", from, "http://root:pw@sso/login?to=" + path, false, "!not the address of this call"},
		{"elsewhere, the call in the fragment", from, "http://root:pw@sso/login#" + path, false, "!not the address of this call"},
		{"no host", from, "http://" + path, false, "!no host"},
		{"only a port", from, "http://:8040" + path, false, "!no host"},
		{"bare IPv6", from, "http://root:pw@fe80::1:8040" + path, false, "!Location"},
		{"a scheme without slashes", from, "http:be/_stream_load", false, "!Location"},
		{"another scheme", from, "ws://root:pw@be" + path, false, "!scheme"},
		{"a line break", from, "http://root:pw@be" + path + "\n", false, "!no URL"},
		{"not an escape", from, "http://root:pw@be/%zz" + path, false, "!no URL"},
		{"no UTF-8", from, "http://root:pw@\xff\xfe:0x", false, "!no URL"},
		{"very long", from, "http://root:pw@" + strings.Repeat("a", 1<<20) + "/login", false, "!not the address of this call"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f, err := url.Parse(test.from)
			require.NoError(t, err)
			base := &url.URL{Path: strings.TrimSuffix(f.Path, path)}
			to, err := Follow(f, test.location, callOf(base, "db", "t", loadCall), test.insecure)
			if problem, bad := strings.CutPrefix(test.want, "!"); bad {
				require.ErrorContains(t, err, problem)
				require.NotContains(t, err.Error(), "pw")
				require.Less(t, len(err.Error()), 1000)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, to.String())
			require.Nil(t, to.User)
		})
	}
}

func FuzzFollow(f *testing.F) {
	for _, s := range []string{
		"http://root:pw@be:8040/api/db/t/_stream_load?", "//u@h/_stream_load", "/x/_stream_load#f", "http:/_stream_load", "", "http://[::1%25x]:1/_stream_load",
		"HTTPS://a:b@c:d@e/_stream_load", "http://%41:80/_stream_load", "http://a:b%zz@c/", "?_stream_load", "http://h:/_stream_load", "mailto:a@b/_stream_load",
		"/be/api/db/t/_stream_load?x=1", "http://h/api/db/%2574/_stream_load_forward?forward_to=h:1", "http://h/x/%2e%2e/api/db/t/_stream_load", "//h//api/db/t/_stream_load",
	} {
		f.Add(s, true, false, "")
		f.Add(s, false, true, "/gate")
	}
	f.Fuzz(func(t *testing.T, location string, secure, allow bool, prefix string) {
		from := &url.URL{Scheme: "http", Host: "fe:8030", Path: "/api/db/t/_stream_load"}
		if secure {
			from.Scheme = "https"
		}
		to, err := Follow(from, location, callOf(&url.URL{Path: prefix}, "db", "t", loadCall), allow)
		if err != nil {
			require.Nil(t, to)
			require.True(t, utf8.ValidString(err.Error()), "%q", err.Error())
			require.Less(t, len(err.Error()), 1000)
			return
		}
		require.Nil(t, to.User)
		require.NotContains(t, to.Host, "@")
		require.NotEmpty(t, to.Hostname())
		require.Contains(t, []string{"http", "https"}, to.Scheme)
		path, forward := strings.CutSuffix(strings.Trim(to.EscapedPath(), "/"), "_forward")
		for range 3 {
			if plain, err := url.PathUnescape(path); err == nil {
				path = plain
			}
		}
		path, whole := strings.CutSuffix("/"+path, "/api/db/t/_stream_load")
		if !whole && !forward { // with an escape in its end
			path, whole = strings.CutSuffix(path, "/api/db/t/_stream_load_forward")
		}
		require.True(t, whole, "%s", to)
		if strings.Trim(path, "/") != "" {
			require.True(t, strings.Trim(prefix, "/") != "" || strings.EqualFold(to.Host, from.Host), "%s", to)
			require.NotContains(t, strings.Split(path, "/"), "..")
		}
		require.Empty(t, to.Fragment)
		require.False(t, secure && to.Scheme == "http" && !allow, "%s", to)
		// What a request would be sent to is the same address.
		again, err := url.Parse(to.String())
		require.NoError(t, err, "%s", to)
		require.Equal(t, to.Host, again.Host)
		require.Equal(t, to.Path, again.Path)
		require.Nil(t, again.User)
	})
}

func FuzzPath(f *testing.F) {
	f.Add("db", "t")
	f.Add("a/b", "..")
	f.Add("%2f", "größe?#")
	f.Fuzz(func(t *testing.T, database, table string) {
		u := Path(&url.URL{Scheme: "http", Host: "fe"}, database, table, "_stream_load")
		again, err := url.Parse(u.String())
		require.NoError(t, err)
		parts := strings.Split(strings.TrimPrefix(again.EscapedPath(), "/"), "/")
		require.Len(t, parts, 4, "%s", u)
		for i, want := range []string{"api", database, table, "_stream_load"} {
			got, err := url.PathUnescape(parts[i])
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		require.Equal(t, "fe", again.Host)
		require.Empty(t, again.RawQuery)
	})
}
