package script

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// The kinds of requests that a step can answer. A step on fe_path:/prefix
// answers loads below that prefix at the FE.
const (
	OnFELoad    = "fe_load"
	OnFE2Load   = "fe2_load"
	OnFETLSLoad = "fe_load_tls"
	OnBELoad    = "be_load"
	OnBE2Load   = "be2_load"
	OnState     = "state"
	OnState2    = "state2"
	OnTxn       = "txn"
	OnErrorURL  = "error_url"
	OnFEPath    = "fe_path:"
)

// The ways in which a server can fail a request.
const (
	FaultRefuse            = "refuse_connection"
	FaultResetAfterHeaders = "reset_after_headers"
	FaultResetAfterBody    = "reset_after_body"
	FaultCloseOnReuse      = "close_on_reuse"
	FaultHang              = "hang_until_client_timeout"
	FaultStall             = "stall_reading_body"
	FaultRedirectReset     = "send_307_then_reset_while_reading_body"
	FaultSendRaw           = "send_raw"
)

var (
	requestKinds = []string{
		OnFELoad, OnFE2Load, OnFETLSLoad, OnBELoad, OnBE2Load, OnState, OnState2, OnTxn, OnErrorURL,
	}
	faults = []string{
		FaultRefuse, FaultResetAfterHeaders, FaultResetAfterBody, FaultCloseOnReuse, FaultHang, FaultStall,
		FaultRedirectReset, FaultSendRaw,
	}
	outcomes = []string{Ack, Nack, Partial}
	labelSet = []string{"", LabelsSame, LabelsDistinct, LabelsNone, LabelsAny}
)

// Read reads a case file: one JSON object a line. A key that is not known, a
// value of the wrong shape or an id that occurs twice is an error, so that
// nothing in a case is passed over in silence.
func Read(r io.Reader) ([]Case, error) {
	var cases []Case
	seen := map[string]bool{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var c Case
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&c); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("line %d: case %q: %w", n, c.ID, err)
		}
		if seen[c.ID] {
			return nil, fmt.Errorf("line %d: case %q is there twice", n, c.ID)
		}
		seen[c.ID] = true
		cases = append(cases, c)
	}
	return cases, lines.Err()
}

func (c Case) check() error {
	if c.ID == "" || c.Kind == "" {
		return errors.New("id or kind is missing")
	}
	var problems []error
	for i, s := range c.Script {
		if err := s.check(); err != nil {
			problems = append(problems, fmt.Errorf("step %d: %w", i, err))
		}
	}
	for i, e := range append([]Expectation{c.Expect}, c.Accept...) {
		if err := e.check(len(c.Input)); err != nil {
			problems = append(problems, fmt.Errorf("expectation %d: %w", i, err))
		}
	}
	return errors.Join(problems...)
}

func (s Step) check() error {
	if !slices.Contains(requestKinds, s.On) && !strings.HasPrefix(s.On, OnFEPath+"/") {
		return fmt.Errorf("there is no request of the kind %q", s.On)
	}
	if s.Times == 0 || s.Times < -1 {
		return fmt.Errorf("times is %d", s.Times)
	}
	if s.Fault == "" && s.Reply == nil {
		return errors.New("neither reply nor fault")
	}
	if s.Fault != "" && !slices.Contains(faults, s.Fault) {
		return fmt.Errorf("there is no fault %q", s.Fault)
	}
	if s.Reply != nil {
		if s.Reply.Status < 200 || s.Reply.Status > 599 {
			return fmt.Errorf("status %d", s.Reply.Status)
		}
		if s.Reply.BodyEncoding != "" && s.Reply.BodyEncoding != "gzip" {
			return fmt.Errorf("body_encoding %q", s.Reply.BodyEncoding)
		}
	}
	for _, t := range []Tests{s.When, s.Check} {
		if err := t.check(); err != nil {
			return err
		}
	}
	return nil
}

func (t Tests) check() error {
	if _, err := hex.DecodeString(t.BodyEqualsHex); err != nil {
		return fmt.Errorf("body_equals_hex: %w", err)
	}
	if _, err := regexp.Compile(t.LabelRegex); err != nil {
		return fmt.Errorf("label_regex: %w", err)
	}
	for name, expr := range t.HeaderCI {
		if _, err := regexp.Compile(expr); err != nil {
			return fmt.Errorf("header_ci %s: %w", name, err)
		}
	}
	return nil
}

func (e Expectation) check(messages int) error {
	if !slices.Contains(outcomes, e.Outcome) {
		return fmt.Errorf("there is no outcome %q", e.Outcome)
	}
	if !slices.Contains(labelSet, e.Labels) {
		return fmt.Errorf("labels can't be %q", e.Labels)
	}
	if e.Stage != "" && e.Stage != StageConfig {
		return fmt.Errorf("there is no stage %q", e.Stage)
	}
	if (e.Outcome == Partial) != (len(e.Failed) > 0) {
		return errors.New("failed goes with the outcome partial, and only with it")
	}
	indexes := slices.Concat(append(slices.Clone(e.Batches), e.Failed)...)
	for to, from := range e.CarryMetadataFrom {
		var i int
		if _, err := fmt.Sscanf(to, "%d", &i); err != nil {
			return fmt.Errorf("carry_metadata_from: %q is no index", to)
		}
		indexes = append(indexes, i, from)
	}
	for _, i := range indexes {
		if i < 0 || i >= messages {
			return fmt.Errorf("there is no message %d", i)
		}
	}
	if len(e.Batches) > 0 {
		written := slices.Concat(e.Batches...)
		slices.Sort(written)
		if len(slices.Compact(written)) != messages {
			return errors.New("batches leaves a message out")
		}
	}
	return nil
}

// StarRocks tells whether the case plays against StarRocks: product_config
// says so, or the answers of the script have the shape that only StarRocks
// gives them (state in place of data, status in place of Status).
func (c Case) StarRocks() bool {
	if d, ok := c.ProductConfig["dialect"].(string); ok {
		return d == "starrocks"
	}
	for _, s := range c.Script {
		if s.Reply == nil {
			continue
		}
		var answer map[string]any
		if json.Unmarshal([]byte(s.Reply.Body), &answer) != nil {
			continue
		}
		has := func(key string) bool { _, ok := answer[key].(string); return ok }
		switch s.On {
		case OnState, OnState2:
			if has("state") && !has("data") {
				return true
			}
		case OnTxn, OnErrorURL:
		default:
			if has("status") && has("msg") && !has("Status") {
				return true
			}
		}
	}
	return false
}

// LongestDelay is the longest time in milliseconds that the script lets a
// client wait for an answer.
func (c Case) LongestDelay() int {
	longest := 0
	for _, s := range c.Script {
		if s.Reply != nil {
			longest = max(longest, s.Reply.DelayMS, s.Reply.Late100MS, s.Reply.TrickleMS*len(s.Reply.Body))
		}
	}
	return longest
}
