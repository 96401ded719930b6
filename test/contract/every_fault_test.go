package contract

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

// loadPoints are the points that every load passes.
var loadPoints = []emulator.Point{
	emulator.FEBeforeAnswer, emulator.FERedirect, emulator.BEHeaders, emulator.BEBegin, emulator.BEBody,
	emulator.BEBeforeCommit, emulator.BEAfterCommit, emulator.BEAnswer,
}

// actions are all actions with the forms of each that differ for a client.
var actions = []emulator.Fault{
	{Do: emulator.Reset},
	{Do: emulator.Close},
	{Do: emulator.Hang, For: 20 * time.Millisecond},
	{Do: emulator.Delay, For: 10 * time.Millisecond},
	{Do: emulator.HTTP, Status: 500},
	{Do: emulator.HTTP, Status: 503, Body: "<html>Backend server unavailable</html>"},
	{Do: emulator.HTTP, Status: 404, Body: "Not Found", ContentType: "text/plain"},
	{Do: emulator.HTTP, Status: 401},
	{Do: emulator.HTTP, Status: 200},
	{Do: emulator.HTTP, Status: 200, Body: "<html>Success, please log in</html>"},
	{Do: emulator.HTTP, Status: 200, Body: `{"Status":"Fail","Message":"odd"}`},
	{Do: emulator.HTTP, Status: 200, Body: `{"msg":"success","code":0,"data":"VISIBLE","count":0}`},
	{Do: emulator.Evict},
	{Do: emulator.MasterSwitch},
	{Do: emulator.FEDown, For: 30 * time.Millisecond},
	{Do: emulator.BEDown, For: 30 * time.Millisecond},
	{Do: emulator.BERestart},
	{Do: emulator.Fail, Message: "[INTERNAL_ERROR]cancelled: something odd"},
	{Do: emulator.Fail, Message: "[TIMEOUT]timed out"},
	{Do: emulator.Truncate, Bytes: 40},
	{Do: emulator.PublishTimeout},
	{Do: emulator.TooManyVersions},
	{Do: emulator.TxnLimit},
	{Do: emulator.DeadBE},
	{Do: emulator.NoBackend},
}

// falseSuccess is an answer that claims the rows were stored. It is a fault only where no body was read yet: behind that, no
// client could tell it from the truth.
var falseSuccess = emulator.Fault{Do: emulator.HTTP, Status: 200, Body: `{"TxnId":3,"Label":"x","Status":"Success","Message":"OK","NumberTotalRows":0,"NumberLoadedRows":0}`}

// singleFaults are all faults that a load can meet, in all forms.
func singleFaults() (out []emulator.Fault) {
	for _, at := range loadPoints {
		for _, f := range actions {
			f.At = at
			if f.Validate() != nil {
				continue // the action does not exist at this point
			}
			variants := []emulator.Fault{f}
			if at == emulator.BEBody {
				half, all := f, f
				half.Bytes, all.Bytes = 100, 1<<20
				variants = append(variants, half, all)
			}
			// What the fault leaves behind: nothing, an open transaction, or one that is committed by itself later.
			if slices.Contains([]emulator.Point{emulator.BEBody, emulator.BEBeforeCommit}, at) {
				for _, v := range slices.Clone(variants) {
					v.Keep = true
					variants = append(variants, v)
					if at == emulator.BEBeforeCommit {
						v.CommitAfter = 5 * time.Millisecond
						variants = append(variants, v)
						v.CommitAfter = time.Hour
						variants = append(variants, v)
					}
				}
			}
			out = append(out, variants...)
		}
	}
	for _, at := range []emulator.Point{emulator.FEBeforeAnswer, emulator.FERedirect, emulator.BEHeaders, emulator.BEBegin} {
		f := falseSuccess
		f.At = at
		out = append(out, f)
	}
	return out
}

// What is asked about a label is asked only after something went wrong, so a fault there has another one before it.
func faultsOfCalls() (out [][]emulator.Fault) {
	causes := []emulator.Fault{
		{At: emulator.BEAfterCommit, Do: emulator.Reset},
		{At: emulator.BEAfterCommit, Do: emulator.Fail},
		{At: emulator.BEBeforeCommit, Do: emulator.Reset},
		{At: emulator.BEBeforeCommit, Do: emulator.Fail, Message: "[TIMEOUT]x", Keep: true},
		{At: emulator.BEBeforeCommit, Do: emulator.Reset, Keep: true},
		{At: emulator.BEBeforeCommit, Do: emulator.Close, Keep: true, CommitAfter: 5 * time.Millisecond},
		{At: emulator.BEBeforeCommit, Do: emulator.Close, Keep: true, CommitAfter: time.Hour},
	}
	answers := slices.Clone(actions)
	for _, word := range []string{"UNKNOWN", "PREPARE", "PRECOMMITTED", "", "nonsense"} {
		answers = append(answers, emulator.Fault{Do: emulator.SetState, Message: word})
	}
	for _, cause := range causes {
		cause.Times = 1
		for _, at := range []emulator.Point{emulator.StateQuery, emulator.CancelCall} {
			for _, f := range answers {
				f.At = at
				switch {
				case f.Validate() != nil:
					continue
				case f.Do == emulator.Evict && (cause.At == emulator.BEAfterCommit || cause.CommitAfter > 0):
					continue // the server may forget a committed label before it can be looked up: then nobody can know
				case strings.Contains(f.Body, "VISIBLE"), strings.Contains(f.Body, "Success"):
					continue // a lie about the state cannot be told from the truth
				}
				out = append(out, []emulator.Fault{cause, f})
			}
		}
	}
	return out
}

// TestNoSingleFaultLosesOrDoublesARow puts one fault after the other into the way of a load, lets the load come to its end,
// delivers what was not acked again, as Benthos does, and compares. What is acked must be stored, and nothing may be stored twice.
//
// A load that ends unresolved is not delivered again here. Its error says that the rows may be stored, and delivering them
// under another label would double them if they are; whoever does so has to look at the label first.
func TestNoSingleFaultLosesOrDoublesARow(t *testing.T) {
	t.Parallel()
	var all [][]emulator.Fault
	for _, f := range singleFaults() {
		all = append(all, []emulator.Fault{f})
	}
	all = append(all, faultsOfCalls()...)
	require.Greater(t, len(all), 300)
	surviveAll(t, all, []int{1, 2})
}

// surviveAll is surviveFaults for each list of faults, the last of which strikes so many times.
func surviveAll(t *testing.T, all [][]emulator.Fault, times []int, change ...func(*streamload.Config)) {
	t.Helper()
	for _, faults := range all {
		for _, n := range times {
			faults := slices.Clone(faults)
			faults[len(faults)-1].Times = n
			names := make([]string, len(faults))
			for i, f := range faults {
				names[i] = f.String()
			}
			t.Run(strings.Join(names, " + "), func(t *testing.T) {
				t.Parallel()
				surviveFaults(t, faults, change...)
			})
		}
	}
}

// TestSeveralFaultsLoseOrDoubleNoRow is the same with two or three faults at once, picked by chance from a fixed seed.
func TestSeveralFaultsLoseOrDoubleNoRow(t *testing.T) {
	t.Parallel()
	all := singleFaults()
	for _, faults := range faultsOfCalls() {
		all = append(all, faults[1])
	}
	all = slices.DeleteFunc(all, func(f emulator.Fault) bool {
		// A label that is forgotten, or an empty load that is claimed to be the rows, together with a lost answer: nobody can know.
		return f.Do == emulator.Evict || f.Body == falseSuccess.Body
	})
	dice := rand.New(rand.NewPCG(2026, 1)) //nolint:gosec // the same faults each time
	for range 250 {
		faults := make([]emulator.Fault, 2+dice.IntN(2))
		names := make([]string, len(faults))
		for i := range faults {
			faults[i] = all[dice.IntN(len(all))]
			faults[i].Times, faults[i].Skip = 1+dice.IntN(3), dice.IntN(2)
			names[i] = faults[i].String()
		}
		t.Run(strings.Join(names, " + "), func(t *testing.T) {
			t.Parallel()
			surviveFaults(t, faults)
		})
	}
}

func surviveFaults(t *testing.T, faults []emulator.Fault, change ...func(*streamload.Config)) {
	t.Helper()
	surviveFaultsOf(t, "", faults, change...)
}

// surviveFaultsOf is the same with another version than the emulator's default.
func surviveFaultsOf(t *testing.T, version release, faults []emulator.Fault, change ...func(*streamload.Config)) {
	t.Helper()
	var conf streamload.Config
	for _, f := range change {
		f(&conf)
	}
	c := newCluster(t, emulator.Options{Dialect: emulator.Dialect(conf.Options.Dialect), Version: string(version), FEs: 2, BEs: 2, Faults: faults})
	twoPhase := false
	client, j := c.client(append(change, retries(3), func(conf *streamload.Config) {
		conf.LabelPoll.MaxElapsed = 40 * time.Millisecond
		if slices.ContainsFunc(faults, func(f emulator.Fault) bool { return f.For > 0 && f.Do == emulator.FEDown }) {
			conf.LabelPoll.MaxElapsed = 2 * time.Second // that FE comes back, be the machine ever so busy
		}
		twoPhase = conf.Options.TwoPhaseCommit
	})...)
	const n = 20
	left := ids(n) // not acked
	var acked []int64
	open := false
	for delivery := 0; len(left) > 0 && !open; delivery++ {
		require.Less(t, delivery, 200, "it does not come to an end") // FEs may be away for a while
		b := streamload.Batch{Database: db, Table: table}
		for _, id := range left {
			b.Rows = append(b.Rows, rows(int(id), 1)...)
		}
		if _, err := client.Load(within(t, ended), b); err != nil {
			open = failed(t, err).Unresolved
			continue
		}
		acked, left = left, nil
	}
	// All that is still on its way lands now: commits by themselves, and transactions that were left open.
	c.clock.advance(2 * time.Hour)
	for _, label := range j.sent() {
		for _, state := range []emulator.State{emulator.Prepare, emulator.Precommitted} {
			// In two phases nobody but us commits: what waits is aborted in the end.
			if c.LabelState(db, label) == state && !twoPhase {
				_ = c.CommitLabel(db, label) // one that had no rows yet cannot be committed
			}
		}
		if c.LabelState(db, label) == emulator.Committed {
			require.NoError(t, c.PublishLabel(db, label))
		}
	}
	stored := map[int64]int{}
	for _, id := range c.stored(table) {
		stored[id]++
		require.Equal(t, 1, stored[id], "row %d is stored more than once; labels %q", id, j.sent())
	}
	for _, id := range acked {
		require.Equal(t, 1, stored[id], "row %d is acked and not stored; labels %q", id, j.sent())
	}
	require.True(t, open || len(stored) == n, "%d of %d rows stored", len(stored), n)
	require.Zero(t, c.FEBodyBytes())
	if len(faults) == 1 && faults[0].Times == 1 {
		// One disturbance within the bounds is overcome without anybody noticing.
		require.False(t, open, "unresolved by a single fault: %q", j.states())
	}
}
