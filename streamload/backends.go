package streamload

import (
	"net/url"
	"sync"
	"time"
)

// backends are the BEs that FEs have lately sent loads to, and which stored them. A load that goes straight to one of them spares the
// way through an FE: half of the time, and more than half of the work, of a small load.
//
// Which BE takes how much is still the FEs' business. What an FE says is good for a number of loads and bytes more, for a short time, and then an FE is asked
// again: so the loads spread over the BEs as the FEs spread them, a BE that they do not name any more is left soon, and large loads always ask. Only the
// first request of a load goes straight, and anything but a stored load makes its BE forgotten.
type backends struct {
	age time.Duration // how long what an FE says is good; 0: not at all
	now func() time.Time

	mu    sync.Mutex
	known []*backend
	next  int // where the search for the next one begins
}

// backend is one BE that may get loads without asking.
type backend struct {
	base  *url.URL
	until time.Time
	loads int   // it may still get
	bytes int64 // so many
}

const (
	// answerLoads and answerBytes are how much more a BE gets for each time an FE named it.
	answerLoads = 31
	answerBytes = 64 << 20
)

func newBackends(age time.Duration) *backends { return &backends{age: age, now: time.Now} }

// take is a BE for a load of a size, each time another one; nil when an FE has to be asked.
func (b *backends) take(size int64) *url.URL {
	if b.age <= 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	for range b.known {
		b.next = (b.next + 1) % len(b.known)
		if one := b.known[b.next]; one.loads > 0 && one.bytes >= size && now.Before(one.until) {
			one.loads--
			one.bytes -= size
			return one.base
		}
	}
	return nil
}

// learn keeps that an FE named a BE, which then stored the load.
func (b *backends) learn(base *url.URL) {
	if b.age <= 0 || base == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	var one *backend
	kept := b.known[:0]
	for _, k := range b.known {
		if *k.base == *base {
			one = k
		}
		if k == one || now.Before(k.until) {
			kept = append(kept, k)
		}
	}
	clear(b.known[len(kept):])
	b.known = kept
	if one == nil {
		one = &backend{base: base}
		b.known = append(b.known, one)
	}
	if !now.Before(one.until) {
		one.loads, one.bytes = 0, 0
	}
	one.until = now.Add(b.age)
	one.loads += answerLoads
	one.bytes += answerBytes
}

// forget drops what is known of a server, whatever the prefix of its path.
func (b *backends) forget(host string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	kept := b.known[:0]
	for _, k := range b.known {
		if k.base.Host != host {
			kept = append(kept, k)
		}
	}
	clear(b.known[len(kept):])
	b.known = kept
}
