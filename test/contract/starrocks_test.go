package contract

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/test/emulator"
)

func starRocks(conf *streamload.Config) { conf.Options.Dialect = streamload.DialectStarRocks }

// newStarRocks starts an emulator that is StarRocks.
func newStarRocks(t *testing.T, opt emulator.Options) *cluster {
	t.Helper()
	opt.Dialect = emulator.StarRocks
	return newCluster(t, opt)
}

// nothingIgnored requires that the servers knew every header of every load: they would not say so.
func (c *cluster) nothingIgnored() {
	c.t.Helper()
	for _, l := range c.Loads() {
		require.Empty(c.t, l.Ignored)
	}
}

func TestStarRocksLoads(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		opt      emulator.Options
		evidence string
		sent     int
	}{
		{"all is well", emulator.Options{}, "success", 1},
		{"two FEs and three BEs", emulator.Options{FEs: 2, BEs: 3}, "success", 1},
		{"the answer is lost", emulator.Options{Faults: []emulator.Fault{{At: emulator.BEAnswer, Do: emulator.Reset, Times: 1}}}, "state_visible", 1},
		{"the rows are lost", emulator.Options{Faults: []emulator.Fault{{At: emulator.BEBody, Do: emulator.Reset, Bytes: 9, Times: 1}}}, "success", 2},
		{"the answer is lost, and the label is not known yet", emulator.Options{Faults: []emulator.Fault{
			{At: emulator.BEAnswer, Do: emulator.Reset, Times: 1}, {At: emulator.StateQuery, Do: emulator.SetState, Message: "UNKNOWN", Times: 1},
		}}, "label_finished", 2},
		{"too many versions", emulator.Options{Faults: []emulator.Fault{{At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions, Times: 1}}}, "success", 2},
		{"no BE", emulator.Options{Faults: []emulator.Fault{{At: emulator.FERedirect, Do: emulator.NoBackend, Times: 1}}}, "success", 2},
		{"an FE that breaks", emulator.Options{Faults: []emulator.Fault{{At: emulator.FEBeforeAnswer, Do: emulator.HTTP, Status: 500, Times: 1}}}, "success", 2},
		{"a dead BE", emulator.Options{Faults: []emulator.Fault{{At: emulator.FERedirect, Do: emulator.DeadBE, Times: 1}}}, "success", 2},
		{"the master is lost", emulator.Options{FEs: 3, Faults: []emulator.Fault{{At: emulator.BEAnswer, Do: emulator.Reset, Times: 1}, {At: emulator.StateQuery, Do: emulator.MasterSwitch, Times: 1}}}, "state_visible", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newStarRocks(t, test.opt)
			client, j := c.client(starRocks, askFEs)
			r, err := client.Load(within(t, ended), batch(20))
			require.NoError(t, err)
			require.Equal(t, test.evidence, r.Evidence)
			require.Len(t, j.sent(), test.sent)
			require.Equal(t, ids(20), c.stored(table))
			c.nothingIgnored()
			if r.Evidence == "success" {
				require.EqualValues(t, 20, r.Loaded)
				require.Contains(t, r.Timings, "StreamLoadPlan")
			}
		})
	}
}

// Followers send questions about labels on to the leader.
func TestStarRocksThroughAFollower(t *testing.T) {
	t.Parallel()
	c := newStarRocks(t, emulator.Options{FEs: 2, Faults: []emulator.Fault{{At: emulator.BEAnswer, Do: emulator.Reset, Times: 1}}})
	client, j := newClient(t, c.through(c.FEURLs()[1:], starRocks))
	r, err := client.Load(within(t, ended), batch(5))
	require.NoError(t, err)
	require.Equal(t, "state_visible", r.Evidence)
	require.Equal(t, []string{"VISIBLE"}, j.states())
	require.NoError(t, client.CancelLabel(within(t, ended), db, r.Label))
	require.Equal(t, emulator.Visible, c.LabelState(db, r.Label))
	require.Equal(t, 2, c.asked("POST", "/api/"+db+"/"+r.Label+"/_cancel"))
}

func TestStarRocksStableLabel(t *testing.T) {
	t.Parallel()
	c := newStarRocks(t, emulator.Options{})
	again := batch(5)
	again.Identity = "orders-0-5"
	for _, evidence := range []string{"success", "label_finished"} {
		client, _ := c.client(starRocks)
		r, err := client.Load(within(t, ended), again)
		require.NoError(t, err)
		require.Equal(t, evidence, r.Evidence)
	}
	require.Equal(t, ids(5), c.stored(table))
}

// A transaction that does not end is cancelled, by the label in the path.
func TestStarRocksCancelsWhatHangs(t *testing.T) {
	t.Parallel()
	c := newStarRocks(t, emulator.Options{Faults: []emulator.Fault{{At: emulator.BEBeforeCommit, Do: emulator.Reset, Keep: true, Times: 1}}})
	client, j := c.client(starRocks, func(conf *streamload.Config) { conf.LabelPoll.MaxElapsed = 20 * time.Millisecond })
	r, err := client.Load(within(t, ended), batch(5))
	require.NoError(t, err)
	require.Equal(t, ids(5), c.stored(table))
	require.Positive(t, c.asked("POST", "/"+r.Label+"/_cancel"))
	same(t, j.sent(), 2)
}

// The rows become visible late: the server holds its answer back until they are, or until its timeout is over.
func TestStarRocksPublishesLate(t *testing.T) {
	t.Parallel()
	for _, visible := range []bool{true, false} {
		c := newStarRocks(t, emulator.Options{Faults: []emulator.Fault{{At: emulator.BEBeforeCommit, Do: emulator.PublishTimeout, Times: 1}}})
		client, _ := c.client(starRocks)
		done := make(chan streamload.Report, 1)
		go func() {
			r, err := client.Load(within(t, ended), batch(5))
			if err == nil {
				done <- r
			}
			close(done)
		}()
		var label string
		require.Eventually(t, func() bool {
			for _, r := range c.puts("fe") {
				label = r.Header.Get("label")
			}
			return label != "" && c.LabelState(db, label) == emulator.Committed
		}, ended, time.Millisecond)
		if visible {
			require.NoError(t, c.PublishLabel(db, label))
		} else {
			c.clock.advance(time.Minute)
		}
		r := <-done
		require.Equal(t, map[bool]string{true: "success", false: "publish_timeout"}[visible], r.Evidence)
		require.Equal(t, visible, r.Visible)
	}
}

func TestStarRocksFormats(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"json", "csv"} {
		for _, compression := range []string{"none", "gzip", "lz4", "zstd", "deflate", "bzip2"} {
			for _, array := range []bool{false, true} {
				if array && format == "csv" {
					continue
				}
				t.Run(fmt.Sprint(format, " ", compression, " ", array), func(t *testing.T) {
					t.Parallel()
					c := newStarRocks(t, emulator.Options{})
					client, _ := c.client(starRocks, func(conf *streamload.Config) {
						conf.Options.Format, conf.Options.Compression, conf.Options.StripOuterArray = format, compression, array
						if format == "csv" {
							conf.Options.Enclose, conf.Options.Escape, conf.Options.LineDelimiter = `"`, `\`, `\x02`
						}
					})
					b := batch(50)
					b.Rows = ofFormat(format, 50)
					r, err := client.Load(within(t, ended), b)
					require.NoError(t, err)
					require.EqualValues(t, 50, r.Loaded)
					require.Equal(t, ids(50), c.stored(table))
					c.nothingIgnored()
				})
			}
		}
	}
}

func TestStarRocksRefusals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(*streamload.Config)
		batch  streamload.Batch
		class  decide.Class
		text   string
	}{
		{"a wrong password", func(c *streamload.Config) { c.Password = "wrong" }, batch(2), decide.Auth, "HTTP 401"},
		{"no such database", func(*streamload.Config) {}, streamload.Batch{Database: "nowhere", Table: table, Rows: rows(1, 2)}, decide.Auth, "INSERT"},
		{"no such table", func(*streamload.Config) {}, streamload.Batch{Database: db, Table: "nothing", Rows: rows(1, 2)}, decide.NotFound, "nothing"},
		{"no row is left", func(c *streamload.Config) { c.Options.Columns, c.Options.Where = []string{"id", "note"}, "id > 100" }, batch(2), decide.DataQuality, "all partitions have no load data"},
		{"a column that is not there", func(c *streamload.Config) { c.Options.Columns = []string{"id", "note", "x = y"} }, batch(2), decide.Schema, "y"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newStarRocks(t, emulator.Options{})
			client, _ := c.client(starRocks, retries(-1), test.change)
			_, err := client.Load(within(t, ended), test.batch)
			e := failed(t, err)
			require.Equal(t, test.class, e.Class, "%v", err)
			require.ErrorContains(t, err, test.text)
			require.False(t, e.Unresolved)
		})
	}
}

// Group commit has another name, and the label of the answer is the server's.
func TestStarRocksMergeCommit(t *testing.T) {
	t.Parallel()
	c := newStarRocks(t, emulator.Options{FEs: 2})
	client, _ := newClient(t, c.through(c.FEURLs()[1:], starRocks, func(conf *streamload.Config) {
		conf.Options.GroupCommit = "sync_mode"
		conf.Options.MergeCommit.Interval = time.Millisecond
	}))
	r, err := client.Load(within(t, ended), batch(5))
	require.NoError(t, err)
	require.False(t, r.HasCounts)
	require.Empty(t, r.Label)
	require.Equal(t, ids(5), c.stored(table))
	c.nothingIgnored()

	c.Inject(emulator.Fault{At: emulator.BEAnswer, Do: emulator.Reset, Times: 1})
	_, err = client.Load(within(t, ended), batch(5))
	require.Equal(t, "no label to ask for", failed(t, err).Reason)
}

// openLoad makes a load whose request may still come: it was aborted, and its label stays open.
func openLoad(t *testing.T, c *cluster, client *streamload.Client, n int) (label string) {
	t.Helper()
	c.Inject(emulator.Fault{At: emulator.BEBody, Do: emulator.Reset, Bytes: 9, Times: 1})
	asked := c.Inject(emulator.Fault{At: emulator.StateQuery, Do: emulator.Fail, Message: "busy"})
	_, err := client.Load(within(t, ended), batch(n))
	label = unresolved(t, err).Label
	require.Positive(t, asked.Hits())
	c.ClearFaults()
	return label
}

func impatient(conf *streamload.Config) {
	conf.MaxRetries, conf.LabelPoll.MaxElapsed = -1, 20*time.Millisecond
}

// No load of no rows closes a label here. The same rows are sent again under the label of their load.
func TestStarRocksOpenLoadIsSentAgainUnderItsLabel(t *testing.T) {
	t.Parallel()
	c := newStarRocks(t, emulator.Options{})
	client, _ := c.client(starRocks, impatient)
	label := openLoad(t, c, client, 5)

	b := batch(5)
	b.Rows[0], b.Rows[4] = b.Rows[4], b.Rows[0] // the order is of no account
	for _, whole := range []bool{true, false} {
		b.Whole = whole
		if whole {
			require.Nil(t, client.Held(within(t, ended), []streamload.Batch{b}))
		}
		r, err := client.Load(within(t, ended), b)
		require.NoError(t, err)
		require.Equal(t, whole, r.Label == label, "only once: a second batch with the same rows is another one")
		require.Equal(t, "success", r.Evidence)
	}
	require.Len(t, c.stored(table), 10)
	loads, _ := client.LedgerSize()
	require.Zero(t, loads)
	c.nothingIgnored()
}

// The load was stored after all.
func TestStarRocksOpenLoadThatWasStored(t *testing.T) {
	t.Parallel()
	c := newStarRocks(t, emulator.Options{})
	client, _ := c.client(starRocks, impatient)
	c.Inject(emulator.Fault{At: emulator.BEAnswer, Do: emulator.Reset, Times: 1})
	c.Inject(emulator.Fault{At: emulator.StateQuery, Do: emulator.Fail, Message: "busy"})
	_, err := client.Load(within(t, ended), batch(5))
	_ = unresolved(t, err)
	c.ClearFaults()
	r, err := client.Load(within(t, ended), batch(5))
	require.NoError(t, err)
	require.Equal(t, "label_finished", r.Evidence)
	require.Equal(t, ids(5), c.stored(table))
}

// Rows that come back in another batch wait until the label is known to be committed, or is forgotten. The others are loaded.
func TestStarRocksOpenLoadInOtherBatches(t *testing.T) {
	t.Parallel()
	c := newStarRocks(t, emulator.Options{})
	client, _ := c.client(starRocks, impatient)
	label := openLoad(t, c, client, 5)
	require.Equal(t, emulator.Aborted, c.LabelState(db, label))

	for range 2 {
		_, err := client.Load(within(t, ended), batch(3))
		require.Equal(t, label, unresolved(t, err).Label)
	}
	_, err := client.Load(within(t, ended), streamload.Batch{Database: db, Table: table, Rows: rows(5, 2)})
	e := failed(t, err)
	require.True(t, e.Partial)
	require.Len(t, e.Held, 1)
	require.Equal(t, []int64{6}, c.stored(table))
	require.Equal(t, emulator.Aborted, c.LabelState(db, label), "nothing was sent under it")
	for _, r := range c.Requests() {
		require.Empty(t, r.Header.Get("two_phase_commit"))
	}

	_, err = client.Load(within(t, ended), batch(5))
	require.NoError(t, err)
	require.Equal(t, ids(6), c.stored(table))
}
