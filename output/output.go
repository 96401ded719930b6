package output

import (
	"context"
	"strings"
	"sync"

	"github.com/redpanda-data/benthos/v4/public/service"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/streamload/decide"
)

var (
	_ service.BatchOutput        = (*output)(nil)
	_ service.ConnectionTestable = (*output)(nil)
)

// output is one doris_stream_load of a pipeline.
type output struct {
	conf   config
	client *streamload.Client
	log    *service.Logger
	meters *meters
	// slots has room for as many loads as may run at a time. Benthos bounds batches, but a batch may be several loads.
	slots chan struct{}
	// whole is true when Benthos hands a source batch back as a whole although only some of its messages failed.
	whole bool

	replays   *replays
	hello     sync.Once
	reconnect reconnect
}

func newOutput(conf config, mgr *service.Resources) (*output, error) {
	meters := newMeters(mgr.Metrics())
	seen := &observer{log: mgr.Logger(), meters: meters}
	conf.client.Observer = seen
	client, err := streamload.New(conf.client)
	if err != nil {
		return nil, err
	}
	seen.client = client
	return &output{
		conf:      conf,
		client:    client,
		log:       mgr.Logger(),
		meters:    meters,
		slots:     make(chan struct{}, conf.maxInFlight),
		whole:     !conf.batching.IsNoop(),
		replays:   newReplays(conf.client.Ledger, client.Reachable),
		reconnect: reconnect{backoff: decide.Backoff(conf.client.Backoff)},
	}, nil
}

// Connect says what will run, and looks whether an FE is there: one that answers anything is enough. While it fails Benthos calls it again
// and again with a wait in between, says why in its log, is not ready, and gives the output nothing to write. It also calls it when
// WriteBatch has found that no FE can be reached, while other batches are being written.
func (o *output) Connect(ctx context.Context) error {
	o.hello.Do(func() {
		o.log.Infof("doris_stream_load of benthos-doris %s loads into %s through %s", moduleVersion(), o.conf.target, strings.Join(o.conf.frontends, ", "))
		for _, remark := range o.conf.remarks {
			o.log.Warn(remark)
		}
		for _, fe := range o.conf.frontends {
			o.meters.frontend(fe, true) // until one is found to be down
		}
	})
	if err := o.reconnect.pace(ctx); err != nil {
		return err
	}
	return o.client.Reach(ctx)
}

// WriteBatch loads a batch, one load for each table in it, and returns when the fate of every message is known. The error is
// service.ErrNotConnected when none can be told because no FE answers: Benthos then keeps the batch and writes it again when one does.
func (o *output) WriteBatch(ctx context.Context, batch service.MessageBatch) error {
	if len(batch) == 0 {
		return nil
	}
	again := o.replays.take(batch)
	res := o.write(ctx, batch)
	if res.unreached() && ctx.Err() == nil {
		// What Connect will ask is asked here too. If an FE answers now, it may just have come up, or no other was tried: once more.
		// If that fails the same way the batch fails for its reason, or it would go round and round.
		if err := o.client.Reach(ctx); err != nil && ctx.Err() == nil {
			o.reconnect.lost()
			o.replays.giveBack(again)
			o.log.Warnf("%d messages wait until an FE can be reached: %v", len(batch), err)
			return service.ErrNotConnected
		}
		res = o.write(ctx, batch)
	}
	if res.failed < len(batch) || res.answered {
		o.reconnect.reached()
	}
	if res.mixed {
		// The headline does not name them.
		for _, c := range res.causes {
			o.log.Warn(c.headline)
		}
	}
	err := o.tell(res, again)
	if err == nil {
		free(res.groups)
	}
	return err
}

// write loads a batch once, its tables at the same time as far as there are slots.
func (o *output) write(ctx context.Context, batch service.MessageBatch) *result {
	res := newResult(batch)
	groups := o.route(batch, res)
	if o.whole && len(groups) > 1 && o.held(ctx, groups, res) {
		return res
	}
	var loads sync.WaitGroup
	for i, g := range groups {
		if err := o.acquire(ctx); err != nil {
			res.settle(g, stopped(g, err))
			continue
		}
		if i == len(groups)-1 {
			o.load(ctx, g, res)
			break
		}
		loads.Go(func() { o.load(ctx, g, res) })
	}
	loads.Wait()
	return res
}

// held is true when rows of some group are in a load whose outcome is unknown; then every group has failed, and nothing is loaded: what would
// be stored now would come back with the others, and be stored twice.
func (o *output) held(ctx context.Context, groups []*group, res *result) bool {
	batches := make([]streamload.Batch, len(groups))
	for i, g := range groups {
		batches[i] = g.Batch
	}
	errs := o.client.Held(ctx, batches)
	for i, e := range errs {
		o.meters.known(groups[i], streamload.Report{}, e)
		res.settle(groups[i], e)
	}
	return errs != nil
}

// load runs one load in the slot that was acquired for it.
func (o *output) load(ctx context.Context, g *group, res *result) {
	defer func() { <-o.slots }()
	report, err := o.client.Load(ctx, g.Batch)
	g.unused = report.RowsFree
	o.meters.rejected(g, err)
	o.meters.known(g, report, err)
	o.meters.ledger(o.client.LedgerSize)
	if n := report.AlreadyStored; n > 0 {
		o.log.With("table", g.Database+"."+g.Table).
			Infof("%d of %d rows were stored by an earlier load; they are acknowledged and not stored a second time", n, len(g.Rows))
	}
	res.settle(g, err)
}

// acquire waits for a slot for one load.
func (o *output) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case o.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stopped is the error of a load for which the pipeline did not wait.
func stopped(g *group, cause error) error {
	return &streamload.Error{
		Class: decide.Unavailable, Stage: streamload.StageStopped, Database: g.Database, Table: g.Table,
		Message: "stopped before anything was sent", Reason: "stopped", Err: cause,
	}
}

// Close gives up idle connections. Benthos calls it when no batch is being written any more.
func (o *output) Close(context.Context) error {
	o.client.Close()
	return nil
}
