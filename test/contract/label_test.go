package contract

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/test/emulator"
)

func TestLabelAlreadyExistsAfterAnUnansweredSend(t *testing.T) {
	t.Parallel()
	t.Run("FINISHED is an ack", func(t *testing.T) {
		t.Parallel()
		s := (&script{load: func(n int, s sent) reply {
			if n == 0 {
				return drop
			}
			return exists(s, "FINISHED")
		}}).start(t)
		client, _ := newClient(t, config([]string{s.fe.URL}))
		report, err := client.Load(within(t, ended), batch(5))
		require.NoError(t, err)
		require.Equal(t, "label_finished", report.Evidence)
		require.Zero(t, report.TxnID, "the transaction of the answer is not the one that was committed")
		require.False(t, report.HasCounts)
		same(t, s.labels(), 2)
	})
	t.Run("RUNNING is polled to the end", func(t *testing.T) {
		t.Parallel()
		c := with(t,
			emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Reset, Keep: true, CommitAfter: time.Hour, Times: 1},
			emulator.Fault{At: emulator.StateQuery, Do: emulator.SetState, Message: "UNKNOWN", Times: 1},
		)
		client, j := c.client()
		j.onPoll = func(streamload.PollInfo) {
			if len(j.states()) == 4 {
				c.clock.advance(2 * time.Hour)
			}
		}
		report, err := client.Load(within(t, ended), batch(5))
		require.NoError(t, err)
		require.Equal(t, "state_visible", report.Evidence)
		require.Equal(t, []string{"UNKNOWN", "PREPARE", "PREPARE", "PREPARE", "VISIBLE"}, j.states())
		require.Equal(t, decide.LabelTaken, j.attempts[1].Class)
		require.Contains(t, j.attempts[1].Message, "RUNNING")
		same(t, j.sent(), 2)
		require.Equal(t, ids(5), c.stored(table))
	})
	t.Run("RUNNING that is aborted is sent again", func(t *testing.T) {
		t.Parallel()
		c := with(t,
			emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Reset, Keep: true, Times: 1},
			emulator.Fault{At: emulator.StateQuery, Do: emulator.SetState, Message: "UNKNOWN", Times: 1},
		)
		client, j := c.client()
		j.onPoll = func(p streamload.PollInfo) {
			if len(j.states()) == 2 {
				require.NoError(t, c.AbortLabel(db, p.Label, "coordinate BE is down"))
			}
		}
		_, err := client.Load(within(t, ended), batch(5))
		require.NoError(t, err)
		require.Equal(t, []string{"UNKNOWN", "PREPARE", "ABORTED"}, j.states())
		same(t, j.sent(), 3)
		require.Equal(t, ids(5), c.stored(table))
	})
	for _, word := range []string{"", "CANCELLED", "PRECOMMITTED", "UNKNOWN", "ABORTED", "Finished?", "VISIBLE", "null"} {
		t.Run(fmt.Sprintf("the word %q is no proof and is polled", word), func(t *testing.T) {
			t.Parallel()
			for state, want := range map[string]struct {
				evidence string
				sends    int
			}{
				"VISIBLE":   {"state_visible", 2},
				"COMMITTED": {"state_committed", 2},
				"ABORTED":   {"success", 3},
				"UNKNOWN":   {"success", 3},
			} {
				s := (&script{
					load: func(n int, s sent) reply {
						switch n {
						case 0:
							return drop
						case 1:
							return exists(s, word)
						default:
							return succeeds(s)
						}
					},
					state: func(n int, _ string) reply {
						if n == 0 {
							return stateIs("UNKNOWN")
						}
						return stateIs(state)
					},
				}).start(t)
				client, _ := newClient(t, config([]string{s.fe.URL}))
				report, err := client.Load(within(t, ended), batch(5))
				require.NoError(t, err)
				require.Equal(t, want.evidence, report.Evidence)
				same(t, s.labels(), want.sends)
				require.Equal(t, 2, s.polls())
			}
		})
	}
	t.Run("a Fail whose text says so is polled", func(t *testing.T) {
		t.Parallel()
		s := (&script{
			load: func(n int, s sent) reply {
				if n == 0 {
					return drop
				}
				return fails(s, "[ANALYSIS_ERROR]errCode = 2, detailMessage = Label [%s] has already been used, relate to txn [7]", s.label).reply()
			},
			state: func(n int, _ string) reply { return stateIs([]string{"UNKNOWN", "PREPARE", "VISIBLE"}[min(n, 2)]) },
		}).start(t)
		client, j := newClient(t, config([]string{s.fe.URL}))
		report, err := client.Load(within(t, ended), batch(5))
		require.NoError(t, err)
		require.Equal(t, "state_visible", report.Evidence)
		require.Equal(t, []string{"UNKNOWN", "PREPARE", "VISIBLE"}, j.states())
	})
}

// Somebody else has the label, and no row of ours was ever sent under it: taking its FINISHED for ours would lose the rows.
func TestLabelOfSomebodyElse(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"FINISHED", "RUNNING", "PRECOMMITTED"} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			s := (&script{
				head: func(n int, s sent) *reply {
					if n > 0 {
						return nil
					}
					r := exists(s, word)
					return &r
				},
				load: func(_ int, s sent) reply { return succeeds(s) },
			}).start(t)
			client, _ := newClient(t, config([]string{s.fe.URL}))
			report, err := client.Load(within(t, ended), batch(5))
			require.NoError(t, err)
			require.Equal(t, "success", report.Evidence)
			fresh(t, s.labels(), 2)
			require.Zero(t, s.polls())
		})
	}
}

func withIdentity(id string, r [][]byte) streamload.Batch {
	return streamload.Batch{Database: db, Table: table, Identity: id, Rows: r}
}

func TestStableLabel(t *testing.T) {
	t.Parallel()
	t.Run("the second delivery by another client stores nothing new", func(t *testing.T) {
		t.Parallel()
		c := with(t)
		first, _ := c.client()
		one, err := first.Load(within(t, ended), withIdentity("topic-3-4711", rows(1, 20)))
		require.NoError(t, err)
		require.Equal(t, "success", one.Evidence)
		second, j := c.client()
		two, err := second.Load(within(t, ended), withIdentity("topic-3-4711", rows(1, 20)))
		require.NoError(t, err)
		require.Equal(t, "label_finished", two.Evidence)
		require.Equal(t, one.Label, two.Label)
		require.Equal(t, 1, two.Attempts)
		require.Empty(t, j.states())
		require.Contains(t, one.Label, "_topic-3-4711_")
		require.Equal(t, ids(20), c.stored(table))
	})
	t.Run("other rows under the same identity are loaded", func(t *testing.T) {
		t.Parallel()
		c := with(t)
		client, _ := c.client()
		one, err := client.Load(within(t, ended), withIdentity("topic-3-4711", rows(1, 20)))
		require.NoError(t, err)
		two, err := client.Load(within(t, ended), withIdentity("topic-3-4711", rows(21, 10)))
		require.NoError(t, err)
		require.Equal(t, "success", two.Evidence)
		require.NotEqual(t, one.Label, two.Label)
		require.Equal(t, ids(30), c.stored(table))
	})
	t.Run("the same rows under another identity, or into another table, are loaded", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t, emulator.Options{Tables: []emulator.Table{orders(table), orders("other")}})
		client, _ := c.client()
		for _, b := range []streamload.Batch{
			withIdentity("a", rows(1, 2)), withIdentity("b", rows(1, 2)),
			{Database: db, Table: "other", Identity: "a", Rows: rows(1, 2)},
		} {
			report, err := client.Load(within(t, ended), b)
			require.NoError(t, err)
			require.Equal(t, "success", report.Evidence)
		}
		require.Equal(t, []int64{1, 1, 2, 2}, c.stored(table))
		require.Equal(t, ids(2), c.stored("other"))
	})
	t.Run("an answered failure keeps the label", func(t *testing.T) {
		t.Parallel()
		c := with(t, tooManyVersions(2))
		client, j := c.client()
		_, err := client.Load(within(t, ended), withIdentity("x", rows(1, 20)))
		require.NoError(t, err)
		same(t, j.sent(), 3)
		require.Equal(t, ids(20), c.stored(table))
	})
	t.Run("a delivery that stayed unresolved is found again", func(t *testing.T) {
		t.Parallel()
		c := with(t,
			emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Reset, Keep: true, Times: 1},
			emulator.Fault{At: emulator.CancelCall, Do: emulator.Fail, Message: "no", Times: 1},
		)
		client, _ := c.client(shortPoll)
		_, err := client.Load(within(t, ended), withIdentity("x", rows(1, 20)))
		e := unresolved(t, err)
		require.NoError(t, c.CommitLabel(db, e.Label))
		second, _ := c.client()
		report, err := second.Load(within(t, ended), withIdentity("x", rows(1, 20)))
		require.NoError(t, err)
		require.Equal(t, "label_finished", report.Evidence)
		require.Equal(t, ids(20), c.stored(table))
	})
	t.Run("one that was aborted is loaded under its label again", func(t *testing.T) {
		t.Parallel()
		c := with(t, tooManyVersions(1))
		client, _ := c.client(retries(-1))
		_, err := client.Load(within(t, ended), withIdentity("x", rows(1, 20)))
		e := failed(t, err)
		report, err := client.Load(within(t, ended), withIdentity("x", rows(1, 20)))
		require.NoError(t, err)
		require.Equal(t, e.Label, report.Label)
		require.Equal(t, ids(20), c.stored(table))
	})
	t.Run("two deliveries at once store the rows once", func(t *testing.T) {
		t.Parallel()
		c := with(t)
		results := make(chan error, 8)
		for range cap(results) {
			client, _ := c.client()
			go func() {
				_, err := client.Load(t.Context(), withIdentity("x", rows(1, 200)))
				results <- err
			}()
		}
		for range cap(results) {
			require.NoError(t, <-results)
		}
		require.Equal(t, ids(200), c.stored(table))
	})
}

func TestLabelsAreLegal(t *testing.T) {
	t.Parallel()
	legal := regexp.MustCompile(`^[-_A-Za-z0-9]{1,128}$`)
	for name, tt := range map[string]struct{ prefix, identity string }{
		"default":             {"", ""},
		"dots, colons, tails": {"eu.west/1:orders", ""},
		"umlauts and emoji":   {"Bestellungen-für-🚀", ""},
		"long":                {strings.Repeat("p", 500), ""},
		"identity":            {"p", "topic/with.dots:3@4711+99="},
		"long identity":       {"p", strings.Repeat("i", 2000)},
		"both long":           {strings.Repeat("p", 500), strings.Repeat("ü", 2000)},
		"header injection":    {"p", "a\r\nformat: csv"},
		"control characters":  {"\x00\x7f\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := with(t, tooManyVersions(3))
			client, _ := c.client(func(conf *streamload.Config) { conf.LabelPrefix = tt.prefix })
			_, err := client.Load(within(t, ended), withIdentity(tt.identity, rows(1, 3)))
			require.NoError(t, err)
			require.Len(t, c.labels(), 4)
			for _, l := range c.labels() {
				require.Regexp(t, legal, l)
			}
			require.Equal(t, ids(3), c.stored(table))
		})
	}
}

func TestLongIdentitiesThatDifferAtTheEndAreNotMixedUp(t *testing.T) {
	t.Parallel()
	c := with(t)
	client, _ := c.client()
	for _, tail := range []string{"1", "2"} {
		report, err := client.Load(within(t, ended), withIdentity(strings.Repeat("i", 2000)+tail, rows(1, 2)))
		require.NoError(t, err)
		require.Equal(t, "success", report.Evidence)
	}
	require.Equal(t, []int64{1, 1, 2, 2}, c.stored(table))
}

func TestLabelStateAndCancel(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{FEs: 3})
	client, _ := c.client()
	_, err := c.BeginLabel(db, "mine")
	require.NoError(t, err)
	ctx := within(t, ended)
	state, err := client.LabelState(ctx, db, "mine")
	require.NoError(t, err)
	require.Equal(t, "PREPARE", state)
	require.NoError(t, client.CancelLabel(ctx, db, "mine"))
	state, err = client.LabelState(ctx, db, "mine")
	require.NoError(t, err)
	require.Equal(t, "ABORTED", state)
	state, err = client.LabelState(ctx, db, "nobody's & odd/label?")
	require.NoError(t, err)
	require.Equal(t, "UNKNOWN", state)
	_, err = client.LabelState(ctx, "no_such_db", "mine")
	require.ErrorContains(t, err, "unknown database")
	_, err = client.LabelState(ctx, db, "")
	require.ErrorContains(t, err, "No label selected")
}
