package transport

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Path makes the path of an FE call: each segment is escaped by itself, whatever a database or table is called.
// The prefix of base (an FE behind a gateway) is kept.
func Path(base *url.URL, segments ...string) *url.URL {
	var raw, plain strings.Builder
	size := len(base.Path) + len("/api")
	for _, s := range segments {
		size += 1 + len(s)
	}
	raw.Grow(size)
	plain.Grow(size)
	raw.WriteString(strings.TrimRight(base.EscapedPath(), "/"))
	raw.WriteString("/api")
	plain.WriteString(strings.TrimRight(base.Path, "/"))
	plain.WriteString("/api")
	for _, s := range segments {
		raw.WriteByte('/')
		raw.WriteString(url.PathEscape(s))
		plain.WriteByte('/')
		plain.WriteString(s)
	}
	return &url.URL{Scheme: base.Scheme, Host: base.Host, Path: plain.String(), RawPath: raw.String()}
}

// Base is the base of which Path makes the address of a load; nil when it has none, because the address says more than that.
func Base(at *url.URL, database, table string) *url.URL {
	return baseOf(at, Path(&url.URL{}, database, table, "_stream_load"))
}

func baseOf(at, call *url.URL) *url.URL {
	raw, ok := strings.CutSuffix(at.EscapedPath(), call.EscapedPath())
	if !ok || at.RawQuery != "" {
		return nil
	}
	plain, err := url.PathUnescape(raw)
	if err != nil {
		return nil
	}
	return &url.URL{Scheme: at.Scheme, Host: at.Host, Path: plain, RawPath: raw}
}

// ParseFE reads the address of an FE: http or https, a host, maybe a port and a path prefix. User info, query and
// fragment have no place in it. Without a scheme it is http.
func ParseFE(s string) (*url.URL, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, errors.New("is empty")
	}
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	if manyColons(s) {
		return nil, errManyColons
	}
	u, err := url.Parse(s)
	if err != nil {
		return nil, errors.New("is no URL") // the error of url.Parse repeats the text, password and all
	}
	if err := checkAuthority(u); err != nil {
		return nil, err
	}
	switch {
	case u.User != nil:
		return nil, errors.New("must not contain a user or password; use username and password")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("must not have a query or fragment")
	}
	u.ForceQuery = false
	return u, nil
}

// errManyColons is told before url.Parse sees the address: Go versions differ in what they make of it.
var errManyColons = errors.New("has several colons in its host; an IPv6 address must be in brackets, for instance http://[2001:db8::1]:8030")

// manyColons is true for an address whose host has more than the colon before its port, and no brackets.
func manyColons(s string) bool {
	_, authority, _ := strings.Cut(s, "://")
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority = authority[:end]
	}
	authority = authority[strings.LastIndex(authority, "@")+1:]
	return strings.Count(authority, ":") > 1 && !strings.Contains(authority, "[")
}

func checkAuthority(u *url.URL) error {
	port, portErr := strconv.Atoi(u.Port())
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("has the scheme %q; it must be http or https", u.Scheme)
	case u.Hostname() == "":
		return errors.New("has no host")
	case strings.Contains(u.Hostname(), ":") && !strings.HasPrefix(u.Host, "["):
		return errManyColons
	case strings.ContainsAny(u.Host, " \t\r\n"):
		return errors.New("has a host with white space in it")
	case u.Port() != "" && (portErr != nil || port < 1 || port > 65535):
		return fmt.Errorf("has the port %.20s; it must be between 1 and 65535", u.Port())
	}
	return nil
}

// isRedirect is true for every status that sends a request elsewhere. A proxy may answer 301 or 302 where an FE answers
// 307; the request stays a PUT with its body all the same.
func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// call is what a request asks for, by the segments of its path behind "/api".
type call struct {
	segments []string
	// prefixed is true when we ourselves reach servers behind a prefix (a gateway).
	prefixed bool
}

func callOf(base *url.URL, segments ...string) call {
	return call{segments: segments, prefixed: strings.Trim(base.Path, "/") != ""}
}

const (
	loadCall = "_stream_load"
	// forwardCall is where a BE sends a load on to another BE, which a group commit wants to have it (be stream_load_forward_handler.cpp).
	forwardCall = "_stream_load_forward"
)

// leads is true for an address of the very same call, at whatever server: a load of the same table, and not a call whose name merely begins so. A
// prefix may stand before it where we use one, or where the server sends us to another place on itself.
func (c call) leads(from, to *url.URL) bool {
	path := strings.Split(strings.Trim(to.EscapedPath(), "/"), "/")
	at := len(path) - len(c.segments) - 1
	if at < 0 || strings.HasSuffix(to.Path, "/") {
		return false
	}
	for i, want := range c.segments {
		got := clean(path[at+1+i])
		if got != clean(want) && !(want == loadCall && i == len(c.segments)-1 && got == forwardCall) {
			return false
		}
	}
	for _, s := range path[:at] {
		if s = clean(s); s == "." || s == ".." || strings.ContainsAny(s, "/\\") {
			return false // a server may take it for another path than we do
		}
	}
	own := from.Scheme == to.Scheme && strings.EqualFold(from.Host, to.Host)
	return path[at] == "api" && (at == 0 || c.prefixed || own)
}

// clean is a segment of a path without its escapes. An FE may escape what is escaped already (fe RestBaseController.java puts the path through
// java.net.URI, which quotes every %), and no name has a % of its own.
func clean(segment string) string {
	for range 3 {
		plain, err := url.PathUnescape(segment)
		if err != nil || plain == segment {
			break
		}
		segment = plain
	}
	return segment
}

// Follow finds where an answer of from sends us. The user info that an FE puts into its Location (the user's own password,
// fe RestBaseController.java) is used for nothing. An answer that sends us anywhere but to the same call (to a login page, say)
// gets neither rows nor credentials. No text of the Location can make it panic.
func Follow(from *url.URL, location string, c call, allowInsecure bool) (*url.URL, error) {
	if location == "" {
		return nil, errors.New("redirect without a Location header")
	}
	ref, err := url.Parse(location)
	if err != nil {
		return nil, fmt.Errorf("redirect to a Location that is no URL: %s", cutLocation(location))
	}
	to := from.ResolveReference(ref)
	to.User, to.Fragment, to.RawFragment = nil, "", ""
	if to.RawQuery == "" {
		to.ForceQuery = false
	}
	if err := checkAuthority(to); err != nil {
		return nil, fmt.Errorf("redirect to a Location that %w: %s", err, cutLocation(location))
	}
	if !c.leads(from, to) {
		return nil, fmt.Errorf("redirect to %s://%s%s, which is not the address of this call (a login page?)", to.Scheme, cutLocation(to.Host), cutLocation(to.EscapedPath()))
	}
	if from.Scheme == "https" && to.Scheme == "http" && !allowInsecure {
		return nil, fmt.Errorf("redirect from https to http://%s refused: rows and password would travel in clear text; set allow_insecure_redirect: true to allow it", cutLocation(to.Host))
	}
	return to, nil
}

func cutLocation(s string) string {
	if i := strings.LastIndex(s, "@"); i >= 0 {
		s = s[i+1:]
	}
	if len(s) > 200 {
		s = s[:200]
	}
	return strings.ToValidUTF8(s, "?")
}
