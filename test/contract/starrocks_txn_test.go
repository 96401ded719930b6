package contract

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

func TestStarRocksTwoPhases(t *testing.T) {
	t.Parallel()
	op := func(at emulator.Point, op string) emulator.Fault {
		return emulator.Fault{At: at, Do: emulator.Reset, Op: op, Times: 1}
	}
	for _, test := range []struct {
		name     string
		opt      emulator.Options
		evidence string
		sent     int
	}{
		{"all is well", emulator.Options{}, "commit", 1},
		{"through a follower", emulator.Options{FEs: 2, BEs: 3}, "commit", 1},
		{"the begin is lost", emulator.Options{Faults: []emulator.Fault{op(emulator.TwoPhase, "begin")}}, "commit", 2},
		{"the answer to the begin is lost", emulator.Options{Faults: []emulator.Fault{op(emulator.TwoPhaseAnswer, "begin")}}, "commit", 2},
		{"the rows are lost", emulator.Options{Faults: []emulator.Fault{{At: emulator.BEBody, Do: emulator.Reset, Bytes: 9, Times: 1}}}, "commit", 2},
		{"the answer to the load is lost", emulator.Options{Faults: []emulator.Fault{{At: emulator.BEAnswer, Do: emulator.Reset, Times: 1}}}, "commit", 2},
		{"the prepare is lost", emulator.Options{Faults: []emulator.Fault{op(emulator.TwoPhase, "prepare")}}, "commit", 2},
		{"the answer to the prepare is lost", emulator.Options{Faults: []emulator.Fault{op(emulator.TwoPhaseAnswer, "prepare")}}, "commit", 2},
		{"the prepare fails", emulator.Options{Faults: []emulator.Fault{{At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions, Times: 1}}}, "commit", 2},
		{"the commit is lost", emulator.Options{Faults: []emulator.Fault{op(emulator.TwoPhase, "commit")}}, "commit", 1},
		{"the answer to the commit is lost", emulator.Options{Faults: []emulator.Fault{op(emulator.TwoPhaseAnswer, "commit")}}, "state_visible", 1},
		{"the answer to the commit is lost, and it is told that it is committed", emulator.Options{Faults: []emulator.Fault{
			op(emulator.TwoPhaseAnswer, "commit"), {At: emulator.StateQuery, Do: emulator.SetState, Message: "PREPARED", Times: 1},
		}}, "commit", 1},
		{"no BE", emulator.Options{Faults: []emulator.Fault{{At: emulator.FERedirect, Do: emulator.NoBackend, Times: 1}}}, "commit", 2},
	} {
		for _, format := range []string{"json", "csv"} {
			t.Run(test.name+" "+format, func(t *testing.T) {
				t.Parallel()
				c := newStarRocks(t, test.opt)
				client, j := newClient(t, c.through(c.FEURLs()[len(c.FEURLs())-1:], starRocks, inTwoPhases, func(conf *streamload.Config) {
					conf.Options.Format, conf.Options.Compression = format, "gzip"
				}))
				b := batch(20)
				if format == "csv" {
					for i := range b.Rows {
						b.Rows[i] = []byte(strings.NewReplacer(`{"id":`, "", `"note":`, "", `"`, "", "}", "").Replace(string(b.Rows[i])))
					}
				}
				r, err := client.Load(within(t, ended), b)
				require.NoError(t, err)
				require.Equal(t, test.evidence, r.Evidence)
				fresh(t, j.sent(), test.sent)
				require.Equal(t, ids(20), c.stored(table))
				require.Equal(t, emulator.Visible, c.LabelState(db, r.Label))
				for _, label := range j.sent()[:test.sent-1] {
					require.Contains(t, []emulator.State{emulator.Aborted, emulator.Unknown}, c.LabelState(db, label), "nothing is left behind")
				}
				c.nothingIgnored()
				if r.Evidence == "commit" {
					require.EqualValues(t, 20, r.Loaded)
					require.Positive(t, r.TxnID)
				}
			})
		}
	}
}

// Loads go straight to BEs, and the FEs commit.
func TestStarRocksTwoPhasesWithBEs(t *testing.T) {
	t.Parallel()
	c := newStarRocks(t, emulator.Options{BEs: 2})
	client, _ := c.client(starRocks, inTwoPhases, func(conf *streamload.Config) { conf.BEs = []string{c.BEAddr()} })
	r, err := client.Load(within(t, ended), batch(5))
	require.NoError(t, err)
	require.Equal(t, "commit", r.Evidence)
	require.Equal(t, ids(5), c.stored(table))
}

// What waits for its commit when the pipeline stops is rolled back.
func TestStarRocksStopBetweenThePhases(t *testing.T) {
	t.Parallel()
	c := newStarRocks(t, emulator.Options{Faults: []emulator.Fault{{At: emulator.TwoPhase, Do: emulator.Reset, Op: "commit"}}})
	client, j := c.client(starRocks, inTwoPhases, func(conf *streamload.Config) { conf.Grace = 400 * time.Millisecond })
	ctx, cancel := context.WithCancel(within(t, ended))
	j.onAttempt = func(streamload.AttemptInfo) { cancel() }
	_, err := client.Load(ctx, batch(3))
	require.Error(t, err)
	require.Empty(t, c.stored(table))
	c.ClearFaults()
	client, _ = c.client(starRocks, inTwoPhases)
	_, err = client.Load(within(t, ended), batch(3))
	require.NoError(t, err)
	require.Equal(t, ids(3), c.stored(table))
}

// A commit whose fate stays unknown leaves the load open, and it is settled when its rows come back, in whatever batches.
func TestStarRocksOpenCommit(t *testing.T) {
	t.Parallel()
	for _, committed := range []bool{false, true} {
		c := newStarRocks(t, emulator.Options{})
		client, j := c.client(starRocks, inTwoPhases, impatient)
		at := emulator.TwoPhase
		if committed {
			at = emulator.TwoPhaseAnswer
		}
		c.Inject(emulator.Fault{At: at, Do: emulator.Reset, Op: "commit"})
		c.Inject(emulator.Fault{At: emulator.StateQuery, Do: emulator.Fail, Message: "busy"})
		_, err := client.Load(within(t, ended), batch(4))
		_ = unresolved(t, err)
		c.ClearFaults()
		for _, b := range [][][]byte{rows(1, 2), rows(3, 2)} {
			_, err := client.Load(within(t, ended), streamload.Batch{Database: db, Table: table, Rows: b})
			require.NoError(t, err)
		}
		require.Equal(t, ids(4), c.stored(table))
		require.Equal(t, committed, c.LabelState(db, j.sent()[0]) == emulator.Visible)
		loads, _ := client.LedgerSize()
		require.Zero(t, loads)
	}
}

func TestStarRocksTwoPhasesNeedALabelForEachRequest(t *testing.T) {
	t.Parallel()
	c := newStarRocks(t, emulator.Options{})
	client, _ := c.client(starRocks, inTwoPhases)
	b := batch(1)
	b.Identity = "x"
	_, err := client.Load(within(t, ended), b)
	require.ErrorContains(t, err, "a label can be used once only")
	require.Empty(t, c.Requests())
}

// The same faults as with Doris.
func TestNoFaultOfStarRocksLosesOrDoublesARow(t *testing.T) {
	t.Parallel()
	var all, calls [][]emulator.Fault
	for _, f := range singleFaults() {
		if f.CommitAfter == 0 && f.Do != emulator.PublishTimeout {
			all = append(all, []emulator.Fault{f})
		}
	}
	for _, at := range []emulator.Point{emulator.TwoPhase, emulator.TwoPhaseAnswer} {
		for _, f := range actions {
			if f.At = at; f.Validate() != nil || f.Do == emulator.Evict {
				continue
			}
			for _, f.Op = range []string{"begin", "prepare", "commit", "rollback"} {
				calls = append(calls, []emulator.Fault{f})
			}
		}
	}
	t.Run("one phase", func(t *testing.T) {
		t.Parallel()
		surviveAll(t, all, []int{1, 3}, starRocks)
	})
	t.Run("two phases", func(t *testing.T) {
		t.Parallel()
		surviveAll(t, all, []int{1, 3}, starRocks, inTwoPhases)
		surviveAll(t, calls, []int{1}, starRocks, inTwoPhases)
	})
}
