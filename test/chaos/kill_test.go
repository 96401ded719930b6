package chaos

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"mime/multipart"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
	"github.com/dorisload/benthos-doris/test/transcript"
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
			var sum deaths
			t.Run("seeds", func(t *testing.T) {
				for seed := range uint64(*kills) { //nolint:gosec // not negative
					t.Run(strconv.FormatUint(seed+*firstSeed, 10), func(t *testing.T) {
						t.Parallel()
						turns <- struct{}{}
						defer func() { <-turns }()
						k := newKilled(t, seed+*firstSeed, labelled)
						k.run()
						lost, double := k.judge()
						sum.add(k, len(lost), len(double))
						if len(lost) > 0 || labelled && len(double) > 0 {
							t.Errorf("seed %d: lost %v, twice %v\nagain: go test ./test/chaos -run 'TestKills' -chaos.first=%d -chaos.kills=1 -v\n%s\n%s",
								k.seed, lost, double, k.seed, tail(k.trace.about(nil, nil)), tail(k.logs.String()))
						}
					})
				}
			})
			t.Log(sum.String())
			if *kills > 0 {
				require.NotEmpty(t, sum.at)
			}
		})
	}
}

// turns lets few runs have processes at a time: each takes a second of a processor to start.
var turns = make(chan struct{}, 2)

// deaths are what many runs came to.
type deaths struct {
	mu                sync.Mutex
	rows, lost, twice int
	at                map[string]int // how many processes were killed at each place
}

func (d *deaths) add(k *killed, lost, twice int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rows += len(k.all)
	d.lost += lost
	d.twice += twice
	if d.at == nil {
		d.at = map[string]int{}
	}
	for at, n := range k.deaths {
		d.at[at] += n
	}
}

func (d *deaths) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var b strings.Builder
	all := 0
	for _, at := range slices.Sorted(maps.Keys(d.at)) {
		all += d.at[at]
		fmt.Fprintf(&b, "\n%8d killed at %s", d.at[at], at)
	}
	return fmt.Sprintf("%d rows, %d processes killed: lost %d, twice %d%s", d.rows, all, d.lost, d.twice, &b)
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
	twoPhase bool
	dice     *rand.Rand
	weather  *weather
	trace    *trace
	logs     *transcript.Text
	emu      *emulator.Emulator
	proxies  *proxies // nil: none
	address  string
	config   string
	client   *http.Client
	batches  [][]*item
	all      []*item

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}  // closed when cmd has ended
	deaths map[string]int // by place
	left   int            // kills to come
	// The process is killed when this many more exchanges have passed a point.
	at     emulator.Point
	passes int
}

const (
	killTables = 2
	posters    = 6
	// In ticks: how long kills may go on, and how long faults do after the last.
	mostKilling = 600
	afterKills  = 20
)

func newKilled(t *testing.T, seed uint64, labelled bool) *killed {
	t.Helper()
	_, err := program()
	require.NoError(t, err)
	k := &killed{t: t, seed: seed, labelled: labelled, dice: dice(seed, "kills", 0), trace: newTrace(), logs: &transcript.Text{}, left: 8, deaths: map[string]int{}}
	s := scenario{
		seed: seed, fes: 2, bes: 2, tables: killTables, rows: 400, size: 12, inFlight: 4, label: labelled,
		retries: 3, budget: 300 * time.Millisecond, poll: 60 * time.Millisecond, rate: 0.04, storm: 2,
	}
	s = s.account()
	s.events = events(k.dice)
	s.linger, s.pending, s.twoPhase = oneOf(k.dice, 0, ms(k.dice, 0, 20)), oneOf(k.dice, 4, 1024), k.dice.IntN(3) == 0
	if k.dice.IntN(3) == 0 {
		s.most = 1 + k.dice.IntN(6)
	}
	k.twoPhase = s.twoPhase
	k.weather = newWeather(s, k.trace)
	k.weather.kill = k.strike
	k.emu = emulator.New(t, s.cluster(k.weather))
	k.weather.emu = k.emu
	t.Cleanup(k.weather.end)
	k.batches, k.all = s.batches()
	fes := k.emu.FEURLs()
	if seed%2 == 0 {
		k.proxies = newProxies(t, k.weather)
		fes = k.proxies.fes
	}

	k.address = vacant(t, k.emu.FEURL())
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
	k.deaths[string(e.Point)]++
	k.trace.add(e.Label, "the process is killed at %s %s", e.Server, e.Point)
	_ = k.cmd.Process.Kill()
	<-k.exited
	k.cmd = nil
	k.aim()
}

// dump lets a process that does nothing any more say where its goroutines are, into the log.
func (k *killed) dump() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cmd == nil {
		return
	}
	_ = k.cmd.Process.Signal(syscall.SIGQUIT)
	select {
	case <-k.exited:
	case <-time.After(10 * time.Second):
	}
	if *traces != "" {
		_ = os.WriteFile(filepath.Join(*traces, fmt.Sprintf("kill-%d.txt", k.seed)), []byte(k.trace.about(nil, nil)+"\n"+k.logs.String()), 0o600)
	}
}

// noMore is true when no more kills will come; from now on, if that is said.
func (k *killed) noMore(now bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now {
		k.left = 0
	}
	return k.left == 0
}

// supervise keeps a process running until the context ends.
func (k *killed) supervise(ctx context.Context) {
	path, _ := program()
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
	// Faults end some time after the last kill, and kills end after a while, so that everything can come to an end.
	ended := make(chan struct{})
	go func() { post.Wait(); close(ended) }()
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	last, idle, quiet := int64(0), 0, 0
wait:
	for n := 0; idle < patience; n++ {
		select {
		case <-ended:
			break wait
		case <-ticks.C:
		}
		if k.noMore(n >= mostKilling) {
			quiet++
		}
		if quiet == afterKills {
			k.weather.over()
		}
		if idle++; done.Load() > last || quiet < afterKills { // a process that is killed again and again gets nowhere
			last, idle = done.Load(), 0
		}
	}
	if idle >= patience {
		k.dump()
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
	k.weather.end()
	time.Sleep(longest) // commits that were put off; nothing tells of them before
	for _, l := range k.emu.Loads() {
		if l.State == emulator.Prepare && !k.twoPhase { // what waits for its second phase waits for ever
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

// vacant is an address beside a server, where nobody listens. The host is the cluster's own, so nobody else gets the port while no process is there.
func vacant(t *testing.T, server string) string {
	t.Helper()
	u, err := url.Parse(server)
	require.NoError(t, err)
	l, err := net.Listen("tcp", net.JoinHostPort(u.Hostname(), "0"))
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
