package output

import (
	"errors"
	"fmt"

	"github.com/redpanda-data/benthos/v4/public/service"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/streamload/decide"
)

// group is what becomes one load: the messages of a batch that go to one table, or a single one where each is a whole body.
type group struct {
	streamload.Batch
	// indices are the places of the rows in the batch.
	indices []int
	// buffer is where both have room, nil if they have their own. unused is true when the client does not look at the rows any more.
	buffer *buffer
	unused bool
}

// isNoName is true for what an expression gives when it finds nothing: Benthos makes the text "null" of a field or a metadata key
// that a message does not have.
func isNoName(s string) bool { return s == "" || s == "null" }

// route sorts the messages of a batch by table, in the order in which the tables first appear. Messages that have no table or no row are
// failed by themselves.
func (o *output) route(batch service.MessageBatch, res *result) []*group {
	database, table := o.evaluator(batch, o.conf.database), o.evaluator(batch, o.conf.table)
	type target struct{ database, table string }
	byTarget := map[target]*group{}
	var groups []*group
	var last *group
	row := o.rows(batch)
	for i := range batch {
		var to target
		var err error
		if to.database, err = database(i); err != nil {
			res.fail(i, decide.NotFound, "the database of the message", err)
			continue
		}
		if to.table, err = table(i); err != nil {
			res.fail(i, decide.NotFound, "the table of the message", err)
			continue
		}
		r, subject, err := row(i)
		if err != nil {
			res.fail(i, decide.DataQuality, subject, err)
			continue
		}
		g := last
		if g == nil || g.Database != to.database || g.Table != to.table {
			g = byTarget[to]
		}
		if o.conf.alone {
			g = nil
		}
		if g == nil {
			g = &group{Batch: streamload.Batch{Database: to.database, Table: to.table, Whole: o.whole}}
			if len(groups) == 0 && !o.conf.alone { // mostly the only one
				g.buffer = newBuffer(len(batch))
				g.Rows, g.indices = g.buffer.rows, g.buffer.indices
			}
			byTarget[to] = g
			groups = append(groups, g)
		}
		g.Rows, g.indices = append(g.Rows, r), append(g.indices, i)
		last = g
	}
	if o.conf.label != nil {
		groups = o.identify(batch, groups, res)
	}
	res.groups = groups
	return groups
}

// rows gives the row of the i-th message of a batch, with what to call it when it has none.
func (o *output) rows(batch service.MessageBatch) func(i int) (row []byte, subject string, err error) {
	if o.conf.cells == nil {
		return func(i int) ([]byte, string, error) {
			row, err := rowOf(batch[i])
			return row, "the content of the message", err
		}
	}
	cells := o.conf.cells.of(batch)
	return func(i int) ([]byte, string, error) {
		row, err := cells.row(i)
		return row, "csv_mapping of the message", err
	}
}

// evaluator gives the value of an expression for the i-th message of a batch.
func (o *output) evaluator(batch service.MessageBatch, expr *service.InterpolatedString) func(i int) (string, error) {
	if name, static := expr.Static(); static {
		return func(int) (string, error) { return name, nil } // checked by the constructor
	}
	exec := batch.InterpolationExecutor(expr)
	return func(i int) (string, error) { return evaluate(exec, i) }
}

func evaluate(exec *service.MessageBatchInterpolationExecutor, i int) (string, error) {
	name, err := exec.TryString(i)
	switch {
	case err != nil:
		// Only the text: whatever error an expression makes must not tell Benthos something of its own.
		return "", quoting{"cannot be worked out", err.Error()}
	case isNoName(name):
		return "", fmt.Errorf("is %q", name)
	}
	return name, nil
}

// identify works out the identity of each load over its own messages, at the first of them. They are what is delivered again
// when the load fails, without the messages of other tables, so this is the view that stays the same.
func (o *output) identify(batch service.MessageBatch, groups []*group, res *result) []*group {
	kept := groups[:0]
	for _, g := range groups {
		own := batch
		if len(g.indices) < len(batch) {
			own = make(service.MessageBatch, len(g.indices))
			for k, i := range g.indices {
				own[k] = batch[i]
			}
		}
		id, err := evaluate(own.InterpolationExecutor(o.conf.label), 0)
		if err != nil {
			for _, i := range g.indices {
				res.fail(i, decide.LabelTaken, "the label of the batch", err)
			}
			continue
		}
		g.Identity = id
		kept = append(kept, g)
	}
	return kept
}

// rowOf is the content of a message. It must be called from one goroutine at a time for each message, since Benthos keeps the bytes
// that it makes of a structured message.
func rowOf(msg *service.Message) ([]byte, error) {
	made := !msg.HasBytes()
	row, err := msg.AsBytes()
	switch {
	case err != nil:
		return nil, quoting{"cannot be read", err.Error()}
	case made && len(row) == 0:
		// Benthos gives no error for this.
		return nil, errors.New("cannot be written as JSON")
	}
	return row, nil
}
