package streamload

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload/decide"
)

// A server that says Success without having asked for the rows has not stored them, and the error says so.
func TestSuccessWithoutTheRows(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil && r.Method == http.MethodPut {
				const text = `{"Status":"Success","Message":"OK","NumberTotalRows":1,"NumberLoadedRows":1}`
				_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
			}
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})

	client, err := New(Config{FEs: []string{l.Addr().String()}, Backoff: Backoff{Initial: 1e6, Max: 1e6}})
	require.NoError(t, err)
	defer client.Close()
	_, err = client.Load(t.Context(), Batch{Database: "db", Table: "t", Rows: [][]byte{[]byte(`{"id":1}`)}})
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, decide.Protocol, e.Class)
	require.Contains(t, e.Message, l.Addr().String()+" did not take the rows, and yet answered Success")
	require.False(t, e.Unresolved)
	require.Equal(t, 4, e.Attempts)
}
