package chaos

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// html is what something between client and server says when it gets no answer.
const html = "<html><head><title>504 Gateway Time-out</title></head><body><h1>504 Gateway Time-out</h1></body></html>"

// longest is the longest that anything lives on behind the client's back: a begin, a commit, a copy of a request.
const longest = 150 * time.Millisecond

// weather decides which exchange meets which fault. The n-th exchange at a point always meets the same one.
type weather struct {
	seed  uint64
	rate  float64 // share of the exchanges that meet a fault
	storm float64 // how much more often it is the answer that is struck, and the calls that look for the label
	// narrow lets servers and proxies say that a load is too large, one time and not the next.
	narrow bool
	deep   bool // connections that hang until the client gives up
	// bursts is how many loads in a row are refused because the cluster is short of something.
	bursts int
	trace  *trace

	events []event
	fes    int
	lasts  int // exchanges that come by a point before there are no more faults
	emu    *emulator.Emulator
	kill   func(emulator.Exchange) // may kill the process that loads

	calm   atomic.Bool
	enough chan struct{} // closed when so many exchanges have come by
	third  chan struct{} // closed when a third of them have
	places *places
	dark   atomic.Int32 // outages of all FEs that go on
	gap    atomic.Bool  // some FE was there in spite of it
	deaf   atomic.Int32 // those of them in which BEs reach no FE either
	behind sync.WaitGroup
	moving sync.Mutex
	heirs  []*httptest.Server

	mu     sync.Mutex
	passed map[emulator.Point]int
	all    int            // exchanges that came by a point
	kinds  map[string]int // of faults, how many there were
	silent int            // connections that hang for long
}

func newWeather(s scenario, t *trace) *weather {
	return &weather{
		seed: s.seed, rate: s.rate, storm: s.storm, deep: s.deep, narrow: !s.label && !s.sameLoads(), bursts: s.bursts, events: s.events, lasts: s.lasts, trace: t,
		fes: s.fes, enough: make(chan struct{}), third: make(chan struct{}), places: newPlaces(s.dialect), passed: map[emulator.Point]int{}, kinds: map[string]int{},
	}
}

// last waits until there were faults enough, or until done.
func (w *weather) last(done <-chan struct{}) {
	some, many := time.NewTimer(aWhile), time.NewTimer(longEnough)
	defer some.Stop()
	defer many.Stop()
	for late := false; ; {
		var enough <-chan struct{}
		if late {
			enough = w.third
		}
		select {
		case <-done:
			return
		case <-w.enough:
			return
		case <-enough:
			return
		case <-some.C:
			late = true
		case <-many.C:
			return
		}
	}
}

// over makes an end of the faults.
func (w *weather) over() {
	w.calm.Store(true)
	w.trace.add("", calm)
	for i := range w.emu.FEURLs() {
		_ = w.emu.StartFE(i)
	}
	for i := range w.emu.BEAddrs() {
		_ = w.emu.StartBE(i)
	}
}

// state is that of a label, as the server has it.
func (w *weather) state(label string) string { return string(w.emu.LabelState(database, label)) }

// hit counts a fault.
func (w *weather) hit(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kinds[what]++
}

// faults is how many there were.
func (w *weather) faults() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range w.kinds {
		n += k
	}
	return n
}

// dice are the random numbers of one thing in a run.
func dice(seed uint64, what string, n int) *rand.Rand {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d/%s/%d", seed, what, n)
	return rand.New(rand.NewPCG(seed, h.Sum64())) //nolint:gosec // reproducible on purpose
}

// Inject is asked by the emulator at every point of every exchange.
func (w *weather) Inject(_ context.Context, e emulator.Exchange) (emulator.Fault, bool) {
	if w.kill != nil {
		w.kill(e)
	}
	at := w.places.of(e)
	if w.dark.Load() > 0 {
		switch {
		case strings.HasPrefix(e.Server, "fe"):
			w.gap.Store(true)
		case e.Point == emulator.BEAfterCommit && !w.gap.Load():
			w.places.pass(dark)
		}
	}
	if w.calm.Load() {
		w.look(e)
		return emulator.Fault{}, false
	}
	n := w.count(e.Point)
	f, what, struck := w.strikes(e, n)
	if !struck {
		w.look(e)
		return emulator.Fault{}, false
	}
	was := ""
	if e.Point == emulator.StateQuery {
		now := w.state(e.Label)
		was = ", it is " + now
		if f.Message == "UNKNOWN" && now != "PREPARE" || f.Message == "PREPARE" && now == "UNKNOWN" {
			f.Message = now // what ended was not unknown a moment ago, and what is unknown was not running
		}
	}
	w.hit(fmt.Sprintf("%s %s", e.Point, what))
	w.places.strike(at, e, f)
	w.trace.add(e.Label, "%s %s #%d: %s%s", e.Server, at, n, describe(f), was)
	return f, true
}

// count counts an exchange that comes by a point.
func (w *weather) count(at emulator.Point) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all++
	if w.all == w.lasts/3 {
		close(w.third)
	}
	if w.all == w.lasts {
		close(w.enough)
	}
	w.passed[at]++
	return w.passed[at]
}

// strikes is the fault that the n-th exchange at a point meets, and what it is called.
func (w *weather) strikes(e emulator.Exchange, n int) (f emulator.Fault, what string, struck bool) {
	if f, struck = w.happen(e, n); struck {
		return f, moved, true
	}
	if f, struck = w.cutOff(e); struck {
		return f, "fail, as no FE answers", true
	}
	if f, struck = w.shortage(e.Point, n); struck {
		return f, string(f.Do) + ", in a row", true
	}
	d := dice(w.seed, string(e.Point), n)
	rate := w.rate
	switch e.Point {
	case emulator.BEBeforeCommit, emulator.BEAfterCommit, emulator.BEAnswer, emulator.TwoPhase, emulator.TwoPhaseAnswer, emulator.StateQuery, emulator.CancelCall:
		rate *= w.storm
	}
	if w.fes == 1 && strings.HasPrefix(e.Server, "fe") && e.Point != emulator.StateQuery && e.Point != emulator.CancelCall {
		rate /= 3 // else it is out of reach most of the time, and all there is to see is how the output waits for it
	}
	if w.places.dialect == emulator.StarRocks {
		switch e.Op {
		case "begin":
			rate /= 4 // else little gets further
		case "commit":
			rate = max(rate, 0.3) // and these are few
		}
	}
	if e.TwoPhase && e.Length == 0 {
		rate = max(rate, 0.1) // there are few fences
	}
	if d.Float64() >= rate {
		return f, "", false
	}
	f = w.fault(d, e)
	what = string(f.Do)
	if f.Keep {
		what += ", left in PREPARE"
	}
	if f.CommitAfter > 0 {
		what += ", committed later"
	}
	return f, what, true
}

// look notes a question that is answered.
func (w *weather) look(e emulator.Exchange) {
	if e.Point == emulator.StateQuery {
		w.trace.add(e.Label, "%s asked for the state: %s", e.Server, w.state(e.Label))
	}
}

func describe(f emulator.Fault) string {
	text := string(f.Do)
	if f.Keep {
		text += " keep"
	}
	if f.CommitAfter > 0 {
		text += fmt.Sprintf(" commit-after=%s", f.CommitAfter)
	}
	if f.For > 0 {
		text += fmt.Sprintf(" for=%s", f.For)
	}
	if f.Status > 0 {
		text += fmt.Sprintf(" %d", f.Status)
	}
	if f.Message != "" {
		text += " " + f.Message
	}
	return text
}

// ms is a random time.
func ms(d *rand.Rand, from, to int) time.Duration {
	return time.Duration(from)*time.Millisecond + time.Duration(d.Int64N(int64(to-from+1)*int64(time.Millisecond)))
}

// oneOf picks one.
func oneOf[T any](d *rand.Rand, all ...T) T { return all[d.IntN(len(all))] }

// fault is a fault that fits the point. What is not said of the transaction is in the name of the field: Keep leaves it PREPARE.
func (w *weather) fault(d *rand.Rand, e emulator.Exchange) emulator.Fault {
	cut := emulator.Fault{Do: oneOf(d, emulator.Reset, emulator.Close)}
	gateway := emulator.Fault{Do: emulator.HTTP, Status: oneOf(d, 500, 502, 503, 504), Body: html}
	slow := emulator.Fault{Do: emulator.Delay, For: ms(d, 1, 30)}
	hang := emulator.Fault{Do: emulator.Hang, For: ms(d, 5, 60)}
	if w.deep && (e.Point == emulator.BEBody || e.Point == emulator.BEBeforeCommit || e.Point == emulator.BEAfterCommit) && w.hangsForLong(d) {
		hang.For = 0
	}
	restart := emulator.Fault{Do: emulator.BERestart}
	if d.IntN(3) == 0 {
		restart = emulator.Fault{Do: emulator.BEDown, For: ms(d, 5, 150)}
	}
	fail := emulator.Fault{Do: emulator.Fail, Message: oneOf(d,
		"[THRIFT_RPC_ERROR]failed to call frontend service", "[INTERNAL_ERROR]cancelled: sender is gone", "[MEM_LIMIT_EXCEEDED]process memory limit exceeded",
		"[INTERNAL_ERROR]TStatus: errCode = 2, detailMessage = transaction [7] not found", "[E-240]Have not get FE Master heartbeat yet",
	)}
	if w.narrow && d.IntN(3) == 0 {
		gateway = emulator.Fault{Do: emulator.HTTP, Status: 413, Body: html}
		fail.Message = "[INTERNAL_ERROR][E-238]too many segments in rowset"
	}
	switchMaster := emulator.Fault{Do: emulator.MasterSwitch}
	switch e.Point {
	case emulator.FEBeforeAnswer:
		down := emulator.Fault{Do: emulator.FEDown, For: ms(d, 10, 300)}
		return oneOf(d, cut, cut, hang, gateway, fail, slow, down, switchMaster)
	case emulator.FERedirect:
		return oneOf(d, cut, gateway, fail, slow, emulator.Fault{Do: emulator.DeadBE}, emulator.Fault{Do: emulator.NoBackend})
	case emulator.BEHeaders:
		return oneOf(d, cut, cut, hang, gateway, fail, restart, slow)
	case emulator.BEBegin:
		return oneOf(d, cut, hang, slow, slow, gateway, fail, restart, switchMaster, emulator.Fault{Do: emulator.TxnLimit})
	case emulator.BEBody:
		f := oneOf(d, cut, hang, gateway, fail, fail, restart, slow, switchMaster)
		f.Bytes, f.Keep = oneOf(d, 0, d.Int64N(max(e.Length, 1)), 1<<40), d.IntN(2) == 0
		return f
	case emulator.BEBeforeCommit:
		f := oneOf(d, cut, cut, cut, hang, gateway, gateway, fail, fail, restart, slow, switchMaster,
			emulator.Fault{Do: emulator.TooManyVersions}, emulator.Fault{Do: emulator.TooManyVersions},
			emulator.Fault{Do: emulator.PublishTimeout, For: ms(d, 1, 60)})
		if f.Do != emulator.TooManyVersions && f.Do != emulator.PublishTimeout && d.IntN(3) > 0 {
			f.Keep = true
			if d.IntN(2) == 0 {
				f.CommitAfter = ms(d, 1, 100)
			}
		}
		return f
	case emulator.BEAfterCommit:
		return oneOf(d, cut, cut, hang, gateway, gateway, fail, fail, slow, restart, switchMaster)
	case emulator.BEAnswer:
		cutShort := emulator.Fault{Do: emulator.Truncate, Bytes: d.Int64N(300)}
		return oneOf(d, cut, gateway, cutShort, cutShort, slow, hang)
	case emulator.TwoPhase:
		return oneOf(d, cut, hang, gateway, slow, fail, switchMaster, restart)
	case emulator.TwoPhaseAnswer:
		return oneOf(d, cut, cut, hang, gateway, slow, fail)
	case emulator.StateQuery:
		// What was so a moment ago: before the begin of a request that is on its way, or before the end of one.
		stale := emulator.Fault{Do: emulator.SetState, Message: oneOf(d, "UNKNOWN", "UNKNOWN", "PREPARE")}
		return oneOf(d, cut, hang, gateway, gateway, slow, fail, stale, stale, emulator.Fault{Do: emulator.FEDown, For: ms(d, 10, 100)}, switchMaster)
	default: // CancelCall
		return oneOf(d, cut, hang, gateway, slow, fail, switchMaster)
	}
}

// shortage is a time in which the cluster is short of something: every load of a series is refused.
func (w *weather) shortage(at emulator.Point, n int) (emulator.Fault, bool) {
	d := dice(w.seed, "shortage", 0)
	if w.bursts == 0 || at != oneOf(d, emulator.BEBegin, emulator.BEBeforeCommit) {
		return emulator.Fault{}, false
	}
	first := 1 + d.IntN(20)
	do := emulator.TooManyVersions
	if at == emulator.BEBegin {
		do = emulator.TxnLimit
	}
	return emulator.Fault{Do: do}, n >= first && n < first+w.bursts
}

// hangsForLong allows a run few connections that hang until the client gives up, since that takes seconds.
func (w *weather) hangsForLong(d *rand.Rand) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.silent >= 2 || d.IntN(4) > 0 {
		return false
	}
	w.silent++
	return true
}
