package stream

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// Single messages at full speed, and no setting for batches, also under what people put around an output.
func TestSingleMessagesMakeFewLoads(t *testing.T) {
	t.Parallel()
	const n = 5000
	for name, around := range map[string]string{
		"alone":            "%s",
		"under a fallback": "  fallback:\n    - %s\n    - drop: {}\n",
		"under a retry":    "  retry:\n    output:\n%s",
		"under a switch":   "  switch:\n    cases:\n      - check: this.id > 0\n        output:\n%s      - output:\n          drop: {}\n",
		"under a broker":   "  broker:\n    outputs:\n      - %s\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := with(t)
			out := c.output("linger: 1s")
			if strings.Contains(around, "- %s") {
				out = strings.TrimLeft(indent(out, "    "), " ")
				if name == "under a broker" {
					out = strings.ReplaceAll(out, "\n", "\n  ")
				}
			} else if name != "alone" {
				out = indent(out, "        ")
			}
			newPipeline(t, fmt.Sprintf(`
input:
  generate:
    count: %d
    interval: ""
    mapping: root.id = counter()
output:
`, n)+fmt.Sprintf(around, out)).run()
			require.Equal(t, ids(n), c.stored("orders"))
			require.LessOrEqual(t, len(c.Loads()), n/100)
		})
	}
}

// Tables that come in turns are joined each for itself.
func TestSingleMessagesForManyTablesMakeFewLoads(t *testing.T) {
	t.Parallel()
	const n, tables = 3000, 10
	var opt emulator.Options
	for i := range tables {
		opt.Tables = append(opt.Tables, orders(fmt.Sprintf("orders_%d", i)))
	}
	c := newCluster(t, opt)
	newPipeline(t, fmt.Sprintf(`
input:
  generate:
    count: %d
    interval: ""
    mapping: root.id = counter()
output:
`, n)+c.output("linger: 1s", `table: ${! "orders_" + (this.id % 10).string() }`)).run()
	var all []int
	for i := range tables {
		all = append(all, c.stored(fmt.Sprintf("orders_%d", i))...)
	}
	slices.Sort(all)
	require.Equal(t, ids(n), all)
	require.LessOrEqual(t, len(c.Loads()), n/10)
}

// With one load at a time, messages are stored in the order in which they came, and nothing is joined.
func TestOneLoadAtATimeKeepsTheOrder(t *testing.T) {
	t.Parallel()
	c := with(t)
	newPipeline(t, `
input:
  generate:
    count: 200
    interval: ""
    batch_size: 2
    mapping: root.id = counter()
output:
`+c.output("max_in_flight: 1", "linger: 1h")).run()
	rows := c.Rows(db, "orders")
	require.Len(t, rows, 200)
	for i, row := range rows {
		require.Equal(t, strconv.Itoa(i+1), fmt.Sprint(row["id"]))
	}
	require.Len(t, c.Loads(), 100)
}

// A pipeline that stops while messages wait for their load: gracefully they are loaded, and hard they are not, and are not acknowledged.
func TestStopWhileMessagesWait(t *testing.T) {
	t.Parallel()
	for name, within := range map[string]time.Duration{"gracefully": ended, "hard": 400 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := with(t)
			linger := "linger: 1h"
			if within == ended {
				linger = "linger: 2s"
			}
			p := newPipeline(t, "output:\n"+c.output(linger, "max_pending: 1000"))
			send, err := p.b.AddProducerFunc()
			require.NoError(t, err)
			s := p.start(t.Context())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			require.NoError(t, send(ctx, service.NewMessage([]byte(order(1)))))
			var mu sync.Mutex
			acked := []int{1}
			var all sync.WaitGroup
			for i := range 100 {
				all.Go(func() {
					if send(ctx, service.NewMessage([]byte(order(i+2)))) == nil {
						mu.Lock()
						defer mu.Unlock()
						acked = append(acked, i+2)
					}
				})
			}
			eventually(t, func() bool { return strings.Count(p.logs.String(), "Attempting to write 1 messages") == 101 })
			began := time.Now()
			_ = s.StopWithin(within) // whether that is graceful is Benthos' affair
			require.Less(t, time.Since(began), ended)
			_ = s.wait()
			cancel() // a stream that is stopped hard may leave its producers without an answer
			all.Wait()
			slices.Sort(acked)
			require.Equal(t, acked, c.stored("orders"))
			if within != ended {
				require.Equal(t, []int{1}, acked)
			}
		})
	}
}

// Faults of all kinds while messages come one by one and are joined: what the input was told is what is stored, once.
func TestFaultsOfJoinedLoads(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{FEs: 2, BEs: 2, Seed: 11, Faults: []emulator.Fault{
		{At: emulator.BEAfterCommit, Do: emulator.Reset, Probability: 0.1},
		{At: emulator.BEBody, Do: emulator.Reset, Probability: 0.1},
		{At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions, Probability: 0.1},
		{At: emulator.StateQuery, Do: emulator.HTTP, Status: 503, Probability: 0.4},
	}})
	newPipeline(t, `
input:
  generate:
    count: 2000
    interval: ""
    mapping: root.id = counter()
output:
`+c.output("linger: 5ms", "max_pending: 64", "max_retries: 1", "label_poll: { initial_interval: 1ms, max_interval: 5ms, max_elapsed_time: 30ms }")).run()
	require.Equal(t, ids(2000), c.stored("orders"))
}
