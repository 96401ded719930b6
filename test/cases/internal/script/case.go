// Package script holds what a recorded failure says: how the servers behave,
// how the output is configured, which messages it gets and what a good client
// makes of it. The README of the suite describes the format.
package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// Case is one line of the case file.
type Case struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Title   string `json:"title"`
	Symptom string `json:"symptom"`
	Must    string `json:"must"`

	Script []Step `json:"script"`
	// Config has the short names that the README lists; ProductConfig is laid
	// over the output's configuration as it is.
	Config        map[string]any `json:"config"`
	ProductConfig map[string]any `json:"product_config"`
	Input         []string       `json:"input"`

	Expect Expectation   `json:"expect"`
	Accept []Expectation `json:"accept"`
}

// Step says how a kind of request is answered.
type Step struct {
	On    string `json:"on"`
	Times int    `json:"times"` // -1 is without end
	When  Tests  `json:"when"`
	Check Tests  `json:"expect_request"`

	Reply  *Reply `json:"reply"`
	Fault  string `json:"fault"`
	RawHex string `json:"raw_hex"` // the bytes of the fault send_raw

	// Stores tells whether the rows of the request become durable; nil leaves
	// it to the answer.
	Stores *bool `json:"stores"`
	// CancelAfterMS stops the output hard so many milliseconds after the first
	// request that this step answers.
	CancelAfterMS *int `json:"cancel_context_after_ms"`
}

// Reply is an HTTP answer and the manner in which it is given. Times are
// milliseconds.
type Reply struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`

	DelayMS          int    `json:"delay_ms"`
	Close            bool   `json:"close"`
	BeforeBody       bool   `json:"before_body"`
	ConsumeBody      bool   `json:"consume_body"`
	KeepAlive        bool   `json:"keep_alive"`
	KeepAliveNoDrain bool   `json:"keep_alive_no_drain"`
	CloseIdleAfterMS int    `json:"close_idle_after_ms"`
	No100Continue    bool   `json:"no_100_continue"`
	Late100MS        int    `json:"late_100_ms"`
	TrickleMS        int    `json:"trickle_ms"`
	BodyEncoding     string `json:"body_encoding"` // gzip or nothing
	BodyPatch        Patch  `json:"body_patch"`
}

// Patch changes the bytes of a reply's body, for what JSON text can't hold.
type Patch struct {
	ReplaceFFFDWithHex string `json:"replace_ufffd_with_hex"`
}

// Tests are conditions on one request. A key that is not given holds always.
type Tests struct {
	// About the request line and the framing.
	Method           string `json:"method"`
	PathContains     string `json:"path_contains"`
	RawPath          string `json:"raw_path"`
	HasContentLength *bool  `json:"has_content_length"`
	Chunked          *bool  `json:"chunked"`

	// About headers; their names are compared without case.
	HeaderPresent   Texts             `json:"header_present"`
	HeaderAbsent    Texts             `json:"header_absent"`
	Header          map[string]string `json:"header"`
	HeaderNot       map[string]string `json:"header_not"`
	HeaderCI        map[string]string `json:"header_ci"` // values are regular expressions
	HeaderBytesUTF8 map[string]string `json:"header_bytes_utf8"`

	// About the credentials: user:password, in the clear.
	Auth        string `json:"auth"`
	AuthB64UTF8 string `json:"auth_b64_utf8"`
	AuthIs      string `json:"auth_is"`
	AuthIsNot   string `json:"auth_is_not"`
	AuthPresent *bool  `json:"auth_present"`

	// About the label.
	LabelIsNew       *bool  `json:"label_is_new"`
	LabelRegex       string `json:"label_regex"`
	QueryLabelIsSent *bool  `json:"query_label_equals_header_label"`

	// About the connection.
	ConnReused     *bool `json:"conn_reused"`
	PrevBodyUnread *bool `json:"prev_body_unread"`

	// About the body.
	BodyContains    Texts   `json:"body_contains"`
	BodyNotContains Texts   `json:"body_not_contains"`
	BodyBytesGT     *int64  `json:"body_bytes_gt"`
	BodyNonempty    *bool   `json:"body_nonempty"`
	BodyEquals      *string `json:"body_equals"`
	BodyEqualsHex   string  `json:"body_equals_hex"`
}

// NeedBody tells whether the body must be there before the tests can be made.
// The size alone is known from the headers.
func (t Tests) NeedBody() bool {
	return len(t.BodyContains) > 0 || len(t.BodyNotContains) > 0 || t.BodyNonempty != nil ||
		t.BodyEquals != nil || t.BodyEqualsHex != ""
}

// Outcomes of an expectation.
const (
	Ack     = "ack"     // every message is acknowledged
	Nack    = "nack"    // every message fails
	Partial = "partial" // the messages of Failed fail, the others do not
)

// StageConfig allows that the configuration itself is refused.
const StageConfig = "config"

// Demands on the labels of the loads.
const (
	LabelsSame     = "same"
	LabelsDistinct = "distinct"
	LabelsNone     = "none"
	LabelsAny      = "any"
)

// Expectation is a result that a case accepts.
type Expectation struct {
	Outcome string `json:"outcome"`
	Stage   string `json:"stage"`
	Failed  []int  `json:"failed"`

	// How the messages are written; read from the first expectation only.
	Batches           [][]int        `json:"batches"`
	Parallel          bool           `json:"parallel"`
	CarryMetadataFrom map[string]int `json:"carry_metadata_from"`

	Loads       *Range   `json:"loads"`
	FELoads     *Range   `json:"fe_loads"`
	Labels      string   `json:"labels"`
	StatePolls  *Range   `json:"state_polls"`
	TxnOps      *Range   `json:"txn_ops"`
	MaxRequests *int     `json:"max_requests"`
	MinSeconds  *float64 `json:"min_seconds"`
	MaxSeconds  *float64 `json:"max_seconds"`
	StoredTimes *int     `json:"stored_times"`

	MessageContains Texts      `json:"message_contains"`
	MessageAnyOf    [][]string `json:"message_any_of"`
	MessageExcludes Texts      `json:"message_excludes"`
	MaxErrorBytes   *int       `json:"max_error_bytes"`
	LogContains     Texts      `json:"log_contains"`
	LogExcludes     Texts      `json:"log_excludes"`

	BodyContains    Texts `json:"body_contains"`
	BodyLines       *int  `json:"body_lines"`
	BodyNotBOM      bool  `json:"body_not_starts_with_bom"`
	BodiesIdentical bool  `json:"bodies_identical"`
}

// Range bounds a count, both ends included. In a case it is [min,max], or one
// number for both.
type Range struct{ Min, Max int }

// UnmarshalJSON reads a number or a pair of numbers.
func (r *Range) UnmarshalJSON(b []byte) error {
	var pair []int
	if err := json.Unmarshal(b, &pair); err == nil {
		if len(pair) != 2 || pair[0] > pair[1] {
			return fmt.Errorf("a range is a number or [min,max], not %s", b)
		}
		r.Min, r.Max = pair[0], pair[1]
		return nil
	}
	var n int
	if err := json.Unmarshal(b, &n); err != nil {
		return fmt.Errorf("a range is a number or [min,max], not %s", b)
	}
	r.Min, r.Max = n, n
	return nil
}

// Has tells whether n lies in the range.
func (r Range) Has(n int) bool { return n >= r.Min && n <= r.Max }

func (r Range) String() string {
	if r.Min == r.Max {
		return strconv.Itoa(r.Min)
	}
	return fmt.Sprintf("%d to %d", r.Min, r.Max)
}

// Texts is a list of texts; a single text stands for a list of one.
type Texts []string

// UnmarshalJSON reads a text or a list of texts.
func (t *Texts) UnmarshalJSON(b []byte) error {
	var list []string
	if err := json.Unmarshal(b, &list); err == nil {
		*t = list
		return nil
	}
	var one string
	if err := json.Unmarshal(b, &one); err != nil {
		return errors.New("neither a text nor a list of texts")
	}
	*t = Texts{one}
	return nil
}
