package stream

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// An input that replays sends again what was nacked, and only that.
func TestRedeliveryAfterAFailureStoresNothingTwice(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]emulator.Fault{
		"too many versions": {At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions, Times: 3},
		"txn limit":         {At: emulator.BEBegin, Do: emulator.TxnLimit, Times: 3},
		"no backend":        {At: emulator.FERedirect, Do: emulator.NoBackend, Times: 3},
		"HTTP 503 of an FE": {At: emulator.FEBeforeAnswer, Do: emulator.HTTP, Status: 503, Times: 3},
		"aborted and lost":  {At: emulator.BEBeforeCommit, Do: emulator.Reset, Times: 1},
		"Fail, committed":   {At: emulator.BEAfterCommit, Do: emulator.Fail, Times: 3},
		"lost, committed":   {At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := with(t, fault)
			// Not from a file: that input of Benthos forgets what is nacked once it has reached the end of the file.
			newPipeline(t, `
input:
  generate:
    count: 60
    interval: ""
    mapping: root.id = counter()
output:
`+c.output("max_retries: -1", "batching: { count: 20, period: 20ms }")).run()
			require.Equal(t, ids(60), c.stored("orders"))
		})
	}
}

// With a label a load that was committed without anybody knowing is found again by it, also by another process.
func TestRedeliveryOfAnUnresolvedLoadWithALabel(t *testing.T) {
	t.Parallel()
	c := with(t,
		emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 1},
		emulator.Fault{At: emulator.StateQuery, Do: emulator.HTTP, Status: 403, Times: 1},
	)
	yaml := "output:\n" + c.output(`label: '${! @position }'`)
	batch := func() service.MessageBatch {
		var b service.MessageBatch
		for _, id := range ids(10) {
			m := service.NewMessage([]byte(order(id)))
			m.MetaSetMut("position", "orders-0-4711")
			b = append(b, m)
		}
		return b
	}
	require.ErrorContains(t, feed(t, yaml, batch()), "outcome unknown")
	require.Equal(t, ids(10), c.stored("orders"))
	require.NoError(t, feed(t, yaml, batch()))
	require.Equal(t, ids(10), c.stored("orders"))
	loads := c.Loads()
	require.Len(t, loads, 2)
	require.Equal(t, loads[0].Label, loads[1].Label)
	require.Contains(t, loads[0].Label, "_orders-0-4711_")
}

// gate stops loads at one point until it is opened.
type gate struct {
	at      emulator.Point
	reached chan string
	open    chan struct{}
}

func newGate(at emulator.Point) *gate {
	return &gate{at: at, reached: make(chan string, 1000), open: make(chan struct{})}
}

func (g *gate) Inject(ctx context.Context, e emulator.Exchange) (emulator.Fault, bool) {
	if e.Point == g.at {
		g.reached <- e.Label
		select {
		case <-g.open:
		case <-ctx.Done():
		}
	}
	return emulator.Fault{}, false
}

func TestLoadsAtTheSameTimeAreBounded(t *testing.T) {
	t.Parallel()
	g := newGate(emulator.BEBeforeCommit)
	c := newCluster(t, emulator.Options{Injector: g})
	// Nothing else is joined here: each line goes to a load while there is one.
	p := newPipeline(t, fromFile(linesOf(t, 40))+"output:\n"+c.output("max_in_flight: 5", "max_load_rows: 1"))
	s := p.start(t.Context())
	labels := map[string]bool{}
	for range 5 {
		labels[wait(t, g.reached)] = true
	}
	require.Len(t, labels, 5)
	require.Len(t, c.LoadsAtBE(), 5, "no more than five are on their way")
	close(g.open)
	require.NoError(t, s.wait())
	require.Equal(t, ids(40), c.stored("orders"))
}

// LoadsAtBE are the labels of the loads that have reached a BE.
func (c *cluster) LoadsAtBE() (labels []string) {
	for _, r := range c.Requests() {
		if r.Method == "PUT" && strings.HasPrefix(r.Server, "be") {
			labels = append(labels, r.Header.Get("Label"))
		}
	}
	return labels
}

// acks are the ids of messages by what their producer was told.
type acks struct {
	acked, failed []int
}

// produce sends messages one by one until the pipeline takes no more. It returns when it does not.
func produce(ctx context.Context, send service.MessageHandlerFunc, stop <-chan struct{}) <-chan acks {
	out := make(chan acks, 1)
	go func() {
		var a acks
		for id := 1; ; id++ {
			select {
			case <-stop:
				out <- a
				return
			default:
			}
			if err := send(ctx, service.NewMessage([]byte(order(id)))); err != nil {
				a.failed = append(a.failed, id)
			} else {
				a.acked = append(a.acked, id)
			}
		}
	}()
	return out
}

func TestGracefulStopKeepsEveryAck(t *testing.T) {
	t.Parallel()
	c := with(t)
	p := newPipeline(t, `
input:
  generate:
    interval: 1ms
    mapping: root.id = counter()
output:
`+c.output("batching: { count: 10, period: 2ms }"))
	s := p.start(t.Context())
	eventually(t, func() bool { return c.Count(db, "orders") > 50 })
	require.NoError(t, s.StopWithin(ended))
	require.NoError(t, s.wait())
	got := c.stored("orders")
	require.Equal(t, ids(len(got)), got, "every message that was generated is stored, once")
}

func TestStopWaitsForALoadOnItsWay(t *testing.T) {
	t.Parallel()
	g := newGate(emulator.BEBeforeCommit)
	c := newCluster(t, emulator.Options{Injector: g})
	p := newPipeline(t, `
input:
  generate:
    count: 1
    interval: ""
    mapping: root.id = counter()
output:
`+c.output())
	s := p.start(t.Context())
	wait(t, g.reached)
	stopped := make(chan error, 1)
	go func() { stopped <- s.StopWithin(ended) }()
	close(g.open)
	require.NoError(t, wait(t, stopped))
	require.NoError(t, s.wait())
	require.Equal(t, ids(1), c.stored("orders"))
}

// A hard stop, while a BE is silent, ends soon; what is not acked was said to have failed, and the label is named.
func TestHardStopWhileABEIsSilent(t *testing.T) {
	t.Parallel()
	c := with(t, emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Hang, Keep: true})
	p := newPipeline(t, "output:\n"+c.output())
	send, err := p.b.AddProducerFunc()
	require.NoError(t, err)
	s := p.start(t.Context())
	result := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { result <- send(ctx, service.NewMessage([]byte(order(1)))) }()
	eventually(t, func() bool { return len(c.LoadsAtBE()) == 1 })
	label := c.LoadsAtBE()[0]
	began := time.Now()
	_ = s.StopWithin(400 * time.Millisecond) // it says that it was not graceful, or nothing
	require.Less(t, time.Since(began), 20*time.Second)
	_ = s.wait()
	cancel() // a stream that is stopped hard may leave its producers without an answer
	require.Error(t, wait(t, result), "nothing was acked")
	eventually(t, func() bool { return strings.Contains(p.logs.String(), label) })
	require.Len(t, c.LoadsAtBE(), 1, "nothing more is sent")
	require.Empty(t, c.stored("orders"))
}

func TestStopInTheMiddleOfATrickle(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string][]emulator.Fault{
		"all is well":   nil,
		"answers lost":  {{At: emulator.BEAfterCommit, Do: emulator.Reset, Probability: 0.3}},
		"loads aborted": {{At: emulator.BEBeforeCommit, Do: emulator.TooManyVersions, Probability: 0.3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := with(t, faults...)
			p := newPipeline(t, "output:\n"+c.output("max_retries: 50"))
			send, err := p.b.AddProducerFunc()
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := p.start(t.Context())
			stop := make(chan struct{})
			done := produce(ctx, send, stop)
			eventually(t, func() bool { return c.Count(db, "orders") > 30 })
			close(stop)
			a := wait(t, done)
			require.NoError(t, s.StopWithin(ended))
			require.NoError(t, s.wait())
			require.Empty(t, a.failed)
			require.Equal(t, a.acked, c.stored("orders"))
		})
	}
}

// Whatever goes wrong, the password is in no line of the log and in no error.
func TestNoSecretInAnyLogLine(t *testing.T) {
	t.Parallel()
	lie := fmt.Sprintf("http://%s:%s@127.0.0.1:1/x", user, password)
	for name, fault := range map[string]emulator.Fault{
		"no fault":                   {At: emulator.CancelCall, Do: emulator.Reset},
		"dead BE":                    {At: emulator.FERedirect, Do: emulator.DeadBE},
		"no BE":                      {At: emulator.FERedirect, Do: emulator.NoBackend},
		"reset by the FE":            {At: emulator.FEBeforeAnswer, Do: emulator.Reset},
		"reset by the BE":            {At: emulator.BEBody, Do: emulator.Reset},
		"a message with credentials": {At: emulator.BEAnswer, Do: emulator.Fail, Message: "[INTERNAL_ERROR]cannot reach " + lie},
		"HTML with credentials":      {At: emulator.BEAnswer, Do: emulator.HTTP, Status: 502, Body: "<html>" + lie + "</html>"},
		"an FE's credentials":        {At: emulator.FERedirect, Do: emulator.Fail, Message: "redirect url: " + lie},
		"a state with credentials":   {At: emulator.BEAfterCommit, Do: emulator.Reset},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := with(t, fault, emulator.Fault{At: emulator.StateQuery, Do: emulator.Fail, Message: "look at " + lie})
			p := newPipeline(t, "output:\n"+c.output("max_retries: 1", "label_poll: { initial_interval: 1ms, max_interval: 2ms, max_elapsed_time: 10ms }"))
			send, err := p.b.AddProducerFunc()
			require.NoError(t, err)
			s := p.start(t.Context())
			ctx, cancel := context.WithTimeout(t.Context(), ended)
			defer cancel()
			if err := send(ctx, service.NewMessage([]byte(order(1)))); err != nil {
				requireNoSecrets(t, err.Error())
			}
			require.NoError(t, s.StopWithin(ended))
			require.NoError(t, s.wait())
			require.Contains(t, p.logs.String(), "doris_stream_load")
			requireNoSecrets(t, p.logs.String())
		})
	}
	t.Run("wrong password", func(t *testing.T) {
		t.Parallel()
		c := with(t)
		p := newPipeline(t, "output:\n"+c.output("username: somebody", "max_retries: 1"))
		send, err := p.b.AddProducerFunc()
		require.NoError(t, err)
		s := p.start(t.Context())
		err = send(t.Context(), service.NewMessage([]byte(order(1))))
		require.ErrorContains(t, err, "auth: ")
		requireNoSecrets(t, err.Error())
		require.NoError(t, s.StopWithin(ended))
		require.NoError(t, s.wait())
	})
}
