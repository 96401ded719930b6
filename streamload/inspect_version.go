package streamload

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// ServerVersion is a version of Doris: major, minor, patch. One that was not released, built from the sources, is 0.0.0.
type ServerVersion [3]int

// String is as in 3.0.5.
func (v ServerVersion) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

// Before is true for a version that is older than another. One that was not released is older than none.
func (v ServerVersion) Before(other ServerVersion) bool {
	return v != ServerVersion{} && slices.Compare(v[:], other[:]) < 0
}

// anyDatabase exists on every Doris.
const anyDatabase = "information_schema"

// InspectVersion asks the FEs in turn for their version (Doris: the variable version_comment, fe GlobalVariable.java; no privilege is needed). Of StarRocks, and
// of builds with a name of their own, it is not known. The error is as that of InspectTable.
func (c *Client) InspectVersion(ctx context.Context) (ServerVersion, error) {
	rows, err := c.query(ctx, anyDatabase, "SHOW VARIABLES LIKE 'version_comment'")
	if err != nil {
		return ServerVersion{}, err
	}
	for _, row := range rows {
		if v, ok := parseVersion(cmp.Or(row["value"], row["variable_value"])); ok {
			return v, nil
		}
	}
	return ServerVersion{}, fmt.Errorf("%w: there is no version of Doris in version_comment", ErrNoSuchCall)
}

// versionText is for texts such as "Doris version doris-3.0.5-rc01-1a2b3c4".
var versionText = regexp.MustCompile(`(?i)\bdoris(?: version)?[- ](\d{1,4})\.(\d{1,4})\.(\d{1,4})\b`)

func parseVersion(text string) (v ServerVersion, ok bool) {
	m := versionText.FindStringSubmatch(text)
	if m == nil {
		return v, false
	}
	for i := range v {
		v[i], _ = strconv.Atoi(m[i+1]) // digits, and few
	}
	return v, true
}
