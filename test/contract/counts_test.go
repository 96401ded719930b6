package contract

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/streamload/decide"
)

// counting is a success with counts: of rows, of those loaded, and of bytes.
func counting(s sent, total, loaded, bytes int) reply {
	return ok(fmt.Sprintf(`{"TxnId":7,"Label":%q,"Status":"Success","Message":"OK","NumberTotalRows":%d,"NumberLoadedRows":%d,`+
		`"NumberFilteredRows":0,"NumberUnselectedRows":0,"LoadBytes":%d,"LoadTimeMs":12}`+"\n", s.label, total, loaded, bytes))
}

// A load of which the server counts nothing is committed, and holds none of the rows.
func TestSuccessThatCountsNothing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*streamload.Config)
		answer func(s sent) reply
		want   string
	}{
		"no rows": {
			answer: func(s sent) reply { return counting(s, 0, 0, 40) },
			want:   "counted 0 rows of the 5 that were sent (40 of 129 bytes), so nothing is stored, and yet it answered Success: OK",
		},
		"no rows, where a json_root fits none": {
			change: func(conf *streamload.Config) { conf.Options.JSONRoot = "$.data" },
			answer: func(s sent) reply { return counting(s, 0, 0, 40) },
			want:   "do json_root, jsonpaths and columns fit the rows?",
		},
		"no rows, in one array": {
			change: func(conf *streamload.Config) { conf.Options.StripOuterArray = true },
			answer: func(s sent) reply { return counting(s, 0, 0, 40) },
			want:   "counted 0 rows of the 5",
		},
		"no rows, visible later": {
			answer: func(sent) reply {
				return ok(`{"TxnId":7,"Status":"Publish Timeout","NumberTotalRows":0,"LoadBytes":40}`)
			},
			want: "and yet it answered Publish Timeout; do json_root",
		},
		"no bytes": {
			answer: func(sent) reply { return ok(`{"TxnId":7,"Status":"Success","Message":"OK","LoadBytes":0}`) },
			want:   "(0 of ",
		},
		"no rows, in group commit": {
			change: func(conf *streamload.Config) { conf.Options.GroupCommit = "sync_mode" },
			answer: func(s sent) reply { return counting(s, 0, 0, 40) },
			want:   "counted 0 rows of the 5",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{load: func(n int, s sent) reply {
				if n == 0 {
					return tt.answer(s)
				}
				return counting(s, 5, 5, len(s.body))
			}}
			s.start(t)
			if tt.change == nil {
				tt.change = func(*streamload.Config) {}
			}
			client, j := newClient(t, config([]string{s.fe.URL}, tt.change))
			_, err := client.Load(within(t, ended), batch(5))
			e := failed(t, err)
			require.Equal(t, decide.Protocol, e.Class)
			require.Equal(t, "no row was counted", e.Reason)
			require.False(t, e.Unresolved, "nothing of it is stored, and nothing can be under that label")
			require.ErrorContains(t, err, tt.want)
			require.Len(t, s.loads(), 1, "to send it again would do the same again")
			require.False(t, j.attempts[0].Stored)

			// The rows may be loaded anew, and what answered so is not taken for a server that stores.
			report, err := client.Load(within(t, ended), batch(5))
			require.NoError(t, err)
			require.EqualValues(t, 5, report.Loaded)
			require.Len(t, s.atFE, 2, "an FE is asked")
			if report.Label != "" {
				require.NotEqual(t, s.labels()[0], s.labels()[1])
			}
		})
	}
}

// A stable label that was committed without the rows stands in their way: FINISHED is about the load of none. It is never acked, however
// long it takes until the rows come back.
func TestSuccessThatCountsNothingUnderAStableLabel(t *testing.T) {
	t.Parallel()
	s := &script{load: func(n int, s sent) reply {
		if n == 0 {
			return counting(s, 0, 0, 40)
		}
		return exists(s, "FINISHED")
	}}
	s.start(t)
	client, _ := newClient(t, config([]string{s.fe.URL}, retries(-1), func(conf *streamload.Config) { conf.Ledger.MaxAge = time.Nanosecond }))
	b := batch(5)
	b.Identity = "orders-0-17"
	for n := range 3 {
		_, err := client.Load(within(t, ended), b)
		e := unresolved(t, err)
		require.Equal(t, s.labels()[0], e.Label, "delivery %d", n)
	}
	require.Len(t, s.loads(), 3)
}

// Rows that were counted in a body of no bytes are no evidence: the label tells, and even that may be about no rows.
func TestSuccessThatContradictsItself(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]error{"VISIBLE": streamload.ErrUnresolved, "ABORTED": nil} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			s := &script{
				load: func(n int, s sent) reply {
					if n == 0 {
						return counting(s, 5, 5, 0)
					}
					return counting(s, 5, 5, 40)
				},
				state: func(int, string) reply { return stateIs(state) },
			}
			s.start(t)
			client, j := newClient(t, config([]string{s.fe.URL}))
			_, err := client.Load(within(t, ended), batch(5))
			if want == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, want)
			}
			require.Contains(t, j.attempts[0].Message, "counted 5 rows, but says that it received 0 bytes of")
			require.Equal(t, []string{state}, j.states())
		})
	}
}

// What the counts say beside an ack: only where the settings fix how many rows there are.
func TestSuccessWithOtherCounts(t *testing.T) {
	t.Parallel()
	json := func(change func(*streamload.Options)) func(*streamload.Options) { return change }
	csv := func(change func(*streamload.Options)) func(*streamload.Options) {
		return func(o *streamload.Options) {
			o.Format = "csv"
			change(o)
		}
	}
	for name, tt := range map[string]struct {
		change func(*streamload.Options)
		total  int
		want   int64
	}{
		"all":                                  {json(func(*streamload.Options) {}), 5, 0},
		"fewer":                                {json(func(*streamload.Options) {}), 3, 2},
		"more":                                 {json(func(*streamload.Options) {}), 6, -1},
		"fewer, in one array":                  {json(func(o *streamload.Options) { o.StripOuterArray = true }), 1, 4},
		"fewer, under a json_root":             {json(func(o *streamload.Options) { o.JSONRoot = "$.a" }), 3, 0},
		"more, under a json_root in one array": {json(func(o *streamload.Options) { o.StripOuterArray, o.JSONRoot = true, "$.a" }), 50, 0},
		"fewer, with a json_root in headers":   {json(func(o *streamload.Options) { o.Headers = map[string]string{"JSON_root": "$.a"} }), 3, 0},
		"fewer, with jsonpaths":                {json(func(o *streamload.Options) { o.JSONPaths = `["$.id"]` }), 3, 0},
		"fewer, in group commit":               {json(func(o *streamload.Options) { o.GroupCommit = "async_mode" }), 3, 0},
		"fewer, without group commit":          {json(func(o *streamload.Options) { o.GroupCommit = "off_mode" }), 3, 2},
		"csv":                                  {csv(func(*streamload.Options) {}), 5, 0},
		"csv, fewer":                           {csv(func(*streamload.Options) {}), 3, 2},
		"csv, lines skipped":                   {csv(func(o *streamload.Options) { o.SkipLines = 2 }), 3, 0},
		"csv, lines skipped and counted":       {csv(func(o *streamload.Options) { o.SkipLines = 2 }), 5, 0},
		"csv, more than the lines skipped":     {csv(func(o *streamload.Options) { o.SkipLines = 2 }), 2, 1},
		"csv, all lines skipped":               {csv(func(o *streamload.Options) { o.SkipLines = 9 }), 0, 0},
		"csv, all lines skipped by a header":   {csv(func(o *streamload.Options) { o.Headers = map[string]string{"Skip_Lines": "5"} }), 0, 0},
		"csv, one line of five is not skipped": {csv(func(o *streamload.Options) { o.SkipLines = 4 }), 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{load: func(_ int, s sent) reply { return counting(s, tt.total, tt.total, len(s.body)) }}
			s.start(t)
			client, _ := newClient(t, config([]string{s.fe.URL}, func(conf *streamload.Config) { tt.change(&conf.Options) }))
			report, err := client.Load(within(t, ended), batch(5))
			require.NoError(t, err)
			require.Equal(t, tt.want, report.Unaccounted())
			require.True(t, report.HasCounts)
		})
	}
}
