package streamload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// callTimeout bounds one question to one FE: an FE that hangs must not keep us from asking the next.
const callTimeout = 10 * time.Second

// poll is what the FEs said about a label.
type poll struct {
	facts  decide.Poll
	state  string // "" when no FE named one
	denied bool   // an FE does not take the user or the password
	// answered is true when an FE answered in HTTP, whatever it said.
	answered bool
	message  string // why
}

// askState asks each FE once, beginning with the first-th, until one names a state.
func (c *Client) askState(caller, alive context.Context, first int, database, label string) poll {
	var p poll
	asked := c.each(caller, alive, c.frontends, first, func(ctx context.Context, i int) (done bool) {
		s, r, err := c.transport.State(ctx, c.frontends.urls[i], database, label)
		if c.frontends.heard(ctx, i, r, err) {
			p.answered = true
		}
		switch {
		case err != nil && errors.Is(ctx.Err(), context.Canceled):
			p.say(c.frontends.urls[i].Host + " did not tell the state of the label in time: stopping")
		case err != nil:
			p.say(c.secrets.Text(err.Error(), maxMessage))
		case s.State != answer.NoState:
			p.facts.State, p.state = s.State, s.State.String()
			return true
		default:
			p.facts.Rejected = p.facts.Rejected || decide.Refused(r.HTTPStatus, s)
			p.denied = p.denied || isDenial(int64(r.HTTPStatus)) || s.HasCode && isDenial(s.Code)
			p.say(c.secrets.Text(fmt.Sprintf("%s does not tell the state of the label: HTTP %d: %s", r.Server, r.HTTPStatus, s.Message), maxMessage))
		}
		return false
	})
	if asked == 0 {
		p.say("the state of the label was not asked: stopping")
	}
	return p
}

// isDenial is true for the codes by which an FE refuses a user; it sends them as HTTP status or, with HTTP 200, in the answer
// (fe ResponseEntityBuilder.java).
func isDenial(code int64) bool {
	return code == http.StatusUnauthorized || code == http.StatusForbidden
}

// say keeps the first reason: of several FEs the others mostly repeat it.
func (p *poll) say(message string) {
	if p.message == "" {
		p.message = message
	}
}

// askCancel asks each FE once until one does not fail to take the question.
func (c *Client) askCancel(caller, alive context.Context, first int, database, label string) error {
	var last error
	asked := c.each(caller, alive, c.frontends, first, func(ctx context.Context, i int) (done bool) {
		r, err := c.transport.Cancel(ctx, c.frontends.urls[i], database, label)
		switch {
		case err != nil:
			last = errors.New(c.secrets.Text(err.Error(), maxMessage))
			return false
		case r.HTTPStatus >= 300:
			last = fmt.Errorf("%s does not cancel the label: HTTP %d: %s", r.Server, r.HTTPStatus, c.secrets.Text(answer.Excerpt(r.Body), maxMessage))
			return false
		}
		last = nil
		return true
	})
	if asked == 0 {
		return fmt.Errorf("label %s was not cancelled: stopping", label)
	}
	return last
}
