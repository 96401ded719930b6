package contract

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

// What is said of the health of FEs is said once for each change, whatever requests find it out. A follower that sends a question for a label on to a
// master that is gone is up: it takes loads.
func TestEachChangeOfAnFEIsToldOnce(t *testing.T) {
	t.Parallel()
	lost := emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.Reset}
	for _, test := range []struct {
		name   string
		down   int // the FE that is down; the first one is the master
		faults []emulator.Fault
	}{
		{"a follower is down", 1, []emulator.Fault{lost}},
		{"the master is down", 0, []emulator.Fault{lost}},
		{"a follower is down, and states are not found", 1, []emulator.Fault{lost, {At: emulator.StateQuery, Do: emulator.HTTP, Status: 404}}},
		{"the master is down, and states are not found", 0, []emulator.Fault{lost, {At: emulator.StateQuery, Do: emulator.HTTP, Status: 404}}},
		{"a follower is down, and connections break", 1, []emulator.Fault{{At: emulator.BEBody, Do: emulator.Reset}}},
		{"the master is down, and connections break", 0, []emulator.Fault{{At: emulator.BEBody, Do: emulator.Reset}}},
		{"a follower is down, and second phases break at a BE", 1, []emulator.Fault{{At: emulator.TwoPhase, Do: emulator.Reset}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, emulator.Options{FEs: 2, Faults: test.faults})
			address := strings.TrimPrefix(c.FEURLs()[test.down], "http://")
			client, j := c.client(askFEs, func(conf *streamload.Config) {
				conf.MaxRetries = 1
				conf.Backoff = streamload.Backoff{Initial: time.Millisecond, Max: time.Millisecond, MaxElapsed: 50 * time.Millisecond}
				conf.LabelPoll = conf.Backoff
				conf.Options.TwoPhaseCommit = strings.Contains(test.name, "second phases")
			})
			c.StopFE(test.down)
			for i := range 8 {
				_, _ = client.Load(within(t, ended), streamload.Batch{Database: db, Table: table, Rows: rows(i*10, 1)})
			}
			require.Equal(t, []string{address + " false"}, j.seenFEs())
			require.NoError(t, c.StartFE(test.down))
			require.NoError(t, client.Reach(within(t, ended)))
			require.Empty(t, client.Ping(within(t, ended)))
			require.Equal(t, []string{address + " false", address + " true"}, j.seenFEs())
		})
	}
}
