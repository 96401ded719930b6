package contract

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A gateway that asks for more time than a delivery has does not end it: the load is tried again within the time that there is.
func TestRetryAfterBeyondTheTimeThereIs(t *testing.T) {
	t.Parallel()
	c := with(t)
	var refused atomic.Int32
	gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && refused.Add(1) <= 2 {
			w.Header().Set("Retry-After", "86400")
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		w.Header().Set("Location", "http://"+c.BEAddr()+r.URL.Path)
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
	t.Cleanup(gate.Close)
	client, j := newClient(t, c.through([]string{gate.URL}))
	report, err := client.Load(within(t, ended), batch(5))
	require.NoError(t, err)
	require.Equal(t, 3, report.Attempts)
	same(t, j.sent(), 3)
	require.Equal(t, ids(5), c.stored(table))
}
