package chaos

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// A process is killed and started again, at moments that nobody chose, while somebody posts batches to it and posts each again until it is
// acknowledged.
func TestKills(t *testing.T) {
	t.Parallel()
	for _, labelled := range []bool{true, false} {
		name := "without label"
		if labelled {
			name = "with label"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var twice, rows, deaths atomic.Int64
			t.Run("seeds", func(t *testing.T) {
				for seed := range uint64(*kills) { //nolint:gosec // not negative
					t.Run(strconv.FormatUint(seed+*firstSeed, 10), func(t *testing.T) {
						t.Parallel()
						k := newKilled(t, seed+*firstSeed, labelled)
						k.run()
						lost, double := k.judge()
						rows.Add(int64(len(k.all)))
						twice.Add(int64(len(double)))
						deaths.Add(int64(k.deaths))
						if len(lost) > 0 || labelled && len(double) > 0 {
							t.Errorf("seed %d: lost %v, twice %v\nagain: go test ./test/chaos -run 'TestKills' -chaos.first=%d -chaos.kills=1 -v\n%s\n%s",
								k.seed, lost, double, k.seed, tail(k.trace.about(nil, nil)), tail(k.logs.String()))
						}
					})
				}
			})
			t.Logf("%d rows, %d processes killed: lost 0, twice %d", rows.Load(), deaths.Load(), twice.Load())
			if *kills > 0 {
				require.Positive(t, deaths.Load())
			}
		})
	}
}

// program is benthos-doris, built when it is first needed.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "chaos")
	if err != nil {
		return "", err
	}
	programDir = dir
	path := filepath.Join(dir, "benthos-doris")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	cmd := exec.CommandContext(context.Background(), "go", "build", "-o", path, "../../cmd/benthos-doris")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the program: %w\n%s", err, out)
	}
	return path, nil
})

var programDir string

// killed is a run in which processes are killed.
type killed struct {
	t        *testing.T
	seed     uint64
	labelled bool
	dice     *rand.Rand
	weather  *weather
	trace    *trace
	logs     *logs
	emu      *emulator.Emulator
	proxies  *proxies // nil: none
	address  string
	config   string
	client   *http.Client
	batches  [][]*item
	all      []*item

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{} // closed when cmd has ended
	deaths int
	left   int // kills to come
	// The process is killed when this many more exchanges have passed a point.
	at     emulator.Point
	passes int
}

const (
	killTables = 2
	posters    = 6
)

func newKilled(t *testing.T, seed uint64, labelled bool) *killed {
	t.Helper()
	k := &killed{t: t, seed: seed, labelled: labelled, dice: dice(seed, "kills", 0), trace: newTrace(), logs: &logs{}, left: 8}
	s := scenario{
		seed: seed, fes: 2, bes: 2, tables: killTables, rows: 400, size: 12, inFlight: 4, label: labelled,
		retries: 3, budget: 300 * time.Millisecond, poll: 60 * time.Millisecond, rate: 0.04, storm: 2,
	}
	k.weather = &weather{seed: seed, rate: s.rate, storm: s.storm, trace: k.trace, passed: map[emulator.Point]int{}, kinds: map[string]int{}, kill: k.strike}
	k.weather.state = func(label string) string { return string(k.emu.LabelState(database, label)) }
	k.emu = emulator.New(t, s.cluster(t, k.weather))
	k.batches, k.all = s.batches()
	fes := k.emu.FEURLs()
	if seed%2 == 0 {
		k.proxies = newProxies(k.weather, k.emu)
		t.Cleanup(k.proxies.close)
		fes = k.proxies.fes
	}

	k.address = reserve(t)
	k.config = filepath.Join(t.TempDir(), "pipeline.yaml")
	input := "http: { enabled: false }\ninput:\n  http_server: { address: " + k.address + ", path: /post, timeout: 20s }\n"
	output := strings.NewReplacer("@table", `json("t")`, "@batch", `meta("X-Batch")`).Replace(s.pipeline(fes))
	require.NoError(t, os.WriteFile(k.config, []byte(input+output), 0o600))
	k.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	k.aim()
	return k
}

// aim chooses the next moment of death. It wants the lock held, or nobody else around.
func (k *killed) aim() {
	k.at = oneOf(k.dice,
		emulator.FEBeforeAnswer, emulator.FERedirect, emulator.BEHeaders, emulator.BEBegin, emulator.BEBody, emulator.BEBeforeCommit, emulator.BEBeforeCommit,
		emulator.BEAfterCommit, emulator.BEAfterCommit, emulator.BEAfterCommit, emulator.BEAnswer, emulator.BEAnswer, emulator.StateQuery)
	k.passes = 1 + k.dice.IntN(8)
	if k.at == emulator.StateQuery {
		k.passes = 1
	}
}

// strike is told of every exchange, and kills the process in the middle of some.
func (k *killed) strike(e emulator.Exchange) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.left == 0 || k.cmd == nil || e.Point != k.at {
		return
	}
	if k.passes--; k.passes > 0 {
		return
	}
	k.left--
	k.deaths++
	k.trace.add(e.Label, "the process is killed at %s %s", e.Server, e.Point)
	_ = k.cmd.Process.Kill()
	<-k.exited
	k.cmd = nil
	k.aim()
}

// supervise keeps a process running until the context ends.
func (k *killed) supervise(ctx context.Context) {
	path, err := program()
	if err != nil {
		k.t.Error(err)
		return
	}
	for ctx.Err() == nil {
		cmd := exec.CommandContext(ctx, path, "run", "--log.level", "error", k.config)
		cmd.Stdout, cmd.Stderr = k.logs, k.logs
		if err := cmd.Start(); err != nil {
			k.t.Error(err)
			return
		}
		exited := make(chan struct{})
		k.mu.Lock()
		k.cmd, k.exited = cmd, exited
		k.mu.Unlock()
		k.trace.add("", "a process starts")
		_ = cmd.Wait()
		close(exited)
	}
}

// run posts all batches and returns when each was acknowledged.
func (k *killed) run() {
	ctx, cancel := context.WithCancel(k.t.Context())
	var process, post sync.WaitGroup
	process.Go(func() { k.supervise(ctx) })
	var next, done atomic.Int64
	for range posters {
		post.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(k.batches); i = next.Add(1) - 1 {
				for ctx.Err() == nil && !k.post(ctx, k.batches[i]) {
					time.Sleep(5 * time.Millisecond) // whoever posts waits a little before the next try
				}
				done.Add(1)
			}
		})
	}
	// Faults and kills end after a while, so that everything can come to an end.
	ended := make(chan struct{})
	go func() { post.Wait(); close(ended) }()
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	last, idle := int64(0), 0
wait:
	for n := 0; idle < patience; n++ {
		select {
		case <-ended:
			break wait
		case <-ticks.C:
		}
		if n == 200 {
			k.weather.calm.Store(true)
			k.mu.Lock()
			k.left = 0
			k.mu.Unlock()
		}
		if idle++; done.Load() > last {
			last, idle = done.Load(), 0
		}
	}
	if idle >= patience {
		k.t.Errorf("seed %d: stuck: %d of %d batches were acknowledged\n%s\n%s", k.seed, done.Load(), len(k.batches), tail(k.trace.about(nil, nil)), tail(k.logs.String()))
	}
	cancel()
	post.Wait()
	process.Wait()
	k.client.CloseIdleConnections()
}

// post posts a batch. It is true when the batch was acknowledged.
func (k *killed) post(ctx context.Context, items []*item) bool {
	var body bytes.Buffer
	parts := multipart.NewWriter(&body)
	for _, it := range items {
		w, err := parts.CreatePart(textproto.MIMEHeader{"Content-Type": {"application/octet-stream"}})
		if err != nil {
			return false
		}
		_, _ = fmt.Fprintf(w, `{"id":%d,"t":%q}`, it.id, it.table)
	}
	_ = parts.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+k.address+"/post", &body)
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "multipart/mixed; boundary="+parts.Boundary())
	req.Header.Set("X-Batch", items[0].batch)
	resp, err := k.client.Do(req)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode == http.StatusOK
}

// judge compares what was acknowledged, which is all, with what is stored.
func (k *killed) judge() (lost, twice []int) {
	if k.proxies != nil {
		k.proxies.settle()
	}
	time.Sleep(longest) // commits that were put off; nothing tells of them before
	for _, l := range k.emu.Loads() {
		if l.State == emulator.Prepare {
			_ = k.emu.CommitLabel(l.DB, l.Label)
		}
		if k.emu.LabelState(l.DB, l.Label) == emulator.Committed {
			_ = k.emu.PublishLabel(l.DB, l.Label)
		}
	}
	stored := map[int64]int{}
	for i := range killTables {
		for _, row := range k.emu.Rows(database, table(i)) {
			id, _ := row["id"].(int64)
			stored[id]++
		}
	}
	for _, it := range k.all {
		switch n := stored[int64(it.id)]; {
		case n == 0:
			lost = append(lost, it.id)
		case n > 1:
			twice = append(twice, it.id)
		}
	}
	return lost, twice
}
