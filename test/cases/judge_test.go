package cases

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/cases/internal/script"
	"github.com/dorisload/benthos-doris/test/cases/internal/verdict"
)

// The tests of this file are about the suite itself: that it lets a good client
// pass and a bad one fail.

// little plays a case with the little output.
func little(t *testing.T, c script.Case, f flaw) verdict.Observation {
	t.Helper()
	o, err := littleBench(t, f).run(c)
	require.NoError(t, err)
	return o
}

func littleBench(t *testing.T, f flaw) bench {
	t.Helper()
	env, err := littleEnvironment(outputName, f)
	require.NoError(t, err)
	b := bench{env: env, output: outputName, dir: t.TempDir(), patience: patience}
	if f == deaf {
		b.patience = 3 * time.Second
	}
	return b
}

func TestSoundClientPasses(t *testing.T) {
	t.Parallel()
	cases := allCases(t)
	for _, id := range []string{
		"pt-basic", "rd-fe-follower-chain", "rd-relative-location", "rd-fe-answers-directly", "cn-reset-after-body",
		"rp-truncated-json", "st-failed-word", "au-password-special", "js-nan", "lc-max-in-flight",
		"lf-sanitise-collision", "lf-header-injection", "lc-cancel-while-polling", "le-label-in-metadata-rebatch",
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			steadily(t, func() string {
				c := cases[id]
				o := little(t, c, sound)
				if wrong := verdict.Judge(c, o); len(wrong) > 0 {
					return explain(c, wrong, o)
				}
				return ""
			})
		})
	}
}

func TestFlawedClientsFail(t *testing.T) {
	t.Parallel()
	cases := allCases(t)
	for _, tc := range []struct {
		flaw     flaw
		id, want string
	}{
		{idle, "pt-basic", "loads: 0, not 1"},
		{gloomy, "pt-basic", "outcome of output 0: the messages [0 1] failed"},
		{gullible, "st-failed-word", "outcome of output 0: the messages [] failed, not [0 1]"},
		{hasty, "cn-reset-after-body", "a row is durable 2 times, not 1"},
		{leaky, "pt-basic", "bytes of the body went to a frontend that redirects"},
		{talkative, "pt-basic", "the password is in the log"},
		{indiscreet, "st-failed-word", "the password is in an error"},
		{wasteful, "pt-basic", "a row is durable 0 times, not 1"},
		{doubling, "pt-basic", "a row is durable 2 times, not 1"},
		{anonymous, "au-password-special", "the credentials are not those that are expected"},
		{anonymous, "cn-reset-after-body", "are not the same"},
		{unfair, "js-nan", "the messages [0 1 2] failed, not [1]"},
		{careless, "js-nan", "the others would count as delivered"},
		{deaf, "lc-cancel-while-polling", "a write did not return"},
		{inventive, "pt-basic", "that no message stands for"},
	} {
		t.Run(string(tc.flaw)+"/"+tc.id, func(t *testing.T) {
			t.Parallel()
			steadily(t, func() string {
				c := cases[tc.id]
				o := little(t, c, tc.flaw)
				wrong := verdict.Judge(c, o)
				if !strings.Contains(strings.Join(wrong, "\n"), tc.want) {
					return "the judge does not say: " + tc.want + "\n" + explain(c, wrong, o)
				}
				return ""
			})
		})
	}
}

// A client that does nothing must fail every case; the exceptions are those in
// which nothing is to be done.
func TestDoingNothingIsNotEnough(t *testing.T) {
	t.Parallel()
	exceptions := map[flaw][]string{
		idle:   {"lm-zero-rows", "lf-header-injection"}, // the second refuses its configuration
		gloomy: {"lf-header-injection"},
	}
	for f, allowed := range exceptions {
		for id, c := range allCases(t) {
			t.Run(string(f)+"/"+id, func(t *testing.T) {
				t.Parallel()
				o, err := littleBench(t, f).run(c)
				if err != nil {
					require.ErrorContains(t, err, "has no field")
					return
				}
				require.Equal(t, slices.Contains(allowed, id), len(verdict.Judge(c, o)) == 0)
			})
		}
	}
}

// changes makes each key of an expectation say what is not so of a run of
// pt-basic by the little output.
var changes = map[string]func(*script.Expectation){
	"Outcome":         func(e *script.Expectation) { e.Outcome = script.Nack },
	"Failed":          func(e *script.Expectation) { e.Outcome, e.Failed = script.Partial, []int{1} },
	"Loads":           func(e *script.Expectation) { e.Loads = &script.Range{Min: 2, Max: 3} },
	"FELoads":         func(e *script.Expectation) { e.FELoads = &script.Range{} },
	"Labels":          func(e *script.Expectation) { e.Labels = script.LabelsNone },
	"StatePolls":      func(e *script.Expectation) { e.StatePolls = &script.Range{Min: 1, Max: 9} },
	"TxnOps":          func(e *script.Expectation) { e.TxnOps = &script.Range{Min: 1, Max: 1} },
	"MaxRequests":     func(e *script.Expectation) { e.MaxRequests = new(1) },
	"MinSeconds":      func(e *script.Expectation) { e.MinSeconds = new(60.0) },
	"MaxSeconds":      func(e *script.Expectation) { e.MaxSeconds = new(0.0) },
	"StoredTimes":     func(e *script.Expectation) { e.StoredTimes = new(0) },
	"MessageContains": func(e *script.Expectation) { e.MessageContains = script.Texts{"data quality", "{{LABEL}}"} },
	"MessageAnyOf":    func(e *script.Expectation) { e.MessageAnyOf = [][]string{{"data quality", "x9"}, {"y9"}} },
	"MessageExcludes": func(e *script.Expectation) { e.MessageExcludes = script.Texts{"Data Quality"} },
	"MaxErrorBytes":   func(e *script.Expectation) { e.MaxErrorBytes = new(9) },
	"LogContains":     func(e *script.Expectation) { e.LogContains = script.Texts{"is now active"} }, // logged, but no warning
	"LogExcludes":     func(e *script.Expectation) { e.LogExcludes = script.Texts{"{{USER}} is here"} },
	"BodyContains":    func(e *script.Expectation) { e.BodyContains = script.Texts{"nowhere"} },
	"BodyLines":       func(e *script.Expectation) { e.BodyLines = new(1) },
	"BodyNotBOM":      func(e *script.Expectation) { e.BodyNotBOM = true },
	"BodiesIdentical": func(e *script.Expectation) { e.BodiesIdentical = true },
}

// Every key of an expectation is looked at: a run that passes fails as soon as
// any one of them says something else.
func TestEveryExpectationCounts(t *testing.T) {
	t.Parallel()
	c := allCases(t)["pt-basic"]
	o := little(t, c, sound)
	require.Empty(t, verdict.Judge(c, o), o.String())

	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, o := c, o
			switch name {
			case "MessageContains", "MessageAnyOf", "MessageExcludes", "MaxErrorBytes":
				c.Expect.Outcome = script.Nack
				o.Errors = []string{"an error of the kind DATA_QUALITY"}
				o.Outputs = [][]error{{errors.New("a"), errors.New("b")}}
			case "LogExcludes":
				o.Logs = append(slices.Clone(o.Logs), verdict.LogLine{Level: 8, Text: "loader is here"})
			case "BodyNotBOM", "BodiesIdentical":
				o.Traffic.Requests = slices.Clone(o.Traffic.Requests)
				bom := o.Traffic.Requests[1]
				bom.Body = []byte("\ufeff{}")
				o.Traffic.Requests = append(o.Traffic.Requests, bom)
				c.Expect.Loads, c.Expect.Labels = nil, ""
			}
			require.Empty(t, verdict.Judge(c, o))
			change(&c.Expect)
			require.NotEmpty(t, verdict.Judge(c, o))
			c.Accept = []script.Expectation{{Outcome: script.Ack}, {Outcome: script.Nack}}
			require.Empty(t, verdict.Judge(c, o), "an alternative is as good")
		})
	}
}

func TestNoExpectationIsForgotten(t *testing.T) {
	t.Parallel()
	elsewhere := []string{"Stage", "Batches", "Parallel", "CarryMetadataFrom"} // how messages are written, and refusals
	for field := range reflect.TypeFor[script.Expectation]().Fields() {
		if !slices.Contains(elsewhere, field.Name) {
			require.Contains(t, changes, field.Name)
		}
	}
}

func TestRefusedConfigurations(t *testing.T) {
	t.Parallel()
	c := allCases(t)["lf-header-injection"]
	o := little(t, c, sound)
	require.Contains(t, o.Refused, "label_prefix holds a line end")
	require.Empty(t, verdict.Judge(c, o), "the case accepts that")

	c.Accept = nil
	require.Contains(t, strings.Join(verdict.Judge(c, o), "\n"), "the configuration was refused")

	c.Config = map[string]any{"no_such_field": 1}
	_, err := littleBench(t, sound).run(c)
	require.ErrorContains(t, err, "the output has no field no_such_field", "a field that is not there is no refusal")
}
