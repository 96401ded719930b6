package emulator

import "time"

// starrocksReply builds the answer of a load: StreamLoadContext::to_json of
// StarRocks. It ends without a newline.
func (l *load) starrocksReply() []byte {
	var o object
	r := l.rec
	o.add("TxnId", r.TxnID)
	o.add("Label", r.Label)
	o.add("Status", r.Status)
	if r.Status == statusLabelExists {
		o.add("ExistingJobStatus", l.existing)
	}
	o.add("Message", r.Message)
	o.add("NumberTotalRows", r.Total)
	o.add("NumberLoadedRows", r.Loaded)
	o.add("NumberFilteredRows", r.Filtered)
	o.add("NumberUnselectedRows", r.Unselected)
	o.add("LoadBytes", r.Bytes)
	o.add("LoadTimeMs", l.took.total)
	o.add("BeginTxnTimeMs", l.took.begin)
	o.add("StreamLoadPlanTimeMs", l.took.put)
	o.add("ReadDataTimeMs", l.took.read)
	o.add("WriteDataTimeMs", l.took.write)
	o.add("CommitAndPublishTimeMs", l.took.commit)
	if r.ErrorURL != "" {
		o.add("ErrorURL", r.ErrorURL)
	}
	return o.end()
}

// mergeReply builds the answer of a load that was merged with others: no counts of
// rows, no ErrorURL, and the label that was sent is the id of the request.
func (l *load) mergeReply() []byte {
	var o object
	r := l.rec
	o.add("TxnId", r.TxnID)
	o.add("Label", r.Label)
	o.add("Status", r.Status)
	o.add("Message", r.Message)
	o.add("RequestId", l.spec.requestID)
	o.add("LoadBytes", r.Bytes)
	o.add("LoadTimeMs", l.took.total)
	o.add("ReadDataTimeMs", l.took.receive)
	o.add("PendingTimeMs", time.Duration(0))
	o.add("WaitPlanTimeMs", l.took.put)
	o.add("WriteDataTimeMs", l.took.write)
	o.add("WaitFinishTimeMs", l.took.commit)
	o.add("LeftMergeTimeMs", l.left)
	return o.end()
}
