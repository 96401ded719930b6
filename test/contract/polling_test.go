package contract

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

func shortPoll(conf *streamload.Config) { conf.LabelPoll.MaxElapsed = 25 * time.Millisecond }

func TestPollingIsOver(t *testing.T) {
	t.Parallel()
	kept := emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Reset, Keep: true, Times: 1}
	t.Run("the label is cancelled, and sent again when that worked", func(t *testing.T) {
		t.Parallel()
		c := with(t, kept)
		client, j := c.client(shortPoll)
		_, err := client.Load(within(t, ended), batch(30))
		require.NoError(t, err)
		require.Equal(t, 1, c.asked("POST", "/_cancel"))
		states := j.states()
		require.Equal(t, "PREPARE", states[0])
		require.Equal(t, "ABORTED", states[len(states)-1])
		same(t, j.sent(), 2)
		require.Equal(t, ids(30), c.stored(table))
	})
	t.Run("no resend if it stays open", func(t *testing.T) {
		t.Parallel()
		for name, refusal := range map[string]emulator.Fault{
			"the cancel fails":      {At: emulator.CancelCall, Do: emulator.Fail, Message: "errCode = 2, detailMessage = not now"},
			"the cancel is 500":     {At: emulator.CancelCall, Do: emulator.HTTP, Status: 500},
			"the cancel is dropped": {At: emulator.CancelCall, Do: emulator.Reset},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := with(t, kept, refusal)
				client, j := c.client(shortPoll)
				_, err := client.Load(within(t, ended), batch(30))
				e := unresolved(t, err)
				require.Equal(t, "label still open", e.Reason)
				require.Equal(t, "PREPARE", e.LabelState)
				require.Equal(t, streamload.StageLabel, e.Stage)
				require.Equal(t, 1, e.Attempts)
				require.Equal(t, j.sent()[0], e.Label)
				require.Contains(t, err.Error(), "label="+e.Label)
				require.Contains(t, err.Error(), "label_state=PREPARE")
				require.Len(t, c.puts("be"), 1)
				// And it does land later.
				require.NoError(t, c.CommitLabel(db, e.Label))
				require.Equal(t, ids(30), c.stored(table))
			})
		}
	})
	t.Run("it was committed when the cancel came", func(t *testing.T) {
		t.Parallel()
		c := with(t, kept, emulator.Fault{At: emulator.CancelCall, Do: emulator.Fail, Message: "too late"})
		client, j := c.client(shortPoll)
		done := false
		j.onPoll = func(p streamload.PollInfo) {
			if !done && c.asked("POST", "/_cancel") > 0 {
				done = true
				require.NoError(t, c.CommitLabel(db, p.Label))
			}
		}
		report, err := client.Load(within(t, ended), batch(30))
		require.NoError(t, err)
		require.Equal(t, "state_visible", report.Evidence)
		require.Equal(t, ids(30), c.stored(table))
	})
	t.Run("the FE does not answer the question in that time", func(t *testing.T) {
		t.Parallel()
		c := with(t, emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Reset, Keep: true, CommitAfter: time.Hour, Times: 1},
			emulator.Fault{At: emulator.StateQuery, Do: emulator.Fail, Message: "Node catalog is not ready, please wait for a while."})
		client, _ := c.client(shortPoll)
		_, err := client.Load(within(t, ended), batch(30))
		e := unresolved(t, err)
		require.Contains(t, err.Error(), "Node catalog is not ready")
		require.Contains(t, err.Error(), e.Label)
		require.Len(t, c.puts("be"), 1)
		c.clock.advance(2 * time.Hour)
		require.Equal(t, ids(30), c.stored(table))
	})
}

func TestPollItselfFails(t *testing.T) {
	t.Parallel()
	answer := emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 1}
	t.Run("it is asked again", func(t *testing.T) {
		t.Parallel()
		for name, f := range map[string]emulator.Fault{
			"reset":     {Do: emulator.Reset},
			"closed":    {Do: emulator.Close},
			"HTTP 500":  {Do: emulator.HTTP, Status: 500},
			"HTTP 429":  {Do: emulator.HTTP, Status: 429},
			"HTML":      {Do: emulator.HTTP, Status: 200, Body: "<html>VISIBLE</html>"},
			"empty":     {Do: emulator.HTTP, Status: 200},
			"code 1":    {Do: emulator.Fail, Message: "Node catalog is not ready, please wait for a while."},
			"no word":   {Do: emulator.SetState, Message: "ASTONISHED"},
			"FE is out": {Do: emulator.FEDown, For: 20 * time.Millisecond},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f.At, f.Times = emulator.StateQuery, 3
				c := with(t, answer, f)
				client, j := c.client(retries(-1))
				report, err := client.Load(within(t, ended), batch(30))
				require.NoError(t, err)
				require.Equal(t, "state_visible", report.Evidence)
				require.Greater(t, report.Polls, 1)
				require.NotEmpty(t, j.polls[0].Message)
				require.Len(t, c.puts("be"), 1)
				require.Equal(t, ids(30), c.stored(table))
			})
		}
	})
	t.Run("it is refused after an unanswered request", func(t *testing.T) {
		t.Parallel()
		for name, f := range map[string]emulator.Fault{
			"HTTP 403": {Do: emulator.HTTP, Status: 403},
			"HTTP 404": {Do: emulator.HTTP, Status: 404},
			"code 401": {Do: emulator.HTTP, Status: 200, Body: `{"msg":"Unauthorized","code":401,"data":"no","count":0}`},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f.At = emulator.StateQuery
				c := with(t, answer, f)
				client, _ := c.client()
				_, err := client.Load(within(t, ended), batch(30))
				e := unresolved(t, err)
				require.Equal(t, "label state refused", e.Reason)
				require.Equal(t, 1, e.Attempts)
				require.Contains(t, err.Error(), "does not tell the state of the label")
				require.Equal(t, ids(30), c.stored(table))
			})
		}
	})
	t.Run("it is refused after an answered failure: the same label is safe", func(t *testing.T) {
		t.Parallel()
		c := with(t,
			emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.Fail, Times: 1},
			emulator.Fault{At: emulator.StateQuery, Do: emulator.HTTP, Status: 404},
		)
		client, j := c.client()
		report, err := client.Load(within(t, ended), batch(30))
		require.NoError(t, err)
		require.Equal(t, "label_finished", report.Evidence)
		same(t, j.sent(), 2)
		require.Equal(t, ids(30), c.stored(table))
	})
}

func TestPollsCountForNothingAndResendsCount(t *testing.T) {
	t.Parallel()
	t.Run("many polls, no resend allowed", func(t *testing.T) {
		t.Parallel()
		c := with(t,
			emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 1},
			emulator.Fault{At: emulator.StateQuery, Do: emulator.SetState, Message: "PREPARE", Times: 40},
		)
		client, _ := c.client(retries(-1))
		report, err := client.Load(within(t, ended), batch(3))
		require.NoError(t, err)
		require.Equal(t, 41, report.Polls)
		require.Equal(t, 1, report.Attempts)
	})
	t.Run("polls before every resend do not use up the resends", func(t *testing.T) {
		t.Parallel()
		c := with(t, emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Reset, Keep: true, Times: 3})
		client, j := c.client(retries(3))
		seen := 0
		j.onPoll = func(p streamload.PollInfo) {
			if seen++; p.State == "PREPARE" && seen%5 == 0 {
				require.NoError(t, c.AbortLabel(db, p.Label, "user cancel"))
			}
		}
		report, err := client.Load(within(t, ended), batch(3))
		require.NoError(t, err)
		require.Equal(t, 4, report.Attempts)
		require.Greater(t, report.Polls, 12)
		same(t, j.sent(), 4)
		require.Equal(t, ids(3), c.stored(table))
	})
	t.Run("resends after polls count against the cap", func(t *testing.T) {
		t.Parallel()
		c := with(t, emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Reset})
		client, j := c.client(retries(2))
		report, err := client.Load(within(t, ended), batch(3))
		e := failed(t, err)
		require.Equal(t, "retries used up", e.Reason)
		require.Equal(t, 3, report.Attempts)
		same(t, j.sent(), 3)
		require.Equal(t, []string{"ABORTED", "ABORTED", "ABORTED"}, j.states())
		require.Len(t, c.puts("be"), 3)
		require.Equal(t, "ABORTED", e.LabelState)
	})
}
