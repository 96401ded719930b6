package decide

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// sequences is how many random deliveries a property is tried on.
func sequences(full int) int {
	if testing.Short() {
		return full / 10
	}
	return full
}

// sensible plays a delivery whose events fit the actions, up to its end, which must come in time.
func sensible(s source, step stepFunc) (*oracle, error) {
	p := randomPolicy(s)
	o, err := watch(p, step)
	if err != nil {
		return o, err
	}
	bounded := p.Backoff.MaxElapsed > 0 && p.LabelPoll.MaxElapsed > 0
	// A series of polls takes at least half a wait for each of them; every send, and the last look, may begin one.
	limit := (2*max(p.MaxRetries, 0) + 4) * (2*int(p.LabelPoll.MaxElapsed/p.LabelPoll.Initial) + looksAfterCancel + 8)
	// Some servers always say the same of a label.
	stuck := pick(s, nil, nil, &Poll{State: answer.StatePrepare}, &Poll{}, &Poll{State: answer.StateUnknown}, &Poll{State: answer.StateAborted})
	for !o.done {
		if o.steps > limit {
			if bounded {
				return o, fmt.Errorf("no end after %d steps", o.steps)
			}
			return o, nil
		}
		o.now += passed(s, o.act)
		ev := randomEvent(s, o.act, false)
		if stuck != nil {
			ev.Poll = *stuck
		}
		if err := o.feed(ev); err != nil {
			return o, err
		}
	}
	return o, afterTheEnd(s, o)
}

// wild plays a delivery with events that mostly make no sense.
func wild(s source, step stepFunc) (*oracle, error) {
	o, err := watch(randomPolicy(s), step)
	for range 40 {
		if err != nil || o.done {
			break
		}
		o.now += passed(s, o.act)
		err = o.feed(randomEvent(s, o.act, true))
	}
	if err != nil || !o.done {
		return o, err
	}
	return o, afterTheEnd(s, o)
}

func afterTheEnd(s source, o *oracle) error {
	for range 5 {
		if err := o.feed(randomEvent(s, o.act, true)); err != nil {
			return err
		}
	}
	return nil
}

func TestStepKeepsTheRules(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]func(source, stepFunc) (*oracle, error){"sensible": sensible, "wild": wild} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var acked, failed, open, fresh int
			for seed := range uint64(sequences(6000)) { //nolint:gosec // positive
				o, err := play(fromSeed(seed), Step)
				require.NoError(t, err, "seed %d, policy %+v, step %d, after %+v", seed, o.policy, o.steps, o.act)
				switch {
				case !o.done:
				case o.act.Outcome.Committed:
					acked++
				case o.act.Outcome.Open:
					open++
				default:
					failed++
				}
				fresh += o.label
			}
			// The sequences must come to all kinds of ends, or the rules were not tried.
			for what, n := range map[string]int{"acked": acked, "failed": failed, "open": open, "fresh labels": fresh} {
				require.Greater(t, n, sequences(6000)/100, what)
			}
		})
	}
}

func FuzzStep(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{4, 0, 0, 0, 0, 1, 3, 2, 1, 0, 0, 0, 1, 0, 1, 0, 0, 4, 0, 2, 0, 0, 0, 0, 6})
	f.Add([]byte{3, 2, 1, 2, 5, 1, 3, 2, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6})
	f.Fuzz(func(t *testing.T, data []byte) {
		s := fromBytes{&data}
		play := pick(s, true, false)
		o, err := watch(randomPolicy(s), Step)
		for err == nil && !s.empty() {
			o.now += passed(s, o.act)
			err = o.feed(randomEvent(s, o.act, play))
		}
		require.NoError(t, err, "policy %+v, step %d, after %+v", o.policy, o.steps, o.act)
	})
}
