package output

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// supplier delivers the messages of one source batch until each is acknowledged or refused for good, as an input of Benthos that replays does.
type supplier struct {
	t    *testing.T
	b    *built
	rng  *rand.Rand
	calm <-chan struct{} // closed when no more contexts are to be cancelled

	acked, refused []string
}

// deliver returns when nothing is left.
func (s *supplier) deliver(ctx context.Context, rows []string) {
	for len(rows) > 0 {
		batch := batchOf(rows...)
		index := batch.Index()
		err := s.write(ctx, batch)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			s.acked = append(s.acked, rows...)
			return
		}
		var batchErr *service.BatchError
		if !errors.As(err, &batchErr) {
			s.t.Errorf("%v is no error of a batch", err)
			return
		}
		if batchErr.IndexedErrors() == 0 {
			if refusal(err) { // a dead letter takes all of it, also what is stored
				s.refused = append(s.refused, rows...)
				return
			}
			continue // all of it comes again
		}
		var again []string
		seen := 0
		batchErr.WalkMessagesIndexedBy(index, func(i int, _ *service.Message, err error) bool {
			seen++
			switch {
			case err == nil:
				s.acked = append(s.acked, rows[i])
			case refusal(err):
				s.refused = append(s.refused, rows[i])
			default:
				again = append(again, rows[i])
			}
			return true
		})
		if seen != len(rows) {
			s.t.Errorf("the error is about %d of %d messages", seen, len(rows))
			return
		}
		rows = again
	}
}

// refusal is true for messages that can never be loaded.
func refusal(err error) bool {
	return strings.HasPrefix(err.Error(), "data_quality: ") || strings.HasPrefix(err.Error(), "not_found: ")
}

// write writes a batch as Benthos does: while there is no connection it connects and writes the very same messages again. At times the context ends early.
func (s *supplier) write(ctx context.Context, batch service.MessageBatch) error {
	for {
		err := s.writeOnce(ctx, batch)
		if !errors.Is(err, service.ErrNotConnected) {
			return err
		}
		for s.b.Connect(ctx) != nil && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func (s *supplier) writeOnce(ctx context.Context, batch service.MessageBatch) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	select {
	case <-s.calm:
	default:
		if s.rng.IntN(4) == 0 {
			timer := time.AfterFunc(time.Duration(s.rng.IntN(60))*time.Millisecond, cancel)
			defer timer.Stop()
		}
	}
	return s.b.WriteBatch(ctx, batch)
}

// Whatever servers and contexts do, every source batch is answered, and what is acknowledged is what is stored, once.
func TestAckedIsStored(t *testing.T) {
	t.Parallel()
	seeds := 8
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			ackedIsStored(t, uint64(seed)) //nolint:gosec // positive
		})
	}
}

func ackedIsStored(t *testing.T, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 3)) //nolint:gosec // test data
	columns := []emulator.Column{{Name: "t", Type: "VARCHAR(9)"}, {Name: "id", Type: "BIGINT", NotNull: true}, {Name: "n", Type: "INT"}}
	opt := emulator.Options{Seed: seed + 1, MaxBodyBytes: int64(200 + rng.IntN(2000))}
	tables := []string{"a", "b", "c"}[:1+rng.IntN(3)]
	for _, name := range tables {
		opt.Tables = append(opt.Tables, emulator.Table{Database: "d", Name: name, Columns: columns})
	}
	e := cluster(t, opt)
	b := build(t, fields(e.FEURL(), fmt.Sprintf(
		"database: d\ntable: ${! this.t }\nstrict_mode: true\nmax_in_flight: %d\nmax_pending: %d\nmax_load_rows: %d\nlinger: %dms\nmax_retries: %d\n"+
			"label_poll: { initial_interval: 1ms, max_interval: 5ms, max_elapsed_time: 30ms }",
		2+rng.IntN(4), 1+rng.IntN(60), rng.IntN(30), rng.IntN(30), rng.IntN(3),
	)))
	for _, f := range []emulator.Fault{
		{At: emulator.BEAfterCommit, Do: emulator.Reset, Probability: 0.1},
		{At: emulator.BEBody, Do: emulator.Reset, Probability: 0.1},
		{At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions, Probability: 0.1},
		{At: emulator.BEBeforeCommit, Do: emulator.Fail, Message: "no luck today", Probability: 0.1},
		{At: emulator.BEBeforeCommit, Do: emulator.Delay, For: 20 * time.Millisecond, Probability: 0.3},
		{At: emulator.StateQuery, Do: emulator.HTTP, Status: 503, Probability: 0.4},
	} {
		e.Inject(f)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 3*patience) // much happens here
	defer cancel()
	calm := make(chan struct{})
	want := map[string]bool{}
	var all sync.WaitGroup
	suppliers := make([]*supplier, 80)
	for i := range suppliers {
		var rows []string
		for k := range 1 + rng.IntN(8)*rng.IntN(2) {
			table, id := tables[rng.IntN(len(tables))], strconv.Itoa(100*i+k)
			switch rng.IntN(40) {
			case 0:
				rows = append(rows, `{"t":"`+table+`","id":`+id+`}{}`)
			case 1:
				rows = append(rows, `{"t":"`+table+`","id":`+id+`,"n":"seven"}`)
			default:
				rows = append(rows, `{"t":"`+table+`","id":`+id+`}`)
				want[id] = true
			}
		}
		s := &supplier{t: t, b: b, rng: rand.New(rand.NewPCG(seed, uint64(i))), calm: calm} //nolint:gosec // test data, positive
		suppliers[i] = s
		after := time.Duration(rng.IntN(200)) * time.Millisecond
		all.Go(func() {
			time.Sleep(after)
			s.deliver(ctx, rows)
		})
	}
	all.Go(func() {
		for range 2 {
			time.Sleep(80 * time.Millisecond)
			e.StopFE(0)
			time.Sleep(40 * time.Millisecond)
			if err := e.StartFE(0); err != nil {
				t.Error(err)
			}
		}
		close(calm)
		e.ClearFaults()
	})
	all.Wait()
	require.NoError(t, ctx.Err(), "some batch was not answered")

	stored := map[string]int{}
	for _, table := range tables {
		for _, row := range e.Rows("d", table) {
			stored[fmt.Sprint(row["id"])]++
		}
	}
	idOf := func(row string) string {
		_, rest, _ := strings.Cut(row, `"id":`)
		return rest[:strings.IndexAny(rest, ",}")]
	}
	acked := map[string]int{}
	refused := map[string]bool{}
	for _, s := range suppliers {
		for _, row := range s.acked {
			acked[idOf(row)]++
		}
		for _, row := range s.refused {
			refused[idOf(row)] = true
		}
	}
	for id := range want {
		if refused[id] {
			// It was in a source batch with a row that Doris refuses, which fail together.
			require.LessOrEqual(t, stored[id], 1, "row %s was refused", id)
			continue
		}
		require.Equal(t, 1, acked[id], "row %s", id)
		require.Equal(t, 1, stored[id], "row %s was acknowledged", id)
	}
	for id, n := range stored {
		require.Equal(t, 1, n, "row %s", id)
		require.True(t, acked[id] == 1 || refused[id], "row %s is stored", id)
	}
	o := b.BatchOutput.(*output)
	require.Empty(t, o.places)
	require.Zero(t, o.join.present)
	require.Zero(t, o.join.waiting)
	require.Zero(t, o.join.loading)
	require.Empty(t, o.outage.back)
}
