package contract

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

func inTwoPhases(conf *streamload.Config) { conf.Options.TwoPhaseCommit = true }

func TestTwoPhases(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		faults   []emulator.Fault
		evidence string
		loads    int
		state    emulator.State
	}{
		{"all is well", nil, "commit", 1, emulator.Visible},
		{"the answer to the commit is lost", []emulator.Fault{
			{At: emulator.TwoPhaseAnswer, Do: emulator.Reset, Times: 1},
		}, "state_visible", 1, emulator.Visible},
		{"the answer to the commit is lost, and the next commit is told that it is visible", []emulator.Fault{
			{At: emulator.TwoPhaseAnswer, Do: emulator.Reset, Times: 1},
			{At: emulator.StateQuery, Do: emulator.SetState, Message: "PRECOMMITTED", Times: 1},
		}, "commit", 1, emulator.Visible},
		{"the commit is lost on its way", []emulator.Fault{{At: emulator.TwoPhase, Do: emulator.Reset, Times: 2}}, "commit", 1, emulator.Visible},
		{"no answer to the commit comes through", []emulator.Fault{{At: emulator.TwoPhaseAnswer, Do: emulator.Reset}}, "state_visible", 1, emulator.Visible},
		{"the answer to the load is lost", []emulator.Fault{{At: emulator.BEAnswer, Do: emulator.Reset, Times: 1}}, "commit", 2, emulator.Visible},
		{"the load fails", []emulator.Fault{{At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions, Times: 1}}, "commit", 2, emulator.Visible},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, emulator.Options{Faults: test.faults})
			client, j := c.client(inTwoPhases)
			r, err := client.Load(within(t, ended), batch(5))
			require.NoError(t, err)
			require.Equal(t, test.evidence, r.Evidence)
			require.Equal(t, ids(5), c.stored(table))
			require.Len(t, j.sent(), test.loads)
			require.Equal(t, test.state, c.LabelState(db, r.Label))
			if r.Evidence == "commit" {
				require.EqualValues(t, 5, r.Loaded)
				require.Positive(t, r.TxnID)
			}
		})
	}
}

// What waits for its second phase when the pipeline stops is aborted, so that whoever loads the rows next finds no transaction of theirs.
func TestStopBetweenThePhases(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]emulator.Fault{
		"a silent BE":           {At: emulator.TwoPhase, Do: emulator.Hang, Times: 1},
		"a commit that is lost": {At: emulator.TwoPhase, Do: emulator.Reset},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := with(t, fault)
			client, j := c.client(inTwoPhases, func(conf *streamload.Config) { conf.Grace = 400 * time.Millisecond })
			ctx, cancel := context.WithCancel(within(t, ended))
			j.onAttempt = func(streamload.AttemptInfo) { cancel() }
			_, err := client.Load(ctx, batch(3))
			require.Error(t, err)
			require.Empty(t, c.stored(table))
			c.ClearFaults()
			client, _ = c.client(inTwoPhases)
			_, err = client.Load(within(t, ended), batch(3))
			require.NoError(t, err)
			require.Equal(t, ids(3), c.stored(table))
		})
	}
}

// A transaction that an earlier process left waiting under a stable label is aborted, because nobody knows what is in it, and loaded anew.
func TestAStableLabelThatWaits(t *testing.T) {
	t.Parallel()
	c := with(t, emulator.Fault{At: emulator.TwoPhase, Do: emulator.Reset}, emulator.Fault{At: emulator.CancelCall, Do: emulator.Reset})
	b := batch(4)
	b.Identity = "orders-0-4"
	client, j := c.client(inTwoPhases, func(conf *streamload.Config) { conf.LabelPoll.MaxElapsed = 20 * time.Millisecond })
	_, err := client.Load(within(t, ended), b)
	_ = unresolved(t, err)
	require.Equal(t, emulator.Precommitted, c.LabelState(db, j.sent()[0]))
	c.ClearFaults()
	client, _ = c.client(inTwoPhases)
	r, err := client.Load(within(t, ended), b)
	require.NoError(t, err)
	require.Equal(t, j.sent()[0], r.Label)
	require.Equal(t, ids(4), c.stored(table))
	r, err = client.Load(within(t, ended), b)
	require.NoError(t, err)
	require.Equal(t, "label_finished", r.Evidence)
	require.Equal(t, ids(4), c.stored(table))
}

// The same faults as in one phase, and those of the second phase.
func TestNoFaultInTwoPhasesLosesOrDoublesARow(t *testing.T) {
	t.Parallel()
	var all [][]emulator.Fault
	for _, f := range singleFaults() {
		if f.CommitAfter == 0 && f.Do != emulator.PublishTimeout { // nothing commits by itself
			all = append(all, []emulator.Fault{f})
		}
	}
	for _, at := range []emulator.Point{emulator.TwoPhase, emulator.TwoPhaseAnswer} {
		for _, f := range actions {
			f.At = at
			if f.Validate() != nil || f.Do == emulator.Evict {
				continue
			}
			all = append(all, []emulator.Fault{f}, []emulator.Fault{{At: emulator.BEAnswer, Do: emulator.Reset, Times: 1}, f})
		}
	}
	surviveAll(t, all, []int{1, 3}, inTwoPhases)
}
