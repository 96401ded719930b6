package output

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

func testConnection(t *testing.T, b *built) error {
	t.Helper()
	tested, ok := b.BatchOutput.(service.ConnectionTestable)
	require.True(t, ok)
	results := tested.ConnectionTest(within(t))
	require.Len(t, results, 1)
	return results[0].Err
}

func TestConnections(t *testing.T) {
	t.Parallel()
	users := []emulator.User{{Name: "loader", Password: "pw-of-loader", Load: []string{"*"}}}
	for _, c := range []struct {
		name   string
		fields string
		down   int
		want   []string
	}{
		{"all is well", target + "username: loader\npassword: pw-of-loader", 0, nil},
		{"a database that depends on the message", "database: ${! this.d }\ntable: t\nusername: loader\npassword: pw-of-loader", 0, nil},
		{"wrong password", target + "username: loader\npassword: wrong-pw", 0, []string{`the user "loader" is refused: `, "access denied"}},
		{
			"wrong password, database from the message", "database: ${! this.d }\ntable: t\nusername: loader\npassword: wrong-pw", 0,
			[]string{`the user "loader" is refused: `},
		},
		{"one FE is down", target + "username: loader\npassword: pw-of-loader", 1, []string{"FE 127.", " cannot be used: ", "refused"}},
		{"one FE is down and the password wrong", target + "username: loader\npassword: wrong-pw", 1, []string{" cannot be used: ", " is refused: "}},
		{"no such table", "database: d\ntable: u\nusername: loader\npassword: pw-of-loader", 0, []string{"the table d.u does not exist: "}},
		{"all FEs are down", target, 2, []string{"FE 127.", " cannot be used: "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := cluster(t, emulator.Options{FEs: 2, Users: users, Tables: []emulator.Table{
				{Database: "d", Name: "t", Columns: []emulator.Column{{Name: "id", Type: "INT"}}},
			}})
			for i := range c.down {
				e.StopFE(i)
			}
			b, err := tryBuild("fe_urls: [ \"" + strings.Join(e.FEURLs(), ",") + "\" ]\n" + c.fields + "\n" + fast)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) }) //nolint:usetesting // the test's own context has ended then
			err = testConnection(t, b)
			if c.want == nil {
				require.NoError(t, err)
			}
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
			if err != nil {
				require.NotContains(t, err.Error(), "wrong-pw")
			}
			if c.down == 2 {
				require.Equal(t, 2, strings.Count(err.Error(), "cannot be used"))
			}
			require.Empty(t, e.Loads())
			for _, r := range e.Requests() {
				if strings.HasSuffix(r.Path, "/get_load_state") {
					database := "d"
					if strings.Contains(c.fields, "this.d") {
						database = "information_schema"
					}
					require.Equal(t, "/api/"+database+"/get_load_state", r.Path)
				}
			}
		})
	}
}

func TestARefusalAsHTTPStatus(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		s := newServer(t, func(s *server) { s.refuse = status })
		require.ErrorContains(t, testConnection(t, build(t, fields(s.fe.URL, target))), `the user "root" is refused: `)
	}
	s := newServer(t, func(s *server) { s.refuse = http.StatusNotFound })
	require.NoError(t, testConnection(t, build(t, fields(s.fe.URL, target))), "a server that has no such call still is one")
}
