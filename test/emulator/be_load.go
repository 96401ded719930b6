package emulator

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"
)

// load is one Stream Load request at a BE.
type load struct {
	x        *exchange
	spec     *loadSpec
	rec      *Load
	db       *database
	tab      *table // nil until a table that is created by its first load exists
	txn      *txn   // nil before the begin, and for group commit
	existing string // ExistingJobStatus
	took     phases
	left     time.Duration // LeftMergeTimeMs
	// firstError is the reason of the first bad row of a load that failed for it.
	firstError string
}

func (x *exchange) beLoad() {
	spec, err := x.readSpec()
	x.label, x.op = spec.label, opLoad
	// An answer before the body must not wait for it, also when the client did
	// not ask for 100 Continue; the HTTP library would read small bodies first.
	x.w.Header().Set("Connection", "close")
	l := &load{x: x, spec: spec, rec: &Load{
		Label: spec.label, TxnID: -1, DB: x.db, Table: x.table, BE: x.n.name, User: spec.user,
		Ignored: x.e.profile.ignored(x.r.Header), Format: spec.format, GroupMode: spec.group, State: Unknown, Start: time.Now(),
	}}
	if l.stopped(BEHeaders) {
		return
	}
	if err == nil && spec.grouped() && x.e.profile.starrocks() {
		l.mergeLoad()
		return
	}
	if err == nil {
		if l.stopped(BEBegin) {
			return
		}
		err = l.begin()
	}
	if err != nil {
		l.fail(err)
		return
	}
	start := time.Now()
	p, err := l.plan()
	l.took.put = time.Since(start)
	if err != nil {
		l.fail(err)
		return
	}
	body, ok := l.body()
	if !ok {
		return
	}
	l.finish(p, body)
}

// stopped stands at a point before the commit. True means that the load is
// over; its transaction is aborted or, with Keep, left alone.
func (l *load) stopped(p Point) bool {
	f, ok := l.x.pick(p)
	return ok && l.struck(f)
}

// struck does a fault of a point before the commit.
func (l *load) struck(f Fault) bool {
	switch f.Do {
	case Delay, Evict, MasterSwitch, FEDown:
		return l.x.do(f) == over && l.gone("emulator closed")
	case Hang:
		l.gone("fault hang")
		l.x.hang(f.For, func() { l.settle(f) })
		return true
	}
	// The transaction is settled, and the load recorded, before the client can
	// see anything.
	l.settle(f)
	if f.silent() {
		l.gone("fault " + string(f.Do))
	}
	switch v := l.x.do(f); {
	case v == over:
		return true
	case v == goOn:
		return false
	case f.Do == TooManyVersions:
		l.answerFail(l.x.e.profile.tooManyVersions())
	case f.Do == TxnLimit:
		l.fail(runningLimit(&database{id: 10000}, l.x.e.opt.MaxRunningTxns))
	default:
		l.answerFail(f.Message)
	}
	return true
}

// settle decides what a fault leaves of the transaction.
func (l *load) settle(f Fault) {
	if l.txn == nil {
		return
	}
	c := l.x.e.cat
	c.mu.Lock()
	defer c.mu.Unlock()
	if !f.Keep {
		c.abort(l.txn, "cancelled: sender is gone")
	} else if f.CommitAfter > 0 && l.txn.ready {
		l.txn.commitAt = c.opt.Now().Add(f.CommitAfter)
	}
}

// gone records a load that gets no answer; it returns true.
func (l *load) gone(why string) bool {
	l.rec.Message = why
	l.record()
	return true
}

func (l *load) record() {
	l.rec.txn = l.txn
	l.x.e.recordLoad(l.rec)
}

func (e *Emulator) recordLoad(rec *Load) {
	rec.End = time.Now()
	e.rec.load(rec)
	if e.opt.OnLoad != nil {
		e.cat.mu.Lock()
		l := e.current(*rec)
		e.cat.mu.Unlock()
		e.opt.OnLoad(l)
	}
}

func (l *load) abort(reason string) {
	if l.txn == nil {
		return
	}
	c := l.x.e.cat
	c.mu.Lock()
	defer c.mu.Unlock()
	c.abort(l.txn, reason)
}

// fail aborts the transaction, if any, and answers with the error.
func (l *load) fail(err error) {
	message := l.x.e.profile.message(err)
	l.abort(message)
	if used, ok := errors.AsType[*labelUsed](err); ok {
		l.existing = l.x.e.profile.jobStatus(used.state)
		l.rec.Status, l.rec.Message = statusLabelExists, message
		l.conclude()
		return
	}
	l.answerFail(message)
}

func (l *load) answerFail(message string) {
	l.rec.Status, l.rec.Message, l.rec.Loaded = statusFail, message, 0
	l.conclude()
}

// conclude records the load and answers it, in this order, so that who has the
// answer finds the record.
func (l *load) conclude() {
	l.record()
	l.send()
}

// begin checks the account, the database and the table, and begins the
// transaction. A load that is merged with others has none of its own.
func (l *load) begin() error {
	start := time.Now()
	defer func() { l.took.begin = time.Since(start) }()
	x, c := l.x, l.x.e.cat
	c.mu.Lock()
	defer c.mu.Unlock()
	u := x.e.opt.user(l.spec.user, l.spec.password)
	switch {
	case u == nil:
		return analysis("%s", x.e.profile.accessDenied(l.spec.user, x.clientIP(), l.spec.password))
	case !u.mayLoad(x.db):
		return analysis("%s", x.e.profile.needLoad())
	}
	auto := x.e.opt.AutoCreate && namePattern.MatchString(x.db) && namePattern.MatchString(x.table)
	if l.db = c.database(x.db, auto); l.db == nil {
		return &feError{x.e.profile.unknownName(), "unknown database, database=" + x.db}
	}
	if l.tab = l.db.tables[x.table]; l.tab == nil && !auto {
		return &feError{x.e.profile.unknownName(), "unknown table, tableName=" + x.table}
	}
	if l.spec.byTable && l.tab != nil && l.tab.GroupCommit != "" {
		l.spec.group = l.tab.GroupCommit
		l.rec.GroupMode = l.spec.group
	}
	if l.spec.grouped() {
		return nil
	}
	t, err := c.begin(l.db, l.tab, l.spec.label, x.n.index, l.spec.timeout)
	if err != nil {
		return err
	}
	t.twoPhase = l.spec.twoPhase
	l.txn, x.txn, l.rec.TxnID = t, t.id, t.id
	return nil
}

// body reads the whole body; false means that the load is over. The first read
// makes the server send 100 Continue.
func (l *load) body() ([]byte, bool) {
	start := time.Now()
	x := l.x
	f, faulty := x.pick(BEBody)
	var buf bytes.Buffer
	if n := x.r.ContentLength; n > 0 {
		buf.Grow(int(min(n, 64<<20)))
	}
	x.w.Header().Del("Connection")
	in := &countingReader{x: x, in: http.MaxBytesReader(nil, x.r.Body, x.e.opt.MaxBodyBytes)}
	if faulty {
		_, err := io.CopyN(&buf, in, f.Bytes)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, l.senderGone(err)
		}
		if l.struck(f) {
			return nil, false
		}
	}
	if _, err := buf.ReadFrom(in); err != nil {
		return nil, l.senderGone(err)
	}
	l.took.receive = time.Since(start)
	l.rec.Bytes = int64(buf.Len())
	if x.e.opt.KeepBodies {
		x.e.rec.keepBody(x.rec, buf.Bytes())
	}
	return buf.Bytes(), true
}

// senderGone ends a load whose body did not arrive whole; it returns false.
func (l *load) senderGone(err error) bool {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok { // only a chunked body gets this far
		l.abort("cancelled: body too large")
		l.gone("body too large")
		l.x.answer(http.StatusRequestEntityTooLarge, "text/html", []byte("<html><body>413 Request Entity Too Large</body></html>"))
		return false
	}
	l.abort("cancelled: sender is gone")
	l.gone("sender is gone")
	l.x.hangUp()
	return false
}

type countingReader struct {
	x  *exchange
	in io.Reader
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	if n > 0 {
		r.x.count(int64(n))
	}
	return n, err
}
