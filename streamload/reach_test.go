package streamload_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

func TestReach(t *testing.T) {
	t.Parallel()
	emu := emulator.New(t, emulator.Options{FEs: 2, Users: []emulator.User{{Name: "somebody", Password: "else"}}})
	only := func(fes ...string) *streamload.Client {
		return fastClient(t, emu, func(conf *streamload.Config) { conf.FEs, conf.ConnectTimeout = fes, 300*time.Millisecond })
	}
	dead := "http://" + emu.DeadAddr()
	silent := "http://" + silentServer(t)
	unwell := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	t.Cleanup(unwell.Close)
	began := time.Now()
	require.NoError(t, only(emu.FEURLs()...).Reach(t.Context()), "the password does not matter")
	require.NoError(t, only(unwell.URL).Reach(t.Context()), "nor what it answers")
	require.NoError(t, only("http://"+emu.BEAddr()).Reach(t.Context()))

	err := only(dead, silent).Reach(t.Context())
	require.ErrorIs(t, err, streamload.ErrNoFE)
	require.ErrorContains(t, err, emu.DeadAddr())
	require.ErrorContains(t, err, silent[len("http://"):])
	require.Less(t, time.Since(began), 20*time.Second, "bounded by connect_timeout")

	slow := fastClient(t, emu, func(conf *streamload.Config) {
		conf.FEs, conf.ConnectTimeout = []string{silent, emu.FEURL()}, time.Hour
	})
	require.NoError(t, slow.Reach(t.Context()), "one that answers is enough")

	err = only(emu.FEURL()).Reach(canceled(t))
	require.ErrorIs(t, err, streamload.ErrNoFE)
}

// An FE is not down because nobody waited for it.
func TestReachDoesNotBlameAnFEThatWasNotWaitedFor(t *testing.T) {
	t.Parallel()
	emu := emulator.New(t, emulator.Options{})
	w := &feWatcher{}
	c := fastClient(t, emu, func(conf *streamload.Config) {
		conf.FEs, conf.Observer, conf.ConnectTimeout = []string{"http://" + silentServer(t), emu.FEURL()}, w, time.Hour
	})
	require.NoError(t, c.Reach(t.Context()))
	require.Empty(t, w.down)
}

type feWatcher struct {
	streamload.NopObserver

	down []string
}

func (w *feWatcher) FE(address string, _ bool) { w.down = append(w.down, address) }

func TestErrorsTellWhetherAnFEAnswered(t *testing.T) {
	t.Parallel()
	emu := emulator.New(t, emulator.Options{AutoCreate: true})
	c := fastClient(t, emu, nil)
	emu.Inject(emulator.Fault{At: emulator.FERedirect, Do: emulator.DeadBE, Times: 1})
	_, e := load(t, c, 1)
	require.Equal(t, streamload.StageConnect, e.Stage)
	require.False(t, e.NoFE, "it was the BE that could not be reached")
	emu.Inject(emulator.Fault{At: emulator.FEBeforeAnswer, Do: emulator.HTTP, Status: 503, Times: 1})
	_, e = load(t, c, 1)
	require.False(t, e.NoFE, "an answer is an answer")
	emu.Inject(emulator.Fault{At: emulator.FEBeforeAnswer, Do: emulator.Reset, Times: 1})
	_, e = load(t, c, 1)
	require.True(t, e.NoFE)
	emu.StopFE(0)
	_, e = load(t, c, 1)
	require.True(t, e.NoFE)
}

// silentServer accepts connections and says nothing.
func silentServer(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		var open []net.Conn
		defer func() {
			for _, c := range open {
				_ = c.Close()
			}
		}()
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				open = append(open, c)
			}
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String()
}

func canceled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
