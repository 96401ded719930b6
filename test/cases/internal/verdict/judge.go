package verdict

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/dorisload/benthos-doris/test/cases/internal/script"
	"github.com/dorisload/benthos-doris/test/cases/internal/wire"
)

// Judge returns what is wrong with an observation: nothing if it breaks no rule
// that holds for all cases and is as one of the case's expectations says.
func Judge(c script.Case, o Observation) []string {
	wrong := always(c, o)
	var alternatives [][]string
	for _, e := range append([]script.Expectation{c.Expect}, c.Accept...) {
		misses := compare(e, o)
		if len(misses) == 0 {
			return wrong
		}
		alternatives = append(alternatives, misses)
	}
	for i, misses := range alternatives {
		name := "expect"
		if i > 0 {
			name = fmt.Sprintf("accept %d", i)
		}
		for _, miss := range misses {
			wrong = append(wrong, name+": "+miss)
		}
	}
	return wrong
}

// always holds the rules of all cases.
func always(c script.Case, o Observation) []string {
	wrong := append(slices.Clone(o.Problems), o.Traffic.Complaints...)
	for _, secret := range o.secrets() {
		for _, l := range o.Logs {
			if strings.Contains(l.Text, secret) {
				wrong = append(wrong, "the password is in the log: "+l.Text)
			}
		}
		for _, text := range o.texts() {
			if strings.Contains(text, secret) {
				wrong = append(wrong, "the password is in an error: "+text)
			}
		}
	}
	if bytes.Contains(bytes.ToLower(o.Traffic.Trapped), []byte("authorization:")) {
		wrong = append(wrong, "the trap got credentials")
	}
	leftovers := slices.ContainsFunc(c.Script, func(s script.Step) bool { return s.Reply != nil && s.Reply.KeepAliveNoDrain })
	for _, r := range o.Traffic.Requests {
		if r.ToFrontend() && r.Redirected() && r.Unasked > 0 {
			wrong = append(wrong, fmt.Sprintf("%d bytes of the body went to a frontend that redirects, from %q on", r.Unasked, r.UnaskedStart))
		}
		if r.On == wire.OnMalformed && !leftovers {
			wrong = append(wrong, fmt.Sprintf("a request was malformed: %q", r.Target))
		}
	}
	for row, n := range o.durable() {
		if !slices.ContainsFunc(o.Messages, func(m string) bool { return slices.Contains(o.Layout.OfMessage(m), row) }) {
			wrong = append(wrong, fmt.Sprintf("a row is durable %d times that no message stands for: %s", n, shorten(row)))
		}
	}
	return wrong
}

func compare(e script.Expectation, o Observation) []string {
	var misses []string
	miss := func(format string, args ...any) { misses = append(misses, fmt.Sprintf(format, args...)) }

	compareOutcome(e, o, miss)
	compareCounts(e, o, miss)
	compareLabels(e, o, miss)
	compareTexts(e, o, miss)
	compareBodies(e, o, miss)
	compareRows(e, o, miss)
	return misses
}

func compareOutcome(e script.Expectation, o Observation, miss func(string, ...any)) {
	if o.Refused != "" {
		switch {
		case e.Stage != script.StageConfig:
			miss("the configuration was refused: %s", shorten(o.Refused))
		case e.Outcome != script.Nack:
			miss("the configuration was refused in place of the outcome %s: %s", e.Outcome, shorten(o.Refused))
		}
		return
	}
	if e.Outcome == script.Ack && len(o.Errors) > 0 {
		miss("outcome: a write returned an error: %s", shorten(o.Errors[0])) // also of a batch without messages
	}
	for i, messages := range o.Outputs {
		var failed []int
		for j, err := range messages {
			if err != nil {
				failed = append(failed, j)
			}
		}
		var wanted []int
		switch e.Outcome {
		case script.Nack:
			for j := range messages {
				wanted = append(wanted, j)
			}
		case script.Partial:
			wanted = slices.Sorted(slices.Values(e.Failed))
		}
		if !slices.Equal(failed, wanted) {
			miss("outcome of output %d: the messages %v failed, not %v", i, failed, wanted)
		}
	}
}

func compareCounts(e script.Expectation, o Observation, miss func(string, ...any)) {
	count := func(name string, wanted *script.Range, which func(wire.Request) bool) {
		if n := len(o.requests(which)); wanted != nil && !wanted.Has(n) {
			miss("%s: %d, not %v", name, n, *wanted)
		}
	}
	count("loads", e.Loads, func(r wire.Request) bool { return r.ToBackend() && r.Method == "PUT" })
	count("fe_loads", e.FELoads, func(r wire.Request) bool { return r.ToFrontend() && r.Method == "PUT" })
	count("state_polls", e.StatePolls, func(r wire.Request) bool { return r.StatePoll() })
	count("txn_ops", e.TxnOps, func(r wire.Request) bool { return r.On == script.OnTxn })
	if e.MaxRequests != nil && len(o.Traffic.Requests) > *e.MaxRequests {
		miss("max_requests: %d, not %d", len(o.Traffic.Requests), *e.MaxRequests)
	}
	seconds := o.Elapsed.Seconds()
	if e.MinSeconds != nil && seconds < *e.MinSeconds {
		miss("min_seconds: it took %.3f, not %.3f", seconds, *e.MinSeconds)
	}
	if e.MaxSeconds != nil && seconds > *e.MaxSeconds {
		miss("max_seconds: it took %.3f, not %.3f", seconds, *e.MaxSeconds)
	}
}

func compareLabels(e script.Expectation, o Observation, miss func(string, ...any)) {
	var labels []string
	for _, r := range o.loads() {
		labels = append(labels, r.Label)
	}
	distinct := len(slices.Compact(slices.Sorted(slices.Values(labels))))
	missing := slices.Contains(labels, "")
	switch e.Labels {
	case script.LabelsSame:
		if distinct > 1 || missing {
			miss("labels: %q are not the same", labels)
		}
	case script.LabelsDistinct:
		if distinct != len(labels) || missing {
			miss("labels: %q are not distinct", labels)
		}
	case script.LabelsNone:
		if distinct > 1 || distinct == 1 && !missing {
			miss("labels: %q, but there should be none", labels)
		}
	}
}

func compareBodies(e script.Expectation, o Observation, miss func(string, ...any)) {
	bodies := o.bodies()
	for _, text := range e.BodyContains {
		if !slices.ContainsFunc(bodies, func(b string) bool { return strings.Contains(b, text) }) {
			miss("body_contains: no body contains %q", text)
		}
	}
	for _, body := range bodies {
		lines := 0
		for line := range strings.SplitSeq(body, "\n") {
			if strings.TrimSpace(line) != "" {
				lines++
			}
		}
		if e.BodyLines != nil && lines != *e.BodyLines {
			miss("body_lines: %d, not %d: %s", lines, *e.BodyLines, shorten(body))
		}
		if e.BodyNotBOM && strings.HasPrefix(body, "\ufeff") {
			miss("body_not_starts_with_bom: it does")
		}
		if e.BodiesIdentical && body != bodies[0] {
			miss("bodies_identical: %s\nis not %s", shorten(body), shorten(bodies[0]))
		}
	}
	if e.BodyLines != nil && len(bodies) == 0 {
		miss("body_lines: no body was sent")
	}
	if loads := o.loads(); e.BodiesIdentical {
		for _, r := range loads {
			if r.Length != loads[0].Length {
				miss("bodies_identical: a load announced %d bytes, another %d", loads[0].Length, r.Length)
			}
		}
	}
}

// durable counts the durable rows.
func (o Observation) durable() map[string]int {
	count := map[string]int{}
	for _, s := range o.Traffic.Durable {
		for _, row := range o.Layout.OfBody(s.Body) {
			count[row]++
		}
	}
	return count
}

// compareRows counts how often the rows of the messages are durable. Those of
// messages that failed count only where everything failed; in a partial result
// they must not be durable at all, or they would be doubled when they come
// again.
func compareRows(e script.Expectation, o Observation, miss func(string, ...any)) {
	if e.StoredTimes == nil {
		return
	}
	wanted := map[string]int{}
	for i, message := range o.Messages {
		times := *e.StoredTimes * max(len(o.Outputs), 1)
		if e.Outcome == script.Partial && slices.Contains(e.Failed, i) {
			times = 0
		}
		for _, row := range o.Layout.OfMessage(message) {
			wanted[row] += times
		}
	}
	durable := o.durable()
	for row, times := range wanted {
		if durable[row] != times {
			miss("stored_times: a row is durable %d times, not %d: %s", durable[row], times, shorten(row))
		}
	}
}
