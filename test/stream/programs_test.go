package stream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// process is one of our programs while it runs.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	out  *logs
	exit chan error
	// lines are those that nobody has looked at yet.
	lines chan string
}

// start starts a program. It is killed at the end of the test if it still runs.
func start(t *testing.T, name string, args ...string) *process {
	t.Helper()
	return startWith(t, nil, name, args...)
}

// startWith is start with more in the environment.
func startWith(t *testing.T, env []string, name string, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background()) //nolint:usetesting // it ends after the test's own context, in the cleanup
	p := &process{t: t, cmd: exec.CommandContext(ctx, program(name), args...), out: &logs{}, exit: make(chan error, 1), lines: make(chan string, 1000)}
	p.cmd.Dir = t.TempDir()
	p.cmd.Env = append(env, "PATH="+os.Getenv("PATH"), "HOME="+p.cmd.Dir, "DORIS_PASSWORD="+password)
	reader, writer := io.Pipe()
	p.cmd.Stdout, p.cmd.Stderr = writer, writer
	require.NoError(t, p.cmd.Start())
	read := make(chan struct{})
	go func() {
		defer close(read)
		scanner := bufio.NewScanner(reader)
		scanner.Buffer(nil, 10<<20)
		for scanner.Scan() {
			_, _ = p.out.Write(append(bytes.Clone(scanner.Bytes()), '\n'))
			select {
			case p.lines <- scanner.Text():
			default: // nobody reads that many
			}
		}
	}()
	go func() {
		err := p.cmd.Wait()
		_ = writer.Close()
		<-read
		p.exit <- err
	}()
	t.Cleanup(func() {
		cancel()
		<-read
		requireNoSecrets(t, p.out.String())
	})
	return p
}

// line waits for a line that matches, and gives its groups.
func (p *process) line(pattern string) []string {
	p.t.Helper()
	re := regexp.MustCompile(pattern)
	deadline := time.After(ended)
	for {
		select {
		case line := <-p.lines:
			if m := re.FindStringSubmatch(line); m != nil {
				return m
			}
		case err := <-p.exit:
			require.FailNow(p.t, "it ended", "%v\n%s", err, p.out.tail())
		case <-deadline:
			require.FailNow(p.t, "no such line", "%s\n%s", pattern, p.out.tail())
		}
	}
}

// wait waits for the end and wants exit code 0.
func (p *process) wait() {
	p.t.Helper()
	require.NoError(p.t, wait(p.t, p.exit), p.out.tail())
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(s))
}

// config writes a config file for the program. The password comes from the environment.
func configFile(t *testing.T, yaml string) string {
	t.Helper()
	yaml = strings.ReplaceAll(yaml, strconv.Quote(password), `"${DORIS_PASSWORD}"`)
	path := filepath.Join(t.TempDir(), "pipeline.yaml")
	require.NoError(t, os.WriteFile(path, []byte("http: { enabled: false }\nlogger: { level: ALL }\n"+yaml), 0o600))
	return path
}

func TestProgramLoadsAFile(t *testing.T) {
	t.Parallel()
	c := with(t, emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 2}, emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions, Times: 2})
	config := configFile(t, fromFile(linesOf(t, 2000))+"output:\n"+c.output("batching: { count: 100, period: 50ms }", "max_retries: 10"))
	start(t, "benthos-doris", "lint", config).wait()
	p := start(t, "benthos-doris", "run", config)
	p.wait()
	require.Equal(t, ids(2000), c.stored("orders"))
	require.Contains(t, p.out.String(), "Attempt 1 to load failed")
}

func TestProgramReadsStandardInput(t *testing.T) {
	t.Parallel()
	c := with(t)
	config := configFile(t, "input:\n  stdin: { scanner: { lines: {} } }\noutput:\n"+c.output("batching: { count: 50, period: 50ms }"))
	var input strings.Builder
	for _, id := range ids(300) {
		input.WriteString(order(id) + "\n")
	}
	cmd := exec.CommandContext(t.Context(), program("benthos-doris"), "run", config)
	cmd.Dir, cmd.Stdin = t.TempDir(), strings.NewReader(input.String())
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir, "DORIS_PASSWORD=" + password}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	requireNoSecrets(t, string(out))
	require.Equal(t, ids(300), c.stored("orders"))
}

func TestProgramRefusesABadConfigWithWords(t *testing.T) {
	t.Parallel()
	c := with(t)
	config := configFile(t, fromFile(linesOf(t, 1))+"output:\n"+c.output("timeout: soon", "max_in_flight: 0"))
	p := start(t, "benthos-doris", "run", config)
	require.Error(t, wait(t, p.exit))
	require.Contains(t, p.out.String(), "max_in_flight")
	require.Empty(t, c.Requests())
}

// SIGTERM in the middle: what was generated is stored, once, and the program ends well.
func TestProgramIsTerminatedInTheMiddle(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string][]emulator.Fault{
		"all is well":  nil,
		"answers lost": {{At: emulator.BEAfterCommit, Do: emulator.Reset, Probability: 0.3}, {At: emulator.BEBeforeCommit, Do: emulator.Close, Probability: 0.2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := with(t, faults...)
			p := start(t, "benthos-doris", "run", configFile(t, `
input:
  generate:
    interval: 1ms
    mapping: root.id = counter()
output:
`+c.output("batching: { count: 20, period: 10ms }", "max_retries: 50")))
			eventually(t, func() bool { return c.Count(db, "orders") > 100 })
			p.signal(syscall.SIGTERM)
			p.wait()
			got := c.stored("orders")
			require.Greater(t, len(got), 100)
			require.Equal(t, ids(len(got)), got)
		})
	}
}

// SIGTERM while a BE is silent: the program ends within its shutdown_timeout, and says which label is open. Benthos stops the output
// hard after three quarters of that time, 15 s of its default of 20 s; the output then waits a little more (2 s) for an answer to the
// load on its way.
func TestProgramIsTerminatedWhileABEIsSilent(t *testing.T) {
	t.Parallel()
	// Some loads go well first: Benthos starts to listen to signals a little after it has started its pipeline.
	const before = 30
	c := with(t, emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Hang, Keep: true, Skip: before})
	p := start(t, "benthos-doris", "run", configFile(t, `
input:
  generate:
    interval: 10ms
    mapping: root.id = counter()
output:
`+c.output("max_in_flight: 1")))
	eventually(t, func() bool { return len(c.LoadsAtBE()) == before+1 })
	label := c.LoadsAtBE()[before]
	p.signal(syscall.SIGTERM)
	_ = wait(t, p.exit) // with 0 or not, that is Benthos' affair
	require.Contains(t, p.out.String(), label)
	require.Len(t, c.LoadsAtBE(), before+1, "nothing more is sent")
	require.Equal(t, ids(before), c.stored("orders"))
}

// The two programs together, as in the first steps of a user.
func TestEmulatorProgram(t *testing.T) {
	t.Parallel()
	e := start(t, "doris-emulator", "-fe", "127.0.0.1:0,127.0.0.1:0", "-be", "127.0.0.1:0", "-user", user+":"+password+":*", "-fault", "be.after-commit:do=reset,times=1")
	ready := e.line(`ready: FE (http://\S+) (http://\S+), BE (\S+)`)
	config := configFile(t, fromFile(linesOf(t, 700))+"output:\n"+output(ready[1:3], "table: events", "batching: { count: 100, period: 50ms }"))
	start(t, "benthos-doris", "run", config).wait()

	var page struct {
		Total int              `json:"total"`
		Rows  []map[string]any `json:"rows"`
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(path string, into any) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, ready[1]+path, http.NoBody)
		require.NoError(t, err)
		resp, err := client.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.NoError(t, json.NewDecoder(resp.Body).Decode(into))
	}
	get("/emulator/shop/events/rows?limit=1000", &page)
	require.Equal(t, 700, page.Total)
	var got []int
	for _, r := range page.Rows {
		id, err := strconv.Atoi(fmt.Sprint(r["id"]))
		require.NoError(t, err)
		got = append(got, id)
	}
	slices.Sort(got)
	require.Equal(t, ids(700), got)
	var loads []emulator.Load
	get("/emulator/loads", &loads)
	loaded := 0
	for _, l := range loads {
		loaded += int(l.Loaded)
	}
	require.Equal(t, 700, loaded, "the load whose answer was lost was not loaded again")
	require.Contains(t, e.out.String(), "load shop.events")

	e.signal(syscall.SIGTERM)
	e.wait()
	require.Contains(t, e.out.String(), "stopped")
}
