package contract

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

// Loads at the same time share a client but no state: each has its own attempts, its own label and its own end.
func TestConcurrentLoadsShareNoRetryState(t *testing.T) {
	t.Parallel()
	const loads, most = 60, 3
	opt := emulator.Options{FEs: 2, BEs: 3}
	for i := range loads {
		opt.Tables = append(opt.Tables, orders(name(i)))
		// 0 to 5 failures; the cap lets up to 3 pass.
		if n := i % 6; n > 0 {
			f := emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions, Table: name(i), Times: n}
			switch i / 6 % 4 {
			case 1:
				f.Do = emulator.Reset
			case 2:
				f = emulator.Fault{At: emulator.BEBegin, Do: emulator.TxnLimit, Table: name(i), Times: n}
			case 3:
				f = emulator.Fault{At: emulator.FEBeforeAnswer, Do: emulator.HTTP, Status: 503, Table: name(i), Times: n}
			}
			opt.Faults = append(opt.Faults, f)
		}
	}
	c := newCluster(t, opt)
	client, _ := c.client(retries(most))
	type end struct {
		i      int
		report streamload.Report
		err    error
	}
	ends := make(chan end, loads)
	ctx := within(t, ended)
	for i := range loads {
		go func() {
			report, err := client.Load(ctx, streamload.Batch{Database: db, Table: name(i), Rows: rows(1, 1+i)})
			ends <- end{i, report, err}
		}()
	}
	labels := map[string]int{}
	for range loads {
		e := <-ends
		n := e.i % 6
		require.Equal(t, min(n, most)+1, e.report.Attempts, "load %d: %v", e.i, e.err)
		require.Equal(t, name(e.i), e.report.Table)
		if n > most {
			require.Equal(t, "retries used up", failed(t, e.err).Reason)
			require.Empty(t, c.stored(name(e.i)))
		} else {
			require.NoError(t, e.err)
			require.Equal(t, ids(1+e.i), c.stored(name(e.i)))
		}
		labels[e.report.Label]++
	}
	require.Len(t, labels, loads, "every load has its own label")
}

func name(i int) string { return fmt.Sprintf("orders_%d", i) }

// Many loads into one table, with lost answers all over the place: every row once.
func TestConcurrentLoadsIntoOneTable(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{BEs: 2, Seed: 7, Faults: []emulator.Fault{
		{At: emulator.BEAfterCommit, Do: emulator.Reset, Probability: 0.2},
		{At: emulator.BEBeforeCommit, Do: emulator.Close, Probability: 0.1},
		{At: emulator.BEAnswer, Do: emulator.Truncate, Bytes: 30, Probability: 0.1},
		{At: emulator.BEAnswer, Do: emulator.Fail, Message: "[INTERNAL_ERROR]cancelled", Probability: 0.1},
		{At: emulator.FERedirect, Do: emulator.NoBackend, Probability: 0.1},
		{At: emulator.StateQuery, Do: emulator.SetState, Message: "UNKNOWN", Probability: 0.2},
		{At: emulator.StateQuery, Do: emulator.Reset, Probability: 0.1},
	}})
	client, _ := c.client(retries(100))
	const loads, each = 50, 10
	errs := make(chan error, loads)
	ctx := within(t, ended)
	for i := range loads {
		go func() {
			_, err := client.Load(ctx, streamload.Batch{Database: db, Table: table, Rows: rows(1+i*each, each)})
			errs <- err
		}()
	}
	for range loads {
		require.NoError(t, <-errs)
	}
	require.Equal(t, ids(loads*each), c.stored(table))
}
