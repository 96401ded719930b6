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

// phases are the times that an answer reports.
type phases struct{ total, begin, put, read, write, receive, commit time.Duration }

// object writes a JSON object whose keys stay in order: four spaces of indent, as
// the writer of the servers does.
type object struct{ b bytes.Buffer }

func (o *object) add(key string, value any) {
	if o.b.Len() == 0 {
		o.b.WriteByte('{')
	} else {
		o.b.WriteByte(',')
	}
	o.b.WriteString("\n    \"" + key + "\": ")
	switch v := value.(type) {
	case int64:
		o.b.WriteString(strconv.FormatInt(v, 10))
	case time.Duration:
		o.b.WriteString(strconv.FormatInt(v.Milliseconds(), 10))
	case bool:
		o.b.WriteString(strconv.FormatBool(v))
	case string:
		enc := json.NewEncoder(&o.b)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(v)
		o.b.Truncate(o.b.Len() - 1) // the newline of Encode
	}
}

func (o *object) end() []byte {
	o.b.WriteString("\n}")
	return o.b.Bytes()
}

// reply builds the answer of a load with the keys in the order of the server and a
// newline at the end.
func (l *load) reply() []byte {
	var o object
	add := o.add
	r, grouped, prof := l.rec, l.spec.grouped(), l.x.e.profile
	add("TxnId", r.TxnID)
	add("Label", r.Label)
	if prof.commentKey() {
		add("Comment", l.spec.comment)
	}
	if grouped {
		add("GroupCommit", true)
		if prof.tableGroupCommit() {
			add("GroupCommitMode", l.spec.group)
			add("LoadId", uuid())
		}
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
	if prof.receiveTimeKey() {
		add("ReceiveDataTimeMs", l.took.receive)
	}
	if !grouped {
		add("CommitAndPublishTimeMs", l.took.commit)
	}
	if r.ErrorURL != "" {
		add("ErrorURL", r.ErrorURL)
	}
	if l.firstError != "" && prof.firstErrorKey() {
		add("FirstErrorMsg", l.firstError)
	}
	return append(o.end(), '\n')
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
	body, kind := l.answer()
	if v == special && f.Do == Truncate {
		x.truncated(body, kind, f.Bytes)
		return
	}
	x.answer(http.StatusOK, kind, body)
	x.e.rec.update(func() { l.rec.Answered = true })
}

// answer is what the load is answered, and its content type.
func (l *load) answer() (body []byte, kind string) {
	switch {
	case !l.x.e.profile.starrocks():
		return l.x.gzipped(l.reply()), replyType
	case l.spec.grouped():
		return l.mergeReply(), jsonType
	}
	return l.starrocksReply(), jsonType
}

// truncated announces the whole body and sends only n bytes of it.
func (x *exchange) truncated(body []byte, kind string, n int64) {
	h := x.w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(http.StatusOK)
	_, _ = x.w.Write(body[:min(n, int64(len(body)))])
	_ = http.NewResponseController(x.w).Flush()
	x.hangUp()
}
