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
	conf     config
	client   *streamload.Client
	log      *service.Logger
	meters   *meters
	progress *progress
	// tracing is nil when nobody looks at spans.
	tracing *tracing
	// slots has room for as many loads as may run at a time. Benthos bounds batches, but a batch may be several loads.
	slots chan struct{}
	// join forms loads out of source batches; nil when each is loaded by itself. Then outage and places are nil too.
	join   *joiner
	outage *outage
	// places has room for the source batches that may be on their way. Benthos keeps to that, others may not.
	places chan struct{}
	// whole is true when Benthos hands a source batch back as a whole although only some of its messages failed.
	whole bool

	replays   *replays
	hello     sync.Once
	swept     sync.Once // of what an earlier process has left
	reconnect reconnect
}

func newOutput(conf config, mgr *service.Resources) (*output, error) {
	meters := newMeters(mgr.Metrics())
	seen := &observer{log: mgr.Logger(), meters: meters, progress: newProgress(conf.progress, mgr.Logger())}
	conf.client.Observer = seen
	client, err := streamload.New(conf.client)
	if err != nil {
		return nil, err
	}
	seen.client = client
	o := &output{
		conf:      conf,
		client:    client,
		log:       mgr.Logger(),
		meters:    meters,
		progress:  seen.progress,
		tracing:   newTracing(mgr.OtelTracer()),
		slots:     make(chan struct{}, conf.maxInFlight),
		whole:     !conf.batching.IsNoop(),
		replays:   newReplays(conf.client.Ledger, client.Reachable),
		reconnect: reconnect{backoff: decide.Backoff(conf.client.Backoff)},
	}
	if conf.joins() {
		o.outage = &outage{reach: client.Reach, most: conf.maxInFlight}
		o.places = make(chan struct{}, conf.maxPending)
		o.join = newJoiner(joinLimits{
			linger: conf.linger, pending: conf.maxPending, rows: conf.client.MaxLoadRows, bytes: max(conf.client.MaxLoadBytes, 0),
		})
		o.join.slots, o.join.load, o.join.changed = o.freeSlots, o.loadJoined, meters.waiting
	}
	return o, nil
}

// freeSlots is how many loads may run at a time. While Doris is short of something they are fewer, and thereby larger.
func (o *output) freeSlots() int {
	if limit := o.client.LoadLimit(); limit > 0 {
		return min(limit, o.conf.maxInFlight)
	}
	return o.conf.maxInFlight
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
	if err := o.client.Reach(ctx); err != nil {
		return err
	}
	o.swept.Do(func() { o.abortLingering(ctx) })
	if o.outage != nil {
		o.outage.end()
	}
	return nil
}

// WriteBatch loads a batch, in one load for each table in it or together with others, and returns when the fate of every message is known. The error is
// service.ErrNotConnected when none can be told because no FE answers: Benthos then keeps the batch and writes it again when one does.
func (o *output) WriteBatch(ctx context.Context, batch service.MessageBatch) error {
	if len(batch) == 0 {
		return nil
	}
	if o.places != nil {
		select {
		case o.places <- struct{}{}:
			defer func() { <-o.places }()
		case <-ctx.Done(): // as many as may be are on their way; this one is told so without a place
		}
	}
	again := o.replays.take(batch)
	res, err := o.outlast(ctx, batch)
	if err != nil {
		o.replays.giveBack(again)
		return err
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
	err = o.tell(res, again)
	if err == nil {
		free(res.groups)
	}
	return err
}

// outlast loads a batch, after an outage of all FEs if it has to be. The error is service.ErrNotConnected.
func (o *output) outlast(ctx context.Context, batch service.MessageBatch) (*result, error) {
	again := o.outage != nil && o.outage.arrive(ctx, batch)
	for tried := false; ; {
		res := o.write(ctx, batch, again)
		if !res.unreached() || ctx.Err() != nil {
			return res, nil
		}
		// What Connect will ask is asked here too. If an FE answers now, it may just have come up, or no other was tried: once more.
		// If that fails the same way the batch fails for its reason, or it would go round and round.
		tell, err := o.lost(ctx, again)
		switch {
		case err == nil && tried, ctx.Err() != nil:
			return res, nil
		case err == nil:
			tried = true
		case tell:
			o.reconnect.lost()
			o.log.Warnf("%d messages wait until an FE can be reached: %v", len(batch), err)
			if o.outage != nil {
				o.outage.giveBack(batch)
			}
			return nil, service.ErrNotConnected
		default: // Benthos knows already
			o.outage.pass(ctx)
			tried = false
		}
	}
}

// lost looks whether any FE can be reached. tell is true when Benthos has to hear that none can be; again is that it has heard so of the same batch before.
func (o *output) lost(ctx context.Context, again bool) (tell bool, err error) {
	if o.outage != nil {
		return o.outage.suspect(ctx, again)
	}
	return true, o.client.Reach(ctx)
}

// write loads a batch once, its tables at the same time as far as there are slots. Where batches are joined, one that is late waits for no others.
func (o *output) write(ctx context.Context, batch service.MessageBatch, late bool) *result {
	res := newResult(batch)
	groups := o.route(batch, res)
	if o.join != nil {
		o.join.write(ctx, groups, res, late)
		return res
	}
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
	var span *loadSpan
	if o.tracing != nil {
		span = o.tracing.load(g.Database, g.Table, contexts(res.batch, g.indices))
	}
	res.settle(g, o.loadBatch(ctx, g, span))
}

// loadBatch loads the rows of a group, and counts what became of them.
func (o *output) loadBatch(ctx context.Context, g *group, span *loadSpan) error {
	report, err := o.client.Load(ctx, g.Batch)
	span.end(report, err)
	g.unused = report.RowsFree
	o.meters.rejected(g, err)
	o.meters.known(g, report, err)
	o.meters.ledger(o.client.LedgerSize)
	if n := report.AlreadyStored; n > 0 {
		o.log.With("table", g.Database+"."+g.Table).
			Infof("%d of %d rows were stored by an earlier load; they are acknowledged and not stored a second time", n, len(g.Rows))
	}
	return err
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
	if o.join != nil {
		o.join.close()
	}
	o.client.Close()
	o.progress.close()
	return nil
}
