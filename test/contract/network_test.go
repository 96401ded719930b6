package contract

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

// straight sends loads to the BEs of the cluster, whatever its FEs say.
func (c *cluster) straight(conf *streamload.Config) { conf.BEs = c.BEAddrs() }

// With be_urls no FE sees a load, and the BEs take them in turn.
func TestLoadsGoStraightToBEs(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{BEs: 2})
	client, _ := c.client(c.straight)
	for range 4 {
		_, err := client.Load(within(t, ended), batch(1))
		require.NoError(t, err)
	}
	require.Empty(t, c.puts("fe"))
	seen := map[string]int{}
	for _, r := range c.puts("be") {
		seen[r.Server]++
	}
	require.Equal(t, map[string]int{"be1": 2, "be2": 2}, seen)
}

// FEs still tell what became of a label, and a BE that is down is passed over.
func TestABEOfTheConfigThatFails(t *testing.T) {
	t.Parallel()
	t.Run("its answer is lost", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t, emulator.Options{BEs: 2, Faults: []emulator.Fault{{At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 1}}})
		client, _ := c.client(c.straight)
		r, err := client.Load(within(t, ended), batch(3))
		require.NoError(t, err)
		require.Equal(t, "state_visible", r.Evidence)
		require.Equal(t, ids(3), c.stored(table))
	})
	t.Run("it is down", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t, emulator.Options{BEs: 2})
		c.StopBE(0)
		client, j := c.client(c.straight)
		for i := range 6 {
			b := batch(1)
			b.Rows = rows(i+1, 1)
			_, err := client.Load(within(t, ended), b)
			require.NoError(t, err)
		}
		require.Equal(t, ids(6), c.stored(table))
		require.LessOrEqual(t, len(j.sent()), 7, "it is tried once, and then passed over")
	})
	t.Run("all are down, and the FEs are not", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t, emulator.Options{BEs: 2})
		c.StopBE(0)
		c.StopBE(1)
		client, _ := c.client(c.straight, retries(2))
		_, err := client.Load(within(t, ended), batch(1))
		e := failed(t, err)
		require.False(t, e.NoFE)
		require.Equal(t, "unavailable", string(e.Class))
	})
	t.Run("in two phases, and what is left open is fenced", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t, emulator.Options{BEs: 1, Faults: []emulator.Fault{
			{At: emulator.BEBody, Do: emulator.Reset, Bytes: 1 << 20, Times: 1}, {At: emulator.StateQuery, Do: emulator.HTTP, Status: 404, Times: 1},
		}})
		client, _ := c.client(c.straight, inTwoPhases)
		_, err := client.Load(within(t, ended), batch(2))
		_ = unresolved(t, err)
		r, err := client.Load(within(t, ended), batch(2))
		require.NoError(t, err)
		require.Equal(t, "commit", r.Evidence)
		require.Equal(t, ids(2), c.stored(table))
		for _, r := range c.Requests() {
			require.False(t, strings.HasPrefix(r.Server, "fe") && r.Method == "PUT", "%s %s", r.Method, r.Path)
		}
	})
}

// An FE that names a BE by an address of its own network.
func TestRedirectMap(t *testing.T) {
	t.Parallel()
	c := with(t, emulator.Fault{
		At: emulator.FERedirect, Do: emulator.HTTP, Status: 307, Location: "http://be.internal:8040/api/" + db + "/" + table + "/_stream_load",
	})
	conf := func(conf *streamload.Config) { conf.ConnectTimeout = time.Second }

	lost, _ := c.client(conf, retries(-1))
	_, err := lost.Load(within(t, ended), batch(1))
	e := failed(t, err)
	require.Contains(t, e.Error(), "be.internal:8040, which cannot be reached from here: if that address is good only inside the cluster, set redirect_map, redirect_policy or be_urls")

	client, _ := c.client(conf, func(conf *streamload.Config) {
		conf.RedirectMap = map[string]string{"be.internal:8040": strings.TrimPrefix(c.BEAddrs()[0], "http://")}
	})
	_, err = client.Load(within(t, ended), batch(3))
	require.NoError(t, err)
	require.Equal(t, ids(3), c.stored(table))
}

// IPv6 addresses, of the FE in the config and of the BE in its redirect.
func TestIPv6(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{BEs: 1})
	fe, be := onIPv6(t, strings.TrimPrefix(c.FEURL(), "http://")), onIPv6(t, strings.TrimPrefix(c.BEAddrs()[0], "http://"))
	client, _ := newClient(t, c.through([]string{"http://" + fe}, func(conf *streamload.Config) {
		conf.RedirectMap = map[string]string{strings.TrimPrefix(c.BEAddrs()[0], "http://"): be}
	}))
	for range 2 {
		r, err := client.Load(within(t, ended), batch(3))
		require.NoError(t, err)
		state, err := client.LabelState(within(t, ended), db, r.Label)
		require.NoError(t, err)
		require.Equal(t, "VISIBLE", state)
	}
	require.Len(t, c.stored(table), 6)
}

// onIPv6 is an address on ::1 whose connections go on to another one.
func onIPv6(t *testing.T, to string) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp6", "[::1]:0")
	if err != nil {
		t.Skipf("no IPv6 on this machine: %v", err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { pass(in, to) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	return l.Addr().String()
}

// pass copies both ways until either side ends.
func pass(in net.Conn, to string) {
	out, err := (&net.Dialer{Timeout: ended}).DialContext(context.Background(), "tcp", to)
	if err != nil {
		_ = in.Close()
		return
	}
	var back sync.WaitGroup
	back.Go(func() { _, _ = io.Copy(in, out); _ = in.Close() })
	_, _ = io.Copy(out, in)
	_ = out.Close()
	back.Wait()
}
