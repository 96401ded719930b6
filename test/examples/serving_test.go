package examples

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
	"github.com/dorisload/benthos-doris/test/transcript"
)

// served are the examples that run until they are stopped, each with a test here.
var served = []string{"http-ingest.yaml"}

// serving is a program that runs until it is stopped.
type serving struct {
	t    *testing.T
	cmd  *exec.Cmd
	said *transcript.Text
	url  string
}

// freeAddress is an address of this machine where nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer free.Close()
	return free.Addr().String()
}

// serve starts the program and waits until it is ready, and takes rows at these paths.
func serve(t *testing.T, cluster *emulator.Emulator, paths []string, args ...string) *serving {
	t.Helper()
	address := freeAddress(t)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
	t.Cleanup(cancel)
	s := &serving{t: t, said: &transcript.Text{}, url: "http://" + address}
	s.cmd = exec.CommandContext(ctx, program, args...)
	s.cmd.Dir = root
	s.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LISTEN=" + address, "DORIS_FE=" + cluster.FEURL(), "DORIS_USER=" + user, "DORIS_PASSWORD=" + password}
	s.cmd.Stdout, s.cmd.Stderr = s.said, s.said
	require.NoError(t, s.cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- s.cmd.Wait() }()
	t.Cleanup(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		if err := <-ended; err != nil {
			t.Errorf("the program ended with %v\n%s", err, s.said)
		}
	})
	require.Eventually(t, func() bool {
		status, _ := s.ask(http.MethodGet, "/ready", "", "")
		for _, path := range paths {
			if there, _ := s.ask(http.MethodGet, path, "", ""); there == 0 || there == http.StatusNotFound {
				return false
			}
		}
		return status == http.StatusOK
	}, time.Minute, 20*time.Millisecond, "%s", s.said)
	return s
}

// ask does a request and gives status and body; 0 is no answer.
func (s *serving) ask(method, path, body, key string) (int, string) {
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(s.t, err)
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

func shop(t *testing.T, tables ...string) *emulator.Emulator {
	t.Helper()
	opt := emulator.Options{Users: []emulator.User{{Name: user, Password: password, Load: []string{"*"}}}}
	for _, name := range tables {
		opt.Tables = append(opt.Tables, emulator.Table{Database: "shop", Name: name, Columns: []emulator.Column{column("id", "INT"), column("note", "VARCHAR(64)")}})
	}
	return emulator.New(t, opt)
}

func TestHTTPIngest(t *testing.T) {
	t.Parallel()
	cluster := shop(t, "orders")
	s := serve(t, cluster, []string{"/orders"}, "run", "config/http-ingest.yaml")
	body := `{"id":1,"note":"a"}` + "\n\n" + `{"id":2,"note":"b"}` + "\n"

	// The answer to the first load is lost on the way: the rows are stored all the same, and once.
	cluster.Inject(emulator.Fault{At: emulator.BEAnswer, Do: emulator.Reset, Times: 1})
	for range 2 { // the second time, because the client did not hear the answer
		status, said := s.ask(http.MethodPost, "/orders", body, "key-1")
		require.Equal(t, http.StatusOK, status, "%s\n%s", said, s.said)
		require.JSONEq(t, `{"stored":2}`, said)
		require.Equal(t, 2, cluster.Count("shop", "orders"))
	}
	status, said := s.ask(http.MethodPost, "/orders", `{"id":3}`, "key-2")
	require.Equal(t, http.StatusOK, status, said)
	require.JSONEq(t, `{"stored":1}`, said)
	require.Equal(t, 3, cluster.Count("shop", "orders"))

	for name, c := range map[string][2]string{"no key": {`{"id":4}`, ""}, "no JSON": {`{"id":`, "key-3"}} {
		status, said = s.ask(http.MethodPost, "/orders", c[0], c[1])
		require.GreaterOrEqual(t, status, 400, "%s: %s", name, said)
	}
	require.Equal(t, 3, cluster.Count("shop", "orders"))
}

// Each file beside main.yaml is a stream, into the table of its name.
func TestStreams(t *testing.T) {
	t.Parallel()
	found, err := filepath.Glob(root + "/config/streams/*.yaml")
	require.NoError(t, err)
	args := []string{"streams", "-o", "config/streams/main.yaml"}
	var tables, paths []string
	for _, file := range found {
		if table := strings.TrimSuffix(filepath.Base(file), ".yaml"); table != "main" {
			tables, paths = append(tables, table), append(paths, "/"+table+"/rows")
			args = append(args, "config/streams/"+table+".yaml")
		}
	}
	require.GreaterOrEqual(t, len(tables), 2)

	cluster := shop(t, tables...)
	s := serve(t, cluster, paths, args...)
	for i, table := range tables {
		rows := strings.Repeat(`{"id":1,"note":"a"}`+"\n", i+1)
		status, said := s.ask(http.MethodPost, "/"+table+"/rows", rows, "")
		require.Equal(t, http.StatusOK, status, "%s\n%s", said, s.said)
		require.Equal(t, i+1, cluster.Count("shop", table))
	}
	_, metrics := s.ask(http.MethodGet, "/metrics", "", "")
	for i, table := range tables {
		require.Contains(t, metrics, fmt.Sprintf(`doris_rows{label="to_doris",path="root.output",result="loaded",stream="%s",table="shop.%s"} %d`, table, table, i+1))
	}
}

// The second run stores what the first did not, and nothing twice.
func TestBackfillTwice(t *testing.T) {
	t.Parallel()
	cluster := shop(t, "items")
	dir := t.TempDir()
	id := 0
	for _, name := range []string{"a.csv", "b.csv"} {
		var text strings.Builder
		text.WriteString("id,note\n")
		for range 25 {
			id++
			fmt.Fprintf(&text, "%d,item %d\n", id, id)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text.String()), 0o600))
	}
	env := []string{"DORIS_FE=" + cluster.FEURL(), "DORIS_USER=" + user, "DORIS_PASSWORD=" + password, "FILES=" + filepath.Join(dir, "*.csv"), "ROWS_PER_LOAD=10"}
	said, err := run(t, "", env, "run", "config/backfill.yaml")
	require.NoError(t, err, said)
	require.Equal(t, 50, cluster.Count("shop", "items"), said)
	require.Contains(t, said, "In total: 50 rows")
	require.Len(t, cluster.Loads(), 6, "10, 10 and 5 of each file")

	// As after a crash: of some loads nobody knows that they are stored.
	said, err = run(t, "", env, "run", "config/backfill.yaml")
	require.NoError(t, err, said)
	require.Equal(t, 50, cluster.Count("shop", "items"), said)
	require.Contains(t, said, "label_finished")
}

func TestServedExamplesExist(t *testing.T) {
	t.Parallel()
	for _, name := range served {
		require.FileExists(t, filepath.Join(root, "config", name))
	}
	require.False(t, slices.ContainsFunc(pipelines, func(p pipeline) bool { return slices.Contains(served, p.config) }))
}
