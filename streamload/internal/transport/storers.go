package transport

import (
	"net/url"
	"sync"
	"time"
)

// storers are the servers that have lately stored a load, and whose last answer said so. They take a body, so a small one need not wait until
// they ask for it. What lies behind an FE may be another FE, which must not get one.
type storers struct {
	mu   sync.Mutex
	last map[storer]time.Time // when it stored a load
}

type storer struct{ scheme, host string }

const (
	// storerAge is how long ago a server may have stored its last load. Somebody else may have its address after that.
	storerAge = time.Minute
	// maxStorers bounds how many are remembered: their names come from answers.
	maxStorers = 256
)

func (s *storers) has(at *url.URL) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.last[storer{at.Scheme, at.Host}]
	return ok && time.Since(last) < storerAge
}

// report keeps what an answer, or none, said about a server.
func (s *storers) report(at *url.URL, stored bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := storer{at.Scheme, at.Host}
	if !stored {
		delete(s.last, key)
		return
	}
	if s.last == nil || len(s.last) >= maxStorers {
		s.last = map[storer]time.Time{}
	}
	s.last[key] = time.Now()
}
