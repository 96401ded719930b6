package decide

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

var modelDepth = flag.Int("model.depth", 0, "how much deeper than usual the exhaustive check of the policy goes: one more resend, two more late requests and one more doubled one for each")

// The policy is checked against a model of Doris in every interleaving of what can happen: deliveries, the settlements of what they leave open,
// and the same rows again after that, for ever. There is no bound on how many: what is equal from here on is one state, so the states are finite
// and all of them are visited. The bounds are those of bounds: resends of a delivery, requests that are late at a time, requests that a
// proxy doubles. In each state:
//
//   - the rows are committed at most once over all labels;
//   - an ack means that they are committed, the rows and not a fence or a load of none;
//   - a label that is left (by a fresh one, a delivery that ends closed, a settlement that ends closed) has nothing stored under it, and nothing
//     that could be stored later. (In two phases a late load may still come to wait for its second phase, which nobody sends.)
//
// And from each state the rows are acked within a few settlements and deliveries once there are no more faults, whatever
// becomes of the late requests.
func exhaustive(deeper int) []struct {
	name string
	bounds
	atLeast int // states; fewer would mean that the model has lost something
	held    bool
} {
	n, twins := deeper, uint8(deeper) //nolint:gosec // a small number
	return []struct {
		name string
		bounds
		atLeast int
		held    bool
	}{
		{"random label", bounds{retries: 2 + n, late: 4 + 2*n, twins: 1 + twins, hollows: true, cancels: true}, 100_000, false},
		{"stable label", bounds{retries: 2 + n, late: 4 + 2*n, twins: 1 + twins, hollows: true, cancels: true, stable: true}, 10_000, false},
		// Whatever a proxy answers, and whenever a process dies: one label for the same batch.
		{
			"stable label, the process dies, a proxy hides requests",
			bounds{retries: 2 + n, late: 4 + 2*n, twins: 1 + twins, replays: true, hollows: true, cancels: true, stable: true, crashes: true},
			10_000, false,
		},
		{"random label, two phases", bounds{retries: 1 + n, late: 2 + 2*n, twins: 1 + twins, hollows: true, cancels: true, twoPhase: true}, 50_000, false},
		{
			"stable label, two phases, the process dies, a proxy hides requests",
			bounds{retries: 1 + n, late: 2 + 2*n, twins: 1 + twins, replays: true, hollows: true, cancels: true, stable: true, crashes: true, twoPhase: true},
			10_000, false,
		},
		// Rows whose label a load of none may own are held: nobody can tell.
		{"random label, a success for nothing", bounds{retries: 2 + n, late: 3 + 2*n, hollows: true, empties: true, cancels: true}, 50_000, true},
		{"stable label, a success for nothing", bounds{retries: 2 + n, late: 3 + 2*n, hollows: true, empties: true, cancels: true, stable: true}, 5_000, true},
	}
}

func TestEveryInterleaving(t *testing.T) {
	t.Parallel()
	for _, c := range exhaustive(*modelDepth) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newModel(c.bounds, ourRules())
			f := m.explore(0)
			require.Empty(t, f.fault, "%s", f)
			t.Logf("%+v: %d states", c.bounds, f.states)
			require.Greater(t, f.states, c.atLeast)
			require.Positive(t, f.acked)
			if c.held {
				return
			}
			for how := range calmEnd {
				p := newPeace(m, how)
				for _, n := range f.nodes {
					require.NoError(t, p.check(n), "late requests are %s; %+v", how, n.doris)
				}
				require.Empty(t, m.fault)
				t.Logf("with the late requests %s, acked after at most %d settlements and deliveries", how, p.most)
			}
		})
	}
}

// What can happen does: every kind of evidence, of reason for an end, and of result of a settlement is met.
func TestModelMeetsEverything(t *testing.T) {
	t.Parallel()
	met := map[string]bool{}
	note := func(kind, what string) { met[kind+" "+what] = true }
	r := ourRules()
	r.step = func(s State, ev Event) (State, Action) {
		s, act := Step(s, ev)
		if act.Kind == Done {
			note("evidence", act.Outcome.Evidence.String())
			note("reason", act.Outcome.Reason.String())
		}
		return s, act
	}
	r.settle = func(s Settlement, ev SettleEvent) (Settlement, SettleAction) {
		s, act := StepSettlement(s, ev)
		if act.Kind == SettleDone {
			note("settled", [...]string{"open", "committed", "closed"}[act.Result])
		}
		return s, act
	}
	for _, twoPhase := range []bool{false, true} {
		require.Empty(t, newModel(bounds{retries: 1, late: 1, cancels: true, twoPhase: twoPhase}, r).explore(0).fault)
	}
	require.ElementsMatch(t, []string{
		// COMMITTED stands for VISIBLE in the model.
		"evidence none", "evidence success", "evidence publish_timeout", "evidence label_finished", "evidence state_committed", "evidence commit",
		"reason none", "reason retries used up", "reason time used up", "reason label still open", "reason label state refused", "reason stopped",
		"settled open", "settled committed", "settled closed",
	}, slices.Collect(maps.Keys(met)))
}

// When a proxy has sent a request twice and answers with the failure of one copy, the client cannot know that there is another. So a random
// label is left although rows may still land under it: the limit of what is promised without `label`. This keeps it in sight, with the
// one thing that would close it: to take no failure for an answer.
func TestAProxyMayHideARequest(t *testing.T) {
	t.Parallel()
	b := bounds{retries: 1, late: 2, twins: 1, replays: true}
	m := newModel(b, ourRules())
	m.harm = true
	f := m.explore(0)
	require.Contains(t, f.fault, "the rows are stored")
	require.Contains(t, strings.Join(f.trace, "\n"), "a proxy doubles the load")
	t.Log(f)

	deaf := ourRules()
	deaf.step = func(s State, ev Event) (State, Action) {
		failed := ev.Kind == Attempted && answeredFailure(ev.Attempt)
		if failed && ev.Attempt.Load.Word != answer.LabelExists {
			ev.Attempt, failed = noAnswer, false
		}
		s, act := Step(s, ev)
		if failed && !s.done {
			s = s.lost()
		}
		return s, act
	}
	b.hollows, b.cancels = true, true
	f = newModel(b, deaf).explore(0)
	require.Empty(t, f.fault, "%s", f)
}
