package streamload

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// ErrNoFE is wrapped by the error of Reach.
var ErrNoFE = errors.New("no FE answers")

// Reach looks whether any FE is there. It asks all of them at the same time, and is nil as soon as one answers in HTTP, whatever the
// answer: users, databases and backends are not its business. Config.ConnectTimeout and the context bound it. The error
// says of every FE why it cannot be reached.
func (c *Client) Reach(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, c.conf.ConnectTimeout)
	defer cancel()
	problems := make(chan error, len(c.frontends.urls))
	for i, fe := range c.frontends.urls {
		go func() { problems <- c.reach(asking, i, fe) }()
	}
	var texts []string
	var found bool
	for range c.frontends.urls {
		if err := <-problems; err != nil {
			texts = append(texts, err.Error())
			continue
		}
		found = true
		cancel() // the others need not answer any more
	}
	if found {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrNoFE, strings.Join(texts, "; "))
}

func (c *Client) reach(ctx context.Context, i int, fe *url.URL) error {
	r, err := c.transport.Ping(ctx, fe)
	if r.HTTPStatus != 0 {
		c.frontends.report(i, true)
		return nil
	}
	if !errors.Is(ctx.Err(), context.Canceled) { // or nobody waited for the answer
		c.frontends.report(i, false)
	}
	return errors.New(c.secrets.Text(err.Error(), maxMessage))
}
