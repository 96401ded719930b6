package chaos

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// A place is where a fault can strike: a point of the exchange, and whose it is. A load that no FE was asked for before is straight; a fence is the
// load of no rows that takes a label away from a request that was never answered.
const (
	connection = "connection, before a header is read"
	inTheBody  = ", in the middle"
	afterBody  = ", all of it"
	dark       = "a load is stored while no FE answers"
	outage     = "no FE answers"
	deaf       = "no FE answers, not even BEs"
	moved      = "a BE comes up at another address"
	first      = "a load is settled before its rows are sent in others"
	anew       = "that is done, and they are sent"
)

// places counts how often exchanges came by each place, and how often a fault struck there.
type places struct {
	mu             sync.Mutex
	passed, struck map[string]int
	named          map[string]bool // labels for which an FE has named a BE
	dialect        emulator.Dialect
}

func newPlaces(d emulator.Dialect) *places {
	return &places{passed: map[string]int{}, struck: map[string]int{}, named: map[string]bool{}, dialect: d}
}

// of is the place at which an exchange stands, without what is only known of a fault.
func (p *places) of(e emulator.Exchange) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	fence := e.TwoPhase && e.Length == 0
	at := string(e.Point)
	switch {
	case e.Point == emulator.FERedirect:
		p.named[e.Label] = true
	case strings.HasPrefix(at, "be.") && e.Point != emulator.TwoPhase && !fence && !p.named[e.Label]:
		at = "straight " + at
	}
	if fence && e.Point != emulator.TwoPhase {
		at = "fence " + at
	}
	if p.dialect == emulator.StarRocks && (e.Point == emulator.TwoPhase || e.Point == emulator.TwoPhaseAnswer) {
		at += " " + e.Op
	}
	if e.Point == emulator.BEBody && !fence {
		p.passed[at+inTheBody]++
		p.passed[at+afterBody]++
	} else {
		p.passed[at]++
	}
	return at
}

// pass counts something that comes by a place that is not a point of the emulator.
func (p *places) pass(at string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passed[at]++
}

// event counts something that happens to the cluster, not to one exchange.
func (p *places) event(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passed[what]++
	p.struck[what]++
}

// strike counts a fault.
func (p *places) strike(at string, e emulator.Exchange, f emulator.Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case e.Point != emulator.BEBody || e.Length == 0:
	case f.Bytes < e.Length:
		at += inTheBody
	default:
		at += afterBody
	}
	p.struck[at]++
}

// add adds the counts of another.
func (p *places) add(o *places) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	for at, n := range o.passed {
		p.passed[at] += n
	}
	for at, n := range o.struck {
		p.struck[at] += n
	}
}

// required are the places at which the faults of a suite must have struck.
func (p *places) required() (all []string) {
	be := []string{
		string(emulator.BEHeaders), string(emulator.BEBegin), string(emulator.BEBody) + inTheBody, string(emulator.BEBody) + afterBody,
		string(emulator.BEBeforeCommit), string(emulator.BEAfterCommit), string(emulator.BEAnswer),
	}
	all = []string{connection, string(emulator.FEBeforeAnswer), string(emulator.FERedirect)}
	all = append(all, be...)
	all = append(all, string(emulator.StateQuery), string(emulator.CancelCall), outage, deaf, moved)
	if p.dialect == emulator.StarRocks { // it takes no fence, and few of these loads go straight
		for _, op := range []string{"begin", "prepare", "rollback"} {
			all = append(all, string(emulator.TwoPhase)+" "+op, string(emulator.TwoPhaseAnswer)+" "+op)
		}
		return all
	}
	for _, at := range be {
		all = append(all, "straight "+at)
	}
	for _, at := range []emulator.Point{
		emulator.FEBeforeAnswer, emulator.FERedirect,
		emulator.BEHeaders, emulator.BEBegin, emulator.BEBody, emulator.BEBeforeCommit, emulator.BEAfterCommit, emulator.BEAnswer,
	} {
		all = append(all, "fence "+string(at))
	}
	return append(all, string(emulator.TwoPhase), string(emulator.TwoPhaseAnswer))
}

// manyRuns is how many runs of a scenario reach everything that can be reached. In fewer, as CI makes them, it is a matter of luck and of the speed of
// the machine whether the rarest things happen.
const manyRuns = 100

// require fails the test if some place has seen no fault: that would be less chaos than is claimed. A few may be missing after a few runs.
func (p *places) require(t *testing.T, runs int) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	var missed []string
	for _, at := range p.required() {
		if p.struck[at] == 0 {
			missed = append(missed, at)
		}
	}
	if runs < manyRuns && len(missed) <= 3 {
		t.Logf("no fault has struck at %q", missed)
		return
	}
	require.Empty(t, missed, "no fault has struck at these: this is not the chaos it should be")
}

// requireHappened fails the test unless each of some things has happened that are no fault.
func (p *places) requireHappened(t *testing.T, all ...string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range all {
		require.Positive(t, p.passed[at], "it never happened that %s", at)
	}
}

func (p *places) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.required()
	n := len(all)
	for at := range p.struck {
		if !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	slices.Sort(all[n:])
	var b strings.Builder
	b.WriteString("  passed   faults  place\n")
	for _, at := range all {
		fmt.Fprintf(&b, "%8d %8d  %s\n", p.passed[at], p.struck[at], at)
	}
	for _, at := range []string{dark, first, anew} {
		fmt.Fprintf(&b, "%8d        -  %s\n", p.passed[at], at)
	}
	return b.String()
}
