package decide

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// brokenRules break one rule each, of which the model must show the harm: rows that are stored twice, acked without being stored, or given up
// as not stored that are.
func brokenRules(t *testing.T) map[string]rules {
	delivery := func(name string) rules {
		at := slices.IndexFunc(brokenSteps, func(b brokenStep) bool { return b.name == name })
		require.GreaterOrEqual(t, at, 0, name)
		r := ourRules()
		r.step = brokenSteps[at].step
		return r
	}
	settlement := func(step func(Settlement, SettleEvent) (Settlement, SettleAction)) rules {
		r := ourRules()
		r.settle = step
		return r
	}
	broken := map[string]rules{
		"ABORTED closes a label in a settlement although a request is unanswered": settlement(func(s Settlement, ev SettleEvent) (Settlement, SettleAction) {
			if ev.Kind == SettlePolled && ev.Poll.State == answer.StateAborted {
				s.debt.Unanswered = false
			}
			return StepSettlement(s, ev)
		}),
		"UNKNOWN closes a label in a settlement": settlement(func(s Settlement, ev SettleEvent) (Settlement, SettleAction) {
			if ev.Kind == SettlePolled && ev.Poll.State == answer.StateUnknown {
				return s.end(SettledClosed)
			}
			return StepSettlement(s, ev)
		}),
		"a fence that is not committed closes a label": settlement(func(s Settlement, ev SettleEvent) (Settlement, SettleAction) {
			s, act := StepSettlement(s, ev)
			if ev.Kind == SettleFenced && act.Kind == SettleCommit {
				return s.end(SettledClosed)
			}
			return s, act
		}),
		"the state tells whose commit it is although the fence's was sent": settlement(func(s Settlement, ev SettleEvent) (Settlement, SettleAction) {
			if ev.Kind == SettleCommitted && ev.Commit.Word == answer.Unclear {
				s.debt.FenceTxn = 0
				return s.look(true)
			}
			return StepSettlement(s, ev)
		}),
		"an error that names no transaction proves that the fence is gone": settlement(gullible),
		"the settlement after one with a fence begins with a look": {
			step: Step, again: StartAgain, settle: StepSettlement,
			start: func(d Debt) (Settlement, SettleAction) {
				d.FenceTxn = 0
				return StartSettlement(d)
			},
		},
		"a settlement acks a label that an empty load may own": settlement(func(s Settlement, ev SettleEvent) (Settlement, SettleAction) {
			s.debt.Tainted = false
			return StepSettlement(s, ev)
		}),
		"a fence of one phase": {step: Step, again: StartAgain, start: StartSettlement, settle: StepSettlement, onePhase: true},
		"a fence is committed by its label": {
			step: Step, again: StartAgain, start: StartSettlement, settle: gullible, endByLabel: true,
		},
		"the same batch under a stable label knows nothing of the requests before": {
			step: Step, start: StartSettlement, settle: StepSettlement,
			again: func(p Policy, _ Debt) (State, Action) { return Start(p) },
		},
	}
	hasty := ourRules()
	hasty.step = func(s State, ev Event) (State, Action) {
		if ev.Kind == TxnCommitted && !ev.Commit.Readable && !s.done {
			s.doubtful = false
			return s.resend(ev.Now, true)
		}
		return Step(s, ev)
	}
	broken["a second phase that was not answered counts as not done"] = hasty
	forgetful := ourRules()
	forgetful.step = func(s State, ev Event) (State, Action) {
		s, act := Step(s, ev)
		if s.unanswered == 0 && !s.doubtful {
			act.Outcome.Open = false
		}
		return s, act
	}
	broken["a delivery forgets that an empty load may own its stable label"] = forgetful
	for _, name := range []string{
		"a fresh label after UNKNOWN",
		"a fresh label for every resend",
		"a fresh label after ABORTED although a request is unanswered",
		"an ack for an answer that is not understood",
		"an ack for Success to a body that was not sent",
		"an ack for a label that an empty load may own",
		"Fail is believed",
		"an open outcome is called closed",
	} {
		broken[name] = delivery(name)
	}
	return broken
}

// gullible takes anything that is not found for the fence.
func gullible(s Settlement, ev SettleEvent) (Settlement, SettleAction) {
	if ev.Kind == SettleCommitted && strings.Contains(ev.Commit.Message, "not found") {
		ev.Commit.Message = fmt.Sprintf("transaction [%d] not found", s.debt.FenceTxn)
	}
	return StepSettlement(s, ev)
}

func TestModelPunishesBrokenRules(t *testing.T) {
	t.Parallel()
	for name, r := range brokenRules(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, b := range []bounds{
				{retries: 1, late: 2},
				{retries: 1, late: 2, stable: true},
				{retries: 1, late: 1, twoPhase: true},
				{retries: 1, late: 1, empties: true},
				{retries: 1, late: 1, empties: true, stable: true},
			} {
				m := newModel(b, r)
				m.harm = true
				if f := m.explore(1_000_000); f.fault != "" {
					t.Logf("%+v: %s", b, f)
					return
				}
			}
			require.Fail(t, "no harm was done")
		})
	}
}
