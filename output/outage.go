package output

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
)

// errOutage is what is known without a look.
var errOutage = errors.New("no FE answers")

// outageLook is how often an FE is looked for while batches wait for one. Connect looks for one too, and mostly finds it first.
const outageLook = time.Second

// outage is what batches wait for while no FE can be reached. Benthos writes the batches that were given back to it (service.ErrNotConnected) one after
// the other, which takes long when there are many. So only a few are given back, by which Benthos learns of the outage, and the others
// wait here. One that was given back is given back again if it has to: Benthos does nothing else while it writes it, and does not connect either.
type outage struct {
	// reach looks whether an FE is there.
	reach func(context.Context) error
	// most is how many batches are given back in an outage.
	most int

	mu      sync.Mutex
	down    bool
	given   int            // batches that were given back in this outage
	back    map[*byte]bool // those that Benthos has now, by where their content is in memory
	polling bool           // one of those that wait looks for an FE
	changed chan struct{}  // closed when one of the above has become false; nil while nobody waits
	look    *look          // that is under way
}

// look is one try to reach an FE.
type look struct {
	done chan struct{}
	err  error
	void bool // it was given up
}

// arrive is pass for a batch that Benthos writes. again is true when it was given back before.
func (o *outage) arrive(ctx context.Context, batch service.MessageBatch) (again bool) {
	o.mu.Lock()
	if len(o.back) > 0 {
		key := contentOf(batch)
		again = o.back[key]
		delete(o.back, key)
	}
	wait := !again && o.down && o.given >= o.most
	o.mu.Unlock()
	if wait {
		o.pass(ctx)
	}
	return again
}

// giveBack notes that Benthos gets a batch back, which it will write again.
func (o *outage) giveBack(batch service.MessageBatch) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.back == nil {
		o.back = map[*byte]bool{}
	}
	o.back[contentOf(batch)] = true
}

// contentOf is where the content of a batch begins in memory. It is the same when the very same messages are written again, and different for all others
// that there are at the same time.
func contentOf(batch service.MessageBatch) *byte {
	for _, msg := range batch {
		if content, err := msg.AsBytes(); err == nil && len(content) > 0 {
			return &content[0]
		}
	}
	return nil // nothing of it can be loaded, so it is not given back
}

// pass waits while there is an outage, and no longer than the context.
func (o *outage) pass(ctx context.Context) {
	for ctx.Err() == nil {
		o.mu.Lock()
		if !o.down {
			o.mu.Unlock()
			return
		}
		if o.changed == nil {
			o.changed = make(chan struct{})
		}
		changed, first := o.changed, !o.polling
		o.polling = true
		o.mu.Unlock()
		if first {
			o.poll(ctx, changed)
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// poll looks for an FE until there is one, or the context ends. Somebody else goes on with it then.
func (o *outage) poll(ctx context.Context, changed chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // a look that hangs must not outlast the outage
		select {
		case <-changed:
			cancel()
		case <-ctx.Done():
		}
	}()
	timer := time.NewTimer(outageLook)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			o.handOver(changed)
			return
		case <-timer.C:
			if o.reach(ctx) == nil {
				o.end()
				return
			}
			timer.Reset(outageLook)
		}
	}
}

// handOver lets somebody else look for an FE, unless one was found.
func (o *outage) handOver(changed chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.changed == changed {
		o.polling = false
		o.tell()
	}
}

// suspect looks whether there is an outage, for a batch that reached no FE. Several batches share one look. tell is true when the batch is to be given back.
func (o *outage) suspect(ctx context.Context, again bool) (tell bool, err error) {
	for {
		o.mu.Lock()
		if o.down && o.given >= o.most && !again {
			o.mu.Unlock()
			return false, errOutage
		}
		l, own := o.look, o.look == nil
		if own {
			l = &look{done: make(chan struct{})}
			o.look = l
		}
		o.mu.Unlock()
		if own {
			l.err = o.reach(ctx)
			l.void = l.err != nil && ctx.Err() != nil
			o.mu.Lock()
			o.look = nil
			if tell = l.err != nil && !l.void; tell {
				o.down = true
				if !again {
					o.given++
				}
			}
			o.mu.Unlock()
			close(l.done)
			return tell, l.err
		}
		select {
		case <-l.done:
			if !l.void {
				return again && l.err != nil, l.err
			}
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// end lets all go on that wait.
func (o *outage) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.down, o.polling = false, false
	o.given = 0
	o.tell()
}

// tell wants the lock held.
func (o *outage) tell() {
	if o.changed != nil {
		close(o.changed)
		o.changed = nil
	}
}
