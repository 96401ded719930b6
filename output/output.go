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

	hello sync.Once
}

func newOutput(conf config, mgr *service.Resources) (*output, error) {
	meters := newMeters(mgr.Metrics())
	conf.client.Observer = &observer{log: mgr.Logger(), meters: meters}
	client, err := streamload.New(conf.client)
	if err != nil {
		return nil, err
	}
	return &output{
		conf:   conf,
		client: client,
		log:    mgr.Logger(),
		meters: meters,
		slots:  make(chan struct{}, conf.maxInFlight),
	}, nil
}

// Connect says what will run. It does not look whether a server is there: the first load does, and tries again until one is. Benthos may
// call it more than once.
func (o *output) Connect(context.Context) error {
	o.hello.Do(func() {
		o.log.Infof("doris_stream_load of benthos-doris %s loads into %s through %s", moduleVersion(), o.conf.target, strings.Join(o.conf.frontends, ", "))
		for _, remark := range o.conf.remarks {
			o.log.Warn(remark)
		}
		for _, fe := range o.conf.frontends {
			o.meters.frontend(fe, true) // until one is found to be down
		}
	})
	return nil
}

// WriteBatch loads a batch, one load for each table in it, and returns when the fate of every message is known.
func (o *output) WriteBatch(ctx context.Context, batch service.MessageBatch) error {
	if len(batch) == 0 {
		return nil
	}
	res := newResult(batch)
	groups := o.route(batch, res)
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
	if res.mixed {
		// The headline does not name them.
		for _, c := range res.causes {
			o.log.Warn(c.headline)
		}
	}
	return res.err()
}

// load runs one load in the slot that was acquired for it.
func (o *output) load(ctx context.Context, g *group, res *result) {
	defer func() { <-o.slots }()
	_, err := o.client.Load(ctx, g.Batch)
	o.meters.rejected(g, err)
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
