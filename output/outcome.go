package output

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/redpanda-data/benthos/v4/public/service"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/streamload/decide"
)

// mixed begins a headline over failures of several classes.
const mixed = "mixed"

// result collects what became of the messages of one batch. It may be told from several goroutines. A batch without failures costs
// nothing.
type result struct {
	batch service.MessageBatch
	// groups are the loads that were tried.
	groups []*group

	mu     sync.Mutex
	errs   []error // by index; nil is a message that is stored
	failed int
	// causes are the first reasons, more is how many others there are.
	causes []cause
	more   int
	mixed  bool
	// detailed is true when the error of some message says more than the headline.
	detailed bool
	// noFE is true when some load failed because no FE answered, answered when some load failed for another reason.
	noFE, answered bool
}

// maxCauses bounds what is kept of the reasons in a batch that names very many tables.
const maxCauses = 10

// cause is one reason that messages failed for.
type cause struct {
	class decide.Class
	// headline says it without quoting rows. It begins with the class.
	headline string
}

func newResult(batch service.MessageBatch) *result { return &result{batch: batch} }

// quoting is an error whose detail may quote a message.
type quoting struct{ what, detail string }

func (q quoting) Error() string { return q.what + ": " + q.detail }

// fail records a message that never became part of a load: subject says what of it is wrong.
func (r *result) fail(i int, class decide.Class, subject string, err error) {
	headline := err.Error()
	if q, ok := errors.AsType[quoting](err); ok {
		headline = q.what
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.detailed = r.detailed || headline != err.Error()
	r.add(i, fmt.Errorf("%s: %s %w", class, subject, err))
	r.because(class, fmt.Sprintf("%s: %s %s", class, subject, headline))
}

// settle records what became of a load. err is what the client returned.
func (r *result) settle(g *group, err error) {
	if err == nil {
		return
	}
	var e *streamload.Error
	if !errors.As(err, &e) {
		e = &streamload.Error{Class: decide.Unknown, Database: g.Database, Table: g.Table, Message: err.Error(), Err: err}
	}
	r.mu.Lock()
	defer r.mu.Unlock()

	rejected := make(map[int]struct{}, len(e.Rejected))
	for _, row := range e.Rejected {
		rejected[row.Index] = struct{}{}
		r.add(g.indices[row.Index], fmt.Errorf("%s: the message cannot be loaded into %s: %w", decide.DataQuality, streamload.TableName(g.Database, g.Table), row.Err))
	}
	if len(rejected) > 0 {
		r.because(decide.DataQuality, e.RejectedHeadline())
	}
	if e.Stage == streamload.StageEncode {
		r.detailed = true
		return
	}
	r.noFE, r.answered = r.noFE || e.NoFE, r.answered || !e.NoFE
	r.detailed = r.detailed || len(rejected) > 0
	if !e.Partial { // or its rows tell for themselves
		r.reason(e)
	}
	var last *streamload.Error
	for k, i := range g.indices {
		if _, own := rejected[k]; own {
			continue
		}
		rowErr := e.Row(k)
		if rowErr == nil {
			continue
		}
		r.add(i, rowErr)
		if own, ok := errors.AsType[*streamload.Error](rowErr); ok && own != e && own != last {
			r.reason(own)
			last = own
		}
	}
}

// add wants the lock held, as do reason and because.
func (r *result) add(i int, err error) {
	if r.errs == nil {
		r.errs = make([]error, len(r.batch))
	}
	r.errs[i] = err
	r.failed++
}

// reason notes why a load failed.
func (r *result) reason(e *streamload.Error) {
	headline := e.Headline()
	r.detailed = r.detailed || e.Error() != headline
	r.because(e.Class, headline)
}

func (r *result) because(class decide.Class, headline string) {
	for _, c := range r.causes {
		if c.headline == headline {
			return
		}
	}
	r.mixed = r.mixed || len(r.causes) > 0 && r.causes[0].class != class
	if len(r.causes) == maxCauses {
		r.more++
		return
	}
	r.causes = append(r.causes, cause{class, headline})
}

// err is nil when every message is stored, or else an error over the very batch, which names each message that failed. It is called when
// all loads have ended.
func (r *result) err() error {
	if r.failed == 0 {
		return nil
	}
	batchErr := service.NewBatchError(r.batch, errors.New(r.headline()))
	for i, err := range r.errs {
		if err != nil {
			batchErr.Failed(i, err)
		}
	}
	return batchErr
}

// whole is the error of a batch of which some messages failed, or all, that names none: then all of them come again.
func (r *result) whole() error {
	headline := r.headline()
	if r.failed < len(r.batch) {
		headline += "; the others are stored, and are acknowledged when they are delivered again with these"
	}
	return service.NewBatchError(r.batch, errors.New(headline))
}

// plain is true when every message failed and the headline says all there is to say.
func (r *result) plain() bool {
	return r.failed == len(r.batch) && len(r.causes) == 1 && !r.detailed
}

// unreached is true when nothing of the batch is stored and every load that was tried failed because no FE answered. Messages that cannot be
// loaded anyway do not count: they are found again when the batch is.
func (r *result) unreached() bool {
	return r.noFE && !r.answered && r.failed == len(r.batch)
}

// headline begins with the class that all failures have in common. Without one it names none at all: somebody who drops messages on
// "data_quality" must not lose those that failed because no server was up.
func (r *result) headline() string {
	counts := fmt.Sprintf("%d of %d messages were not loaded", r.failed, len(r.batch))
	if r.mixed {
		return mixed + ": " + counts + ", for reasons of several kinds"
	}
	first := r.causes[0]
	text := fmt.Sprintf("%s: %s: %s", first.class, counts, strings.TrimPrefix(first.headline, string(first.class)+": "))
	if n := len(r.causes) - 1 + r.more; n > 0 {
		text += fmt.Sprintf(" (and for %d more reasons of this class)", n)
	}
	return text
}
