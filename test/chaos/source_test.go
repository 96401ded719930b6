package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
)

// kind says what is wrong with a message.
type kind int

const (
	good     kind = iota
	garbled       // no JSON: the client refuses it
	poisoned      // its value does not fit the column: Doris refuses the load
	wordy         // the same, by its type
	long          // the same, by its length
	huge          // the same, and so long that the error page shows no other row
)

// item is a message of a run.
type item struct {
	id    int
	kind  kind
	table string
	batch string // its source batch, before any redelivery

	nacks int
	// wide is true when the framework may have failed it although it was stored: it was in a source batch that was failed as a
	// whole, and that had a message which could not be stored, or messages of several tables.
	wide bool
}

func (it *item) message() *service.Message {
	body := fmt.Sprintf(`{"id":%d,"note":"row %d"}`, it.id, it.id)
	switch it.kind {
	case good:
	case garbled:
		body = fmt.Sprintf(`{"id":%d,"note":`, it.id)
	case poisoned:
		body = fmt.Sprintf(`{"id":null,"note":"poison %d"}`, it.id)
	case wordy:
		body = fmt.Sprintf(`{"id":"number %d","note":"row %d"}`, it.id, it.id)
	case long:
		body = fmt.Sprintf(`{"id":%d,"note":"row %d%s"}`, it.id, it.id, strings.Repeat(" and so on", 8))
	case huge:
		body = fmt.Sprintf(`{"id":"number %d","note":"%s"}`, it.id, strings.Repeat("x", 70<<10))
	}
	m := service.NewMessage([]byte(body))
	m.MetaSetMut("table", it.table)
	m.MetaSetMut("batch", it.batch)
	m.MetaSetMut("id", strconv.Itoa(it.id))
	return m
}

// redelivery is how messages that were not acknowledged come again.
type redelivery int

const (
	replayed  redelivery = iota // by the framework (auto_replay_nacks)
	same                        // in the same batches
	recombine                   // split, merged, in another order, among new ones
	produced                    // one by one by many producers, each of which sends its own again
)

func (r redelivery) String() string {
	return [...]string{"replayed by the framework", "the same batches", "split, merged and re-ordered", "one by one by producers"}[r]
}

// source is an input that keeps what was not acknowledged and delivers it again. What can never be stored it gives up after a few times.
type source struct {
	how     redelivery
	size    int // of the largest batch
	patient int // after how many nacks a message that cannot be stored is given up
	trace   *trace

	mu      sync.Mutex
	dice    *rand.Rand
	waiting [][]*item // batches to be delivered
	acked   map[int]bool
	gaveUp  map[int]bool
	blamed  map[int]string // messages that can be stored and failed for what is in them, with the reason
	changed chan struct{}
	left    int
	done    chan struct{} // closed when every message has come to an end
	closing chan struct{}
	once    sync.Once
}

func newSource(how redelivery, batches [][]*item, size int, d *rand.Rand, t *trace) *source {
	s := &source{
		how: how, size: size, patient: 3, trace: t, dice: d, waiting: batches, acked: map[int]bool{}, gaveUp: map[int]bool{}, blamed: map[int]string{},
		changed: make(chan struct{}), done: make(chan struct{}), closing: make(chan struct{}),
	}
	for _, b := range batches {
		s.left += len(b)
	}
	return s
}

// register makes the input known under a name.
func (s *source) register(env *service.Environment, name string) error {
	return env.RegisterBatchInput(name, service.NewConfigSpec(), func(*service.ParsedConfig, *service.Resources) (service.BatchInput, error) {
		if s.how == replayed {
			return service.AutoRetryNacksBatched(s), nil
		}
		return s, nil
	})
}

func (s *source) Connect(context.Context) error { return nil }

func (s *source) ReadBatch(ctx context.Context) (service.MessageBatch, service.AckFunc, error) {
	for {
		s.mu.Lock()
		changed := s.changed
		if items := s.next(); items != nil {
			if s.how == replayed && mixed(items) {
				for _, it := range items {
					it.wide = true // the framework does not tell which batches it failed as a whole
				}
			}
			s.mu.Unlock()
			batch := make(service.MessageBatch, 0, len(items))
			for _, it := range items {
				batch = append(batch, it.message())
			}
			index := batch.Index()
			return batch, func(_ context.Context, err error) error {
				s.settle(items, index, err)
				return nil
			}, nil
		}
		s.mu.Unlock()
		select {
		case <-changed:
		case <-s.done:
			return nil, nil, service.ErrEndOfInput
		case <-s.closing:
			return nil, nil, service.ErrEndOfInput
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

func (s *source) Close(context.Context) error {
	s.once.Do(func() { close(s.closing) })
	return nil
}

// next is the batch to deliver now, if there is one. It wants the lock held.
func (s *source) next() []*item {
	if len(s.waiting) == 0 {
		return nil
	}
	if s.how != recombine {
		b := s.waiting[0]
		s.waiting = s.waiting[1:]
		return b
	}
	// Take messages from the batches that wait, in any order, and leave the rest.
	take := 1 + s.dice.IntN(s.size)
	var b []*item
	for len(b) < take && len(s.waiting) > 0 {
		i := s.dice.IntN(min(len(s.waiting), 4))
		from := s.waiting[i]
		n := min(1+s.dice.IntN(len(from)), take-len(b))
		b = append(b, from[:n]...)
		if n == len(from) {
			s.waiting = slices.Delete(s.waiting, i, i+1)
		} else {
			s.waiting[i] = from[n:]
		}
	}
	if s.dice.IntN(2) == 0 {
		s.dice.Shuffle(len(b), func(i, k int) { b[i], b[k] = b[k], b[i] })
	}
	return b
}

// produce sends the messages one by one, many at a time, until each has come to an end.
func (s *source) produce(ctx context.Context, producers int, send service.MessageHandlerFunc) {
	var all sync.WaitGroup
	for range producers {
		all.Go(func() {
			for ctx.Err() == nil {
				s.mu.Lock()
				items := s.next()
				s.mu.Unlock()
				if items == nil {
					select {
					case <-s.done:
						return
					case <-ctx.Done():
						return
					case <-s.news():
					}
					continue
				}
				for _, it := range items {
					err := send(ctx, it.message())
					if ctx.Err() != nil {
						return // nobody says what became of it
					}
					s.settle([]*item{it}, nil, err)
				}
			}
		})
	}
	all.Wait()
}

// news is closed when something has changed, if nothing waits already.
func (s *source) news() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) > 0 {
		now := make(chan struct{})
		close(now)
		return now
	}
	return s.changed
}

// settle takes what became of a batch.
func (s *source) settle(items []*item, index *service.Indexer, err error) {
	failed, reasons := make([]bool, len(items)), make([]string, len(items))
	var each *service.BatchError
	whole := err != nil
	if index != nil && errors.As(err, &each) && each.IndexedErrors() > 0 {
		whole = false
		each.WalkMessagesIndexedBy(index, func(i int, _ *service.Message, err error) bool {
			if i >= 0 && i < len(failed) && err != nil {
				failed[i], reasons[i] = true, err.Error()
			}
			return true
		})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	mixed := mixed(items)
	var again []*item
	for i, it := range items {
		if !whole && !failed[i] {
			s.end(it, s.acked)
			continue
		}
		it.nacks++
		if it.kind == good && forItself(reasons[i]) {
			s.blamed[it.id] = reasons[i]
		}
		it.wide = it.wide || whole && mixed
		if it.kind != good && it.nacks >= s.patient && s.how != replayed {
			s.end(it, s.gaveUp)
			continue
		}
		again = append(again, it)
	}
	if err != nil {
		ids := make([]int, 0, len(again))
		for _, it := range again {
			ids = append(ids, it.id)
		}
		s.trace.nack(ids, err)
	}
	if len(again) > 0 && s.how != replayed {
		s.waiting = append(s.waiting, again)
		if s.how == recombine && s.dice.IntN(2) == 0 { // before what was never delivered
			s.waiting = append([][]*item{again}, s.waiting[:len(s.waiting)-1]...)
		}
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// mixed is true for a batch of which one part may be stored and another not, without any fault of the servers: some message cannot be
// stored, or they go to several tables.
func mixed(items []*item) bool {
	return slices.ContainsFunc(items, func(it *item) bool { return it.kind != good || it.table != items[0].table })
}

// end is the end of a message. It wants the lock held.
func (s *source) end(it *item, as map[int]bool) {
	if s.acked[it.id] || s.gaveUp[it.id] {
		return
	}
	as[it.id] = true
	if s.left--; s.left == 0 {
		close(s.done)
	}
}

// wait waits until every message has come to an end, or none does any more.
func (s *source) wait() {
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	left := -1
	for n := 0; n < patience; n++ {
		select {
		case <-s.done:
			return
		case <-ticks.C:
		}
		s.mu.Lock()
		if s.left != left {
			left, n = s.left, 0
		}
		s.mu.Unlock()
	}
}

// open are the messages that have not come to an end.
func (s *source) open(all []*item) (ids []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range all {
		if !s.acked[it.id] && !s.gaveUp[it.id] {
			ids = append(ids, it.id)
		}
	}
	return ids
}

// letters are the messages that came to the dead letter output, with their reasons.
type letters struct {
	mu      sync.Mutex
	reasons map[int]string
}

func (l *letters) register(env *service.Environment, name string) error {
	return env.RegisterBatchOutput(name, service.NewConfigSpec(),
		func(*service.ParsedConfig, *service.Resources) (service.BatchOutput, service.BatchPolicy, int, error) {
			return l, service.BatchPolicy{}, 1, nil
		})
}

func (l *letters) Connect(context.Context) error { return nil }
func (l *letters) Close(context.Context) error   { return nil }

func (l *letters) WriteBatch(_ context.Context, batch service.MessageBatch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range batch {
		id, _ := m.MetaGet("id")
		var n int
		_, _ = fmt.Sscan(id, &n)
		reason, _ := m.MetaGet("fallback_error")
		l.reasons[n] = reason
	}
	return nil
}
