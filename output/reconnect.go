package output

import (
	"context"
	"sync"
	"time"

	"github.com/dorisload/benthos-doris/streamload/decide"
)

// reconnect paces connecting. Benthos waits after a Connect that failed, but not after one that succeeded, however often the connection is
// then found lost again.
type reconnect struct {
	backoff decide.Backoff

	mu     sync.Mutex
	losses int // since a server was last reached by a load
	at     time.Time
}

func (r *reconnect) lost() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.losses++
	r.at = time.Now()
}

func (r *reconnect) reached() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.losses = 0
}

// pace waits until the connection may be tried: at once after the first loss, then as long as the backoff says.
func (r *reconnect) pace(ctx context.Context) error {
	timer := time.NewTimer(r.wait())
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *reconnect) wait() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.losses < 2 {
		return 0
	}
	return time.Until(r.at.Add(r.backoff.Wait(r.losses - 2)))
}
