package emulator

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// replyType is what the HTTP library of a BE says about every answer.
const replyType = "text/html; charset=ISO-8859-1"

// The words that Status may hold.
const (
	statusSuccess        = "Success"
	statusFail           = "Fail"
	statusPublishTimeout = "Publish Timeout"
	statusLabelExists    = "Label Already Exists"
)

const publishTimeoutMessage = "[PUBLISH_TIMEOUT]TStatus: transaction commit successfully, BUT data will be visible later"

// beError is an error of the BE's own: the name of the code and its text.
type beError struct{ code, text string }

func (e *beError) Error() string { return "[" + e.code + "]" + e.text }

// phases are the times that an answer reports.
type phases struct{ total, begin, put, read, write, receive, commit time.Duration }

// reply builds the answer of a load: the keys in the order of the server, four
// spaces of indent, a newline at the end.
func (l *load) reply() []byte {
	var b bytes.Buffer
	b.WriteString("{")
	first := true
	add := func(key string, value any) {
		if !first {
			b.WriteByte(',')
		}
		first = false
		b.WriteString("\n    \"" + key + "\": ")
		switch v := value.(type) {
		case int64:
			b.WriteString(strconv.FormatInt(v, 10))
		case time.Duration:
			b.WriteString(strconv.FormatInt(v.Milliseconds(), 10))
		case bool:
			b.WriteString(strconv.FormatBool(v))
		case string:
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			_ = enc.Encode(v)
			b.Truncate(b.Len() - 1) // the newline of Encode
		}
	}
	r, grouped := l.rec, l.spec.grouped()
	add("TxnId", r.TxnID)
	add("Label", r.Label)
	add("Comment", l.spec.comment)
	if grouped {
		add("GroupCommit", true)
	} else {
		add("TwoPhaseCommit", strconv.FormatBool(l.spec.twoPhase))
	}
	add("Status", r.Status)
	if l.existing != "" {
		add("ExistingJobStatus", l.existing)
	}
	add("Message", r.Message)
	add("NumberTotalRows", r.Total)
	add("NumberLoadedRows", r.Loaded)
	add("NumberFilteredRows", r.Filtered)
	add("NumberUnselectedRows", r.Unselected)
	add("LoadBytes", r.Bytes)
	add("LoadTimeMs", l.took.total)
	if !grouped {
		add("BeginTxnTimeMs", l.took.begin)
	}
	add("StreamLoadPutTimeMs", l.took.put)
	add("ReadDataTimeMs", l.took.read)
	add("WriteDataTimeMs", l.took.write)
	add("ReceiveDataTimeMs", l.took.receive)
	if !grouped {
		add("CommitAndPublishTimeMs", l.took.commit)
	}
	if r.ErrorURL != "" {
		add("ErrorURL", r.ErrorURL)
	}
	b.WriteString("\n}\n")
	return b.Bytes()
}

// send answers the load, unless a fault at be.answer has other plans.
func (l *load) send() {
	x := l.x
	f, v := x.at(BEAnswer)
	if v == over {
		return
	}
	if v == special && f.Do == Fail {
		x.e.rec.update(func() { l.rec.Status, l.rec.Message = statusFail, f.Message })
	}
	l.took.total = time.Since(l.rec.Start)
	body := x.gzipped(l.reply())
	if v == special && f.Do == Truncate {
		x.truncated(body, f.Bytes)
		return
	}
	x.answer(http.StatusOK, replyType, body)
	x.e.rec.update(func() { l.rec.Answered = true })
}

// truncated announces the whole body and sends only n bytes of it.
func (x *exchange) truncated(body []byte, n int64) {
	h := x.w.Header()
	h.Set("Content-Type", replyType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(http.StatusOK)
	_, _ = x.w.Write(body[:min(n, int64(len(body)))])
	_ = http.NewResponseController(x.w).Flush()
	x.hangUp()
}
