package wire

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// label is what the servers know of a label.
type label struct {
	seen         bool // at a backend, and not reported as aborted since
	stored       bool
	precommitted []byte // the body under two-phase commit, nil if there is none
	aborted      bool
}

// label returns the entry of a name. The caller holds the lock.
func (c *Cluster) label(name string) *label {
	l := c.labels[name]
	if l == nil {
		l = &label{}
		c.labels[name] = l
	}
	return l
}

// store makes the rows of a body durable, at most once for a label.
func (c *Cluster) store(name string, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.storeLocked(name, body)
}

func (c *Cluster) storeLocked(name string, body []byte) {
	if name != "" {
		l := c.label(name)
		if l.stored {
			return
		}
		l.stored, l.aborted, l.precommitted = true, false, nil
	}
	c.durable = append(c.durable, Stored{Label: name, Body: body})
}

func (c *Cluster) precommit(name string, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.label(name); !l.stored {
		l.precommitted = append([]byte{}, body...)
	}
}

// settle commits or aborts what a two-phase commit request names.
func (c *Cluster) settle(x *exchange, commits bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := x.head.Header.Get("label")
	if name == "" {
		name = c.labelOfTxn[x.head.Header.Get("txn_id")]
	}
	l := c.label(name)
	switch {
	case l.precommitted == nil:
	case !commits:
		l.precommitted, l.aborted = nil, true
	default:
		c.storeLocked(name, l.precommitted)
	}
}

// abort ends a label that is not stored; it tells whether it could.
func (c *Cluster) abort(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.label(name)
	if l.stored {
		return false
	}
	l.aborted, l.seen, l.precommitted = true, false, nil
	return true
}

// state is the state of a label where no step scripts it.
func (c *Cluster) state(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch l := c.label(name); {
	case l.stored:
		return "VISIBLE"
	case l.precommitted != nil:
		return "PRECOMMITTED"
	case l.aborted:
		return "ABORTED"
	default:
		return "UNKNOWN"
	}
}

// answered draws the conclusions from an answer that was given: which label a
// transaction belongs to, and which label it ended.
func (c *Cluster) answered(x *exchange, body string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case x.req.ToBackend() && x.req.Label != "":
		if txn := txnID.FindStringSubmatch(body); txn != nil {
			c.labelOfTxn[txn[1]] = x.req.Label
		}
		if failed(statusWord(body)) {
			c.label(x.req.Label).aborted = true
		}
	case x.req.StatePoll() && x.req.Label != "" && reportsAborted(body):
		// An aborted label can be begun again.
		c.label(x.req.Label).seen = false
	}
}

var (
	txnID       = regexp.MustCompile(`"TxnId"\s*:\s*(\d+)`)
	exactStatus = regexp.MustCompile(`"Status"\s*:\s*"([^"]*)"`)
	anyStatus   = regexp.MustCompile(`(?i)"status"\s*:\s*"([^"]*)"`)
)

// statusWord finds the status in an answer, which need not be valid JSON.
func statusWord(body string) string {
	for _, expr := range []*regexp.Regexp{exactStatus, anyStatus} {
		if found := expr.FindStringSubmatch(body); found != nil {
			return found[1]
		}
	}
	return ""
}

func succeeded(word string) bool {
	switch strings.ToLower(word) {
	case "success", "ok", "publish timeout":
		return true
	}
	return false
}

func failed(word string) bool {
	switch strings.ToLower(word) {
	case "fail", "failed":
		return true
	}
	return false
}

func reportsAborted(body string) bool {
	var answer map[string]any
	if json.Unmarshal([]byte(body), &answer) != nil {
		return false
	}
	return answer["data"] == "ABORTED" || answer["state"] == "ABORTED"
}

// loadAnswer is the answer of a backend where no step scripts it.
func (c *Cluster) loadAnswer(x *exchange, body []byte) string {
	answer := map[string]any{
		"TxnId": int64(-1), "Label": x.req.Label, "Comment": "", "TwoPhaseCommit": strconv.FormatBool(x.twoPhase()),
		"NumberTotalRows": 0, "NumberLoadedRows": 0, "NumberFilteredRows": 0, "NumberUnselectedRows": 0,
		"LoadBytes": len(body), "LoadTimeMs": 1,
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	existing := ""
	if x.req.Label != "" {
		switch l := c.label(x.req.Label); {
		case l.stored:
			existing = "FINISHED"
		case l.precommitted != nil:
			existing = "PRECOMMITTED"
		}
	}
	if existing != "" {
		answer["Status"], answer["ExistingJobStatus"] = "Label Already Exists", existing
		answer["Message"] = fmt.Sprintf("Label [%s] has already been used", x.req.Label)
	} else {
		rows := c.opts.CountRows(body)
		answer["Status"], answer["Message"] = "Success", "OK"
		answer["TxnId"], answer["NumberTotalRows"], answer["NumberLoadedRows"] = c.nextTxn, rows, rows
		c.nextTxn++
	}
	return asJSON(answer)
}

func asJSON(v map[string]any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts and numbers only
	}
	return string(text)
}
