// Package answer reads what Doris and StarRocks say. It is pure: bytes in, facts out.
//
// Three JSON shapes are in use, all of them also with HTTP status 200 for failures
// (Doris: be/src/load/stream_load/stream_load_context.cpp, fe httpv2/entity/RestBaseResult.java
// and httpv2/entity/ResponseBody.java):
//
//	{"Status": "...", "Message": "...", ...}   a BE about a load
//	{"status": "...", "msg": "..."}            an FE or BE that refuses, two-phase commit
//	{"code": 401, "msg": "...", "data": ...}   an FE's REST answer
//
// Any bytes may come: HTML of a proxy, cut JSON, nothing at all. Nothing here panics, and whatever is
// not understood is reported as not understood, never as success.
package answer

import (
	"strings"
)

// Word is the meaning of the status word of a load answer.
type Word uint8

// The words of a load answer. The zero value is "not understood".
const (
	// Unclear is an unreadable answer, one without a status, one with contradicting statuses, or a word that nobody knows.
	Unclear Word = iota
	// Success says that the rows are committed and visible.
	Success
	// PublishTimeout says that the rows are committed and will become visible later.
	PublishTimeout
	// LabelExists says that a transaction that is not aborted owns the label; see Load.Existing.
	LabelExists
	// Failure is a plain refusal: Fail, FAILED, or an FE code other than 0.
	Failure
)

func (w Word) String() string {
	switch w {
	case Success:
		return "Success"
	case PublishTimeout:
		return "Publish Timeout"
	case LabelExists:
		return "Label Already Exists"
	case Failure:
		return "Fail"
	default:
		return "unclear"
	}
}

// Existing is what "Label Already Exists" says about the transaction that owns the label
// (Doris: fe LabelAlreadyUsedException.java).
type Existing uint8

// The states of an existing label. The zero value is anything that is not FINISHED: a word nobody knows proves nothing.
const (
	// ExistingOpen is RUNNING, PRECOMMITTED, an unknown word or none.
	ExistingOpen Existing = iota
	// ExistingFinished is a committed or visible transaction.
	ExistingFinished
)

// Load is the answer to one load request.
type Load struct {
	// Word is the meaning of the status; only Success and PublishTimeout say that rows are stored.
	Word Word
	// Readable is true for one whole JSON object of a known shape.
	Readable bool
	// Status is the status word, or "code N", as the server sent it.
	Status string
	// Message is the server's text, uncapped.
	Message string
	// Existing belongs to LabelExists.
	Existing Existing
	// ExistingWord is ExistingJobStatus as sent.
	ExistingWord string
	// Label is the label that the server used; "" if it named none.
	Label string
	// TxnID is the transaction, -1 when none was begun, 0 when the answer names none.
	TxnID int64
	// Counts of rows; HasCounts is true when the answer has a number as NumberTotalRows.
	HasCounts                           bool
	Total, Loaded, Filtered, Unselected int64
	// LoadBytes is what the server received, in bytes; HasBytes is true when the answer says it.
	LoadBytes int64
	HasBytes  bool
	// Timings are the server's own phases in milliseconds, by their JSON names without "TimeMs"; nil if there are none.
	Timings map[string]int64
	// ErrorURL is where the rejected rows can be read; uncensored.
	ErrorURL string
	// FirstError is the first rejected row's reason (newer servers).
	FirstError string
	// GroupCommit is true when the server merged the load with others under a label of its own.
	GroupCommit bool
	// OnePhase is true when the answer says TwoPhaseCommit "false".
	OnePhase bool
	// Excerpt is the start of an unreadable answer: at most 300 bytes, valid UTF-8, one line.
	Excerpt string
}

// timingKeys are the phases that a BE reports (stream_load_context.cpp).
var timingKeys = []string{
	"LoadTimeMs", "BeginTxnTimeMs", "StreamLoadPutTimeMs", "StreamLoadPlanTimeMs", "ReadDataTimeMs",
	"WriteDataTimeMs", "ReceiveDataTimeMs", "CommitAndPublishTimeMs",
}

// ParseLoad reads the answer to a load. It takes any bytes.
func ParseLoad(body []byte) Load {
	var room [usualMembers]member
	o, ok := parseObject(body, room[:])
	if !ok {
		return Load{Excerpt: Excerpt(body)}
	}
	a := Load{
		Readable:     true,
		Message:      o.text("Message", "msg"),
		ExistingWord: o.text("ExistingJobStatus"),
		Label:        o.text("Label"),
		TxnID:        o.number("TxnId"),
		Total:        o.number("NumberTotalRows"),
		Loaded:       o.number("NumberLoadedRows"),
		Filtered:     o.number("NumberFilteredRows"),
		Unselected:   o.number("NumberUnselectedRows"),
		LoadBytes:    o.number("LoadBytes"),
		ErrorURL:     o.text("ErrorURL"),
		FirstError:   o.text("FirstErrorMsg"),
		GroupCommit:  strings.EqualFold(o.text("GroupCommit"), "true"),
	}
	a.HasCounts = o.hasNumber("NumberTotalRows")
	a.HasBytes = o.hasNumber("LoadBytes")
	a.OnePhase = strings.EqualFold(o.text("TwoPhaseCommit"), "false")
	for _, k := range timingKeys {
		if _, ok := o.find(k); ok {
			if a.Timings == nil {
				a.Timings = make(map[string]int64, len(timingKeys))
			}
			a.Timings[strings.TrimSuffix(k, "TimeMs")] = o.number(k)
		}
	}
	if !contradict(o.all("ExistingJobStatus")) && strings.EqualFold(strings.TrimSpace(a.ExistingWord), "FINISHED") {
		a.Existing = ExistingFinished
	}
	switch status := o.all("Status", "status"); {
	case len(status) > 0:
		a.Status = plainText(status[0])
		if !contradict(status) {
			a.Word = wordOf(a.Status)
		}
	default:
		code, hasCode := o.find("code")
		if !hasCode {
			a.Readable = false
			a.Excerpt = Excerpt(body)
			return a
		}
		a.Status = "code " + plainText(code)
		if data := o.text("data"); data != "" {
			a.Message = join(a.Message, data)
		}
		// Code 0 is what an FE says about its own calls; for a load it proves nothing.
		if n, ok := integer(code); ok && n != 0 {
			a.Word = Failure
		}
	}
	return a
}

func wordOf(status string) Word {
	switch strings.ToLower(strings.Join(strings.Fields(status), " ")) {
	case "success":
		return Success
	case "publish timeout":
		return PublishTimeout
	case "label already exists":
		return LabelExists
	case "fail", "failed":
		return Failure
	default:
		return Unclear
	}
}

func join(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "" || strings.Contains(a, b):
		return a
	default:
		return a + ": " + b
	}
}
