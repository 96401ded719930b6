// Package rawload sends loads as any HTTP client would, for tests that need what another process has left at a server.
package rawload

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Row is one row of JSON on its way to a BE (host:port), in one phase or in two.
type Row struct {
	BE, Path       string // the path is that of the load, such as /api/db/table/_stream_load
	User, Password string // root without a password if both are empty
	Label, JSON    string
	TwoPhases      bool
}

// Put sends the row. Whatever the BE answers is for the caller to find out.
func Put(tb testing.TB, row Row) {
	tb.Helper()
	r, err := http.NewRequestWithContext(tb.Context(), http.MethodPut, "http://"+row.BE+row.Path, strings.NewReader(row.JSON))
	require.NoError(tb, err)
	if row.User == "" {
		row.User = "root"
	}
	r.SetBasicAuth(row.User, row.Password)
	headers := map[string]string{"Expect": "100-continue", "format": "json", "read_json_by_line": "true", "label": row.Label}
	if row.TwoPhases {
		headers["two_phase_commit"] = "true"
	}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no connection outlives the test
	resp, err := client.Do(r)
	require.NoError(tb, err)
	require.NoError(tb, resp.Body.Close())
}
