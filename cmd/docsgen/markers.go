package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A page shows a generated table between two comments of their own lines:
//
//	<!-- docsgen:options:begin -->
//	<!-- docsgen:options:end -->
var marker = regexp.MustCompile(`(?m)^<!-- docsgen:([a-z]+):(begin|end) -->\n?`)

// fillMarkers replaces what stands between the markers of a page by the tables
// of their names, and says which tables the page shows.
func fillMarkers(page string, tables []namedTable) (string, []string, error) {
	var b strings.Builder
	var shown []string
	var errs []error
	open, kept := "", 0
	for _, at := range marker.FindAllStringSubmatchIndex(page, -1) {
		name, edge := page[at[2]:at[3]], page[at[4]:at[5]]
		switch {
		case edge == "begin" && open == "":
			i := slices.IndexFunc(tables, func(t namedTable) bool { return t.name == name })
			if i < 0 {
				errs = append(errs, fmt.Errorf("there is no table %q", name))
				continue
			}
			b.WriteString(page[kept:at[1]])
			b.WriteString("\n" + tables[i].text + "\n")
			shown = append(shown, name)
			open = name
		case edge == "end" && open == name:
			kept = at[0]
			open = ""
		default:
			errs = append(errs, fmt.Errorf("the %s marker of table %q is out of place", edge, name))
		}
	}
	if open != "" {
		errs = append(errs, fmt.Errorf("table %q has no end marker", open))
	}
	if err := errors.Join(errs...); err != nil {
		return "", nil, err
	}
	b.WriteString(page[kept:])
	return b.String(), shown, nil
}
