package contract

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

// gate stops loads at one point of the exchange until the test lets them go on.
type gate struct {
	at      emulator.Point
	reached chan struct{}
	open    chan struct{}
}

func newGate(at emulator.Point) *gate {
	return &gate{at: at, reached: make(chan struct{}, 16), open: make(chan struct{})}
}

func (g *gate) Inject(ctx context.Context, e emulator.Exchange) (emulator.Fault, bool) {
	if e.Point == g.at {
		g.reached <- struct{}{}
		select {
		case <-g.open:
		case <-ctx.Done():
		}
	}
	return emulator.Fault{}, false
}

type delivered struct {
	report streamload.Report
	err    error
}

// background loads in a goroutine.
func background(ctx context.Context, client *streamload.Client, b streamload.Batch) <-chan delivered {
	out := make(chan delivered, 1)
	go func() {
		report, err := client.Load(ctx, b)
		out <- delivered{report, err}
	}()
	return out
}

// wait waits for what must happen soon.
func wait[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(ended):
		require.FailNow(t, "it does not end")
	}
	return v
}

func grace(d time.Duration) func(*streamload.Config) {
	return func(c *streamload.Config) { c.Grace = d }
}

func TestCancelledBeforeTheFirstSend(t *testing.T) {
	t.Parallel()
	c := with(t)
	client, j := c.client()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := client.Load(ctx, batch(5))
	e := stopped(t, err)
	require.Zero(t, e.Attempts)
	require.False(t, e.Unresolved)
	require.Empty(t, c.Requests())
	require.Equal(t, 1, j.finished)
}

func TestCancelledWhileWaitingForAResend(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault      emulator.Fault
		unresolved bool
		polls      int
	}{
		"after an answered failure":  {tooManyVersions(0), false, 1},
		"after a refusal":            {emulator.Fault{At: emulator.FERedirect, Do: emulator.NoBackend}, false, 0},
		"after a lost and dead send": {emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Reset}, true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := with(t, tt.fault)
			ctx, cancel := context.WithCancel(t.Context())
			client, j := c.client(retries(1000), func(conf *streamload.Config) {
				conf.Backoff.Initial, conf.Backoff.Max, conf.Backoff.MaxElapsed = time.Hour, time.Hour, -1
			})
			// The wait for the resend begins when the last of what precedes it was told.
			if tt.polls == 0 {
				j.onAttempt = func(streamload.AttemptInfo) { cancel() }
			} else {
				j.onPoll = func(streamload.PollInfo) { cancel() }
			}
			r := wait(t, background(ctx, client, batch(5)))
			e := stopped(t, r.err)
			require.Equal(t, 1, e.Attempts)
			require.Len(t, c.puts("fe"), 1, "nothing more is sent")
			require.Equal(t, tt.polls, r.report.Polls)
			require.Equal(t, j.sent()[0], e.Label)
			require.Contains(t, r.err.Error(), e.Label)
			require.Equal(t, tt.unresolved, e.Unresolved)
		})
	}
}

func TestCancelledWhileSending(t *testing.T) {
	t.Parallel()
	for _, at := range []emulator.Point{emulator.FEBeforeAnswer, emulator.FERedirect, emulator.BEHeaders, emulator.BEBegin, emulator.BEBody, emulator.BEBeforeCommit, emulator.BEAfterCommit, emulator.BEAnswer} {
		t.Run(fmt.Sprintf("at %s, answered within the grace", at), func(t *testing.T) {
			t.Parallel()
			g := newGate(at)
			c := newCluster(t, emulator.Options{Injector: g})
			client, _ := c.client(grace(ended))
			ctx, cancel := context.WithCancel(t.Context())
			out := background(ctx, client, batch(5))
			wait(t, g.reached)
			cancel()
			close(g.open)
			r := wait(t, out)
			require.NoError(t, r.err)
			require.Equal(t, 1, r.report.Attempts)
			require.Len(t, c.puts("fe"), 1)
			require.Equal(t, ids(5), c.stored(table))
		})
		t.Run(fmt.Sprintf("at %s, silence beyond the grace", at), func(t *testing.T) {
			t.Parallel()
			g := newGate(at)
			c := newCluster(t, emulator.Options{Injector: g})
			client, j := c.client(grace(30 * time.Millisecond))
			ctx, cancel := context.WithCancel(t.Context())
			out := background(ctx, client, batch(5))
			wait(t, g.reached)
			cancel()
			r := wait(t, out)
			sends := len(c.puts("fe"))
			require.Equal(t, 1, sends, "nothing more is sent")
			close(g.open)
			label := j.sent()[0]
			if r.err == nil {
				require.Equal(t, "state_visible", r.report.Evidence)
				return
			}
			e := stopped(t, r.err)
			require.Equal(t, label, e.Label)
			require.Contains(t, r.err.Error(), label)
			if at == emulator.BEBeforeCommit || at == emulator.BEAfterCommit || at == emulator.BEAnswer {
				require.True(t, e.Unresolved, "%v", r.err)
			}
			if !e.Unresolved {
				// It is certain: the rows may be loaded anew under any label.
				c.settle(label)
				require.Empty(t, c.stored(table))
			}
		})
	}
}

// settle lets everything that was going on under a label come to its end.
func (c *cluster) settle(label string) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		for _, r := range c.Loads() {
			if r.Label == label {
				return r.State != emulator.Prepare
			}
		}
		return len(c.puts("be")) == 0
	}, 10*time.Second, time.Millisecond)
}

func TestCancelledWhilePolling(t *testing.T) {
	t.Parallel()
	t.Run("between two questions", func(t *testing.T) {
		t.Parallel()
		c := with(t, emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Reset, Keep: true})
		ctx, cancel := context.WithCancel(t.Context())
		client, j := c.client(func(conf *streamload.Config) {
			conf.LabelPoll = streamload.Backoff{Initial: time.Millisecond, Max: time.Hour, MaxElapsed: -1}
		})
		j.onPoll = func(streamload.PollInfo) {
			if len(j.states()) == 3 {
				cancel()
			}
		}
		r := wait(t, background(ctx, client, batch(5)))
		e := stopped(t, r.err)
		require.True(t, e.Unresolved)
		require.Equal(t, "PREPARE", e.LabelState)
		require.Equal(t, j.sent()[0], e.Label)
		require.Contains(t, r.err.Error(), "label="+e.Label)
		require.Len(t, c.puts("fe"), 1, "nothing more is sent")
		require.Zero(t, c.asked("POST", "/_cancel"), "not even a cancel")
		require.LessOrEqual(t, r.report.Polls, 4, "at most one last look")
	})
	t.Run("the last look finds the rows", func(t *testing.T) {
		t.Parallel()
		c := with(t, emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Reset, Keep: true})
		ctx, cancel := context.WithCancel(t.Context())
		client, j := c.client(func(conf *streamload.Config) {
			conf.LabelPoll = streamload.Backoff{Initial: time.Millisecond, Max: 4 * time.Millisecond, MaxElapsed: -1}
		})
		// The wait before the next question is over or interrupted; either way there is one more.
		j.onPoll = func(p streamload.PollInfo) {
			if len(j.states()) == 1 {
				require.NoError(t, c.CommitLabel(db, p.Label))
				cancel()
			}
		}
		r := wait(t, background(ctx, client, batch(5)))
		if r.err != nil {
			require.True(t, stopped(t, r.err).Unresolved)
		}
		require.Len(t, c.puts("fe"), 1)
		require.Equal(t, ids(5), c.stored(table))
	})
	t.Run("in the middle of a question", func(t *testing.T) {
		t.Parallel()
		g := newGate(emulator.StateQuery)
		c := newCluster(t, emulator.Options{Injector: g, Faults: []emulator.Fault{{At: emulator.BEAfterCommit, Do: emulator.Reset}}})
		ctx, cancel := context.WithCancel(t.Context())
		client, _ := c.client(grace(ended))
		out := background(ctx, client, batch(5))
		wait(t, g.reached)
		cancel()
		close(g.open)
		r := wait(t, out)
		require.NoError(t, r.err)
		require.Equal(t, "state_visible", r.report.Evidence)
		require.Equal(t, ids(5), c.stored(table))
	})
	t.Run("in the middle of a question that is never answered", func(t *testing.T) {
		t.Parallel()
		c := with(t, emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.Reset}, emulator.Fault{At: emulator.StateQuery, Do: emulator.Hang})
		g := make(chan struct{}, 16)
		ctx, cancel := context.WithCancel(t.Context())
		client, j := c.client(grace(30 * time.Millisecond))
		j.onAttempt = func(streamload.AttemptInfo) { g <- struct{}{} }
		out := background(ctx, client, batch(5))
		wait(t, g)
		require.Eventually(t, func() bool { return c.asked("GET", "/get_load_state") > 0 }, ended, time.Millisecond)
		cancel()
		r := wait(t, out)
		e := stopped(t, r.err)
		require.True(t, e.Unresolved)
		require.Contains(t, r.err.Error(), e.Label)
		require.Len(t, c.puts("fe"), 1)
	})
}

// A deadline of the caller is a cancellation too.
func TestDeadlineOfTheCaller(t *testing.T) {
	t.Parallel()
	c := with(t, tooManyVersions(0))
	client, _ := c.client(retries(1_000_000), func(conf *streamload.Config) { conf.Backoff.MaxElapsed = -1 })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r := wait(t, background(ctx, client, batch(5)))
	e := failed(t, r.err)
	require.Equal(t, "stopped", e.Reason)
	require.Len(t, c.puts("fe"), e.Attempts)
	require.False(t, e.Unresolved)
	require.Empty(t, c.stored(table))
}
