package stream

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// tables are table_0, table_1 and so on.
func tables(n int) (out []emulator.Table) {
	for i := range n {
		out = append(out, orders("table_"+strconv.Itoa(i)))
	}
	return out
}

// failing makes the first loads of a table fail so that nothing is stored.
func failing(table, times int) emulator.Fault {
	return emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions, Table: "table_" + strconv.Itoa(table), Times: times}
}

// storedInAll are the ids in all tables, sorted.
func (c *cluster) storedInAll(n int) (all []int) {
	c.t.Helper()
	for i := range n {
		all = append(all, c.stored("table_"+strconv.Itoa(i))...)
	}
	slices.Sort(all)
	return all
}

// loadsOf counts the loads that reached a commit, by table.
func (c *cluster) loadsOf() map[string]int {
	counts := map[string]int{}
	for _, l := range c.Loads() {
		counts[l.Table]++
	}
	return counts
}

// generated are messages that an input which replays makes, in batches; by number they go to n tables.
func generated(count, size, n int) (input, table string) {
	return fmt.Sprintf(`
input:
  generate:
    count: %d
    interval: ""
    batch_size: %d
    mapping: root.id = counter()
output:
`, count, size), fmt.Sprintf(`table: 'table_${! json("id") %% %d }'`, n)
}

// Of a batch that goes to several tables those that failed are delivered again, not the others, however often they fail. Benthos v4.80.0 would
// lose messages here if the error of a smaller batch named those that failed.
func TestOnlyTheFailedTableIsDeliveredAgain(t *testing.T) {
	t.Parallel()
	for name, failures := range map[string][]int{
		"once":                   {0, 1},
		"several times":          {0, 3},
		"the first table":        {3, 0},
		"one after the other":    {0, 1, 2, 3},
		"the other way round":    {3, 2, 1, 0},
		"all of them, then some": {1, 1, 3, 3},
		"most of them, together": {0, 3, 3, 3},
	} {
		for mode, more := range map[string]string{
			"random labels": "label: ''", "stable labels": `label: 'a${! json("id") }'`, "group commit": "group_commit: sync_mode",
		} {
			t.Run(name+", "+mode, func(t *testing.T) {
				t.Parallel()
				n := len(failures)
				opt := emulator.Options{Tables: tables(n)}
				want := map[string]int{}
				for i, times := range failures {
					want["table_"+strconv.Itoa(i)] = times + 1
					if times > 0 {
						opt.Faults = append(opt.Faults, failing(i, times))
					}
				}
				c := newCluster(t, opt)
				input, table := generated(40, 40, n)
				newPipeline(t, input+c.output("max_retries: -1", table, more)).run()
				require.Equal(t, ids(40), c.storedInAll(n))
				require.Equal(t, want, c.loadsOf(), "what is stored is not loaded again")
			})
		}
	}
}

// The same with failures by chance and many batches on their way, of which each fails many times.
func TestManyBatchesThatFailInPartAgainAndAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		count, size int
		more        []string
	}{
		"without batching": {240, 30, nil},
		"with batching":    {24, 1, []string{"batching: { count: 12, period: 10ms }"}}, // Benthos takes its time for each message
	} {
		for seed := range uint64(3) {
			t.Run(fmt.Sprintf("%s, seed %d", name, seed), func(t *testing.T) {
				t.Parallel()
				doris := newCluster(t, emulator.Options{Tables: tables(4), Seed: seed, Faults: []emulator.Fault{
					{At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions, Probability: 0.5},
				}})
				input, table := generated(c.count, c.size, 4)
				p := newPipeline(t, input+doris.output(append(c.more, "max_retries: -1", "max_in_flight: 4", table)...))
				p.run()
				require.Equal(t, ids(c.count), doris.storedInAll(4))
				require.NotContains(t, p.logs.String(), "may be stored twice")
			})
		}
	}
}

// The same message has other bytes each time. It is not recognised, but a smaller batch that fails as a whole, for one reason, is safe.
func TestMessagesThatChangeFromDeliveryToDelivery(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{Tables: tables(2), Faults: []emulator.Fault{failing(1, 4)}})
	newPipeline(t, `
input:
  generate:
    count: 40
    interval: ""
    batch_size: 40
    mapping: root.id = counter()
pipeline:
  processors:
    - mapping: |
        root = this
        root.note = uuid_v4()
output:
`+c.output("max_retries: -1", `table: 'table_${! json("id") % 2 }'`)).run()
	require.Equal(t, ids(40), c.storedInAll(2))
}

// Messages that cannot be loaded hold up those that failed with them. They are stored all the same, and once.
func TestAFailureThatLastsHoldsUpWhatFailedWithIt(t *testing.T) {
	t.Parallel()
	for _, label := range []string{"label: ''", `label: 'a${! json("id") }'`} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, emulator.Options{Tables: tables(3), Faults: []emulator.Fault{failing(1, 2), failing(2, 1000)}})
			input, table := generated(30, 30, 3)
			p := newPipeline(t, input+c.output("max_retries: -1", table, label))
			s := p.start(t.Context())
			// Those of table_1 are stored, and delivered again three times.
			eventually(t, func() bool { return strings.Count(p.logs.String(), "10 of 20 messages were not loaded") > 3 })
			require.Len(t, c.storedInAll(3), 20)
			c.ClearFaults()
			require.NoError(t, s.wait())
			require.Equal(t, ids(30), c.storedInAll(3))
			require.Equal(t, 1, c.loadsOf()["table_0"])
			require.Equal(t, 3, c.loadsOf()["table_1"])
		})
	}
}

// Each message of a batch is equal to the others, and only the tables that they go to tell them apart.
func TestBatchesOfEqualMessages(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{Tables: tables(3), Faults: []emulator.Fault{failing(1, 4), failing(2, 7)}})
	newPipeline(t, `
input:
  generate:
    count: 120
    interval: ""
    batch_size: 30
    mapping: |
      meta table = "table_%d".format(counter() % 3)
      root.id = 7
output:
`+c.output("max_retries: -1", "table: '${! @table }'")).run()
	for i := range 3 {
		require.Equal(t, slices.Repeat([]int{7}, 40), c.stored("table_"+strconv.Itoa(i)))
	}
}

// With a dead letter output above, those that failed go there, each with its own reason, also when messages of the same content failed before.
func TestPartialFailuresUnderAFallback(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{Tables: tables(1)})
	path := filepath.Join(t.TempDir(), "dead.ndjson")
	p := newPipeline(t, fallbackTo(c, path, `table: 'table_${! json("id") % 2 }'`, "max_retries: -1"))
	send, err := p.b.AddBatchProducerFunc()
	require.NoError(t, err)
	s := p.start(t.Context())
	const rounds = 3
	for range rounds {
		var batch service.MessageBatch
		for _, id := range []int{2, 3, 4} {
			batch = append(batch, service.NewMessage([]byte(order(id))))
		}
		batch = append(batch, service.NewMessage([]byte("bad")))
		require.NoError(t, send(t.Context(), batch))
	}
	require.NoError(t, s.StopWithin(ended))
	require.NoError(t, s.wait())
	require.Equal(t, []int{2, 2, 2, 4, 4, 4}, c.stored("table_0"))
	got := readDead(t, path)
	require.Len(t, got, 2*rounds)
	for i, d := range got {
		if i%2 == 0 {
			require.JSONEq(t, order(3), d.Raw)
			require.Contains(t, d.Why, "not_found: load into shop.table_1 failed")
		} else {
			require.Equal(t, "bad", d.Raw)
			require.Contains(t, d.Why, "cannot be worked out") // its table
		}
	}
}
