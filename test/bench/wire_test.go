//go:build linux

package bench

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
)

// bodies are sizes at which clients do different things with a body: one that
// leaves with its head, one that fits into the buffers of a socket, and one
// that does not.
var bodies = []workload{
	{name: "2 kB", format: "json", rows: 10, size: 200, inFlight: 1},
	{name: "200 kB", format: "json", rows: 1_000, size: 200, inFlight: 1},
	{name: "10 MB", format: "json", rows: 1_000, size: 10_000, inFlight: 1},
}

// What an FE gets of a load is its head, whether it keeps the connection or
// closes it.
func TestNoBodyGoesToAnFE(t *testing.T) {
	t.Parallel()
	const loads = 5
	for _, w := range bodies {
		for _, kind := range []string{"keeps the connection", "closes it"} {
			t.Run(w.name+", FE "+kind, func(t *testing.T) {
				t.Parallel()
				s := startSink(t)
				fe := s.FEKeep
				if kind == "closes it" {
					fe = s.FEClose
				}
				rows := w.content()
				for range loads { // each asks the FE, as it knows no BE
					p := alone(t, w, fe, nil)
					require.NoError(t, p.load(t.Context(), batch(rows)))
				}
				seen := s.settled(t)
				require.Zero(t, seen.FEBody, "bytes of bodies at the FE")
				require.EqualValues(t, loads, seen.FELoads)
				require.EqualValues(t, loads, seen.BELoads)
				require.EqualValues(t, loads*w.rows, seen.Rows)
			})
		}
	}
	t.Run("http_client", func(t *testing.T) {
		t.Parallel()
		s := startSink(t)
		w := bodies[2]
		require.NoError(t, httpClient(t, w, s.FEKeep).load(t.Context(), batch(w.content())))
		require.NotZero(t, s.settled(t).FEBody, "the test would see a body")
	})
}

// attempts notes requests that did not store their load.
type attempts struct {
	streamload.NopObserver

	mu     sync.Mutex
	failed []string
}

func (a *attempts) Attempted(i streamload.AttemptInfo) {
	if i.Stored {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failed = append(a.failed, fmt.Sprintf("attempt %d at %s: %s: %s", i.Attempt, i.Server, i.Class, i.Message))
}

// An answer that comes before the body is read arrives, every time: that of an
// FE that resets its connection after the redirect, and that of a BE that
// answers early and closes.
func TestEarlyAnswersArrive(t *testing.T) {
	t.Parallel()
	const loads, inFlight = 200, 4
	for _, w := range bodies {
		for _, c := range []struct {
			name     string
			fe       func(*sink) string
			evidence string
		}{
			{"an FE that resets", func(s *sink) string { return s.FEReset }, "success"},
			{"a BE that closes", func(s *sink) string { return s.FEEarly }, "label_finished"},
		} {
			t.Run(w.name+", "+c.name, func(t *testing.T) {
				t.Parallel()
				s := startSink(t)
				seen := &attempts{}
				options := streamload.DefaultOptions()
				options.SkipValidation = true
				options.Headers = map[string]string{"x-rows": strconv.Itoa(w.rows)} // what the sink says it has loaded
				client, err := streamload.New(streamload.Config{
					FEs: []string{c.fe(s)}, Username: "root", Observer: seen, MaxRetries: -1, Options: options,
					BackendAge: -1, // each load goes through the FE
				})
				require.NoError(t, err)
				defer client.Close()
				rows := w.content()
				var arrived atomic.Int64
				var wg sync.WaitGroup
				for range inFlight {
					wg.Go(func() {
						for range loads / inFlight {
							report, err := client.Load(t.Context(), streamload.Batch{
								Database: "db", Table: "t", Rows: rows,
								Identity: "again", // these rows were loaded before, and are delivered again
							})
							if err == nil && report.Attempts == 1 && report.Evidence == c.evidence && !report.Ambiguous {
								arrived.Add(1)
							}
						}
					})
				}
				wg.Wait()
				require.EqualValues(t, loads, arrived.Load(), "the first that did not: %v", seen.failed[:min(1, len(seen.failed))])
				require.Empty(t, seen.failed)
				got := s.counts(t)
				require.EqualValues(t, loads, got.FELoads)
				require.EqualValues(t, loads, got.BELoads)
			})
		}
	}
}
