package contract

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/test/emulator"
)

// The faults that every version must survive, in one phase and in two. All others are tried with the default version.
var coreFaults = [][]emulator.Fault{
	{{At: emulator.BEAfterCommit, Do: emulator.Reset}},
	{{At: emulator.BEAfterCommit, Do: emulator.Fail}},
	{{At: emulator.BEAnswer, Do: emulator.Truncate, Bytes: 40}},
	{{At: emulator.BEBeforeCommit, Do: emulator.Reset}},
	{{At: emulator.BEBeforeCommit, Do: emulator.Reset, Keep: true}},
	{{At: emulator.BEBeforeCommit, Do: emulator.Fail, Message: "[TIMEOUT]timed out", Keep: true}},
	{{At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions}},
	{{At: emulator.BEBegin, Do: emulator.TxnLimit}},
	{{At: emulator.BEBody, Do: emulator.Reset, Bytes: 100, Keep: true}},
	{{At: emulator.BEHeaders, Do: emulator.HTTP, Status: 401}},
	{{At: emulator.FERedirect, Do: emulator.DeadBE}},
	{{At: emulator.FERedirect, Do: emulator.NoBackend}},
	{{At: emulator.BEBeforeCommit, Do: emulator.MasterSwitch}},
	{{At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 1}, {At: emulator.StateQuery, Do: emulator.SetState, Message: "UNKNOWN"}},
	{{At: emulator.BEBeforeCommit, Do: emulator.Fail, Message: "[TIMEOUT]x", Keep: true, Times: 1}, {At: emulator.CancelCall, Do: emulator.Fail, Message: "no"}},
}

var coreFaultsOfOnePhase = [][]emulator.Fault{
	{{At: emulator.BEBeforeCommit, Do: emulator.PublishTimeout}},
	{{At: emulator.BEBeforeCommit, Do: emulator.Reset, Keep: true, CommitAfter: 5 * time.Millisecond}},
}

var coreFaultsOfTwoPhases = [][]emulator.Fault{
	{{At: emulator.TwoPhase, Do: emulator.Reset}},
	{{At: emulator.TwoPhase, Do: emulator.Fail, Message: "odd"}},
	{{At: emulator.TwoPhaseAnswer, Do: emulator.Reset}},
	{{At: emulator.TwoPhaseAnswer, Do: emulator.Fail, Message: "odd"}},
	{{At: emulator.BEAnswer, Do: emulator.Reset, Times: 1}, {At: emulator.TwoPhaseAnswer, Do: emulator.Reset}},
}

func TestNoVersionLosesOrDoublesARow(t *testing.T) {
	t.Parallel()
	everyRelease(t, func(t *testing.T, r release) {
		for _, phases := range []struct {
			name   string
			faults [][]emulator.Fault
			change []func(*streamload.Config)
		}{
			{"one phase", slices.Concat(coreFaults, coreFaultsOfOnePhase), nil},
			{"two phases", slices.Concat(coreFaults, coreFaultsOfTwoPhases), []func(*streamload.Config){inTwoPhases}},
		} {
			for _, faults := range phases.faults {
				faults := slices.Clone(faults)
				names := make([]string, len(faults))
				for i := range faults {
					if i == len(faults)-1 {
						faults[i].Times = 1
					}
					names[i] = faults[i].String()
				}
				t.Run(phases.name+"/"+strings.Join(names, " + "), func(t *testing.T) {
					t.Parallel()
					surviveFaultsOf(t, r, faults, phases.change...)
				})
			}
		}
	})
}

// Every version says in its own words what became of a load. They are all understood.
func TestWordsOfVersions(t *testing.T) {
	t.Parallel()
	unknownOnce := emulator.Fault{At: emulator.StateQuery, Do: emulator.SetState, Message: "UNKNOWN", Times: 1}
	precommittedOnce := emulator.Fault{At: emulator.StateQuery, Do: emulator.SetState, Message: "PRECOMMITTED", Times: 1}
	for _, test := range []struct {
		name     string
		faults   []emulator.Fault
		change   func(*streamload.Config)
		evidence string
		sends    int
	}{
		{"the answer is lost, the state tells", []emulator.Fault{{At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 1}}, askFEs, "state_visible", 1},
		{"the answer is lost, the label is FINISHED", []emulator.Fault{{At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 1}, unknownOnce}, askFEs, "label_finished", 2},
		{
			"the load still runs, the label is RUNNING",
			[]emulator.Fault{{At: emulator.BEBeforeCommit, Do: emulator.Reset, Keep: true, CommitAfter: 30 * time.Millisecond, Times: 1}, unknownOnce},
			askFEs, "state_visible", 2,
		},
		{"committed, and published late", []emulator.Fault{{At: emulator.BEBeforeCommit, Do: emulator.PublishTimeout, Times: 1}}, askFEs, "publish_timeout", 1},
		{"the commit is lost on its way", []emulator.Fault{{At: emulator.TwoPhase, Do: emulator.Reset, Times: 1}}, inTwoPhases, "commit", 1},
		{"the answer to the commit is lost", []emulator.Fault{{At: emulator.TwoPhaseAnswer, Do: emulator.Reset, Times: 1}}, inTwoPhases, "state_visible", 1},
		{"the commit is repeated", []emulator.Fault{{At: emulator.TwoPhaseAnswer, Do: emulator.Reset, Times: 1}, precommittedOnce}, inTwoPhases, "commit", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			everyRelease(t, func(t *testing.T, r release) {
				c := r.with(t, test.faults...)
				client, j := c.client(test.change)
				report, err := client.Load(within(t, ended), batch(5))
				require.NoError(t, err)
				require.Equal(t, test.evidence, report.Evidence)
				same(t, j.sent(), test.sends)
				if test.evidence == "publish_timeout" {
					require.NoError(t, c.PublishLabel(db, report.Label))
				}
				require.Equal(t, ids(5), c.stored(table))
			})
		})
	}
}

// A Fail that leaves the transaction open is cancelled, and the rows go under the next label.
func TestFailThatLeavesATransactionInVersions(t *testing.T) {
	t.Parallel()
	everyRelease(t, func(t *testing.T, r release) {
		c := r.with(t, emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Fail, Message: "[TIMEOUT]timed out", Keep: true, Times: 1})
		client, j := c.client(shortPoll)
		report, err := client.Load(within(t, ended), batch(5))
		require.NoError(t, err)
		require.Equal(t, "success", report.Evidence)
		fresh(t, j.sent(), 2)
		require.Equal(t, 1, c.asked("POST", "/_cancel"))
		require.Equal(t, emulator.Aborted, c.LabelState(db, j.sent()[0]))
		require.Equal(t, ids(5), c.stored(table))
	})
}

// A transaction that an earlier process left waiting can be aborted by its label, except in 1.2, which wants an id that nobody has any
// more. There the FE's call for transactions that run does it.
func TestATransactionThatWaitsInVersions(t *testing.T) {
	t.Parallel()
	everyRelease(t, func(t *testing.T, r release) {
		c := r.with(t, emulator.Fault{At: emulator.TwoPhase, Do: emulator.Reset}, emulator.Fault{At: emulator.CancelCall, Do: emulator.Reset})
		b := withIdentity("orders-0-4", rows(1, 4))
		client, j := c.client(inTwoPhases, func(conf *streamload.Config) { conf.LabelPoll.MaxElapsed = 20 * time.Millisecond })
		_, err := client.Load(within(t, ended), b)
		_ = unresolved(t, err)
		label := j.sent()[0]
		require.Equal(t, emulator.Precommitted, c.LabelState(db, label))
		c.ClearFaults()
		cancels := c.asked("POST", "/_cancel")
		client, _ = c.client(inTwoPhases)
		report, err := client.Load(within(t, ended), b)
		require.NoError(t, err)
		require.Equal(t, label, report.Label)
		require.Equal(t, !r.since("2.0"), c.asked("POST", "/_cancel") > cancels)
		require.Equal(t, ids(4), c.stored(table))
	})
}

// A load whose outcome stayed open is settled before its rows are loaded again in other company.
func TestTheLedgerInVersions(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*streamload.Config){"one phase": askFEs, "two phases": inTwoPhases} {
		for what, cause := range map[string]emulator.Fault{
			"stored":        {At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 1},
			"never arrived": {At: emulator.BEBegin, Do: emulator.Close, Times: 1},
			"still open":    {At: emulator.BEBeforeCommit, Do: emulator.Reset, Keep: true, Times: 1},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				everyRelease(t, func(t *testing.T, r release) {
					c := r.with(t, cause)
					down := c.Inject(emulator.Fault{At: emulator.StateQuery, Do: emulator.HTTP, Status: 503})
					client, _ := c.client(change, retries(-1), shortPoll)
					_, err := client.Load(within(t, ended), batch(5))
					if err != nil && failed(t, err).Unresolved {
						require.Positive(t, down.Hits())
					}
					c.ClearFaults()
					// Twice at most: a settlement may leave the load open for the next one.
					for range 3 {
						if _, err = client.Load(within(t, ended), streamload.Batch{Database: db, Table: table, Rows: rows(3, 8)}); err == nil {
							break
						}
						require.True(t, failed(t, err).Unresolved || failed(t, err).Partial, "%v", err)
					}
					require.NoError(t, err)
					all := c.stored(table)
					for i := 1; i < len(all); i++ {
						require.NotEqual(t, all[i-1], all[i], "stored twice: %v", all)
					}
					require.Subset(t, all, []int64{3, 4, 5, 6, 7, 8, 9, 10})
				})
			})
		}
	}
}

// Where a version has group commit an answer that gets lost leaves the outcome open. Where it has none the server makes a label as well, which
// nobody knows; it is the same for us.
func TestGroupCommitInVersions(t *testing.T) {
	t.Parallel()
	everyRelease(t, func(t *testing.T, r release) {
		c := r.with(t, tooManyVersions(1))
		client, _ := c.client(grouped("async_mode"))
		report, err := client.Load(within(t, ended), batch(5))
		require.NoError(t, err)
		require.Equal(t, 2, report.Attempts)
		require.Equal(t, !r.since("2.1"), report.Ungrouped)
		require.Equal(t, ids(5), c.stored(table))
		c.Inject(emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.Reset})
		_, err = client.Load(within(t, ended), batch(5))
		require.Equal(t, 1, unresolved(t, err).Attempts)
		require.ErrorContains(t, err, "store them twice")
	})
}

// The class of a failure sets the pace, and each version has words of its own.
func TestClassesInVersions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		fault emulator.Fault
		class streamload.Class
	}{
		{"too many versions", tooManyVersions(1), decide.Capacity},
		{"too many transactions", txnLimit(1), decide.Capacity},
		{"no BE", emulator.Fault{At: emulator.FERedirect, Do: emulator.NoBackend, Times: 1}, decide.Unavailable},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			everyRelease(t, func(t *testing.T, r release) {
				c := r.with(t, test.fault)
				client, j := c.client()
				_, err := client.Load(within(t, ended), batch(2))
				require.NoError(t, err)
				require.Equal(t, test.class, j.attempts[0].Class, j.attempts[0].Message)
				require.Equal(t, ids(2), c.stored(table))
			})
		})
	}
}

// A compressed body is sent again as it was, where the version reads one.
func TestCompressedLoadsAreSentAgainInVersions(t *testing.T) {
	t.Parallel()
	everyRelease(t, func(t *testing.T, r release) {
		format := "csv"
		if r.since("3.0") {
			format = "json"
		}
		for _, fault := range []emulator.Fault{
			{At: emulator.BEBeforeCommit, Do: emulator.Fail, Message: "[INTERNAL_ERROR]cancelled: closed", Times: 1},
			{At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 1},
		} {
			c := r.with(t, fault)
			client, _ := c.client(askFEs, func(conf *streamload.Config) { conf.Options.Format, conf.Options.Compression = format, "gzip" })
			b := batch(2)
			if format == "csv" {
				b.Rows = [][]byte{[]byte("1,one"), []byte("2,two")}
			}
			_, err := client.Load(within(t, ended), b)
			require.NoError(t, err)
			require.Equal(t, ids(2), c.stored(table))
		}
	})
}
