// Package wire plays the servers of a case: frontends, backends and a trap, on
// loopback sockets. It writes its answers to the connections byte by byte
// and without net/http's server, because a case also says when no 100 Continue
// comes, when a body is left unread and when a connection is reset.
package wire

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/dorisload/benthos-doris/test/cases/internal/script"
)

// ErrNoIPv6 means that a case needs [::1] and the machine has none.
var ErrNoIPv6 = errors.New("no IPv6 loopback on this machine")

// Options of a cluster.
type Options struct {
	User, Password string
	// StarRocks gives the answers that no step scripts in StarRocks' shapes.
	StarRocks bool
	// CountRows counts the rows of a body, for the answers of a backend that no
	// step scripts.
	CountRows func(body []byte) int
}

// Cluster is a set of running servers that answer by the steps of a case.
type Cluster struct {
	opts    Options
	tokens  map[string]string
	started time.Time
	ctx     context.Context //nolint:containedctx // the life time of the servers, ended by Close
	stop    context.CancelFunc
	wg      sync.WaitGroup
	servers []*server

	interrupt     chan struct{}
	interruptOnce sync.Once

	mu         sync.Mutex
	steps      []*step
	requests   []*Request
	complaints []string
	labels     map[string]*label
	labelOfTxn map[string]string
	nextTxn    int64
	durable    []Stored
	trapped    []byte
}

type step struct {
	script.Step

	left  int // -1 is without end
	index int
}

// Start opens the sockets and answers until Close.
func Start(steps []script.Step, opts Options) (*Cluster, error) {
	ctx, stop := context.WithCancel(context.Background())
	c := &Cluster{
		opts: opts, ctx: ctx, stop: stop, started: time.Now(),
		tokens:     map[string]string{"USER": opts.User, "PASS": opts.Password},
		interrupt:  make(chan struct{}),
		labels:     map[string]*label{},
		labelOfTxn: map[string]string{},
		nextTxn:    5001,
	}
	for i, s := range steps {
		c.steps = append(c.steps, &step{Step: s, left: s.Times, index: i})
	}
	if err := c.listen(needsIPv6(steps)); err != nil {
		c.Close()
		return nil, err
	}
	for _, s := range c.servers {
		for _, l := range s.listeners {
			c.wg.Go(func() { s.accept(l) })
		}
	}
	return c, nil
}

func needsIPv6(steps []script.Step) bool {
	for _, s := range steps {
		if s.Reply == nil {
			continue
		}
		if strings.Contains(s.Reply.Headers["Location"], "[::1]") {
			return true
		}
	}
	return false
}

func (c *Cluster) listen(ipv6 bool) error {
	authority, err := newAuthority()
	if err != nil {
		return err
	}
	c.tokens["CA"] = authority.pem
	host := loopback(c.ctx)
	for _, role := range []Role{FE, FE2, FETLS, BE, BE2, BETLSBadName, Trap} {
		s := &server{cluster: c, role: role, conns: map[net.Conn]struct{}{}}
		c.servers = append(c.servers, s)
		if ipv6 && role == BE {
			if err := s.listenOnBoth(c.ctx, host); err != nil {
				return err
			}
		} else if err := s.listenOn(c.ctx, host+":0"); err != nil {
			return err
		}
		switch role {
		case FETLS:
			s.tls, err = authority.server(host)
		case BETLSBadName:
			s.tls, err = authority.server("be1.invalid")
		}
		if err != nil {
			return err
		}
		c.tokens[string(role)] = s.listeners[0].Addr().String()
	}
	_, port, err := net.SplitHostPort(c.tokens[string(BE)])
	c.tokens["BE_PORT"] = port
	return err
}

// loopback returns an address of this machine that no other test uses: where
// all of 127.0.0.0/8 is local, one at random. Ports of 127.0.0.1 are given out
// again soon, and the clients of other tests would then knock here.
func loopback(ctx context.Context) string {
	host := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
	var lc net.ListenConfig
	probe, err := lc.Listen(ctx, "tcp", host+":0")
	if err != nil {
		return "127.0.0.1"
	}
	_ = probe.Close()
	return host
}

// Close ends the servers and their connections and waits for them.
func (c *Cluster) Close() {
	c.stop()
	for _, s := range c.servers {
		s.close(nil)
	}
	c.wg.Wait()
}

// Expand replaces the tokens of a text that do not depend on a request.
func (c *Cluster) Expand(text string) (string, error) { return script.Expand(text, c.tokens) }

// AuthorityPEM is the certificate that the servers with TLS are signed by.
func (c *Cluster) AuthorityPEM() string { return c.tokens["CA"] }

// Interrupted is closed when a step wants the output to be stopped hard.
func (c *Cluster) Interrupted() <-chan struct{} { return c.interrupt }

func (c *Cluster) interruptAfter(d time.Duration) {
	c.wg.Go(func() {
		if c.sleep(d) {
			c.interruptOnce.Do(func() { close(c.interrupt) })
		}
	})
}

// sleep waits, and tells whether the servers are still up afterwards.
func (c *Cluster) sleep(d time.Duration) bool {
	if d <= 0 {
		return c.ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.ctx.Done():
		return false
	}
}

func (c *Cluster) complain(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.complaints = append(c.complaints, fmt.Sprintf(format, args...))
}

// choose takes the step that answers the request, or nil for the defaults, and
// puts the request on record.
func (c *Cluster) choose(x *exchange) *step {
	c.mu.Lock()
	defer c.mu.Unlock()
	var chosen *step
	for _, s := range c.steps {
		if s.left == 0 || s.On != x.req.On || !c.applies(s, x) {
			continue
		}
		chosen = s
		break
	}
	x.req.Step = -1
	if chosen != nil {
		x.req.Step = chosen.index
		x.firstUse = chosen.left == chosen.Times
		if chosen.left > 0 {
			chosen.left--
		}
	}
	c.requests = append(c.requests, x.req)
	if x.req.ToBackend() && x.req.Label != "" {
		c.label(x.req.Label).seen = true
	}
	return chosen
}

func (c *Cluster) applies(s *step, x *exchange) bool {
	if s.Fault == script.FaultCloseOnReuse && !x.req.Reused {
		return false
	}
	return len(c.misses(s.When, x)) == 0
}

// mayNeedBody tells whether a step can only be chosen when the body is there.
func (c *Cluster) mayNeedBody(on string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.steps {
		if s.left != 0 && s.On == on && s.When.NeedBody() {
			return true
		}
	}
	return false
}

// fePath returns the prefix of a fe_path step that the path is below of.
func (c *Cluster) fePath(path string) (string, bool) {
	for _, s := range c.steps {
		if prefix, ok := strings.CutPrefix(s.On, script.OnFEPath); ok && strings.HasPrefix(path, prefix+"/") {
			return s.On, true
		}
	}
	return "", false
}
