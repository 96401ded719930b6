package chaos

import (
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A proxy that sends a load twice and answers with the failure of one copy hides the other, which may land when the client has long gone on to
// another label. With a stable label there is no other. Without one this is a limit of what can be promised: nothing is lost, and how much comes twice
// is told.
func TestProxiesThatHideRequests(t *testing.T) {
	t.Parallel()
	for _, labelled := range []bool{true, false} {
		name := "without label"
		if labelled {
			name = "with label"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var rows, twice atomic.Int64
			t.Run("seeds", func(t *testing.T) {
				for i := range max(*seeds/5, 1) {
					seed := *firstSeed + uint64(i) //nolint:gosec // not negative
					t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
						t.Parallel()
						s := scenarioOf(seed)
						s.proxies, s.ghosts = true, true
						s.bad, s.letters, s.deep = false, false, false // a row in the dead letters may be stored as well
						if s.label = labelled; labelled {
							s.fit(dice(seed, "hidden", 0))
						}
						r := run(t, s)
						rows.Add(int64(r.rows))
						twice.Add(int64(len(r.twice)))
						if !labelled {
							r.twice = nil
						}
						r.require(t)
					})
				}
			})
			t.Logf("%d rows: lost 0, twice %d", rows.Load(), twice.Load())
			if labelled {
				require.Zero(t, twice.Load())
			}
		})
	}
}
