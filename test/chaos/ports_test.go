package chaos

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// Ports for what goes down and comes back. They are below those that systems give to connections and to listeners that do not mind, so nobody else gets one
// while it is free for a moment: a row that is sent to the server of another run would look like one that is lost.
const firstPort, lastPort = 12_000, 32_000

// reserve gives an address for the time of a test. Other processes that run this suite respect it, since they cannot have the UDP port
// of the same number.
func reserve(t *testing.T) string {
	t.Helper()
	for range 1000 {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(firstPort+rand.IntN(lastPort-firstPort))) //nolint:gosec // any will do
		var l net.ListenConfig
		held, err := l.ListenPacket(t.Context(), "udp", addr)
		if err != nil {
			continue
		}
		free, err := l.Listen(t.Context(), "tcp", addr)
		if err != nil {
			_ = held.Close()
			continue
		}
		_ = free.Close()
		t.Cleanup(func() { _ = held.Close() })
		return addr
	}
	require.Fail(t, "there are no free ports")
	return ""
}
