package emulator

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
)

// Injected is a fault that is in place.
type Injected struct {
	set *faultSet
	// The fields below are guarded by set.mu.
	fault         Fault
	matches, hits int
}

// Fault returns what was injected.
func (i *Injected) Fault() Fault { return i.fault }

// Hits is how often the fault happened.
func (i *Injected) Hits() int {
	i.set.mu.Lock()
	defer i.set.mu.Unlock()
	return i.hits
}

// Remove takes the fault away.
func (i *Injected) Remove() {
	i.set.mu.Lock()
	defer i.set.mu.Unlock()
	for n, other := range i.set.list {
		if other == i {
			i.set.list = append(i.set.list[:n:n], i.set.list[n+1:]...)
			return
		}
	}
}

// faultSet holds the faults in place and decides which one happens.
type faultSet struct {
	mu    sync.Mutex
	list  []*Injected
	dice  *rand.Rand
	outer Injector
}

func newFaultSet(seed uint64, outer Injector) *faultSet {
	return &faultSet{dice: rand.New(rand.NewPCG(seed, seed)), outer: outer} //nolint:gosec // reproducible on purpose
}

func (s *faultSet) add(f Fault) *Injected {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := &Injected{set: s, fault: f}
	s.list = append(s.list, i)
	return i
}

func (s *faultSet) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = nil
}

func (s *faultSet) all() []*Injected {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Injected(nil), s.list...)
}

// pick returns the first fault in place that happens at e, else what the
// injector says.
func (s *faultSet) pick(ctx context.Context, e Exchange) (Fault, bool) {
	s.mu.Lock()
	for _, i := range s.list {
		if i.strikes(e) {
			f := i.fault
			s.mu.Unlock()
			return f, true
		}
	}
	s.mu.Unlock()
	if s.outer == nil {
		return Fault{}, false
	}
	f, ok := s.outer.Inject(ctx, e)
	f.At = e.Point
	if ok {
		if err := f.Validate(); err != nil {
			f = Fault{At: e.Point, Do: HTTP, Status: 500, Body: "emulator: " + err.Error(), ContentType: "text/plain"}
		}
	}
	return f, ok
}

func (i *Injected) strikes(e Exchange) bool {
	f := i.fault
	if f.At != e.Point || f.DB != "" && f.DB != e.DB || f.Table != "" && f.Table != e.Table || f.Op != "" && f.Op != e.Op {
		return false
	}
	if prefix, glob := strings.CutSuffix(f.Label, "*"); f.Label != "" {
		if glob && !strings.HasPrefix(e.Label, prefix) || !glob && f.Label != e.Label {
			return false
		}
	}
	if f.Times > 0 && i.hits >= f.Times {
		return false
	}
	if i.matches++; i.matches <= f.Skip {
		return false
	}
	if f.Probability > 0 && i.set.dice.Float64() >= f.Probability {
		return false
	}
	i.hits++
	return true
}

// active says that a fault is in place and can strike.
func (s *faultSet) active(i *Injected) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return i != nil && slices.Contains(s.list, i) && (i.fault.Times == 0 || i.hits < i.fault.Times)
}
