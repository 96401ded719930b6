package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

const (
	db       = "shop"
	table    = "orders"
	user     = "loader"
	password = "s3cr3t-of:the@loader"
)

// orders keeps every row that is loaded, so that a row that was stored twice shows.
func orders(name string) emulator.Table {
	return emulator.Table{Database: db, Name: name, Columns: []emulator.Column{
		{Name: "id", Type: "BIGINT", NotNull: true},
		{Name: "note", Type: "VARCHAR(64)"},
	}}
}

// cluster is an emulator that is being loaded into.
type cluster struct {
	*emulator.Emulator
	t     *testing.T
	clock *clock
	// user is known to this cluster only. The port of an FE that is down may be taken by the cluster of another test meanwhile; it
	// must not take the rows too.
	user string
}

var clusters atomic.Int64

// clock is the emulator's time of day; it moves by itself, and at once where a test says so.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time          { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) advance(d time.Duration) { c.ahead.Add(int64(d)) }

// newCluster starts an emulator with the table orders, unless opt brings tables of its own, and one account, whose name it makes.
func newCluster(t *testing.T, opt emulator.Options) *cluster {
	t.Helper()
	if opt.Tables == nil {
		opt.Tables = []emulator.Table{orders(table)}
	}
	c := &cluster{t: t, clock: &clock{}, user: fmt.Sprintf("%s%d", user, clusters.Add(1))}
	if opt.Users == nil {
		opt.Users = []emulator.User{{Password: password, Load: []string{db}}}
	}
	opt.Users[0].Name = c.user
	opt.Now = c.clock.now
	opt.KeepBodies = true
	c.Emulator = emulator.New(t, opt)
	return c
}

// with starts an emulator with faults.
func with(t *testing.T, faults ...emulator.Fault) *cluster {
	t.Helper()
	return newCluster(t, emulator.Options{Faults: faults})
}

// config is a Config with short waits for the FEs of the cluster.
func (c *cluster) config(change ...func(*streamload.Config)) streamload.Config {
	return c.through(c.FEURLs(), change...)
}

// through is a config that reaches the cluster at other addresses than its FEs'.
func (c *cluster) through(addresses []string, change ...func(*streamload.Config)) streamload.Config {
	return config(addresses, append([]func(*streamload.Config){func(conf *streamload.Config) { conf.Username = c.user }}, change...)...)
}

func config(fes []string, change ...func(*streamload.Config)) streamload.Config {
	conf := streamload.DefaultConfig()
	conf.FEs = fes
	conf.Username, conf.Password = user, password
	conf.MaxRetries = 3
	conf.Backoff = streamload.Backoff{Initial: time.Millisecond, Max: 4 * time.Millisecond, MaxElapsed: 30 * time.Second}
	conf.LabelPoll = streamload.Backoff{Initial: time.Millisecond, Max: 4 * time.Millisecond, MaxElapsed: 20 * time.Second}
	conf.Timeout = 20 * time.Second
	conf.ConnectTimeout = 5 * time.Second
	conf.Grace = 5 * time.Second
	for _, f := range change {
		f(&conf)
	}
	return conf
}

// client makes a client for the cluster, and the journal of what it does.
func (c *cluster) client(change ...func(*streamload.Config)) (*streamload.Client, *journal) {
	c.t.Helper()
	return newClient(c.t, c.config(change...))
}

// askFEs makes every load ask an FE for a BE.
func askFEs(conf *streamload.Config) { conf.BackendAge = -1 }

func newClient(t *testing.T, conf streamload.Config) (*streamload.Client, *journal) {
	t.Helper()
	j := &journal{}
	conf.Observer = j
	client, err := streamload.New(conf)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client, j
}

// within is a context that ends the test instead of letting it hang.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// ended is how long anything here may take at most; nothing should come near it.
const ended = 30 * time.Second

// rows are n orders, beginning with id first.
func rows(first, n int) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		out[i] = fmt.Appendf(nil, `{"id":%d,"note":"order %d"}`, first+i, first+i)
	}
	return out
}

// batch is a batch of n orders, ids 1 to n.
func batch(n int) streamload.Batch {
	return streamload.Batch{Database: db, Table: table, Rows: rows(1, n)}
}

// ids are the ids 1 to n.
func ids(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(i + 1)
	}
	return out
}

// stored are the ids in a table, sorted; an id that was stored twice is there twice.
func (c *cluster) stored(name string) []int64 {
	c.t.Helper()
	found := c.Rows(db, name)
	out := make([]int64, 0, len(found))
	for _, r := range found {
		id, err := strconv.ParseInt(fmt.Sprint(r["id"]), 10, 64)
		require.NoError(c.t, err)
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// puts are the requests to load that reached FEs ("fe") or BEs ("be"), in order.
func (c *cluster) puts(kind string) []emulator.Request {
	return slices.DeleteFunc(c.Requests(), func(r emulator.Request) bool {
		return r.Method != "PUT" || r.Server[:2] != kind
	})
}

// asked counts requests to FEs whose path ends so.
func (c *cluster) asked(method, end string) int {
	n := 0
	for _, r := range c.Requests() {
		if r.Method == method && len(r.Path) >= len(end) && r.Path[len(r.Path)-len(end):] == end {
			n++
		}
	}
	return n
}

// labels are the labels of the requests to load that reached BEs, in order.
func (c *cluster) labels() []string {
	var out []string
	for _, r := range c.puts("be") {
		out = append(out, r.Header.Get("Label"))
	}
	return out
}

// unresolved is err as an *Error that leaves open whether the rows are stored.
func unresolved(t *testing.T, err error) *streamload.Error {
	t.Helper()
	e := failed(t, err)
	require.True(t, e.Unresolved, "%v", err)
	require.ErrorIs(t, err, streamload.ErrUnresolved)
	return e
}

// failed is err as an *Error.
func failed(t *testing.T, err error) *streamload.Error {
	t.Helper()
	require.Error(t, err)
	var e *streamload.Error
	require.ErrorAs(t, err, &e)
	require.Contains(t, err.Error(), string(e.Class)+": ")
	require.NotContains(t, err.Error(), password)
	return e
}

// journal remembers what a client did.
type journal struct {
	streamload.NopObserver
	// onAttempt and onPoll are called after each, from the goroutine that loads. Set them before the load.
	onAttempt func(streamload.AttemptInfo)
	onPoll    func(streamload.PollInfo)

	mu       sync.Mutex
	begun    int
	finished int
	attempts []streamload.AttemptInfo
	polls    []streamload.PollInfo
	fes      []string
	forgot   []int
}

func (j *journal) Forgotten(s streamload.SettleInfo) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.forgot = append(j.forgot, s.Rows)
}

// seenFEs are the changes of the health of FEs.
func (j *journal) seenFEs() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.fes)
}

// forgottenRows are how many rows the ledger dropped, each time.
func (j *journal) forgottenRows() []int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.forgot)
}

func (j *journal) Started(string, string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.begun++
}

func (j *journal) Attempted(a streamload.AttemptInfo) {
	j.mu.Lock()
	j.attempts = append(j.attempts, a)
	j.mu.Unlock()
	if j.onAttempt != nil {
		j.onAttempt(a)
	}
}

func (j *journal) Polled(p streamload.PollInfo) {
	j.mu.Lock()
	j.polls = append(j.polls, p)
	j.mu.Unlock()
	if j.onPoll != nil {
		j.onPoll(p)
	}
}

func (j *journal) FE(address string, up bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.fes = append(j.fes, fmt.Sprintf("%s %v", address, up))
}

func (j *journal) Finished(streamload.Report, *streamload.Error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.finished++
}

// sent are the labels of the attempts, in order.
func (j *journal) sent() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []string
	for _, a := range j.attempts {
		out = append(out, a.Label)
	}
	return out
}

// states are what the polls saw, in order; "" where none was named.
func (j *journal) states() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []string
	for _, p := range j.polls {
		out = append(out, p.State)
	}
	return out
}

// same requires that all labels are one.
func same(t *testing.T, labels []string, n int) {
	t.Helper()
	require.Len(t, labels, n)
	require.Len(t, slices.Compact(slices.Clone(labels)), 1, "%q", labels)
	require.NotEmpty(t, labels[0])
}

// fresh requires that the labels are a base and its numbered followers.
func fresh(t *testing.T, labels []string, n int) {
	t.Helper()
	require.Len(t, labels, n)
	for i, l := range labels[1:] {
		require.Equal(t, labels[0]+"_"+strconv.Itoa(i+1), l)
	}
}

// stopped requires an end by the caller's cancellation.
func stopped(t *testing.T, err error) *streamload.Error {
	t.Helper()
	e := failed(t, err)
	require.True(t, errors.Is(err, context.Canceled) || e.Unresolved, "%v", err)
	require.Equal(t, "stopped", e.Reason)
	return e
}

func retries(n int) func(*streamload.Config) {
	return func(c *streamload.Config) { c.MaxRetries = n }
}
