package contract

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

// hangs is an injector of hangs at points, at the servers that are named.
func hangs(at map[emulator.Point][]string, reached chan<- struct{}) emulator.InjectorFunc {
	return func(_ context.Context, e emulator.Exchange) (emulator.Fault, bool) {
		for _, server := range at[e.Point] {
			if server == e.Server || server == "*" {
				select {
				case reached <- struct{}{}:
				default:
				}
				return emulator.Fault{Do: emulator.Hang, Keep: true}, true
			}
		}
		return emulator.Fault{}, false
	}
}

// A load is stopped while its BE is silent: what the FEs know of the label is its end.
func TestStoppedWhileTheBackendIsSilent(t *testing.T) {
	t.Parallel()
	const g = 4 * time.Second // half of it passes
	for name, tt := range map[string]struct {
		hang     map[emulator.Point][]string
		evidence string // of the rows being stored
		state    string
		want     string // in the error
	}{
		"the rows are stored": {
			hang:     map[emulator.Point][]string{emulator.BEAfterCommit: {"*"}},
			evidence: "state_visible",
		},
		"the rows are stored, and the FE that is asked first is silent too": {
			hang:     map[emulator.Point][]string{emulator.BEAfterCommit: {"*"}, emulator.StateQuery: {"fe2"}},
			evidence: "state_visible",
		},
		"the load still runs": {
			hang:  map[emulator.Point][]string{emulator.BEBeforeCommit: {"*"}},
			state: "PREPARE",
			want:  "label_state=PREPARE",
		},
		"no FE tells": {
			hang: map[emulator.Point][]string{emulator.BEAfterCommit: {"*"}, emulator.StateQuery: {"*"}},
			want: "did not tell the state of the label in time: stopping",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reached := make(chan struct{}, 1)
			c := newCluster(t, emulator.Options{FEs: 2, Injector: hangs(tt.hang, reached)})
			client, j := c.client(grace(g))
			ctx, cancel := context.WithCancel(t.Context())
			out := background(ctx, client, batch(5))
			wait(t, reached)
			cancel()
			r := wait(t, out)
			require.Len(t, c.puts("fe"), 1, "nothing more is sent")
			require.Len(t, j.states(), 1, "one look")
			if tt.evidence != "" {
				require.NoError(t, r.err)
				require.Equal(t, tt.evidence, r.report.Evidence)
				require.Equal(t, ids(5), c.stored(table))
				return
			}
			e := stopped(t, r.err)
			require.True(t, e.Unresolved)
			require.Equal(t, tt.state, e.LabelState)
			require.ErrorContains(t, r.err, tt.want)
		})
	}
}

// Without any time for a look the error says that there was none, rather than nothing.
func TestStoppedWithoutTimeForALook(t *testing.T) {
	t.Parallel()
	reached := make(chan struct{}, 1)
	c := newCluster(t, emulator.Options{Injector: hangs(map[emulator.Point][]string{emulator.BEAfterCommit: {"*"}}, reached)})
	client, j := c.client(grace(1))
	ctx, cancel := context.WithCancel(t.Context())
	out := background(ctx, client, batch(5))
	wait(t, reached)
	cancel()
	r := wait(t, out)
	e := stopped(t, r.err)
	require.True(t, e.Unresolved)
	require.ErrorContains(t, r.err, "the state of the label was not asked: stopping")
	require.Len(t, j.polls, 1)
	require.Contains(t, j.polls[0].Message, "not asked: stopping")
	require.Zero(t, c.asked("GET", "/get_load_state"))
}

// The state that an error names is that of the label that it names.
func TestErrorNamesTheStateOfItsOwnLabel(t *testing.T) {
	t.Parallel()
	c := with(t,
		emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions, Times: 1},
		emulator.Fault{At: emulator.FERedirect, Do: emulator.NoBackend, Skip: 1},
	)
	client, j := c.client(retries(1), askFEs)
	_, err := client.Load(within(t, ended), batch(5))
	e := failed(t, err)
	fresh(t, j.sent(), 2)
	require.Equal(t, []string{"ABORTED"}, j.states())
	require.Equal(t, j.sent()[1], e.Label)
	require.Empty(t, e.LabelState)
}

// A caller who asks for a state himself and has no time left is told so.
func TestLabelStateWithoutTime(t *testing.T) {
	t.Parallel()
	c := with(t)
	client, _ := c.client()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := client.LabelState(ctx, db, "x")
	require.ErrorContains(t, err, "not asked: stopping")
	require.ErrorContains(t, client.CancelLabel(ctx, db, "x"), "stopping")
	require.NotErrorIs(t, err, streamload.ErrDenied)
	require.Empty(t, c.Requests())
}
