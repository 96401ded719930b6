package verdict

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/cases/internal/rows"
	"github.com/dorisload/benthos-doris/test/cases/internal/script"
	"github.com/dorisload/benthos-doris/test/cases/internal/wire"
)

// backend is a load that reached a backend.
func backend(label, body string) wire.Request {
	return wire.Request{
		Server: wire.BE, On: script.OnBELoad, Method: "PUT", Label: label,
		Body: []byte(body), BodyComplete: true, Length: int64(len(body)),
	}
}

func observed(messages []string, change func(*Observation)) Observation {
	o := Observation{
		Layout: rows.Layout{Format: "json"}, Messages: messages, Outputs: [][]error{make([]error, len(messages))},
		Expand: func(text string) (string, error) { return text, nil },
		User:   "loader", Password: "p/w",
	}
	change(&o)
	return o
}

func TestLabels(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		demand string
		labels []string
		holds  bool
	}{
		{script.LabelsSame, nil, true},
		{script.LabelsSame, []string{"a", "a"}, true},
		{script.LabelsSame, []string{"a", "b"}, false},
		{script.LabelsSame, []string{"", ""}, false},
		{script.LabelsDistinct, nil, true},
		{script.LabelsDistinct, []string{"a", "b"}, true},
		{script.LabelsDistinct, []string{"a", "b", "a"}, false},
		{script.LabelsDistinct, []string{"a", ""}, false},
		{script.LabelsNone, nil, true},
		{script.LabelsNone, []string{"", ""}, true},
		{script.LabelsNone, []string{"", "a"}, false},
		{script.LabelsNone, []string{"a"}, false},
		{script.LabelsAny, []string{"", "a", "a"}, true},
	} {
		t.Run(tc.demand+" "+strings.Join(tc.labels, "-"), func(t *testing.T) {
			t.Parallel()
			o := observed(nil, func(o *Observation) {
				for _, l := range tc.labels {
					o.Traffic.Requests = append(o.Traffic.Requests, backend(l, ""))
				}
			})
			wrong := Judge(script.Case{Expect: script.Expectation{Outcome: script.Ack, Labels: tc.demand}}, o)
			require.Equal(t, tc.holds, len(wrong) == 0, wrong)
		})
	}
}

func TestRowsAreCounted(t *testing.T) {
	t.Parallel()
	messages := []string{`{"id":1}`, `{"id":2}`}
	bad := errors.New("bad")
	for _, tc := range []struct {
		name    string
		expect  script.Expectation
		errs    []error
		durable []string
		holds   bool
	}{
		{"all", script.Expectation{Outcome: script.Ack, StoredTimes: new(1)}, []error{nil, nil}, []string{"{\"id\":1}\n{\"id\":2}"}, true},
		{"in two loads", script.Expectation{Outcome: script.Ack, StoredTimes: new(1)}, []error{nil, nil}, []string{`{"id":1}`, `{"id":2}`}, true},
		{"one lost", script.Expectation{Outcome: script.Ack, StoredTimes: new(1)}, []error{nil, nil}, []string{`{"id":1}`}, false},
		{"one doubled", script.Expectation{Outcome: script.Ack, StoredTimes: new(1)}, []error{nil, nil}, []string{`{"id":1}`, "{\"id\":1}\n{\"id\":2}"}, false},
		{"nothing demanded", script.Expectation{Outcome: script.Ack}, []error{nil, nil}, nil, true},
		{"but nothing invented", script.Expectation{Outcome: script.Ack}, []error{nil, nil}, []string{`{"id":3}`}, false},
		{"failed and not durable", script.Expectation{Outcome: script.Nack, StoredTimes: new(0)}, []error{bad, bad}, nil, true},
		{"failed and durable", script.Expectation{Outcome: script.Nack, StoredTimes: new(0)}, []error{bad, bad}, []string{`{"id":2}`}, false},
		{"durable although failed", script.Expectation{Outcome: script.Nack, StoredTimes: new(1)}, []error{bad, bad}, []string{"{\"id\":1}\n{\"id\":2}"}, true},
		{"partial", script.Expectation{Outcome: script.Partial, Failed: []int{1}, StoredTimes: new(1)}, []error{nil, bad}, []string{`{"id":1}`}, true},
		{"failed row of a partial result", script.Expectation{Outcome: script.Partial, Failed: []int{1}, StoredTimes: new(1)}, []error{nil, bad}, []string{"{\"id\":1}\n{\"id\":2}"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			o := observed(messages, func(o *Observation) {
				o.Outputs = [][]error{tc.errs}
				for _, body := range tc.durable {
					o.Traffic.Durable = append(o.Traffic.Durable, wire.Stored{Body: []byte(body)})
				}
			})
			wrong := Judge(script.Case{Expect: tc.expect}, o)
			require.Equal(t, tc.holds, len(wrong) == 0, wrong)
		})
	}
}

func TestRulesOfAllCases(t *testing.T) {
	t.Parallel()
	logged := func(text string) func(*Observation) {
		return func(o *Observation) { o.Logs = []LogLine{{Level: slog.LevelDebug, Text: text}} }
	}
	for _, tc := range []struct {
		name, want string
		change     func(*Observation)
	}{
		{"nothing", "", func(*Observation) {}},
		{"password in the log", "in the log", logged("as loader:p/w")},
		{"password in a logged URL", "in the log", logged("http://loader:p%2Fw@x")},
		{"password in a logged header", "in the log", logged("Basic bG9hZGVyOnAvdw==")},
		{"password in an error", "in an error", func(o *Observation) { o.Errors = []string{"p/w"} }},
		{"password in a refusal", "in an error", func(o *Observation) { o.Refused = "p/w" }},
		{"harmless trap", "", func(o *Observation) { o.Traffic.Trapped = []byte("GET /") }},
		{"trap with credentials", "the trap got credentials", func(o *Observation) { o.Traffic.Trapped = []byte("Authorization: x") }},
		{"missed test", "step 1 expects", func(o *Observation) { o.Traffic.Complaints = []string{"step 1 expects"} }},
		{"broken contract", "did not close", func(o *Observation) { o.Problems = []string{"did not close"} }},
		{"malformed request", "malformed", func(o *Observation) {
			o.Traffic.Requests = []wire.Request{{On: wire.OnMalformed, Target: "}{"}}
		}},
		{"body to a frontend that redirects", "39 bytes of the body", func(o *Observation) {
			o.Traffic.Requests = []wire.Request{{On: script.OnFELoad, Answer: "307 ", Unasked: 39}}
		}},
		{"body to a frontend that refuses", "", func(o *Observation) {
			o.Traffic.Requests = []wire.Request{{On: script.OnFELoad, Answer: "503 ", Unasked: 39}}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := script.Case{Expect: script.Expectation{Outcome: script.Ack}}
			if tc.want == "in an error" {
				c.Expect = script.Expectation{Outcome: script.Nack, Stage: script.StageConfig}
			}
			wrong := strings.Join(Judge(c, observed(nil, tc.change)), "\n")
			if tc.want == "" {
				require.Empty(t, wrong)
				return
			}
			require.Contains(t, wrong, tc.want)
		})
	}
}
