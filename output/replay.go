package output

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/zeebo/xxh3"

	"github.com/dorisload/benthos-doris/streamload"
)

// Inputs that replay (auto_replay_nacks) deliver the messages again that a BatchError names, as a smaller batch. Benthos v4.80.0 leaves each of
// them its position in the first batch, and reads the positions of the next BatchError as places in the smaller one
// (input_auto_retry_batched.go and async_preserver.go with batch.Error.WalkPartsBySource): of the messages that failed again it delivers others, or
// fewer, and the rest is lost without a word. An error that names no message is safe: all of the batch comes again.
//
// So messages that failed while others of their batch were stored are remembered, and a batch of such messages only is taken for a smaller one.
// When it fails it fails as a whole, and what is stored of it is expected by the client, which acknowledges it when it comes once more. While
// nothing is remembered this costs one atomic load a batch, afterwards mostly the hash of one message a batch.

// minReplayAge is how long a message that failed is remembered at least, however many there are. Inputs that replay have few messages
// waiting, which come again within seconds. Those that a dead letter output has taken never come, and must not fill the memory.
const minReplayAge = 10 * time.Second

// replays is what is remembered of messages that failed alone. The digests are those of whole messages: it does not matter which table one went to.
type replays struct {
	most   int           // of digests in a generation, which are two
	maxAge time.Duration // of a generation while it takes more; 0: no bound
	// clock stands still in an outage, when nothing is delivered again.
	clock func() time.Duration
	count atomic.Int64 // of digests

	mu   sync.Mutex
	now  map[messageDigest]int // how many of each
	old  map[messageDigest]int
	size int // of now
	born time.Duration
	full bool
}

type messageDigest [16]byte

func digestOf(msg *service.Message) messageDigest {
	content, _ := msg.AsBytes() // what cannot be read fails each time, and is as good as empty
	return xxh3.Hash128(content).Bytes()
}

// newReplays makes a memory within the limits of the ledger.
func newReplays(limits streamload.LedgerLimits, clock func() time.Duration) *replays {
	return &replays{
		most: max(limits.MaxRows/2, 1), maxAge: max(limits.MaxAge, 0) / 2, clock: clock,
		now: map[messageDigest]int{}, old: map[messageDigest]int{},
	}
}

// take takes the messages of a batch out of the memory if every one of them is in it, and is nil otherwise.
func (r *replays) take(batch service.MessageBatch) []messageDigest {
	if !r.active() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn()
	taken := make([]messageDigest, 0, min(len(batch), r.remembered()))
	for _, msg := range batch {
		d := digestOf(msg)
		if !r.remove(d) {
			r.put(taken)
			return nil
		}
		taken = append(taken, d)
	}
	return taken
}

// active is true when something is remembered.
func (r *replays) active() bool { return r.count.Load() > 0 }

// giveBack remembers again what was taken.
func (r *replays) giveBack(taken []messageDigest) {
	if len(taken) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(taken)
}

// add remembers messages that failed; it is false, and remembers none, when there is no room. first is true for the first time that there is none.
func (r *replays) add(failed []messageDigest) (ok, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn()
	if r.size+len(failed) > r.most {
		if len(failed) > r.most || r.clock()-r.born < minReplayAge {
			first, r.full = !r.full, true
			return false, first
		}
		r.next()
	}
	r.full = false
	r.put(failed)
	return true, false
}

// The methods below want the lock held.

func (r *replays) remembered() int { return int(r.count.Load()) }

func (r *replays) put(digests []messageDigest) {
	for _, d := range digests {
		r.now[d]++
	}
	r.size += len(digests)
	r.count.Add(int64(len(digests)))
}

func (r *replays) remove(d messageDigest) bool {
	from := r.old // these would be forgotten first
	if from[d] == 0 {
		if from = r.now; from[d] == 0 {
			return false
		}
		r.size--
	}
	if from[d]--; from[d] == 0 {
		delete(from, d)
	}
	r.count.Add(-1)
	return true
}

// turn forgets what is too old.
func (r *replays) turn() {
	if r.maxAge == 0 {
		return
	}
	age := r.clock() - r.born
	if age >= r.maxAge {
		r.next()
	}
	if age >= 2*r.maxAge {
		r.next()
	}
}

// next begins a new generation, and forgets the one before the last.
func (r *replays) next() {
	r.old, r.now = r.now, map[messageDigest]int{}
	r.count.Store(int64(r.size))
	r.size, r.born = 0, r.clock()
}

// tell is the error of a batch: nil when all of it is stored, and otherwise one that names the messages that failed, unless that cannot be done. again is
// what the memory knew of the batch.
func (o *output) tell(res *result, again []messageDigest) error {
	partly := res.failed > 0 && res.failed < len(res.batch)
	switch {
	case res.failed == 0:
		return nil
	case again != nil:
		o.replays.giveBack(again)
		if partly {
			o.expect(res)
		}
		return res.whole()
	case partly && !o.whole && !o.remember(res):
		o.expect(res)
		return res.whole()
	case res.plain() && o.replays.active():
		// A smaller batch whose messages have other bytes than before may look like this. To name all and to name none means the same.
		return res.whole()
	default:
		return res.err()
	}
}

// remember remembers the messages of a batch that failed. It is false when there is no room for them.
func (o *output) remember(res *result) bool {
	failed := make([]messageDigest, 0, res.failed)
	for i, err := range res.errs {
		if err != nil {
			failed = append(failed, digestOf(res.batch[i]))
		}
	}
	ok, first := o.replays.add(failed)
	if first {
		o.log.Warnf("More messages failed in a short time than ledger.max_rows allows to remember: until some were delivered again, a batch of which some messages fail is failed as a whole, and what is stored of it is acknowledged when it comes again")
	}
	return ok
}

// expect tells the client which rows of a batch are stored and come again.
func (o *output) expect(res *result) {
	for _, g := range res.groups {
		stored := streamload.Batch{Database: g.Database, Table: g.Table}
		for k, i := range g.indices {
			if res.errs[i] == nil {
				stored.Rows = append(stored.Rows, g.Rows[k])
			}
		}
		o.client.Expect(stored)
	}
	o.meters.ledger(o.client.LedgerSize)
}
