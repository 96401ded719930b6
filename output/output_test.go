package output

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

func TestRowsArriveInTheirTables(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	b := build(t, fields(e.FEURL(), "database: shop\ntable: ${! this.kind }"))
	batch := batchOf(
		`{"kind":"a","id":1}`, `{"kind":"b","id":2}`, `{"kind":"a","id":3}`, `{"kind":"c","id":4}`, `{"kind":"b","id":5}`,
	)
	require.NoError(t, b.WriteBatch(within(t), batch))
	require.Equal(t, 2, e.Count("shop", "a"))
	require.Equal(t, 2, e.Count("shop", "b"))
	require.Equal(t, 1, e.Count("shop", "c"))
	require.Len(t, e.Loads(), 3, "one load for each table")
	require.Zero(t, e.FEBodyBytes())
}

func TestOneTableFailsAlone(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{{At: emulator.BEBeforeCommit, Do: emulator.Fail, Message: "no luck today", Table: "b"}}})
	b := build(t, fields(e.FEURL(), "database: shop\ntable: ${! this.kind }"))
	batch := batchOf(`{"kind":"a","id":1}`, `{"kind":"b","id":2}`, `{"kind":"a","id":3}`, `{"kind":"b","id":5}`)
	got, err := write(within(t), t, b, batch)
	require.Len(t, got, 2)
	for _, i := range []int{1, 3} {
		require.Contains(t, got[i], "load into shop.b failed: Fail: no luck today")
	}
	require.Contains(t, err.Error(), "unknown: 2 of 4 messages were not loaded: load into shop.b failed: Fail: no luck today")
	require.Equal(t, 2, e.Count("shop", "a"))
	require.Zero(t, e.Count("shop", "b"))
}

func TestAllFailedNamesEveryMessage(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{{At: emulator.BEBegin, Do: emulator.TxnLimit}}})
	b := build(t, fields(e.FEURL(), target))
	batch := batchOf(`{"id":1}`, `{"id":2}`, `{"id":3}`)
	got, err := write(within(t), t, b, batch)
	require.Len(t, got, 3)
	require.Contains(t, got[2], "capacity: load into d.t failed")
	require.Contains(t, err.Error(), "capacity: 3 of 3 messages were not loaded: load into d.t failed: ")
}

func TestOnlyTheFailedAreInTheError(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	b := build(t, fields(e.FEURL(), target))
	batch := batchOf(`{"id":1}`, `oops`, `{"id":3}`)
	got, err := write(within(t), t, b, batch)
	require.Len(t, got, 1)
	require.Contains(t, got, 1)
	var batchErr *service.BatchError
	require.ErrorAs(t, err, &batchErr)
	require.Equal(t, 1, batchErr.IndexedErrors())
}

// A batch that is larger than one load may be becomes several, and each message gets the result of its own.
func TestPartsOfABatchHaveResultsOfTheirOwn(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{Faults: []emulator.Fault{{At: emulator.BEBeforeCommit, Do: emulator.Fail, Message: "no luck today", Skip: 1, Times: 2}}})
	b := build(t, fields(e.FEURL(), target+"max_load_rows: 2\nmax_load_bytes: 50"))
	batch := batchOf(`{"id":1}`, `{"id":2}`, `{"id":3}`, `{"id":4}`, `{"id":5}`, `oops`, `{"id":7,"long":"`+strings.Repeat("x", 50)+`"}`)
	got, err := write(within(t), t, b, batch)
	require.Len(t, got, 4)
	require.Contains(t, got[2], "no luck today")
	require.Contains(t, got[3], "no luck today")
	require.Contains(t, got[5], "data_quality: the message cannot be loaded into d.t")
	require.Contains(t, got[6], "too_large: load into d.t failed: a row alone makes a load of")
	require.Contains(t, err.Error(), "mixed: 4 of 7 messages were not loaded")
	require.Equal(t, 3, e.Count("d", "t"))
	for _, class := range []string{"unknown: load into d.t failed: Fail: no luck today", "too_large: ", "data_quality: 1 row(s) of d.t"} {
		require.NotEmpty(t, b.logs.lines("level=WARN", class), class)
	}
}

func TestMessagesAreLeftAlone(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	b := build(t, fields(e.FEURL(), target))
	batch := batchOf("{\n  \"id\": 1\n}", `bad`)
	batch[0].MetaSet("kept", "yes")
	require.Error(t, b.WriteBatch(within(t), batch))
	for i, want := range []string{"{\n  \"id\": 1\n}", `bad`} {
		got, err := batch[i].AsBytes()
		require.NoError(t, err)
		require.Equal(t, want, string(got))
		keys := map[string]string{}
		require.NoError(t, batch[i].MetaWalk(func(k, v string) error { keys[k] = v; return nil }))
		if i == 0 {
			require.Equal(t, map[string]string{"kept": "yes"}, keys)
		} else {
			require.Empty(t, keys)
		}
		require.NoError(t, batch[i].GetError())
	}
}

func TestFieldsBecomeHeaders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, fields string
		want         map[string]string
		rows         []string
	}{
		{
			"json by line", "columns: [ id, \"n = id + 1\" ]\nwhere: id > 0\nmax_filter_ratio: 0.1\nstrict_mode: true\npartitions: [ p1, p2 ]\njsonpaths: '[\"$.id\"]'\n" +
				"json_root: $.a\nnum_as_string: true\nfuzzy_parse: true\nheaders: { timezone: UTC }\ntimeout: 1500ms",
			map[string]string{
				"format": "json", "read_json_by_line": "true", "strip_outer_array": "false", "columns": "id,n = id + 1", "where": "id > 0",
				"max_filter_ratio": "0.1", "strict_mode": "true", "partitions": "p1,p2", "jsonpaths": `["$.id"]`, "json_root": "$.a",
				"num_as_string": "true", "fuzzy_parse": "true", "timezone": "UTC", "timeout": "2", "group_commit": "off_mode",
			},
			[]string{`{"id":1}`, `{"id":2}`},
		},
		{
			"an array", "strip_outer_array: true\ntemporary_partitions: [ tp ]",
			map[string]string{"read_json_by_line": "false", "strip_outer_array": "true", "temporary_partitions": "tp"},
			[]string{`[{"id":1},{"id":2}]`},
		},
		{
			"csv", "format: csv\ncolumn_separator: '\\x01'\ntrim_double_quotes: true\nskip_lines: 1\nempty_field_as_null: true",
			map[string]string{
				"format": "csv", "column_separator": `\x01`, "line_delimiter": `\n`, "trim_double_quotes": "true", "skip_lines": "1",
				"empty_field_as_null": "true", "strip_outer_array": "", "read_json_by_line": "",
			},
			[]string{`{"id":1}`, `{"id":2}`},
		},
		{
			"group commit", "group_commit: async_mode",
			map[string]string{"group_commit": "async_mode", "label": "", "max_filter_ratio": ""},
			[]string{`{"id":1}`, `{"id":2}`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, nil)
			b := build(t, fields(s.fe.URL, target+c.fields))
			require.NoError(t, b.WriteBatch(within(t), batchOf(`{"id":1}`, `{"id":2}`)))
			require.Len(t, s.seen(), 1)
			load := s.seen()[0]
			for name, want := range c.want {
				require.Equal(t, want, load.header.Get(name), name)
			}
			require.Equal(t, c.rows, load.rows)
			if !strings.Contains(c.fields, "group_commit") {
				require.Regexp(t, "^benthos_[a-z2-7]{26}$", load.header.Get("label"))
			}
		})
	}
}

func TestAnEmptyBatchIsNoLoad(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	b := build(t, fields(e.FEURL(), target))
	require.NoError(t, b.WriteBatch(within(t), nil))
	require.NoError(t, b.WriteBatch(within(t), service.MessageBatch{}))
	require.Empty(t, asked(e))
}

func TestABatchOfBadMessagesSendsNothing(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	b := build(t, fields(e.FEURL(), target))
	batch := batchOf(`1`, `[]`)
	got, err := write(within(t), t, b, batch)
	require.Error(t, err)
	require.Len(t, got, 2)
	require.Empty(t, asked(e))
}

func TestConnectIsIdempotentAndSafe(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	b := build(t, fields(e.FEURL(), target))
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() { _ = b.Connect(t.Context()) })
	}
	calls.Wait()
	require.NoError(t, b.Connect(t.Context()))
	lines := b.logs.lines("level=INFO", "doris_stream_load of benthos-doris", "loads into d.t through "+strings.TrimPrefix(e.FEURL(), "http://"))
	require.Len(t, lines, 1)
}

// gate is a server that holds loads until it is opened, and knows how many it holds.
type gate struct {
	arrived chan string
	open    chan struct{}
}

func gated(t *testing.T) (*server, *gate) {
	t.Helper()
	g := &gate{arrived: make(chan string, 100), open: make(chan struct{})}
	s := newServer(t, func(s *server) {
		s.answer = func(r loadRequest) string {
			g.arrived <- r.table
			<-g.open
			return success(r, len(r.rows), 0)
		}
	})
	t.Cleanup(func() {
		select {
		case <-g.open:
		default:
			close(g.open)
		}
	})
	return s, g
}

func (g *gate) await(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case <-g.arrived:
		case <-time.After(patience):
			t.Fatal("a load did not arrive")
		}
	}
}

func TestLoadsInFlightAreBoundedOverAllBatches(t *testing.T) {
	t.Parallel()
	s, g := gated(t)
	b := build(t, fields(s.fe.URL, "database: d\ntable: ${! this.t }\nmax_in_flight: 3"))
	require.Equal(t, 1024, b.maxInFlight, "source batches")
	var writes sync.WaitGroup
	errs := make(chan error, 3)
	for range 3 {
		writes.Go(func() { errs <- b.WriteBatch(t.Context(), batchOf(`{"t":"a"}`, `{"t":"b"}`, `{"t":"c"}`, `{"t":"d"}`)) })
	}
	g.await(t, 3)
	// Nine more loads wait; give them the time to break the bound.
	select {
	case <-g.arrived:
		t.Fatal("a fourth load is in flight")
	case <-time.After(200 * time.Millisecond):
	}
	close(g.open)
	writes.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	rows := 0
	for _, load := range s.seen() {
		rows += len(load.rows)
	}
	require.Equal(t, 12, rows)
	require.Len(t, s.seen(), 3+4, "what waited is one load for each table")
}

func TestTablesOfABatchLoadAtTheSameTime(t *testing.T) {
	t.Parallel()
	s, g := gated(t)
	b := build(t, fields(s.fe.URL, "database: d\ntable: ${! this.t }"))
	done := make(chan error, 1)
	go func() { done <- b.WriteBatch(t.Context(), batchOf(`{"t":"a"}`, `{"t":"b"}`, `{"t":"c"}`)) }()
	g.await(t, 3)
	close(g.open)
	require.NoError(t, <-done)
}

func TestOneInFlightKeepsTheOrder(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	b := build(t, fields(e.FEURL(), "database: d\ntable: ${! this.t }\nmax_in_flight: 1"))
	require.NoError(t, b.WriteBatch(within(t), batchOf(`{"t":"c"}`, `{"t":"a"}`, `{"t":"c"}`, `{"t":"b"}`)))
	order := []string{}
	for _, l := range e.Loads() {
		order = append(order, l.Table)
	}
	require.Equal(t, []string{"c", "a", "b"}, order)
}

func TestACancelledWriteFailsWhatIsWaiting(t *testing.T) {
	t.Parallel()
	s, g := gated(t)
	b := build(t, fields(s.fe.URL, "database: d\ntable: ${! this.t }\nmax_in_flight: 1\nlabel_prefix: cancelled"))
	ctx, cancel := context.WithCancel(t.Context())
	batch := batchOf(`{"t":"a"}`, `{"t":"b"}`, `{"t":"b"}`)
	index := batch.Index()
	done := make(chan error, 1)
	go func() { done <- b.WriteBatch(ctx, batch) }()
	g.await(t, 1)
	cancel()
	// The load in flight gets its grace and learns that it is stored; the one that waits is never sent.
	close(g.open)
	select {
	case err := <-done:
		got := reasons(t, index, batch, err)
		require.Len(t, got, 2)
		require.Contains(t, got[1], "unavailable: load into d.b failed: stopped before anything was sent")
		require.Contains(t, err.Error(), "unavailable: 2 of 3 messages were not loaded: load into d.b failed: stopped before anything was sent")
	case <-time.After(patience):
		t.Fatal("the write does not end")
	}
	require.Len(t, s.seen(), 1)
}

func TestAWriteThatIsCancelledAlready(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	b := build(t, fields(e.FEURL(), target))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	batch := batchOf(`{"id":1}`)
	got, err := write(ctx, t, b, batch)
	require.Contains(t, got[0], "stopped before anything was sent")
	require.NotErrorIs(t, err, service.ErrEndOfInput)
	require.Empty(t, asked(e))
}

func TestManyBatchesAtOnce(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{FEs: 2, BEs: 2})
	b := build(t, fmt.Sprintf("fe_urls: [ %q ]\n", e.FEURLs()[0]+","+e.FEURLs()[1])+"database: d\ntable: ${! this.t }\n"+fast)
	var writes sync.WaitGroup
	errs := make(chan error, 20)
	for i := range 20 {
		writes.Go(func() {
			errs <- b.WriteBatch(t.Context(), batchOf(
				fmt.Sprintf(`{"t":"a","id":%d}`, i), fmt.Sprintf(`{"t":"b","id":%d}`, i), `not json`, fmt.Sprintf(`{"t":"a","id":%d}`, 100+i),
			))
		})
	}
	writes.Wait()
	close(errs)
	for err := range errs {
		var batchErr *service.BatchError
		require.ErrorAs(t, err, &batchErr)
		require.Equal(t, 1, batchErr.IndexedErrors())
	}
	require.Equal(t, 40, e.Count("d", "a"))
	require.Equal(t, 20, e.Count("d", "b"))
}

func TestCloseGivesUpConnections(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{})
	var once sync.Once
	s := newServer(t, func(s *server) {
		s.connState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				once.Do(func() { close(closed) })
			}
		}
	})
	b, err := tryBuild(fields(s.fe.URL, target))
	require.NoError(t, err)
	require.NoError(t, b.WriteBatch(within(t), batchOf(`{"id":1}`)))
	select {
	case <-closed:
		t.Fatal("the connection is not kept")
	default:
	}
	require.NoError(t, b.Close(t.Context()))
	select {
	case <-closed:
	case <-time.After(patience):
		t.Fatal("the connection is not given up")
	}
}
