package output

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// loadRequest is a request to load that reached the BE.
type loadRequest struct {
	database, table string
	header          http.Header
	rows            []string
}

// server is an FE and a BE that answer as a test tells them to. It is for answers that a real cluster would not give on demand.
type server struct {
	fe, be *httptest.Server
	// answer is the body of the BE's answer.
	answer func(loadRequest) string
	// state is the body of the answer to get_load_state.
	state func(label string) string
	// refuse makes the FE answer every call with this status.
	refuse int
	// page is the body of the error page.
	page string
	// connState is told about the connections to the BE.
	connState func(net.Conn, http.ConnState)

	mu    sync.Mutex
	loads []loadRequest
}

func newServer(t *testing.T, set func(*server)) *server {
	t.Helper()
	s := &server{
		answer: func(r loadRequest) string { return success(r, len(r.rows), 0) },
		state:  func(string) string { return `{"msg":"success","code":0,"data":"UNKNOWN","count":0}` },
	}
	if set != nil {
		set(s)
	}
	s.be = httptest.NewUnstartedServer(http.HandlerFunc(s.serveBE))
	s.be.Config.ConnState = s.connState
	s.be.Start()
	s.fe = httptest.NewServer(http.HandlerFunc(s.serveFE))
	t.Cleanup(s.fe.Close)
	t.Cleanup(s.be.Close)
	return s
}

func (s *server) serveFE(w http.ResponseWriter, r *http.Request) {
	switch {
	case s.refuse != 0:
		w.WriteHeader(s.refuse)
		fmt.Fprint(w, "no")
	case strings.HasSuffix(r.URL.Path, "/_stream_load"):
		w.Header().Set("Location", strings.Replace(s.be.URL, "http://", "http://root:@", 1)+r.URL.EscapedPath()+"?")
		w.WriteHeader(http.StatusTemporaryRedirect)
	case strings.HasSuffix(r.URL.Path, "/get_load_state"):
		fmt.Fprint(w, s.state(r.URL.Query().Get("label")))
	default:
		fmt.Fprint(w, `{"msg":"success","code":0,"data":{},"count":0}`)
	}
}

func (s *server) serveBE(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		fmt.Fprint(w, s.page)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	path := strings.Split(r.URL.Path, "/")
	load := loadRequest{database: path[2], table: path[3], header: r.Header, rows: strings.Split(strings.TrimSuffix(string(body), "\n"), "\n")}
	s.mu.Lock()
	s.loads = append(s.loads, load)
	s.mu.Unlock()
	fmt.Fprint(w, s.answer(load))
}

func (s *server) seen() []loadRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]loadRequest(nil), s.loads...)
}

// success is an answer that counts rows; more is put behind the counts.
func success(r loadRequest, loaded, filtered int, more ...string) string {
	return fmt.Sprintf(`{"TxnId":7,"Label":%q,"Status":"Success","Message":"OK","NumberTotalRows":%d,"NumberLoadedRows":%d,"NumberFilteredRows":%d,`+
		`"NumberUnselectedRows":0,"LoadBytes":10,"LoadTimeMs":12,"BeginTxnTimeMs":1,"CommitAndPublishTimeMs":5%s}`,
		r.header.Get("label"), loaded+filtered, loaded, filtered, strings.Join(more, ""))
}

// failed is an answer that the load failed.
func failed(r loadRequest, message string, more ...string) string {
	return fmt.Sprintf(`{"TxnId":7,"Label":%q,"Status":"Fail","Message":%q,"NumberTotalRows":0,"NumberLoadedRows":0,"NumberFilteredRows":0,"NumberUnselectedRows":0%s}`,
		r.header.Get("label"), message, strings.Join(more, ""))
}
