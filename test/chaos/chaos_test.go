package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
	"github.com/dorisload/benthos-doris/test/transcript"
)

// A run whose faults have stopped is stuck when this many ticks pass in which no message comes to an end. Ticks, not time: a machine that has no time
// for us has no ticks either.
const (
	tick     = 50 * time.Millisecond
	patience = 300
)

// The faults end when so many exchanges have come by as the scenario says. That may take long where there is a single FE that is often out of reach, so a third
// of them is enough after some seconds; and after many seconds it is enough in any case.
const (
	aWhile     = 5 * time.Second
	longEnough = 30 * time.Second
)

func TestChaos(t *testing.T) {
	t.Parallel()
	sum := newTotals("")
	runSeeds(t, sum, 1, scenarioOf)
	if sum.runs >= 25 {
		sum.places.require(t, sum.runs)
		sum.requireModes(t)
	}
	if sum.runs >= manyRuns {
		sum.places.requireHappened(t, dark)
	}
}

// runSeeds runs a share of the seeds that are asked for, and adds them up.
func runSeeds(t *testing.T, sum *totals, share float64, of func(seed uint64) scenario) {
	t.Helper()
	t.Run("seeds", func(t *testing.T) {
		for _, seed := range chosen(share) {
			t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
				t.Parallel()
				r := run(t, of(seed))
				r.require(t)
				sum.add(r)
			})
		}
	})
	t.Log(sum.String())
}

// chosen are the seeds to run, of which a test may take a share.
func chosen(share float64) (out []uint64) {
	if *oneSeed != 0 {
		return []uint64{*oneSeed}
	}
	for i := range max(int(float64(*seeds)*share), 1) {
		out = append(out, *firstSeed+uint64(i)) //nolint:gosec // not negative
	}
	return out
}

// report is what became of a run.
type report struct {
	scenario
	rows, loads, faults int
	joined              int // loads with rows of several source batches
	took                time.Duration

	lost    []int // acknowledged and not stored
	twice   []int // stored more than once
	excused []int // the same, in the one place where the docs say that it happens
	dropped []int // the same, because the ledger is short-lived and had forgotten their load when they came again
	both    []int // stored and in the dead letters: of those too the docs tell
	stuck   []int // never acknowledged
	wrong   []string
	givenUp []int
	spared  spared // of the rows that cannot be stored
	waited  int    // rows whose load stayed open until the ledger forgot it

	trace   *trace
	weather *weather
	emu     *emulator.Emulator
	logs    *transcript.Text
}

// run runs a scenario to its end.
func run(t *testing.T, s scenario) *report {
	t.Helper()
	r := &report{scenario: s, trace: newTrace(), logs: &transcript.Text{}}
	w := newWeather(s, r.trace)
	r.weather = w
	r.emu = emulator.New(t, s.cluster(w))
	w.emu = r.emu
	t.Cleanup(w.end)
	fes := r.emu.FEURLs()
	var p *proxies
	if s.proxies {
		p = newProxies(t, w)
		p.ghosts, p.tight = s.ghosts, s.tight
		fes = p.fes
	}

	batches, all := s.batches()
	r.rows = len(all)
	src := newSource(s.redelivery, batches, s.size, dice(s.seed, "redelivery", 0), r.trace)
	dead := &letters{reasons: map[int]string{}}
	env := service.NewEnvironment()
	require.NoError(t, src.register(env, "messages"))
	require.NoError(t, dead.register(env, "dead_letters"))
	b := env.NewStreamBuilder()
	yaml := "http: { enabled: false }\n" + s.pipeline(fes)
	if s.redelivery != produced {
		yaml += "input:\n  messages: {}\n"
	}
	require.NoError(t, b.SetYAML(yaml), yaml)
	b.SetLogger(slog.New(slog.NewTextHandler(r.logs, nil)))
	var send service.MessageHandlerFunc
	if s.redelivery == produced {
		var err error
		send, err = b.AddProducerFunc()
		require.NoError(t, err)
	}
	stream, err := b.Build()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began := time.Now()
	ended := make(chan error, 1)
	go func() { ended <- stream.Run(ctx) }()
	var producers sync.WaitGroup
	if send != nil {
		producers.Go(func() { src.produce(ctx, 16, send) })
	}

	w.last(src.done)
	w.over()
	src.wait()
	r.took = time.Since(began)
	// A stream whose messages do not come to an end is not waited for either.
	grace := 10 * time.Second
	if r.stuck = src.open(all); r.stuck != nil {
		grace = time.Second
	}
	stopErr := stream.StopWithin(grace)
	cancel()
	select {
	case err := <-ended:
		if r.stuck == nil && err != nil && !errors.Is(err, context.Canceled) {
			r.wrong = append(r.wrong, "the stream ends with: "+err.Error())
		}
	case <-time.After(patience * tick):
		r.wrong = append(r.wrong, "the stream does not end")
	}
	producers.Wait()
	if r.stuck == nil && stopErr != nil {
		r.wrong = append(r.wrong, "the stream stops with: "+stopErr.Error())
	}
	if p != nil {
		p.settle()
	}
	w.end()
	r.landAll()
	r.faults = w.faults()
	r.judge(all, src, dead)
	r.judgeIsolation(all, src, dead)
	r.judgeLedger()
	return r
}

// landAll lets everything happen that may still happen at the server: whatever can be committed is.
func (r *report) landAll() {
	time.Sleep(longest) // commits that were put off; nothing tells of them before
	r.loads = len(r.emu.Loads())
	for _, l := range r.emu.Loads() {
		// What waits for its second phase waits for ever, unless a copy of one is on its way, and those have landed.
		if l.State == emulator.Prepare && !r.twoPhase {
			if r.emu.CommitLabel(l.DB, l.Label) == nil {
				r.trace.add(l.Label, "the server commits txn %d, which was left in %s", l.TxnID, l.State)
			}
		}
		if r.emu.LabelState(l.DB, l.Label) == emulator.Committed {
			_ = r.emu.PublishLabel(l.DB, l.Label)
		}
	}
}

// judge compares what was acknowledged with what is stored.
func (r *report) judge(all []*item, src *source, dead *letters) {
	stored := map[int]int{}
	for _, q := range r.emu.Requests() {
		if user, _, _ := (&http.Request{Header: q.Header}).BasicAuth(); user != r.user && (user != "" || q.Method == http.MethodPut) {
			r.wrong = append(r.wrong, fmt.Sprintf("%s %s at %s is of another run: %q", q.Method, q.Path, q.Server, user))
		}
	}
	r.joined = joined(r.emu.Requests(), all)
	for i := range r.tables {
		for _, row := range r.emu.Rows(database, table(i)) {
			id, _ := row["id"].(int64)
			stored[int(id)]++
			if int(id) < 1 || int(id) > len(all) || all[id-1].table != table(i) {
				r.wrong = append(r.wrong, fmt.Sprintf("row %d in table %s was never sent there", id, table(i)))
			}
		}
	}
	for _, it := range all {
		n := stored[it.id]
		reason, letter := dead.reasons[it.id]
		switch {
		case it.kind != good && n > 0:
			r.wrong = append(r.wrong, fmt.Sprintf("row %d cannot be stored, but is", it.id))
		case it.kind != good && src.acked[it.id] && !letter:
			r.wrong = append(r.wrong, fmt.Sprintf("row %d cannot be stored, but was acknowledged", it.id))
		case it.kind != good:
			r.givenUp = append(r.givenUp, it.id)
		case n == 0 && src.acked[it.id] && !letter:
			r.lost = append(r.lost, it.id)
		case n > 0 && letter && (r.batching && r.size > 1 || strings.Contains(reason, "these rows are stored")):
			r.both = append(r.both, it.id) // its source batch was failed as a whole
		case n > 0 && letter && !strings.Contains(reason, "unknown"):
			r.wrong = append(r.wrong, fmt.Sprintf("row %d is stored, but came to the dead letters without a word of doubt: %s", it.id, reason))
		}
		switch {
		case n > 1 && r.batching && it.wide:
			r.excused = append(r.excused, it.id)
		case n > 1 && r.wasForgotten(it.id):
			r.dropped = append(r.dropped, it.id)
		case n > 1:
			r.twice = append(r.twice, it.id)
		}
	}
}

// require fails the test when something is lost, twice or stuck, and says how to see it again.
func (r *report) require(t *testing.T) {
	t.Helper()
	if *oneSeed != 0 && testing.Verbose() {
		t.Logf("seed %d: %s; %d loads, %d faults, %s\n%s", r.seed, r.scenario, r.loads, r.faults, r.took.Round(time.Millisecond), r.trace.about(nil, nil))
		t.Log("the log of the pipeline:\n" + r.logs.String())
	}
	if r.lost == nil && r.twice == nil && r.stuck == nil && r.wrong == nil {
		return
	}
	if *traces != "" {
		path := filepath.Join(*traces, fmt.Sprintf("seed-%d.txt", r.seed))
		require.NoError(t, os.WriteFile(path, []byte(r.trace.about(nil, nil)+"\n"+r.logs.String()), 0o600))
	}
	var labels []string
	ids := slices.Concat(r.lost, r.twice, r.stuck)
	ids = ids[:min(len(ids), 3)]
	for _, id := range ids {
		for _, l := range r.labelsOf(id) {
			if !slices.Contains(labels, l) {
				labels = append(labels, l)
			}
		}
	}
	t.Errorf("seed %d: lost %v, twice %v, stuck %v%s\n%s\nagain: go test ./test/chaos -run '%s$' -chaos.seed=%d -v\n"+
		"what happened to the first of these rows:\n%s",
		r.seed, r.lost, r.twice, r.stuck, strings.Join(append([]string{""}, r.wrong...), "\n  "), r.scenario, testOf(t), r.seed, tail(r.trace.about(labels, ids)))
}

// testOf is the test that a part of it belongs to.
func testOf(t *testing.T) string {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	return name
}

var rowID = regexp.MustCompile(`"id":(\d+)`)

// joined counts the loads that have rows of several source batches.
func joined(requests []emulator.Request, all []*item) (n int) {
	for _, q := range requests {
		batches := map[string]bool{}
		for _, m := range rowID.FindAllSubmatch(q.Body, -1) {
			id, _ := strconv.Atoi(string(m[1]))
			if id > 0 && id <= len(all) {
				batches[all[id-1].batch] = true
			}
		}
		if len(batches) > 1 {
			n++
		}
	}
	return n
}

// labelsOf are the labels under which a row was sent.
func (r *report) labelsOf(id int) (labels []string) {
	needle := fmt.Appendf(nil, `"id":%d,`, id)
	for _, q := range r.emu.Requests() {
		if l := q.Header.Get("label"); bytes.Contains(q.Body, needle) && !slices.Contains(labels, l) {
			labels = append(labels, l)
		}
	}
	return labels
}

func tail(s string) string { return s[max(0, len(s)-12000):] }
