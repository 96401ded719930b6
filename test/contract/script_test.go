package contract

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// script is an FE and a BE that answer as a test says, for answers that have to be exact. It stores nothing.
type script struct {
	t  *testing.T
	fe *httptest.Server
	be *httptest.Server

	// load answers the n-th load (from 0), whose body was read whole.
	load func(n int, s sent) reply
	// head answers the n-th load before its body is asked for, if it is not nil and gives a reply.
	head func(n int, s sent) *reply
	// state answers the n-th question for a label's state (from 0). Default: UNKNOWN.
	state func(n int, label string) reply
	// cancel answers a cancel. Default: success.
	cancel func(label string) reply

	mu    sync.Mutex
	sent  []sent
	atFE  []http.Header
	asked []string
}

// sent is a load as the BE saw it.
type sent struct {
	label  string
	header http.Header
	body   string
}

// reply is an answer. The zero reply resets the connection without one.
type reply struct {
	status int
	body   string
}

var drop = reply{}

func ok(body string) reply { return reply{http.StatusOK, body} }

// stateIs is an FE's answer about a label.
func stateIs(word string) reply {
	return ok(`{"msg":"success","code":0,"data":"` + word + `","count":0}`)
}

// result is a BE's answer to a load.
type result struct {
	TxnID             int64 `json:"TxnId"`
	Label             string
	Status            string
	ExistingJobStatus string `json:",omitempty"`
	Message           string
	NumberTotalRows   int
	NumberLoadedRows  int
	ErrorURL          string `json:",omitempty"`
}

func (r result) reply() reply {
	text, err := json.MarshalIndent(r, "", "    ")
	if err != nil {
		panic(err)
	}
	return ok(string(text) + "\n")
}

func fails(s sent, format string, args ...any) result {
	return result{TxnID: 7, Label: s.label, Status: "Fail", Message: fmt.Sprintf(format, args...)}
}

func succeeds(s sent) reply {
	n := strings.Count(s.body, "\n") + 1
	return result{TxnID: 7, Label: s.label, Status: "Success", Message: "OK", NumberTotalRows: n, NumberLoadedRows: n}.reply()
}

// exists is "Label Already Exists" with the word of the job that owns the label.
func exists(s sent, word string) reply {
	return result{
		TxnID: -1, Label: s.label, Status: "Label Already Exists", ExistingJobStatus: word,
		Message: "[LABEL_ALREADY_EXISTS]TStatus: errCode = 2, detailMessage = Label [" + s.label + "] has already been used, relate to txn [7]",
	}.reply()
}

// start starts the two servers; the fields have to be set before.
func (s *script) start(t *testing.T) *script {
	t.Helper()
	s.t = t
	s.be = httptest.NewServer(http.HandlerFunc(s.serveBE))
	t.Cleanup(s.be.Close)
	s.fe = httptest.NewServer(http.HandlerFunc(s.serveFE))
	t.Cleanup(s.fe.Close)
	return s
}

func (s *script) serveFE(w http.ResponseWriter, r *http.Request) {
	label := r.URL.Query().Get("label")
	switch {
	case strings.HasSuffix(r.URL.Path, "/get_load_state"):
		s.mu.Lock()
		n := len(s.asked)
		s.asked = append(s.asked, label)
		s.mu.Unlock()
		if s.state == nil {
			s.answer(w, stateIs("UNKNOWN"))
			return
		}
		s.answer(w, s.state(n, label))
	case strings.HasSuffix(r.URL.Path, "/_cancel"):
		if s.cancel == nil {
			s.answer(w, ok(`{"msg":"success","code":0,"data":null,"count":0}`))
			return
		}
		s.answer(w, s.cancel(label))
	default:
		s.mu.Lock()
		s.atFE = append(s.atFE, r.Header.Clone())
		s.mu.Unlock()
		w.Header().Set("Location", "http://"+user+":wrong@"+strings.TrimPrefix(s.be.URL, "http://")+r.URL.Path+"?")
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusTemporaryRedirect)
	}
}

func (s *script) serveBE(w http.ResponseWriter, r *http.Request) {
	it := sent{label: r.Header.Get("Label"), header: r.Header.Clone()}
	s.mu.Lock()
	n := len(s.sent)
	s.sent = append(s.sent, it)
	s.mu.Unlock()
	if s.head != nil {
		if a := s.head(n, it); a != nil {
			s.answer(w, *a)
			return
		}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	it.body = string(body)
	s.mu.Lock()
	s.sent[n] = it
	s.mu.Unlock()
	s.answer(w, s.load(n, it))
}

func (s *script) answer(w http.ResponseWriter, a reply) {
	if a.status != 0 {
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
		return
	}
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, isTCP := c.(*net.TCPConn); isTCP {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// loads are the loads that the BE saw.
func (s *script) loads() []sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]sent(nil), s.sent...)
}

// labels are those of the loads.
func (s *script) labels() (out []string) {
	for _, l := range s.loads() {
		out = append(out, l.label)
	}
	return out
}

func (s *script) polls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

func TestScriptAnswersAreWhatADorisSends(t *testing.T) {
	t.Parallel()
	s := (&script{load: func(_ int, s sent) reply { return succeeds(s) }}).start(t)
	client, _ := newClient(t, config([]string{s.fe.URL}))
	report, err := client.Load(within(t, ended), batch(3))
	require.NoError(t, err)
	require.Equal(t, "success", report.Evidence)
	require.EqualValues(t, 3, report.Loaded)
	require.Zero(t, report.Unaccounted())
}
