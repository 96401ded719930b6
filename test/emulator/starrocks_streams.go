package emulator

import (
	"fmt"
	"sync"
	"time"
)

// stream is what a BE holds of a transaction from its begin to its prepare.
type stream struct {
	busy  sync.Mutex // held while a request works on it
	label string
	txn   *txn
	load  *load // of the transaction as a whole
	plan  *plan // nil before the first load
	// sent are the headers of the first load: those of the others must be equal.
	sent   map[string]string
	bodies [][]byte // JSON: each by itself; CSV: one
	size   int64    // what the Content-Lengths of the loads add up to
	idle   time.Duration
	active time.Time
}

// streams are those of one BE, by label alone.
type streams struct {
	mu   sync.Mutex
	list map[string]*stream
}

func (s *streams) get(label string) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list[label]
}

func (s *streams) put(one *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list == nil {
		s.list = map[string]*stream{}
	}
	s.list[one.label] = one
}

func (s *streams) remove(one *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list[one.label] == one {
		delete(s.list, one.label)
	}
}

func (s *streams) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.list)
}

// expired ends a stream that was idle for too long, or whose transaction is over:
// it was aborted by its timeout, or by somebody else.
func (x *exchange) expired(s *stream) bool {
	c := x.e.cat
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweep(s.txn.db)
	if s.idle > 0 && c.opt.Now().Sub(s.active) > s.idle {
		c.abort(s.txn, fmt.Sprintf("transaction is aborted by idle timeout %d seconds.", int(s.idle/time.Second)))
	}
	if s.txn.state == Prepare {
		return false
	}
	x.n.streams.remove(s)
	return true
}

// stream finds the stream of the label and locks it. The caller must unlock it
// when there is no error.
func (x *exchange) stream() (*stream, error) {
	word := "transaction"
	if x.op == opLoad {
		word = "Transaction"
	}
	s := x.n.streams.get(x.label)
	if s == nil || x.expired(s) {
		return nil, &beError{"TXN_NOT_EXISTS", fmt.Sprintf("%s with label %s not exists", word, x.label)}
	}
	switch db := s.txn.db.name; {
	case x.op == opLoad && db != x.db:
		return nil, &beError{"INVALID_ARGUMENT", fmt.Sprintf("Request database %s not equal transaction database %s", x.db, db)}
	case db != x.db:
		return nil, &beError{"INVALID_ARGUMENT", fmt.Sprintf("request db %s transaction db %s not match", x.db, db)}
	case x.op == opLoad && s.load.rec.Table != x.table:
		return nil, &beError{"INVALID_ARGUMENT", fmt.Sprintf("Request table %s not equal transaction table %s", x.table, s.load.rec.Table)}
	case !s.busy.TryLock():
		return nil, &beError{"TXN_IN_PROCESSING", "Transaction is in processing"}
	}
	if x.n.streams.get(x.label) != s { // it ended while we were on the way
		s.busy.Unlock()
		return nil, &beError{"TXN_NOT_EXISTS", fmt.Sprintf("%s with label %s not exists", word, x.label)}
	}
	s.active = x.e.opt.Now()
	s.load.x, x.txn = x, s.txn.id
	return s, nil
}

// rollback ends a stream after an error, or because it was asked for.
func (x *exchange) rollback(s *stream, reason string) {
	s.load.abort(reason)
	x.n.streams.remove(s)
}
