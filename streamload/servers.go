package streamload

import (
	"context"
	"net/url"
	"time"

	"github.com/dorisload/benthos-doris/streamload/internal/transport"
)

// loaders are the servers that loads are sent to: the BEs of the config, in turn, or the FEs, which send us on.
func (c *Client) loaders() *frontends {
	if c.bes != nil {
		return c.bes
	}
	return c.frontends
}

// each calls ask with each server, beginning with the first-th, those that are known to be down last, and returns how many it asked.
//
// Once the caller has cancelled there is half of the grace for all of them. A server that does not answer takes half of what is left, so
// that the next one can still tell; the last one may take it all.
func (c *Client) each(caller, alive context.Context, servers *frontends, first int, ask func(ctx context.Context, i int) (done bool)) (asked int) {
	rest := c.conf.Grace / 2
	order := servers.order(first)
	for k, i := range order {
		if alive.Err() != nil || rest <= 0 {
			return asked
		}
		share := rest
		if k < len(order)-1 {
			share = rest / 2
		}
		began := time.Now()
		ctx, give := beyond(caller, alive, share)
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		done := ask(ctx, i)
		cancel()
		give()
		asked++
		if done {
			return asked
		}
		if caller.Err() != nil {
			rest -= min(time.Since(began), share)
		}
	}
	return asked
}

// parseServers reads the addresses of a field.
func parseServers(field string, addresses []string, bad func(string, string, ...any)) (urls []*url.URL) {
	for i, s := range addresses {
		u, err := transport.ParseFE(s)
		if err != nil {
			bad(field, "[%d] %w", i, err)
			continue
		}
		urls = append(urls, u)
	}
	return urls
}
