//go:build linux

package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"
)

// loadTakes is how long a load takes at beLike, however small it is: about what
// a small load takes in Doris, with its transaction, its write and its publish.
const loadTakes = 50 * time.Millisecond

// serveLikeDoris is a BE that counts rows, one a line, and takes its time.
func (s *sinkServer) serveLikeDoris(c *net.TCPConn) {
	defer func() { _ = c.Close() }()
	r := bufio.NewReaderSize(c, 64<<10)
	chunk := make([]byte, 64<<10)
	for {
		q, err := readHead(r)
		if err != nil {
			return
		}
		s.beLoads.Add(1)
		if q.expect && r.Buffered() == 0 {
			if _, err := io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
				return
			}
		}
		var rows int64
		for left := q.length; left > 0; {
			n, err := r.Read(chunk[:min(left, int64(len(chunk)))])
			if err != nil {
				return
			}
			left -= int64(n)
			rows += int64(bytes.Count(chunk[:n], []byte("\n")))
			if left == 0 && chunk[n-1] != '\n' {
				rows++
			}
		}
		time.Sleep(loadTakes)
		s.rows.Add(rows)
		answer(c, "keep-alive", fmt.Sprintf(`{"TxnId":7,"Label":%q,"TwoPhaseCommit":"false","Status":"Success","Message":"OK","NumberTotalRows":%d,"NumberLoadedRows":%d,"NumberFilteredRows":0,"NumberUnselectedRows":0,"LoadBytes":%d,"LoadTimeMs":50}`,
			q.label, rows, rows, q.length))
	}
}

// singles is a pipeline of single messages at full speed, without any batching.
// It returns rows and loads a second, and rows of a load.
func singles(tb testing.TB, s *sink, messages int, out fields) (rows, loads, size float64) {
	tb.Helper()
	builder := env(tb).NewStreamBuilder()
	builder.SetLogger(slog.New(slog.DiscardHandler))
	text, err := json.Marshal(fields{
		"http":  fields{"enabled": false},
		"input": fields{"generate": fields{"interval": "", "count": messages, "mapping": `root.id = counter()` + "\n" + `root.text = "` + words + `"`}},
		// As Benthos does by itself when there are processors.
		"pipeline": fields{"threads": 2, "processors": []fields{{"mapping": `root = content().string()`}}},
		"output":   out,
	})
	require.NoError(tb, err)
	require.NoError(tb, builder.SetYAML(string(text)))
	stream, err := builder.Build()
	require.NoError(tb, err)
	before, began := s.counts(tb), time.Now()
	require.NoError(tb, stream.Run(tb.Context()))
	took, after := time.Since(began).Seconds(), s.counts(tb)
	require.EqualValues(tb, messages, after.Rows-before.Rows, "each message once")
	n := float64(after.BELoads - before.BELoads)
	return float64(messages) / took, n / took, float64(messages) / n
}

const words = "alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar papa quebec romeo sierra tango uniform victor whiskey"

// bare is the output without any setting.
func bare(s *sink, more fields) fields {
	config := fields{"fe_urls": []string{"http://" + s.FELike}, "database": "db", "table": "t"}
	maps.Copy(config, more)
	return fields{outputName: config}
}

// bareHTTPClient is what a user would write in its place.
func bareHTTPClient(s *sink, inFlight int) fields {
	return fields{"http_client": fields{
		"url": "http://" + s.FELike + "/api/db/t/_stream_load", "verb": "PUT", "max_in_flight": inFlight,
		"headers":    fields{"Expect": "100-continue", "label": "bench_${! uuid_v4() }", "format": "json", "read_json_by_line": "true"},
		"basic_auth": fields{"enabled": true, "username": "root", "password": ""},
	}}
}

// BenchmarkSingleMessages is a pipeline of single messages without any setting
// for batches, into servers that take 50 ms for a load.
func BenchmarkSingleMessages(b *testing.B) {
	s := startSink(b)
	for _, c := range []struct {
		name     string
		messages int
		out      fields
	}{
		{"ours", 150_000, bare(s, nil)},
		{"ours_max_pending_10000", 400_000, bare(s, fields{"max_pending": 10_000})},
		{"ours_linger_0s", 150_000, bare(s, fields{"linger": "0s"})},
		{"http_client_8_in_flight", 600, bareHTTPClient(s, 8)},
		{"http_client_64_in_flight", 5_000, bareHTTPClient(s, 64)},
	} {
		b.Run(c.name, func(b *testing.B) {
			var rows, loads, size []float64
			round := func() {
				r, l, n := singles(b, s, c.messages, c.out)
				rows, loads, size = append(rows, r), append(loads, l), append(size, n)
			}
			for b.Loop() {
				round()
			}
			for len(rows) < 3 {
				round()
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(rows), "rows/s")
			b.ReportMetric(median(loads), "loads/s")
			b.ReportMetric(median(size), "rows/load")
		})
	}
}

// idle sends a message now and then and returns how long each waited to be
// acknowledged, sorted.
func idle(tb testing.TB, s *sink, every time.Duration, n int, more fields) []time.Duration {
	tb.Helper()
	builder := env(tb).NewStreamBuilder()
	builder.SetLogger(slog.New(slog.DiscardHandler))
	text, err := json.Marshal(fields{"http": fields{"enabled": false}, "output": bare(s, more)})
	require.NoError(tb, err)
	require.NoError(tb, builder.SetYAML(string(text)))
	send, err := builder.AddProducerFunc()
	require.NoError(tb, err)
	stream, err := builder.Build()
	require.NoError(tb, err)
	ctx, cancel := context.WithCancel(tb.Context())
	ended := make(chan error, 1)
	go func() { ended <- stream.Run(ctx) }()
	took := make([]time.Duration, n)
	var all sync.WaitGroup
	for i := range took {
		all.Go(func() {
			began := time.Now()
			if err := send(ctx, service.NewMessage([]byte(`{"id":1}`))); err != nil {
				tb.Error(err)
			}
			took[i] = time.Since(began)
		})
		time.Sleep(every)
	}
	all.Wait()
	require.NoError(tb, stream.StopWithin(10*time.Second))
	require.NoError(tb, <-ended)
	cancel()
	slices.Sort(took)
	return took
}

// BenchmarkIdle is how long messages that come slowly wait to be acknowledged,
// where a load takes 50 ms.
func BenchmarkIdle(b *testing.B) {
	s := startSink(b)
	for _, c := range []struct {
		name  string
		every time.Duration
		more  fields
	}{
		{"one_in_2s", 2 * time.Second, nil},
		{"10_a_second", 100 * time.Millisecond, nil},
		{"10_a_second_linger_0s", 100 * time.Millisecond, fields{"linger": "0s"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var all []time.Duration
			before := s.counts(b).BELoads
			began := time.Now()
			for b.Loop() {
				all = append(all, idle(b, s, c.every, int(10*time.Second/c.every)+1, c.more)...)
			}
			slices.Sort(all)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(all[len(all)/2].Milliseconds()), "p50_ms")
			b.ReportMetric(float64(all[len(all)-1].Milliseconds()), "max_ms")
			b.ReportMetric(float64(s.counts(b).BELoads-before)/time.Since(began).Seconds(), "loads/s")
		})
	}
}

// The same in small, for every run of the tests: no setting is needed for loads
// of many rows, each message arrives once, and an idle pipeline is quick.
func TestLoadsOfSingleMessages(t *testing.T) {
	t.Parallel()
	s := startSink(t)
	_, _, size := singles(t, s, 20_000, bare(s, nil))
	require.Greater(t, size, 100.0, "rows of a load")
	took := idle(t, s, 20*time.Millisecond, 20, fields{"linger": "200ms"})
	require.Len(t, took, 20)
}
