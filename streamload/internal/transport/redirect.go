package transport

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
)

// RedirectMap says where the servers that FEs name are reached from here: host:port as an FE says it, to host:port. Hosts are in lower case.
type RedirectMap map[string]string

// NewRedirectMap checks the entries of a map. A host without a port stands for every port, which is kept; an entry with the port wins. Its error
// has every problem, one a line, in the order of the entries.
func NewRedirectMap(entries map[string]string) (RedirectMap, error) {
	m := make(RedirectMap, len(entries))
	var problems []error
	for _, from := range slices.Sorted(maps.Keys(entries)) {
		to := entries[from]
		_, fromPort, err := splitAuthority(from)
		if err != nil {
			problems = append(problems, fmt.Errorf("has the entry %q, which %w", from, err))
			continue
		}
		_, toPort, err := splitAuthority(to)
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("sends %q to %q, which %w", from, to, err))
		case fromPort != "" && toPort == "":
			problems = append(problems, fmt.Errorf("sends %q to %q, which has no port", from, to))
		case fromPort == "" && toPort != "":
			problems = append(problems, fmt.Errorf("sends every port of %q to one, %q: name the port on both sides or on none", from, to))
		default:
			m[strings.ToLower(from)] = to
		}
	}
	return m, errors.Join(problems...)
}

// splitAuthority splits host or host:port.
func splitAuthority(s string) (host, port string, err error) {
	u, err := url.Parse("http://" + s)
	if err != nil || u.Host != s || strings.HasSuffix(s, ":") {
		return "", "", errors.New("must be host:port, or a host alone")
	}
	if err := checkAuthority(u); err != nil {
		return "", "", err
	}
	return u.Hostname(), u.Port(), nil
}

// reach replaces the server of an address by the one that is reached from here.
func (m RedirectMap) reach(at *url.URL) *url.URL {
	if len(m) == 0 {
		return at
	}
	port := at.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[at.Scheme]
	}
	host := strings.ToLower(at.Hostname())
	to, ok := m[net.JoinHostPort(host, port)]
	if !ok {
		bare := host
		if strings.Contains(host, ":") {
			bare = "[" + host + "]"
		}
		if to, ok = m[bare]; !ok {
			return at
		}
		to = net.JoinHostPort(strings.Trim(to, "[]"), port)
	}
	mapped := *at
	mapped.Host = to
	return &mapped
}

// follow finds where an answer sends us, and how that is reached from here.
func (t *Transport) follow(from *url.URL, location string, c call) (*url.URL, error) {
	to, err := Follow(from, location, c, t.conf.AllowInsecureRedirect)
	if err != nil {
		return nil, err
	}
	return t.conf.Redirects.reach(to), nil
}
