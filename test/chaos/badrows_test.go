package chaos

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// With isolate_bad_rows the rows that Doris refuses are found while faults strike, in one phase and in two. The good ones are stored, once, and
// acknowledged; the bad ones fail, each by itself, or come to the dead letters. No good row fails for what is in it, and none comes to the dead letters but
// when nobody can tell what became of its load, or when its retries are used up: those are counted, and are few.
func TestBadRows(t *testing.T) {
	t.Parallel()
	sum := newTotals("")
	runSeeds(t, sum, 0.4, badRowsOf)
	if sum.runs >= manyRuns {
		sum.places.requireHappened(t, first, anew)
		sum.spared.require(t)
	}
}

// badRows is what is special about a scenario with isolate_bad_rows. The zero value is one without.
type badRows struct {
	among int  // one of so many rows is bad
	blind bool // some are so long that the error page shows no others: they have to be found by loading
}

func (s scenario) isolates() bool { return s.badRows.among > 0 }

func (b badRows) String() string {
	text := fmt.Sprintf("one bad row of %d, which are isolated", b.among)
	if b.blind {
		text += " without the error page"
	}
	return text
}

// badRowsOf is the scenario of a seed with bad rows that are isolated.
func badRowsOf(seed uint64) scenario {
	s, d := scenarioOf(seed), dice(seed, "bad rows", 0)
	s.twoPhase = d.IntN(2) == 0
	s.isolate(d)
	if !s.label && d.IntN(2) == 0 { // loads are divided for their size as well, while one that was taken may still land
		s.proxies, s.tight, s.twoPhase = true, true, false
		s.badRows.among, s.rate = oneOf(d, 40, 20), min(s.rate, 0.05)
	}
	return s
}

// isolate gives a scenario bad rows that are isolated.
func (s *scenario) isolate(d *rand.Rand) {
	s.bad, s.badRows = true, badRows{among: oneOf(d, 40, 20, 10, 4), blind: d.IntN(3) == 0}
	s.letters = s.redelivery == replayed || d.IntN(2) == 0
	// Without dead letters the messages that are given up are missing when a batch comes again, so it would not be the same.
	s.label = s.label && s.letters
	if s.letters { // which take what fails once
		s.retries, s.budget, s.poll = 10, ms(d, 1000, 2000), ms(d, 100, 300)
	}
}

// spoil makes messages bad.
func (s scenario) spoil(all []*item) {
	if !s.isolates() {
		return
	}
	d := dice(s.seed, "spoiled", 0)
	for _, it := range all {
		if d.IntN(s.badRows.among) > 0 {
			continue
		}
		it.kind = oneOf(d, garbled, poisoned, wordy, wordy, long)
		if s.badRows.blind && d.IntN(3) == 0 {
			it.kind = huge
		}
	}
}

// unknownOutcome is in the error of each row that may be stored.
const unknownOutcome = "outcome unknown"

// forItself is true for the error of a message that failed for what is in it. One that was not sent for the fate of others is no such message, although it
// has the class of theirs.
func forItself(reason string) bool {
	return strings.HasPrefix(reason, "data_quality: ") && !strings.Contains(reason, unknownOutcome) && !strings.Contains(reason, "these rows are stored") &&
		!strings.Contains(reason, "not sent, because rows before these")
}

// spared are good rows beside bad ones, where those are isolated, and those of them that came to the dead letters all the same.
type spared struct {
	good   int // all of them
	unsure int // those that came to the dead letters because nobody could tell what became of their load
	spent  int // those that came there because the retries of their load were used up
}

func (s *spared) add(o spared) {
	s.good += o.good
	s.unsure += o.unsure
	s.spent += o.spent
}

func (s *spared) String() string {
	if s.good == 0 {
		return ""
	}
	return fmt.Sprintf("  of %d good rows beside bad ones %d came to the dead letters with their outcome unknown, %d with their retries used up\n", s.good, s.unsure, s.spent)
}

// mostUnsure and mostSpent are how many of a hundred good rows may come to the dead letters.
const (
	mostUnsure = 10
	mostSpent  = 10
)

func (s *spared) require(t *testing.T) {
	t.Helper()
	require.Less(t, s.unsure, s.good*mostUnsure/100, "good rows in the dead letters with their outcome unknown, of %d", s.good)
	require.Less(t, s.spent, s.good*mostSpent/100, "good rows in the dead letters with their retries used up, of %d", s.good)
}

var (
	settledFirst = regexp.MustCompile(`level=ERROR .*settled first.* label=(\S+)`)
	nowClosed    = regexp.MustCompile(`is not stored, and cannot be any more.* label=(\S+)`)
)

// judgeIsolation looks at what became of the good rows beside bad ones.
func (r *report) judgeIsolation(all []*item, src *source, dead *letters) {
	text := r.logs.String()
	closed := map[string]bool{}
	for _, m := range nowClosed.FindAllStringSubmatch(text, -1) {
		closed[m[1]] = true
	}
	for _, m := range settledFirst.FindAllStringSubmatch(text, -1) {
		r.weather.places.pass(first)
		if closed[m[1]] {
			r.weather.places.pass(anew)
		}
	}
	if !r.isolates() {
		return
	}
	for _, it := range all {
		if it.kind != good {
			continue
		}
		r.spared.good++
		if reason, blamed := src.blamed[it.id]; blamed && !r.batching {
			r.wrong = append(r.wrong, fmt.Sprintf("row %d is good, but failed for what is in it: %s", it.id, reason))
		}
		switch reason, letter := dead.reasons[it.id]; {
		case !letter, r.batching, strings.Contains(reason, "these rows are stored"):
		case strings.Contains(reason, unknownOutcome):
			r.spared.unsure++
		case forItself(reason):
			r.wrong = append(r.wrong, fmt.Sprintf("row %d is good, but came to the dead letters for what is in it: %s", it.id, reason))
		default:
			r.spared.spent++
		}
	}
}
