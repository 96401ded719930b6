package emulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// switchesPath is where faults are switched.
const switchesPath = "/emulator/switches"

// The words that say how often a switched fault strikes.
const (
	strikeAlways = "always"
	strikeThird  = "third" // one time in three
	strikeOnce   = "once"
)

// switches are the faults that can be switched on and off by their names.
type switches struct {
	mu   sync.Mutex
	list []*faultSwitch
}

// faultSwitch is a fault with a name, or a node that can be taken down.
type faultSwitch struct {
	name, title, help string
	fault             Fault
	node              *node
	// The fields below are guarded by switches.mu.
	placed *Injected // what was injected last; it may have been removed by others
	strike string
	struck int // before that
}

func (e *Emulator) newSwitches() *switches {
	slow := "The rows are stored and become visible 10 s later. The answer is Publish Timeout."
	if e.profile.starrocks() {
		slow = "The rows are stored and become visible 10 s later. The answer waits for that, or is Publish Timeout when the load's own timeout ends before."
	}
	s := &switches{list: []*faultSwitch{
		{
			name: "too-many-versions", title: "Too many versions", help: "Compaction is behind: the load fails, nothing of it is stored.",
			fault: Fault{At: BEBeforeCommit, Do: TooManyVersions},
		},
		{
			name: "lost-answer", title: "Lost answer", help: "The load is committed, then the connection is cut before the answer.",
			fault: Fault{At: BEAfterCommit, Do: Reset},
		},
		{
			name: "wrong-answer", title: "502 of a proxy", help: "The load is committed, and the client gets an error page of a proxy.",
			fault: Fault{
				At: BEAnswer, Do: HTTP, Status: http.StatusBadGateway, ContentType: "text/html",
				Body: "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n",
			},
		},
		{
			name: "slow-publish", title: "Slow publish", help: slow,
			fault: Fault{At: BEBeforeCommit, Do: PublishTimeout, For: 10 * time.Second},
		},
		{
			name: "txn-limit", title: "Transaction limit", help: "The database has no room for another transaction: the load is refused.",
			fault: Fault{At: BEBegin, Do: TxnLimit},
		},
		{
			name: "fe-hangs", title: "FE hangs", help: "An FE takes the request for a load and says nothing; after 20 s it hangs up.",
			fault: Fault{At: FEBeforeAnswer, Do: Hang, For: 20 * time.Second},
		},
	}}
	for _, n := range e.fes {
		s.list = append(s.list, &faultSwitch{
			name: n.name + "-down", title: strings.ToUpper(n.name) + " down", node: n,
			help: fmt.Sprintf("Off the network for %g s, and with it this page, if it serves it. It comes back by itself, and the page goes on.", e.opt.FEAway.Seconds()),
		})
	}
	for _, n := range e.bes {
		s.list = append(s.list, &faultSwitch{
			name: n.name + "-down", title: strings.ToUpper(n.name) + " down", node: n,
			help: "Off the network for as long as this is on. Its running loads are aborted.",
		})
	}
	return s
}

// owns says that a switch put the fault in place.
func (s *switches) owns(i *Injected) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.list, func(one *faultSwitch) bool { return one.placed == i })
}

type liveSwitch struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Help  string `json:"help"`
	On    bool   `json:"on"`
	// Strike is how often it strikes: always, third or once. Empty for a node.
	Strike string `json:"strike,omitempty"`
	// Struck is how often it has, since the start; of a node, how often the switch took it down.
	Struck int `json:"struck"`
}

func (e *Emulator) liveSwitches() []liveSwitch {
	s := e.switches
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]liveSwitch, 0, len(s.list))
	for _, one := range s.list {
		l := liveSwitch{Name: one.name, Title: one.title, Help: one.help, Struck: one.struck}
		if one.node != nil {
			l.On = !one.node.isUp()
		} else {
			l.On, l.Strike = e.faults.active(one.placed), one.strike
			if one.placed != nil {
				l.Struck += one.placed.Hits()
			}
		}
		out = append(out, l)
	}
	return out
}

// turn switches a fault that strikes loads on or off.
func (s *switches) turn(e *Emulator, one *faultSwitch, on bool, strike string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.placed != nil {
		one.placed.Remove()
		one.struck += one.placed.Hits()
		one.placed = nil
	}
	if !on {
		return
	}
	f := one.fault
	switch strike {
	case strikeThird:
		f.Probability = 1.0 / 3
	case strikeOnce:
		f.Times = 1
	}
	one.placed, one.strike = e.Inject(f), strike
}

// takeDown takes a node off the network: a BE until it is started again, an FE for Options.FEAway.
func (s *switches) takeDown(e *Emulator, one *faultSwitch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !one.node.isUp() {
		return
	}
	one.struck++
	if slices.Contains(e.bes, one.node) {
		e.StopBE(one.node.index)
		return
	}
	one.node.down(true)
	e.returnIn(one.node, e.opt.FEAway)
}

// order is what is posted to /emulator/switches.
type order struct {
	Switch string `json:"switch"`
	On     bool   `json:"on"`
	Strike string `json:"strike"`
	// Clear takes away every fault, also those that no switch put there, and starts every node that is down.
	Clear bool `json:"clear"`
}

// switchesEndpoint takes an order (POST).
func (x *exchange) switchesEndpoint() {
	if x.r.Method != http.MethodPost {
		x.w.Header().Set("Allow", http.MethodPost)
		x.springError(http.StatusMethodNotAllowed)
		return
	}
	refuse := func(status int, why string) { x.answer(status, "text/plain; charset=utf-8", []byte(why+"\n")) }
	if kind, _, err := mime.ParseMediaType(x.r.Header.Get("Content-Type")); err != nil || kind != jsonType {
		refuse(http.StatusUnsupportedMediaType, "want Content-Type: application/json")
		return
	}
	var o order
	in := json.NewDecoder(http.MaxBytesReader(nil, x.r.Body, 4096))
	in.DisallowUnknownFields()
	if err := in.Decode(&o); err != nil {
		refuse(http.StatusBadRequest, err.Error())
		return
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		refuse(http.StatusBadRequest, "want one JSON object")
		return
	}
	if o.Clear {
		if err := x.e.clearAll(); err != nil {
			refuse(http.StatusInternalServerError, err.Error())
			return
		}
		x.show(map[string]any{"cleared": true})
		return
	}
	if o.Strike == "" {
		o.Strike = strikeAlways
	}
	i := slices.IndexFunc(x.e.switches.list, func(one *faultSwitch) bool { return one.name == o.Switch })
	if i < 0 {
		refuse(http.StatusNotFound, "no such switch")
		return
	}
	if !slices.Contains([]string{strikeAlways, strikeThird, strikeOnce}, o.Strike) {
		refuse(http.StatusBadRequest, "strike is always, third or once")
		return
	}
	x.obey(x.e.switches.list[i], o)
}

// obey does an order that makes sense, and answers it.
func (x *exchange) obey(one *faultSwitch, o order) {
	done := map[string]any{"switch": one.name, "on": o.On}
	switch {
	case one.node == nil:
		x.e.switches.turn(x.e, one, o.On, o.Strike)
	case !o.On:
		if err := x.e.up(one.node); err != nil {
			x.answer(http.StatusInternalServerError, "text/plain; charset=utf-8", []byte(err.Error()+"\n"))
			return
		}
	case slices.Contains(x.e.bes, one.node):
		x.e.switches.takeDown(x.e, one)
	default:
		done["back_in_ms"] = x.e.opt.FEAway.Milliseconds()
		if one.node == x.n {
			x.lastWords(done) // there is nobody to say it afterwards
		}
		x.e.switches.takeDown(x.e, one)
		if one.node == x.n {
			return
		}
	}
	x.show(done)
}

// lastWords answers with JSON and waits until the client has it, or a quarter of a second.
func (x *exchange) lastWords(v any) {
	body, _ := json.Marshal(v)
	c, in, ok := x.take()
	if !ok {
		return
	}
	_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", jsonType, len(body), body)
	x.leave(c, in)
}

// clearAll takes away every fault and starts every node.
func (e *Emulator) clearAll() error {
	for _, one := range e.switches.list {
		if one.node == nil {
			e.switches.turn(e, one, false, "")
		}
	}
	e.ClearFaults()
	var errs []error
	for _, n := range e.nodes() {
		errs = append(errs, e.up(n))
	}
	return errors.Join(errs...)
}

// crossOrigin refuses what a browser sends for another site.
var crossOrigin = http.NewCrossOriginProtection()

// foreign says why a request that would change something is not taken: anybody's page could make a browser on this machine send it. A browser says
// for whom it asks; what does not, as curl, is taken.
func (x *exchange) foreign() error {
	if err := crossOrigin.Check(x.r); err != nil {
		return err
	}
	// A name can be made to lead here by whoever owns it, and then both headers have that name.
	if x.r.Header.Get("Origin") != "" && !x.e.ownName(x.r.Host) {
		return fmt.Errorf("%q is no name of this emulator; use its address, or tell it the name (Advertise)", x.r.Host)
	}
	return nil
}

// ownName says that a host is an address, a name that nobody outside can give, or one of the options.
func (e *Emulator) ownName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if _, err := netip.ParseAddr(host); err == nil || !strings.Contains(host, ".") || strings.HasSuffix(host, ".localhost") {
		return true
	}
	names := []string{strings.ToLower(e.opt.Advertise)}
	for _, addr := range e.opt.FEAddrs {
		name, _, _ := net.SplitHostPort(addr)
		names = append(names, strings.ToLower(name))
	}
	return slices.Contains(names, host)
}
