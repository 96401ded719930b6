package cases

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"github.com/dorisload/benthos-doris/test/cases/internal/script"
	"github.com/dorisload/benthos-doris/test/cases/internal/verdict"
	"github.com/dorisload/benthos-doris/test/cases/internal/wire"
)

// patience is how long writes, and then the shutdown, may take before a case is
// given up.
const patience = 30 * time.Second

// bench is where a case is played: the output of this name in this environment.
type bench struct {
	env      *service.Environment
	output   string
	dir      string // for the certificate of the servers
	patience time.Duration
}

// readCases reads the case file.
func readCases(path string) ([]script.Case, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return script.Read(bytes.NewReader(text))
}

// run plays a case and returns what could be seen. An error means that the case
// could not be played at all.
func (b bench) run(c script.Case) (verdict.Observation, error) {
	o := verdict.Observation{Layout: layout(c), User: "loader", Password: "pw" + rand.Text()}
	if given, ok := c.Config["username"].(string); ok {
		o.User = given
	}
	if given, ok := c.Config["password"].(string); ok {
		o.Password = given
	}
	cluster, err := wire.Start(c.Script, wire.Options{
		User: o.User, Password: o.Password, StarRocks: c.StarRocks(),
		CountRows: func(body []byte) int { return len(o.Layout.OfBody(body)) },
	})
	if err != nil {
		return o, err
	}
	defer cluster.Close()
	o.Expand = cluster.Expand
	for _, message := range c.Input {
		expanded, err := cluster.Expand(message)
		if err != nil {
			return o, err
		}
		o.Messages = append(o.Messages, expanded)
	}
	authority := filepath.Join(b.dir, "authority.pem")
	if err := os.WriteFile(authority, []byte(cluster.AuthorityPEM()), 0o600); err != nil {
		return o, err
	}
	configs, err := outputs(c, o.Password, authority, cluster.Expand)
	if err != nil {
		return o, err
	}
	names, err := spec(b.env, b.output)
	if err != nil {
		return o, err
	}

	var logs logbook
	p := &pipeline{interrupted: cluster.Interrupted(), patience: b.patience}
	refused, err := p.build(b, configs, names, &logs)
	switch {
	case err != nil:
		return o, err
	case refused != nil:
		o.Refused = refused.Error()
	default:
		p.play(c, &o)
	}
	o.Problems = append(o.Problems, p.close()...)
	o.Logs = logs.all()
	o.Traffic = cluster.Traffic()
	return o, nil
}

// pipeline holds the outputs of a case as resources of Benthos: their batches
// go in as they are, and the resources can be stopped hard.
type pipeline struct {
	outputs     []*service.ResourceOutput
	stop        func(context.Context) error
	interrupted <-chan struct{}
	patience    time.Duration
}

// build makes the outputs. The first error is the refusal of a configuration,
// by the linter or by the output itself.
func (p *pipeline) build(b bench, configs []fields, names map[string]bool, logs *logbook) (refused, err error) {
	builder := b.env.NewResourceBuilder()
	builder.SetLogger(slog.New(logs.handler()))
	for i, f := range configs {
		if err := f.known(names); err != nil {
			return nil, err
		}
		config, err := json.Marshal(map[string]any{"label": resource(i), b.output: f}) // JSON is YAML too
		if err != nil {
			return nil, err
		}
		if err := builder.AddOutputYAML(string(config)); err != nil {
			return err, nil
		}
	}
	resources, stop, err := builder.Build()
	if err != nil {
		return err, nil
	}
	p.stop = stop
	for i := range configs {
		err := resources.AccessOutput(context.Background(), resource(i), func(o *service.ResourceOutput) {
			p.outputs = append(p.outputs, o)
		})
		if err != nil {
			return err, nil
		}
	}
	return nil, nil
}

func resource(i int) string { return "case_output_" + strconv.Itoa(i) }

// play writes the messages of the case to all outputs at the same time.
func (p *pipeline) play(c script.Case, o *verdict.Observation) {
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-p.interrupted:
			// With no time left, stopping ends the context of what is in flight.
			gone, cancel := context.WithCancel(context.Background())
			cancel()
			_ = p.stop(gone)
		case <-ended:
		}
	}()

	writers := make([]*writer, len(p.outputs))
	var wg sync.WaitGroup
	began := time.Now()
	for i, out := range p.outputs {
		writers[i] = newWriter(out, c, o.Messages)
		wg.Go(writers[i].writeAll)
	}
	finished := make(chan struct{})
	go func() { wg.Wait(); close(finished) }()
	select {
	case <-finished:
	case <-time.After(p.patience):
		o.Problems = append(o.Problems, fmt.Sprintf("a write did not return within %v", p.patience))
	}
	o.Elapsed = time.Since(began)
	for _, w := range writers {
		w.report(o)
	}
}

// close stops the outputs and waits for them.
func (p *pipeline) close() []string {
	if p.stop == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.patience)
	defer cancel()
	if err := p.stop(ctx); err != nil {
		return []string{fmt.Sprintf("the output did not close: %v", err)}
	}
	return nil
}

// writer writes the batches of a case to one output and keeps the results.
type writer struct {
	out   *service.ResourceOutput
	plan  script.Expectation
	input []string

	mu       sync.Mutex
	sent     []*service.Message
	errs     []error
	texts    []string
	problems []string
}

func newWriter(out *service.ResourceOutput, c script.Case, messages []string) *writer {
	w := &writer{out: out, plan: c.Expect, input: messages, errs: make([]error, len(messages)), sent: make([]*service.Message, len(messages))}
	if len(w.plan.Batches) == 0 {
		all := make([]int, len(messages))
		for i := range all {
			all[i] = i
		}
		w.plan.Batches = [][]int{all}
	}
	return w
}

func (w *writer) writeAll() {
	var wg sync.WaitGroup
	for n, indexes := range w.plan.Batches {
		batch := w.batch(n, indexes)
		if !w.plan.Parallel {
			w.write(batch, indexes)
			continue
		}
		wg.Go(func() { w.write(batch, indexes) })
	}
	wg.Wait()
}

// batch makes the messages of a batch. It is made just before it is written, so
// that a message that is a copy of an earlier one has all that the output left
// in that.
func (w *writer) batch(n int, indexes []int) service.MessageBatch {
	batch := make(service.MessageBatch, len(indexes))
	for i, index := range indexes {
		m := service.NewMessage(nil)
		if from, ok := w.plan.CarryMetadataFrom[strconv.Itoa(index)]; ok && w.sent[from] != nil {
			m = w.sent[from].Copy()
		}
		m.SetBytes([]byte(w.input[index]))
		m.MetaSetMut(metadataKey, n)
		batch[i], w.sent[index] = m, m
	}
	return batch
}

func (w *writer) write(batch service.MessageBatch, indexes []int) {
	indexer := batch.Index()
	err := w.out.WriteBatch(context.Background(), batch)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		return
	}
	w.texts = append(w.texts, err.Error())
	var partial *service.BatchError
	if !errors.As(err, &partial) {
		for _, index := range indexes {
			w.errs[index] = err
		}
		return
	}
	told := 0
	partial.WalkMessagesIndexedBy(indexer, func(i int, _ *service.Message, err error) bool {
		told++
		if err != nil {
			w.errs[indexes[i]] = err
			w.texts = append(w.texts, err.Error())
		}
		return true
	})
	if told != len(batch) {
		w.problems = append(w.problems, fmt.Sprintf(
			"the batch error tells of %d messages where %d were written: the others would count as delivered", told, len(batch)))
	}
}

func (w *writer) report(o *verdict.Observation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o.Outputs = append(o.Outputs, append([]error(nil), w.errs...))
	o.Errors = append(o.Errors, w.texts...)
	o.Problems = append(o.Problems, w.problems...)
}

// explain is the report of a case that failed.
func explain(c script.Case, wrong []string, o verdict.Observation) string {
	return fmt.Sprintf("%s\nthe rule: %s\n\n- %s\n\nwhat happened:\n%s", c.Title, c.Must, strings.Join(wrong, "\n- "), o)
}
