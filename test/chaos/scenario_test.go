package chaos

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dorisload/benthos-doris/test/emulator"
)

const database = "shop"

// scenario is what a seed stands for.
type scenario struct {
	seed       uint64
	fes, bes   int
	tables     int
	rows       int
	size       int // messages of the largest source batch
	inFlight   int
	batching   bool // of the output
	redelivery redelivery
	bad        bool // some messages can never be stored
	letters    bool // what is not stored goes to a dead letter output
	label      bool // the loads have stable labels
	linger     time.Duration
	pending    int  // source batches on their way
	most       int  // rows of a load; 0: no bound
	twoPhase   bool // each load is committed by a second request
	proxies    bool
	tight      bool // some proxies of a BE take less than others
	ghosts     bool
	keep       emulator.ConnPolicy
	rate       float64
	storm      float64
	deep       bool
	bursts     int // loads in a row that are refused for want of capacity
	retries    int
	budget     time.Duration // of a delivery
	poll       time.Duration // of the look at a label
	lasts      int           // how many exchanges come by a point before the faults end
	events     []event
	badRows    badRows          // only with isolate_bad_rows
	dialect    emulator.Dialect // "" is Doris
	maxAge     time.Duration    // of the ledger; 0: the default
	user       string           // an account of this cluster only, so that no request of another run can do anything here
	password   string
}

var accounts atomic.Int64

// account gives a scenario an account that no other run has, in this process or another.
func (s scenario) account() scenario {
	s.user = fmt.Sprintf("chaos_%d_%d", os.Getpid(), accounts.Add(1))
	s.password = fmt.Sprintf("%016x", rand.Uint64()) //nolint:gosec // it guards nothing
	return s
}

func scenarioOf(seed uint64) scenario {
	d := dice(seed, "scenario", 0)
	s := scenario{
		seed: seed,
		fes:  1 + d.IntN(3), bes: 1 + d.IntN(3), tables: oneOf(d, 1, 1, 2, 3),
		rows: 40 + d.IntN(120), size: oneOf(d, 1, 4, 12, 12), inFlight: oneOf(d, 1, 2, 3, 4, 6, 8),
		batching: d.IntN(3) == 0, redelivery: oneOf(d, replayed, same, recombine, recombine, recombine, produced),
		bad: d.IntN(3) == 0, letters: d.IntN(4) == 0, label: d.IntN(5) == 0, proxies: d.IntN(2) == 0,
		keep: oneOf(d, emulator.CloseAfterRedirect, emulator.KeepAfterRedirect, emulator.ResetAfterRedirect),
		rate: 0.02 + 0.2*d.Float64(), storm: 1 + 3*d.Float64(), deep: d.IntN(6) == 0,
		retries: oneOf(d, -1, 1, 2, 4), budget: ms(d, 20, 400), poll: ms(d, 10, 80), lasts: 200 + d.IntN(1500), events: events(d),
	}
	if d.IntN(4) == 0 { // long enough for BEs to be known, used up, and named again
		s.rows, s.size = 150+d.IntN(250), oneOf(d, 1, 1, 2, 3)
	}
	if d.IntN(4) == 0 {
		s.bursts = 3 + d.IntN(20)
	}
	s.twoPhase = d.IntN(4) == 0
	if d.IntN(4) == 0 {
		s.most = 1 + d.IntN(6)
	}
	s.linger, s.pending = oneOf(d, 0, ms(d, 0, 4), ms(d, 2, 20)), oneOf(d, 2, 8, 32, 1024)
	s.fit(d)
	return s.account()
}

// fit takes back what does not go together.
func (s *scenario) fit(d *rand.Rand) {
	switch s.redelivery {
	case replayed:
		s.letters = s.letters || s.bad // it never gives up
		// It sleeps for up to a second after each nack.
		s.retries, s.budget, s.rows = max(s.retries, 2)*2, max(s.budget, 200*time.Millisecond), min(s.rows, 80)
	case produced:
		s.size = 1
	case same, recombine:
	}
	if s.label {
		// A stable label needs the same batches again, and the batches that the output makes of single messages are not.
		s.batching, s.bad = false, false
		if s.redelivery == recombine {
			s.redelivery = same
		}
		s.size = max(s.size, 1+d.IntN(12))
		if s.redelivery == produced {
			s.size = 1
		}
	}
}

func (s scenario) String() string {
	var with []string
	for _, f := range []struct {
		on   bool
		name string
	}{
		{s.batching, "output batching"},
		{s.joins(), fmt.Sprintf("joined loads (linger %s, %d pending)", s.linger.Round(time.Millisecond), s.pending)},
		{s.dialect == emulator.StarRocks, "StarRocks"},
		{s.bad && !s.isolates(), "bad rows"},
		{s.isolates(), s.badRows.String()},
		{s.letters, "dead letters"},
		{s.label, "labels"},
		{s.twoPhase, "two phases"},
		{s.most > 0, fmt.Sprintf("loads of up to %d rows", s.most)},
		{s.proxies, "proxies"},
		{s.tight, "some of which take less than others"},
		{s.ghosts, "ghosts"},
		{s.deep, "long hangs"},
		{s.bursts > 0, "a shortage"},
		{s.plans(outage), "outages of all FEs"},
		{s.plans(deaf), "outages that BEs feel"},
		{s.plans(moved), "BEs that move"},
		{s.maxAge > 0, fmt.Sprintf("a ledger of up to %s", s.maxAge)},
	} {
		if f.on {
			with = append(with, f.name)
		}
	}
	return fmt.Sprintf("%d FE, %d BE, %d tables, %d rows in batches of up to %d, %d in flight, redelivery: %s; with: %s; "+
		"faults at %.0f%% (x%.1f at the answer) for %d exchanges, %d retries in %s, polls for %s",
		s.fes, s.bes, s.tables, s.rows, s.size, s.inFlight, s.redelivery, strings.Join(with, ", "),
		100*s.rate, s.storm, s.lasts, s.retries, s.budget.Round(time.Millisecond), s.poll.Round(time.Millisecond))
}

// joins is true when the output joins source batches into loads.
func (s scenario) joins() bool { return !s.batching && !s.label && s.inFlight > 1 }

// plans is true when such an event is planned.
func (s scenario) plans(what string) bool {
	return slices.ContainsFunc(s.events, func(e event) bool { return e.what == what })
}

func table(i int) string { return fmt.Sprintf("t%d", i) }

// batches are the messages of a run, as the source has them.
func (s scenario) batches() (batches [][]*item, all []*item) {
	d := dice(s.seed, "messages", 0)
	for len(all) < s.rows {
		var b []*item
		for range 1 + d.IntN(s.size) {
			it := &item{id: len(all) + 1, table: table(d.IntN(s.tables)), batch: fmt.Sprint("b", len(batches))}
			if s.bad && !s.isolates() {
				switch d.IntN(24) {
				case 0:
					it.kind = garbled
				case 1:
					it.kind = poisoned
				}
			}
			b, all = append(b, it), append(all, it)
		}
		batches = append(batches, b)
	}
	s.spoil(all)
	return batches, all
}

// cluster is what the scenario runs in. It gets a loopback address of its own (emulator.New).
func (s scenario) cluster(w *weather) emulator.Options {
	opt := emulator.Options{
		Dialect: s.dialect, FEs: s.fes, BEs: s.bes, Users: []emulator.User{{Name: s.user, Password: s.password, Load: []string{database}}}, AfterRedirect: s.keep, Injector: w, KeepBodies: true, LabelKeepCount: -1, Seed: s.seed,
		OnLoad: func(l emulator.Load) {
			w.trace.add(l.Label, "%s %s.%s: %s %q, txn %d %s, %d rows", l.BE, l.DB, l.Table, orNone(l.Status), cutText(l.Message), l.TxnID, l.State, l.Loaded)
		},
	}
	for i := range s.tables {
		opt.Tables = append(opt.Tables, emulator.Table{Database: database, Name: table(i), Columns: []emulator.Column{
			{Name: "id", Type: "BIGINT", NotNull: true}, {Name: "note", Type: "VARCHAR(64)"},
		}})
	}
	return opt
}

func orNone(s string) string {
	if s == "" {
		return "no answer"
	}
	return s
}

func cutText(s string) string { return s[:min(len(s), 100)] }

// pipeline is the config of the stream, but for its input.
func (s scenario) pipeline(fes []string) string {
	var b strings.Builder
	b.WriteString("output:\n")
	indent := "  "
	if s.letters {
		b.WriteString("  fallback:\n    - ")
		indent = "      "
	}
	field := func(format string, args ...any) {
		fmt.Fprintf(&b, indent+"  "+format+"\n", args...)
	}
	name, translated := s.output()
	if s.letters {
		b.WriteString(name + ":\n")
	} else {
		b.WriteString(indent + name + ":\n")
	}
	if translated {
		field("dialect: starrocks")
	}
	field("fe_urls: [ %s ]", strings.Join(fes, ", "))
	field("username: %s", s.user)
	field("password: %q", s.password)
	field("database: %s", database)
	field("table: ${! @table }")
	field("max_in_flight: %d", s.inFlight)
	field("max_retries: %d", s.retries)
	field("backoff: { initial_interval: 1ms, max_interval: 8ms, max_elapsed_time: %s }", s.budget)
	field("label_poll: { initial_interval: 1ms, max_interval: 8ms, max_elapsed_time: %s }", s.poll)
	field("timeout: 1s")
	field("connect_timeout: 1s")
	if s.label {
		field("label: ${! @batch }")
	}
	field("linger: %s", s.linger)
	field("max_pending: %d", s.pending)
	if s.most > 0 {
		field("max_load_rows: %d", s.most)
	}
	if s.twoPhase {
		field("two_phase_commit: true")
	}
	if s.maxAge > 0 {
		field("ledger: { max_age: %s }", s.maxAge)
	}
	if s.isolates() {
		field("isolate_bad_rows: true")
		field("strict_mode: true") // or Doris stores NULL for what does not fit
	}
	if s.batching {
		field("batching: { count: %d, period: 3ms }", 2+s.seed%20)
	}
	if s.letters {
		b.WriteString("    - dead_letters: {}\n")
	}
	return b.String()
}
