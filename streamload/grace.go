package streamload

import (
	"context"
	"time"
)

// withGrace is a context that ends Config.Grace after its parent, and with cancel.
func (c *Client) withGrace(parent context.Context) (context.Context, context.CancelFunc) {
	return beyond(parent, context.WithoutCancel(parent), c.conf.Grace)
}

// beyond is a context that ends with alive, with cancel, and so long after the caller has cancelled: or after its own beginning, when
// that is later.
func beyond(caller, alive context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(alive)
	return ctx, endAfter(caller, ctx, cancel, d)
}

// endAfter cancels a context so long after the caller has cancelled, as beyond does. What it returns is to be called in place of cancel.
func endAfter(caller, ctx context.Context, cancel context.CancelFunc, d time.Duration) context.CancelFunc {
	stop := context.AfterFunc(caller, func() {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-ctx.Done():
		}
	})
	return func() {
		stop()
		cancel()
	}
}
