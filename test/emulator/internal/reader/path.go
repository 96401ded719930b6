package reader

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Path is a parsed JSON path: the steps from a value to a part of it. A path
// of one empty step is the whole value.
type Path []step

type step struct {
	key   string
	index int // -1: a key
	whole bool
}

// ParsePath reads the subset of JSON path that the emulator knows: $, $.a.b,
// $.a[0], $.[0] and $."a.b". Wildcards and filters are refused.
func ParsePath(text string) (Path, error) {
	refuse := func() (Path, error) {
		return nil, fmt.Errorf("Invalid json path: %s", text) //nolint:staticcheck // the server's words
	}
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "$")
	if !ok {
		return refuse()
	}
	if rest == "" || rest == "." {
		return Path{{whole: true, index: -1}}, nil
	}
	var p Path
	for rest != "" {
		if rest[0] == '.' {
			rest = rest[1:]
			if rest == "" {
				return refuse()
			}
		} else if rest[0] != '[' {
			return refuse()
		}
		switch rest[0] {
		case '[':
			inner, after, ok := strings.Cut(rest[1:], "]")
			n, err := strconv.Atoi(inner)
			if !ok || err != nil || n < 0 {
				return refuse()
			}
			p, rest = append(p, step{index: n}), after
		case '"':
			inner, after, ok := strings.Cut(rest[1:], `"`)
			if !ok || inner == "" {
				return refuse()
			}
			p, rest = append(p, step{key: inner, index: -1}), after
		default:
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			key := rest[:end]
			if key == "" || strings.ContainsAny(key, "*?()@'\"]") {
				return refuse()
			}
			p, rest = append(p, step{key: key, index: -1}), rest[end:]
		}
	}
	return p, nil
}

// ParsePaths reads the header jsonpaths: a JSON array of paths.
func ParsePaths(text string) ([]Path, error) {
	var list []string
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list) == 0 {
		return nil, fmt.Errorf("Invalid json path: %s", text) //nolint:staticcheck // the server's words
	}
	paths := make([]Path, len(list))
	for i, one := range list {
		p, err := ParsePath(one)
		if err != nil {
			return nil, err
		}
		paths[i] = p
	}
	return paths, nil
}

// find follows the path in one well-formed JSON value.
func (p Path) find(value []byte) ([]byte, bool) {
	for _, st := range p {
		if st.whole {
			continue
		}
		var found []byte
		s := scanner{b: value}
		switch {
		case st.index < 0 && value[0] == '{':
			_ = s.members(0, func(key []byte) error {
				raw, err := s.raw()
				if err == nil && found == nil && string(key) == st.key {
					found = raw
				}
				return err
			})
		case st.index >= 0 && value[0] == '[':
			n := 0
			_ = s.elements(func() error {
				raw, err := s.raw()
				if err == nil && n == st.index {
					found = raw
				}
				n++
				return err
			})
		}
		if found == nil {
			return nil, false
		}
		value = found
	}
	return value, true
}
