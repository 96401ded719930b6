package contract

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/test/emulator"
)

// lost are the ways in which a connection ends without an answer.
var lost = []emulator.Action{emulator.Reset, emulator.Close}

func TestAnswerLostAndTheStateIsVisible(t *testing.T) {
	t.Parallel()
	for _, at := range []emulator.Point{emulator.BEAfterCommit, emulator.BEAnswer} {
		for _, how := range lost {
			t.Run(fmt.Sprintf("%s %s", at, how), func(t *testing.T) {
				t.Parallel()
				c := with(t, emulator.Fault{At: at, Do: how, Times: 1})
				client, j := c.client()
				report, err := client.Load(within(t, ended), batch(30))
				require.NoError(t, err)
				require.Equal(t, "state_visible", report.Evidence)
				require.True(t, report.Visible)
				require.True(t, report.Ambiguous)
				require.False(t, report.HasCounts, "no answer counted the rows")
				require.Equal(t, 1, report.Attempts, "nothing is sent again")
				require.Equal(t, []string{"VISIBLE"}, j.states())
				require.Len(t, c.puts("be"), 1)
				require.Equal(t, ids(30), c.stored(table))
			})
		}
	}
}

func TestAnswerLostAndTheStateIsCommitted(t *testing.T) {
	t.Parallel()
	c := with(t,
		emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.PublishTimeout, Times: 1},
		emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 1},
	)
	client, j := c.client()
	report, err := client.Load(within(t, ended), batch(30))
	require.NoError(t, err)
	require.Equal(t, "state_committed", report.Evidence)
	require.False(t, report.Visible)
	require.Equal(t, []string{"COMMITTED"}, j.states())
	require.Empty(t, c.stored(table))
	require.NoError(t, c.PublishLabel(db, report.Label))
	require.Equal(t, ids(30), c.stored(table))
}

// An unanswered request could still be on its way, so also an aborted label is kept.
func TestAnswerLostAndTheStateIsAborted(t *testing.T) {
	t.Parallel()
	for _, at := range []emulator.Point{emulator.BEBody, emulator.BEBeforeCommit} {
		for _, how := range lost {
			t.Run(fmt.Sprintf("%s %s", at, how), func(t *testing.T) {
				t.Parallel()
				c := with(t, emulator.Fault{At: at, Do: how, Times: 1, Bytes: 1 << 20})
				client, j := c.client()
				report, err := client.Load(within(t, ended), batch(30))
				require.NoError(t, err)
				require.Equal(t, "success", report.Evidence)
				require.True(t, report.Ambiguous)
				same(t, j.sent(), 2)
				require.Equal(t, []string{"ABORTED"}, j.states())
				c.requireSameRequests(2)
				require.Equal(t, ids(30), c.stored(table))
			})
		}
	}
}

func TestAnswerLostAndTheStateIsUnknown(t *testing.T) {
	t.Parallel()
	unknown := emulator.Fault{At: emulator.StateQuery, Do: emulator.SetState, Message: "UNKNOWN", Times: 1}
	t.Run("because it did not arrive", func(t *testing.T) {
		t.Parallel()
		s := (&script{load: func(n int, s sent) reply {
			if n == 0 {
				return drop
			}
			return succeeds(s)
		}}).start(t)
		client, j := newClient(t, config([]string{s.fe.URL}))
		report, err := client.Load(within(t, ended), batch(30))
		require.NoError(t, err)
		require.Equal(t, 2, report.Attempts)
		same(t, s.labels(), 2)
		require.Equal(t, []string{"UNKNOWN"}, j.states())
		loads := s.loads()
		require.Equal(t, loads[0].body, loads[1].body)
	})
	t.Run("because it was not looked up well: it is committed", func(t *testing.T) {
		t.Parallel()
		c := with(t, unknown, emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 1})
		client, j := c.client()
		report, err := client.Load(within(t, ended), batch(30))
		require.NoError(t, err)
		require.Equal(t, "label_finished", report.Evidence)
		same(t, j.sent(), 2)
		require.Equal(t, ids(30), c.stored(table))
	})
	t.Run("because the master was switched", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t, emulator.Options{FEs: 2, Faults: []emulator.Fault{
			{At: emulator.BEBeforeCommit, Do: emulator.Reset, Keep: true, Times: 1},
			{At: emulator.StateQuery, Do: emulator.MasterSwitch, Skip: 1, Times: 1},
		}})
		client, j := c.client()
		report, err := client.Load(within(t, ended), batch(30))
		require.NoError(t, err)
		require.Equal(t, "success", report.Evidence)
		same(t, j.sent(), 2)
		require.Equal(t, []string{"PREPARE", "UNKNOWN"}, j.states())
		require.Equal(t, ids(30), c.stored(table))
	})
}

func TestAnswerLostAndTheStateIsOpen(t *testing.T) {
	t.Parallel()
	t.Run("PREPARE is polled until it is VISIBLE", func(t *testing.T) {
		t.Parallel()
		c := with(t, emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Reset, Keep: true, CommitAfter: time.Hour, Times: 1})
		client, j := c.client(retries(-1))
		j.onPoll = func(streamload.PollInfo) {
			if len(j.states()) == 6 {
				c.clock.advance(2 * time.Hour)
			}
		}
		report, err := client.Load(within(t, ended), batch(30))
		require.NoError(t, err)
		require.Equal(t, "state_visible", report.Evidence)
		require.Equal(t, append(slices.Repeat([]string{"PREPARE"}, 6), "VISIBLE"), j.states())
		require.Equal(t, 7, report.Polls)
		require.Equal(t, 1, report.Attempts)
		require.Equal(t, ids(30), c.stored(table))
	})
	t.Run("PREPARE is polled until it is ABORTED", func(t *testing.T) {
		t.Parallel()
		c := with(t, emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Reset, Keep: true, Times: 1})
		client, j := c.client()
		j.onPoll = func(p streamload.PollInfo) {
			if len(j.states()) == 3 {
				require.NoError(t, c.AbortLabel(db, p.Label, "timeout by txn manager"))
			}
		}
		_, err := client.Load(within(t, ended), batch(30))
		require.NoError(t, err)
		require.Equal(t, []string{"PREPARE", "PREPARE", "PREPARE", "ABORTED"}, j.states())
		same(t, j.sent(), 2)
		require.Equal(t, ids(30), c.stored(table))
	})
	t.Run("PRECOMMITTED is polled to the end", func(t *testing.T) {
		t.Parallel()
		c := with(t,
			emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 1},
			emulator.Fault{At: emulator.StateQuery, Do: emulator.SetState, Message: "PRECOMMITTED", Times: 4},
		)
		client, j := c.client(retries(-1))
		report, err := client.Load(within(t, ended), batch(30))
		require.NoError(t, err)
		require.Equal(t, "state_visible", report.Evidence)
		require.Equal(t, append(slices.Repeat([]string{"PRECOMMITTED"}, 4), "VISIBLE"), j.states())
		require.Len(t, c.puts("be"), 1)
		require.Zero(t, c.asked("POST", "/_cancel"))
		require.Equal(t, ids(30), c.stored(table))
	})
}

// "Fail" does not prove that nothing was committed.
func TestFailAlthoughCommitted(t *testing.T) {
	t.Parallel()
	for _, at := range []emulator.Point{emulator.BEAfterCommit, emulator.BEAnswer} {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			c := with(t, emulator.Fault{At: at, Do: emulator.Fail, Message: "[THRIFT_RPC_ERROR]failed to call frontend service", Times: 1})
			client, j := c.client()
			report, err := client.Load(within(t, ended), batch(30))
			require.NoError(t, err)
			require.Equal(t, "state_visible", report.Evidence)
			require.Equal(t, 1, report.Attempts)
			require.Equal(t, []string{"VISIBLE"}, j.states())
			require.Equal(t, decide.Unavailable, j.attempts[0].Class)
			require.False(t, report.HasCounts, "the counts of the Fail are not those of what is stored")
			require.Equal(t, ids(30), c.stored(table))
		})
	}
	t.Run("and the state is unknown", func(t *testing.T) {
		t.Parallel()
		c := with(t,
			emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.Fail, Times: 1},
			emulator.Fault{At: emulator.StateQuery, Do: emulator.SetState, Message: "UNKNOWN", Times: 1},
		)
		client, j := c.client()
		report, err := client.Load(within(t, ended), batch(30))
		require.NoError(t, err)
		require.Equal(t, "label_finished", report.Evidence)
		same(t, j.sent(), 2)
		require.Equal(t, ids(30), c.stored(table))
	})
	t.Run("and no resend is allowed", func(t *testing.T) {
		t.Parallel()
		c := with(t, emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.Fail, Times: 1})
		client, _ := c.client(retries(-1))
		_, err := client.Load(within(t, ended), batch(30))
		require.NoError(t, err)
		require.Equal(t, ids(30), c.stored(table))
	})
}

func TestFailThatLeavesTheLabelOpen(t *testing.T) {
	t.Parallel()
	c := with(t, emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Fail, Message: "[TIMEOUT]send fragment timed out", Keep: true, Times: 1})
	client, j := c.client(shortPoll)
	report, err := client.Load(within(t, ended), batch(30))
	require.NoError(t, err)
	require.Equal(t, "success", report.Evidence)
	require.Equal(t, 1, c.asked("POST", "/_cancel"))
	states := j.states()
	require.Equal(t, "PREPARE", states[0])
	require.Equal(t, "ABORTED", states[len(states)-1])
	fresh(t, j.sent(), 2)
	require.Equal(t, emulator.Aborted, c.LabelState(db, j.sent()[0]))
	require.Equal(t, ids(30), c.stored(table))
}

// A BE that never answers: the server's own timeout ends the transaction, the client's the wait.
func TestNoAnswerInTime(t *testing.T) {
	t.Parallel()
	c := with(t, emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Hang, Times: 1})
	client, j := c.client(func(conf *streamload.Config) { conf.Timeout = time.Second })
	report, err := client.Load(within(t, ended), batch(30))
	require.NoError(t, err)
	require.Equal(t, decide.Timeout, j.attempts[0].Class)
	require.Equal(t, "maybe received", j.attempts[0].Sent)
	require.GreaterOrEqual(t, j.attempts[0].Took, time.Second, "the server gives up first")
	require.Equal(t, "1", c.puts("be")[0].Header.Get("Timeout"))
	require.Equal(t, 2, report.Attempts)
	same(t, j.sent(), 2)
	require.Equal(t, ids(30), c.stored(table))
}

func TestPublishTimeoutIsAcked(t *testing.T) {
	t.Parallel()
	c := with(t, emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.PublishTimeout, Times: 1})
	client, _ := c.client()
	report, err := client.Load(within(t, ended), batch(30))
	require.NoError(t, err)
	require.Equal(t, "publish_timeout", report.Evidence)
	require.False(t, report.Visible)
	require.Equal(t, 1, report.Attempts)
	require.Zero(t, report.Polls)
	require.EqualValues(t, 30, report.Loaded)
	require.Empty(t, c.stored(table), "not yet visible")
	require.NoError(t, c.PublishLabel(db, report.Label))
	require.Equal(t, ids(30), c.stored(table))
}

func TestBERestarts(t *testing.T) {
	t.Parallel()
	for _, at := range []emulator.Point{emulator.BEHeaders, emulator.BEBegin, emulator.BEBody, emulator.BEBeforeCommit, emulator.BEAfterCommit, emulator.BEAnswer} {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, emulator.Options{BEs: 2, Faults: []emulator.Fault{{At: at, Do: emulator.BERestart, Times: 1, Bytes: 100}}})
			client, _ := c.client()
			_, err := client.Load(within(t, ended), batch(30))
			require.NoError(t, err)
			require.Equal(t, ids(30), c.stored(table))
		})
	}
}

func TestAnswerIsCut(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{0, 1, 60, 200} {
		t.Run(fmt.Sprintf("after %d bytes", n), func(t *testing.T) {
			t.Parallel()
			c := with(t, emulator.Fault{At: emulator.BEAnswer, Do: emulator.Truncate, Bytes: n, Times: 1})
			client, _ := c.client()
			report, err := client.Load(within(t, ended), batch(30))
			require.NoError(t, err)
			require.Equal(t, "state_visible", report.Evidence)
			require.Equal(t, 1, report.Attempts)
			require.Equal(t, ids(30), c.stored(table))
		})
	}
}
