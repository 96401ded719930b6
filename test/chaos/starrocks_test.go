package chaos

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// StarRocks loses no row either and stores none twice, in one phase and by its transaction interface.
//
// What it lacks is the fence. So the rows of a load of which a request was never answered, and whose label is not found committed, are held until they
// come again as the very same load, or the ledger forgets that load (docs/starrocks.md). Where loads are joined, or rows come again in other batches, the
// second is all that is promised: those rows are stored late, and are counted as "waited"; ledger.max_age is short there. They are stored once as long as
// they come again before that, and counted as "dropped" when they do not. Where loads come again as they were, and in two phases, nothing may wait for the
// ledger, whose max_age is an hour then: a row that does is stuck, and fails the test.
func TestStarRocks(t *testing.T) {
	t.Parallel()
	sum := newTotals(emulator.StarRocks)
	runSeeds(t, sum, 0.4, starRocksOf)
	require.Zero(t, sum.places.passed["fence "+string(emulator.BEHeaders)], "loads of no rows, which StarRocks does not take")
	if sum.runs >= 25 {
		sum.places.require(t, sum.runs)
	}
}

// forgotten is the max_age of the ledger where rows may have to wait for it. It is much longer than anything lives on behind the client's back, so a load
// that is forgotten is over.
const forgotten = 5 * time.Second

// starRocksOf is the scenario of a seed with StarRocks.
func starRocksOf(seed uint64) scenario {
	s, d := scenarioOf(seed), dice(seed, "starrocks", 0)
	s.dialect = emulator.StarRocks
	switch d.IntN(4) {
	case 0: // loads that come again as they were
		s.twoPhase, s.batching, s.bad, s.inFlight = false, false, false, 1
		if s.redelivery == recombine {
			s.redelivery = same
		}
	case 1:
		s.twoPhase = true
	case 2:
		s.isolate(d)
	default: // loads that are given up soon, and requests that land late
		s.proxies, s.retries, s.budget = true, oneOf(d, -1, 1), ms(d, 20, 100)
	}
	if s.twoPhase {
		s.label = false // it does not go with the transaction interface
	}
	s.maxAge = forgotten
	if s.twoPhase || s.sameLoads() {
		s.maxAge = time.Hour
	}
	return s
}

// sameLoads is true for StarRocks when rows that come again do so in the load that they were in.
func (s scenario) sameLoads() bool {
	return s.dialect == emulator.StarRocks && (s.label || s.inFlight == 1) && !s.batching && !s.bad && s.redelivery != recombine
}

// output is the name of the output, and whether it has to be told the dialect.
func (s scenario) output() (name string, translated bool) {
	switch {
	case s.dialect != emulator.StarRocks:
		return "doris_stream_load", false
	case s.seed%2 == 0:
		return "starrocks_stream_load", false
	default:
		return "doris_stream_load", true
	}
}

var tooOld = regexp.MustCompile(`outcome unknown \(label (\S+)\) is forgotten, because it is older than max_age: (\d+) rows`)

// wasForgotten is true for a row that was sent under a label which the ledger has forgotten, where it may.
func (r *report) wasForgotten(id int) bool {
	if r.maxAge != forgotten {
		return false
	}
	labels := r.labelsOf(id)
	return slices.ContainsFunc(tooOld.FindAllStringSubmatch(r.logs.String(), -1), func(m []string) bool { return slices.Contains(labels, m[1]) })
}

// judgeLedger counts the rows whose load the ledger has forgotten, which must be none where the docs allow none.
func (r *report) judgeLedger() {
	for _, m := range tooOld.FindAllStringSubmatch(r.logs.String(), -1) {
		n, _ := strconv.Atoi(m[2])
		r.waited += n
	}
	if r.waited > 0 && r.maxAge != forgotten {
		r.wrong = append(r.wrong, fmt.Sprintf("the ledger has forgotten %d rows", r.waited))
	}
}
