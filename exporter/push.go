package exporter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/push"
	"github.com/redpanda-data/benthos/v4/public/service"
)

// pushTimeout bounds one push, so that a gateway that hangs holds up neither the next push nor the end of the process.
const pushTimeout = 10 * time.Second

// pusher sends the metrics to a Pushgateway: from time to time, and at the end.
type pusher struct {
	conf   pushConfig
	gather prometheus.Gatherer
	log    *service.Logger
	client *http.Client

	stop    context.CancelFunc
	stopped sync.WaitGroup
	failing bool // only the goroutine of loop
}

func newPusher(conf pushConfig, gather prometheus.Gatherer, log *service.Logger) *pusher {
	ctx, cancel := context.WithCancel(context.Background())
	p := &pusher{conf: conf, gather: gather, log: log, stop: cancel, client: &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}}
	if conf.every > 0 {
		p.stopped.Go(func() { p.loop(ctx) })
	}
	return p
}

func (p *pusher) loop(ctx context.Context) {
	ticker := time.NewTicker(p.conf.every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		err := p.push(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			// Each time: nobody sees the metrics meanwhile.
			p.log.Warnf("The metrics are not at the Pushgateway: %v", err)
			p.failing = true
		case p.failing:
			p.log.Info("The metrics are at the Pushgateway again")
			p.failing = false
		}
	}
}

func (p *pusher) push(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	to := push.New(p.conf.url, p.conf.job).Gatherer(p.gather).Client(p.client)
	if p.conf.username != "" || p.conf.password != "" {
		to = to.BasicAuth(p.conf.username, p.conf.password)
	}
	err := to.PushContext(ctx)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err // without the address, which says nothing new
	}
	return err
}

// close pushes what the metrics are at the end.
func (p *pusher) close(ctx context.Context) error {
	p.stop()
	p.stopped.Wait()
	defer p.client.CloseIdleConnections()
	if err := p.push(ctx); err != nil {
		return fmt.Errorf("pushing the metrics to %s a last time: %w", fieldPushURL, err)
	}
	return nil
}
