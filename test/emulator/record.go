package emulator

import (
	"net/http"
	"sync"
	"time"
)

// Request is an HTTP request that reached a node.
type Request struct {
	// Server is "fe1", "fe2", ..., "be1", ...
	Server string
	Method string
	// Path is as sent, still escaped; Query without the "?".
	Path, Query string
	Host        string
	Header      http.Header
	// ContentLength is -1 for a chunked body.
	ContentLength int64
	// BodyBytes is how much of the body arrived, Body what (BEs with
	// Options.KeepBodies only, loads only).
	BodyBytes int64
	Body      []byte
	// Remote is the address of the client.
	Remote string
	Time   time.Time
}

// Load is a load request that reached a BE, and what became of it.
type Load struct {
	// Label and TxnID; TxnID is -1 when no transaction was begun.
	Label     string `json:"label"`
	TxnID     int64  `json:"txn"`
	DB        string `json:"database"`
	Table     string `json:"table"`
	BE        string `json:"be"`
	User      string `json:"user"`
	Format    string `json:"format"`
	GroupMode string `json:"group_commit,omitempty"`
	// Status and Message are those of the answer, also when a fault kept it
	// from being sent. Empty: the client went away.
	Status  string `json:"status"`
	Message string `json:"message"`
	// State is the state of the transaction now; UNKNOWN without one.
	State State `json:"state"`
	// Rows of the body; Total = Loaded + Filtered + Unselected on success.
	Total      int64  `json:"rows"`
	Loaded     int64  `json:"loaded"`
	Filtered   int64  `json:"filtered"`
	Unselected int64  `json:"unselected"`
	Bytes      int64  `json:"bytes"`
	ErrorURL   string `json:"error_url,omitempty"`
	// Ignored are the headers that the servers passed over, in lower case: none
	// that this dialect and version know, none of HTTP.
	Ignored []string  `json:"ignored_headers,omitempty"`
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`
	// Answered says that the whole answer was handed to the connection.
	Answered bool `json:"answered"`

	txn *txn
}

// recorder keeps the last requests and loads.
type recorder struct {
	mu       sync.Mutex
	keep     int
	requests []*Request
	loads    []*Load
	// loadsTotal counts those that are not kept any more too.
	loadsTotal int64
	feBody     int64
	leaving    int        // FE connections that are being closed after an answer
	left       *sync.Cond // of mu: leaving became 0
}

func newRecorder(keep int) *recorder {
	r := &recorder{keep: keep}
	r.left = sync.NewCond(&r.mu)
	return r
}

func (r *recorder) leave(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.leaving += n; r.leaving == 0 {
		r.left.Broadcast()
	}
}

func (r *recorder) feBodyBytes() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.leaving > 0 {
		r.left.Wait()
	}
	return r.feBody
}

func (r *recorder) request(req *http.Request, server string) *Request {
	rec := &Request{
		Server: server, Method: req.Method, Path: req.URL.EscapedPath(), Query: req.URL.RawQuery, Host: req.Host,
		Header: req.Header.Clone(), ContentLength: req.ContentLength, Remote: req.RemoteAddr, Time: time.Now(),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !ofPage(req) {
		r.requests = last(append(r.requests, rec), r.keep)
	}
	return rec
}

func (r *recorder) load(l *Load) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loads = last(append(r.loads, l), r.keep)
	r.loadsTotal++
}

// update changes a record that others may read.
func (r *recorder) update(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// last drops the oldest entries, now and then, so that it costs little.
func last[T any](list []T, keep int) []T {
	if len(list) > keep+keep/4+16 {
		return append([]T(nil), list[len(list)-keep:]...)
	}
	return list
}

// body counts n bytes of the body of rec.
func (r *recorder) body(rec *Request, n int64, fe bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec.BodyBytes += n
	if fe {
		r.feBody += n
	}
}

func (r *recorder) keepBody(rec *Request, body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec.Body = body
}

func (r *recorder) allRequests() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Request, 0, len(r.requests))
	for _, rec := range r.requests[max(0, len(r.requests)-r.keep):] {
		out = append(out, *rec)
	}
	return out
}

func (r *recorder) allLoads() []Load {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Load, 0, len(r.loads))
	for _, l := range r.loads[max(0, len(r.loads)-r.keep):] {
		out = append(out, *l)
	}
	return out
}
