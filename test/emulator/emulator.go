package emulator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Emulator is a running cluster. Its methods may be called from any goroutine.
type Emulator struct {
	opt      Options
	profile  *profile
	cat      *catalog
	faults   *faultSet
	rec      *recorder
	logs     *errorLogs
	switches *switches
	fes      []*node
	bes      []*node
	coord    coordinators
	dead     *deadEnd
	master   atomic.Int64
	ctx      context.Context //nolint:containedctx // it is the life of the cluster
	cancel   context.CancelFunc
	gate     sync.Mutex
	busy     sync.WaitGroup // handlers and timers; Add under gate
}

// node is an FE or BE.
type node struct {
	name    string
	index   int
	handler http.Handler
	turn    atomic.Int64 // round robin of an FE
	streams streams      // of a BE: the transactions of StarRocks' interface

	mu     sync.Mutex
	addr   string // host:port it listens on
	public string // host:port it tells clients
	ln     *listener
	wg     sync.WaitGroup // the goroutine of Serve
	// returns is when it comes back by itself while it is down; zero: not at all.
	returns time.Time
}

// Start starts a cluster. The caller must Close it.
func Start(opt Options) (*Emulator, error) {
	p, err := profileOf(opt.Dialect, opt.Version)
	if err != nil {
		return nil, err
	}
	e := &Emulator{opt: opt.withDefaults(p), profile: p, coord: coordinators{be: map[string]int{}}}
	e.cat = newCatalog(&e.opt, p)
	e.faults = newFaultSet(e.opt.Seed, e.opt.Injector)
	e.rec = newRecorder(e.opt.KeepRecords)
	e.logs = newErrorLogs()
	e.ctx, e.cancel = context.WithCancel(context.Background())
	var errs []error
	for _, t := range e.opt.Tables {
		errs = append(errs, e.CreateTable(t))
	}
	for _, f := range e.opt.Faults {
		if err := f.Validate(); err != nil {
			errs = append(errs, err)
			continue
		}
		e.faults.add(f)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for i, addr := range e.opt.FEAddrs {
		e.fes = append(e.fes, &node{name: fmt.Sprintf("fe%d", i+1), index: i, addr: addr})
	}
	for i, addr := range e.opt.BEAddrs {
		e.bes = append(e.bes, &node{name: fmt.Sprintf("be%d", i+1), index: i, addr: addr})
	}
	e.switches = e.newSwitches()
	for _, n := range e.fes {
		n.handler = e.serve(n, e.serveFE)
		if err := e.up(n); err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	for _, n := range e.bes {
		n.handler = e.serve(n, e.serveBE)
		if err := e.up(n); err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	if e.dead, err = newDeadEnd(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// TB is the part of testing.TB that New needs.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// New starts a cluster for a test and closes it at its end. Unless the options name addresses it has a loopback address of its own where
// the system has more than one: on a shared one the port of a node that is down could be given to the cluster of another test,
// which would then get this one's loads.
func New(tb TB, opt Options) *Emulator {
	tb.Helper()
	host := ownHost()
	if opt.FETLS != nil {
		host = "127.0.0.1" // what a certificate for tests is made for
	}
	if len(opt.FEAddrs) == 0 {
		opt.FEAddrs = anyPorts(host, opt.FEs)
	}
	if len(opt.BEAddrs) == 0 {
		opt.BEAddrs = anyPorts(host, opt.BEs)
	}
	e, err := Start(opt)
	if err != nil {
		tb.Fatalf("start the emulator: %v", err)
		return nil
	}
	tb.Cleanup(func() {
		if err := e.Close(); err != nil {
			tb.Fatalf("close the emulator: %v", err)
		}
	})
	return e
}

// Close ends every connection and waits for every goroutine.
func (e *Emulator) Close() error {
	e.gate.Lock()
	e.cancel()
	e.gate.Unlock()
	for _, n := range e.nodes() {
		n.down(false)
	}
	e.busy.Wait()
	e.dead.close()
	return nil
}

// enter counts a goroutine that Close must wait for; false after Close. Each
// true needs a busy.Done.
func (e *Emulator) enter() bool {
	e.gate.Lock()
	defer e.gate.Unlock()
	if e.ctx.Err() != nil {
		return false
	}
	e.busy.Add(1)
	return true
}

func (e *Emulator) nodes() []*node { return append(append([]*node(nil), e.fes...), e.bes...) }

// deadEnd is an address where nobody listens and nobody else can: the local end
// of a connection to ourselves.
type deadEnd struct {
	addr string
	ln   *listener
	near net.Conn
}

func newDeadEnd() (*deadEnd, error) {
	ln, err := listen("127.0.0.1:0", nil)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	near, err := d.DialContext(context.Background(), "tcp", ln.Addr().String())
	if err != nil {
		ln.end(false)
		return nil, err
	}
	return &deadEnd{addr: near.LocalAddr().String(), ln: ln, near: near}, nil
}

func (d *deadEnd) close() {
	if d != nil {
		_ = d.near.Close()
		d.ln.end(false)
	}
}

// up lets the node listen; it does nothing when it does.
func (e *Emulator) up(n *node) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ln != nil {
		return nil
	}
	if e.ctx.Err() != nil {
		return net.ErrClosed
	}
	config := e.opt.FETLS
	if strings.HasPrefix(n.name, "be") {
		config = nil
	}
	ln, err := listen(n.addr, config)
	for try := 0; n.public != "" && errors.Is(err, syscall.EADDRINUSE) && try < 100; try++ {
		// The port of a node that was down may be held for a moment.
		select {
		case <-time.After(20 * time.Millisecond):
		case <-e.ctx.Done():
			return net.ErrClosed
		}
		ln, err = listen(n.addr, config)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	e.open(n, ln)
	return nil
}

// open serves on a listener. It wants the lock of the node held.
func (e *Emulator) open(n *node, ln *listener) {
	n.ln, n.addr, n.returns = ln, ln.Addr().String(), time.Time{}
	if n.public == "" { // a node that comes back keeps its address
		n.public = e.publicAddr(n.addr)
	}
	srv := &http.Server{Handler: n.handler, ReadHeaderTimeout: time.Minute, ErrorLog: quiet, MaxHeaderBytes: 1 << 20}
	n.wg.Go(func() { _ = srv.Serve(ln) })
}

// move lets the node listen on another port of its host, also when it was down.
func (e *Emulator) move(n *node) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if e.ctx.Err() != nil {
		return net.ErrClosed
	}
	host, _, err := net.SplitHostPort(n.addr)
	if err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	ln, err := listen(net.JoinHostPort(host, "0"), nil) // before the old port is free, so it is another one
	if err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	n.shut(true)
	n.public = ""
	e.open(n, ln)
	return nil
}

func (e *Emulator) publicAddr(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	if e.opt.Advertise != "" {
		host = e.opt.Advertise
	}
	return net.JoinHostPort(host, port)
}

// down takes the node off the network and ends its connections.
func (n *node) down(reset bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.shut(reset)
}

// shut wants the lock of the node held.
func (n *node) shut(reset bool) {
	if n.ln != nil {
		n.ln.end(reset)
		n.wg.Wait()
		n.ln = nil
	}
}

// returnIn brings a node that is down back after d (0: not at all). When that was asked for before, the time that was said first counts.
func (e *Emulator) returnIn(n *node, d time.Duration) {
	if d <= 0 || !e.enter() {
		return
	}
	n.mu.Lock()
	if n.ln != nil || !n.returns.IsZero() {
		n.mu.Unlock()
		e.busy.Done()
		return
	}
	due := time.Now().Add(d)
	n.returns = due
	n.mu.Unlock()
	go func() {
		defer e.busy.Done()
		for wait := d; ; wait = time.Second { // its port may be taken for a while
			select {
			case <-time.After(wait):
			case <-e.ctx.Done():
				return
			}
			n.mu.Lock()
			mine := n.returns.Equal(due) // otherwise it was started meanwhile
			n.mu.Unlock()
			if !mine || e.up(n) == nil {
				return
			}
		}
	}()
}

// at is the host:port that the node tells clients.
func (n *node) at() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.public
}

func (n *node) isUp() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ln != nil
}

// cut resets the connections of the node.
func (n *node) cut() {
	n.mu.Lock()
	ln := n.ln
	n.mu.Unlock()
	if ln != nil {
		ln.resetAll(true)
	}
}

// FEURL is the base URL of the first FE, for example http://127.0.0.1:41234.
func (e *Emulator) FEURL() string { return e.FEURLs()[0] }

// FEURLs are the base URLs of the FEs.
func (e *Emulator) FEURLs() []string {
	scheme := "http://"
	if e.opt.FETLS != nil {
		scheme = "https://"
	}
	out := make([]string, len(e.fes))
	for i, n := range e.fes {
		out[i] = scheme + n.at()
	}
	return out
}

// BEAddr is the host:port of the first BE.
func (e *Emulator) BEAddr() string { return e.BEAddrs()[0] }

// BEAddrs are the host:port of the BEs.
func (e *Emulator) BEAddrs() []string {
	out := make([]string, len(e.bes))
	for i, n := range e.bes {
		out[i] = n.at()
	}
	return out
}

// DeadAddr is a host:port where nobody listens.
func (e *Emulator) DeadAddr() string { return e.dead.addr }
