package emulator

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// txnLoad is a load of the transaction interface. Its rows are read when the
// transaction is prepared or committed. Each load is in the record with the
// Status and Message of its answer.
func (x *exchange) txnLoad() {
	// An answer before the body must not wait for it.
	x.w.Header().Set("Connection", "close")
	rec := &Load{
		Label: x.label, TxnID: -1, DB: x.db, Table: x.table, BE: x.n.name, State: Unknown, Start: time.Now(),
		Ignored: x.e.profile.ignored(x.r.Header),
	}
	rec.User, _, _ = beAuth(x.r.Header.Get("Authorization"))
	if f, ok := x.pick(BEHeaders); ok && x.loadFault(nil, rec, f) {
		return
	}
	if x.label == "" {
		x.loadRefused(rec, &beError{"INVALID_ARGUMENT", "Invalid label "})
		return
	}
	s, err := x.stream()
	if err != nil {
		x.loadRefused(rec, err)
		return
	}
	rec.txn, rec.TxnID = s.txn, s.txn.id
	start := time.Now()
	if err = x.openLoad(s); err != nil {
		x.rollback(s, x.e.profile.message(err))
		x.loadDone(s, rec, err, 0, 0)
		return
	}
	planned := time.Since(start)
	rec.Format = s.load.spec.format
	body, ok := x.loadBody(s, rec)
	if !ok {
		return
	}
	s.take(body)
	rec.Bytes = int64(len(body))
	if x.e.opt.KeepBodies {
		x.e.rec.keepBody(x.rec, body)
	}
	x.loadDone(s, rec, nil, planned, time.Since(start)-planned)
}

// openLoad checks the header of a load and, for the first one, plans it.
func (x *exchange) openLoad(s *stream) error {
	spec := &loadSpec{label: x.label, user: s.load.spec.user, h: x.e.profile.heard(x.r.Header), format: "csv", timeout: s.load.spec.timeout, inTxn: true}
	s.size += max(x.r.ContentLength, 0)
	if err := spec.starrocksFormat(s.size, &x.e.opt); err != nil {
		return err
	}
	sent := x.e.profile.loadHeaders(x.r.Header)
	if s.plan != nil {
		if !maps.Equal(s.sent, sent) {
			return &beError{"INTERNAL_ERROR", "load request not equal last."}
		}
		return nil
	}
	s.sent, s.load.spec = sent, spec
	p, err := s.load.plan()
	if err != nil {
		return err
	}
	s.plan = p
	return nil
}

// loadHeaders are the headers that must be equal in all loads of a transaction.
func (p *profile) loadHeaders(h http.Header) map[string]string {
	out := map[string]string{}
	for name := range h {
		low := strings.ToLower(name)
		if p.knows(low) && !slices.Contains([]string{"timeout", "idle_transaction_timeout", "prepared_timeout", "max_filter_ratio", "ignore_json_size", "exec_mem_limit"}, low) {
			out[low] = h.Get(name)
		}
	}
	return out
}

// loadBody reads the body. When the client goes away what came of a CSV body stays
// in the transaction, and of a JSON body nothing does; the transaction goes on.
func (x *exchange) loadBody(s *stream, rec *Load) ([]byte, bool) {
	start := time.Now()
	x.w.Header().Del("Connection")
	in := &countingReader{x: x, in: http.MaxBytesReader(nil, x.r.Body, x.e.opt.MaxBodyBytes)}
	var buf bytes.Buffer
	f, faulty := x.pick(BEBody)
	var err error
	if faulty {
		if _, err = io.CopyN(&buf, in, f.Bytes); errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err == nil && faulty {
		if s.load.spec.format == "csv" {
			s.take(slices.Clone(buf.Bytes()))
		}
		if x.loadFault(s, rec, f) {
			return nil, false
		}
		if s.load.spec.format == "csv" {
			buf.Reset()
		}
	}
	if err == nil {
		_, err = buf.ReadFrom(in)
	}
	s.load.took.receive += time.Since(start)
	if err == nil {
		return buf.Bytes(), true
	}
	if s.load.spec.format == "csv" {
		s.take(buf.Bytes())
	}
	s.busy.Unlock()
	rec.Message = "sender is gone"
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		rec.Message = "body too large"
		x.e.recordLoad(rec)
		x.answer(http.StatusRequestEntityTooLarge, "text/html", []byte("<html><body>413 Request Entity Too Large</body></html>"))
		return nil, false
	}
	x.e.recordLoad(rec)
	x.hangUp()
	return nil, false
}

// take adds what came to the bodies of the transaction.
func (s *stream) take(body []byte) {
	s.load.rec.Bytes += int64(len(body))
	if s.load.spec.format == "json" || len(s.bodies) == 0 {
		s.bodies = append(s.bodies, body)
		return
	}
	s.bodies[0] = append(s.bodies[0], body...)
}

// loadFault does a fault in a load; true means that the load is over. One that
// answers a failure rolls the transaction back, unless it says Keep; one that ends
// the connection leaves it alone.
func (x *exchange) loadFault(s *stream, rec *Load, f Fault) bool {
	if f.silent() {
		rec.Message = "fault " + string(f.Do)
		x.e.recordLoad(rec)
	}
	switch x.do(f) {
	case goOn:
		return false
	case special:
		err := &beError{"INTERNAL_ERROR", f.Message}
		if s == nil {
			if held := x.n.streams.get(x.label); held != nil && !f.Keep {
				x.rollback(held, f.Message)
			}
			x.loadRefused(rec, err)
			return true
		}
		if !f.Keep {
			x.rollback(s, f.Message)
		}
		x.loadDone(s, rec, err, 0, 0)
	default:
		if s != nil {
			s.busy.Unlock()
		}
	}
	return true
}

// loadRefused answers a load that found no transaction. The server gives no
// content type then.
func (x *exchange) loadRefused(rec *Load, err error) {
	rec.Status, rec.Message = x.e.profile.codeAndText(err)
	x.e.recordLoad(rec)
	x.answer(http.StatusOK, "text/html", x.txnReply(err, nil))
}

// loadDone lets go of the stream, records the load and answers, in this order:
// who has the answer may send the next load, and finds the record.
func (x *exchange) loadDone(s *stream, rec *Load, err error, planned, received time.Duration) {
	s.busy.Unlock()
	if rec.Status = "OK"; err != nil {
		rec.Status, rec.Message = x.e.profile.codeAndText(err)
	}
	x.e.recordLoad(rec)
	f, v := x.at(BEAnswer)
	if v == over {
		return
	}
	if v == special && f.Do == Fail {
		err = &beError{"INTERNAL_ERROR", f.Message}
	}
	body := x.txnReply(err, func(o *object) {
		if err == nil {
			o.add("TxnId", s.txn.id)
			o.add("LoadBytes", rec.Bytes)
			o.add("StreamLoadPlanTimeMs", planned)
			o.add("ReceivedDataTimeMs", received)
		}
	})
	if v == special && f.Do == Truncate {
		x.truncated(body, jsonType, f.Bytes)
		return
	}
	x.answer(http.StatusOK, jsonType, body)
	x.e.rec.update(func() { rec.Answered = true })
}
