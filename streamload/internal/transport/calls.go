package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

const (
	stateCall  = "get_load_state"
	cancelCall = "_cancel"
	txnCall    = "_stream_load_2pc"
	// maxCallAnswer is plenty for the answer to a call: a state, or an error text.
	maxCallAnswer = 1 << 20
	// maxErrorLog is how much of an error page is read: the first rows tell the story, a page may have 200 MB.
	maxErrorLog = 64 << 10
)

// Reply is the answer to a call.
type Reply struct {
	HTTPStatus int
	// Server is the host:port that answered.
	Server string
	// Body is the answer, or words about one that is too long to be any.
	Body []byte

	// Hops is how many redirects were followed. More than none says that the server that was asked answered, whatever became of the rest.
	Hops int
}

// State asks one FE for the state of a label and follows it to the master (Doris: GetStreamLoadState.java redirects there).
func (t *Transport) State(ctx context.Context, fe *url.URL, database, label string) (answer.State, Reply, error) {
	r, err := t.call(ctx, http.MethodGet, fe, []string{database, stateCall}, label, nil)
	if err != nil {
		return answer.State{}, r, err
	}
	s := answer.ParseState(r.Body)
	if r.HTTPStatus < 200 || r.HTTPStatus > 299 {
		if s.State != answer.NoState {
			s.State = answer.NoState // an error status is no state, whatever the text says
			s.Message = answer.Excerpt(r.Body)
		}
	}
	return s, r, nil
}

// Cancel asks one FE to abort the transaction of a label (Doris: CancelLoadAction.java). What came of it is to be seen in the label's state.
//
// StarRocks has the label in the path (CancelStreamLoad.java). Its own clients send it in the query, with another word in its place in the path; with
// both it is the same label, whoever reads which.
func (t *Transport) Cancel(ctx context.Context, fe *url.URL, database, label string) (Reply, error) {
	call := []string{database, cancelCall}
	if t.conf.StarRocks {
		call = []string{database, label, cancelCall}
	}
	return t.call(ctx, http.MethodPost, fe, call, label, nil)
}

// CommitTxn commits the second phase of a transaction. It names the transaction and not the label, so a copy of it that comes late can
// commit nothing else. An FE sends it on to a BE (Doris: LoadAction.java, be stream_load_2pc.cpp).
func (t *Transport) CommitTxn(ctx context.Context, fe *url.URL, database string, txn int64) (Reply, error) {
	return t.call(ctx, http.MethodPut, fe, []string{database, txnCall}, "", http.Header{
		"txn_id": {strconv.FormatInt(txn, 10)}, "txn_operation": {"commit"},
	})
}

// AbortTxn aborts a transaction, by its id where that is known, and else whatever runs or waits under the label: the latter from Doris 2.0
// on. What came of it is to be seen in the label's state.
func (t *Transport) AbortTxn(ctx context.Context, fe *url.URL, database string, txn int64, label string) (Reply, error) {
	header := http.Header{"label": {label}, "txn_operation": {"abort"}}
	if txn > 0 {
		header = http.Header{"txn_id": {strconv.FormatInt(txn, 10)}, "txn_operation": {"abort"}}
	}
	return t.call(ctx, http.MethodPut, fe, []string{database, txnCall}, "", header)
}

// Ping asks an FE whether it is up (Doris: BootstrapFinishAction.java). Any HTTP answer is one; it is up to the caller what to make of it.
func (t *Transport) Ping(ctx context.Context, fe *url.URL) (Reply, error) {
	return t.call(ctx, http.MethodGet, fe, []string{"bootstrap"}, "", nil)
}

// call does a request without a body, about a label unless that is "", and follows redirects by hand, with the same checks as a load.
func (t *Transport) call(ctx context.Context, method string, fe *url.URL, segments []string, label string, header http.Header) (Reply, error) {
	r, _, err := t.callTo(ctx, method, fe, segments, label, header)
	return r, err
}

// callTo is call; it also gives the address that the last answer came from, or should have.
func (t *Transport) callTo(ctx context.Context, method string, fe *url.URL, segments []string, label string, header http.Header) (r Reply, at *url.URL, err error) {
	at = Path(fe, segments...)
	if label != "" {
		at.RawQuery = url.Values{"label": {label}}.Encode()
	}
	for hops := 0; ; hops++ {
		req := t.request(ctx, method, at, 0)
		maps.Copy(req.Header, header)
		resp, err := t.calls.RoundTrip(req)
		if err != nil {
			return Reply{Server: at.Host, Hops: hops}, at, fmt.Errorf("%s %s: %w", method, at.Host, explain(ctx, err))
		}
		body, long, err := readAnswer(resp, maxCallAnswer)
		_ = resp.Body.Close()
		r := Reply{HTTPStatus: resp.StatusCode, Server: at.Host, Body: body, Hops: hops}
		if long != "" {
			r.Body = []byte(long)
		}
		if err != nil {
			return r, at, fmt.Errorf("%s %s: HTTP %d, and the answer broke off: %w", method, at.Host, resp.StatusCode, explain(ctx, err))
		}
		if !isRedirect(resp.StatusCode) {
			return r, at, nil
		}
		to, err := t.follow(at, resp.Header.Get("Location"), callOf(fe, segments...))
		if err == nil && label != "" && to.Query().Get("label") != label {
			err = fmt.Errorf("redirect to %s, which does not ask about the same label", cutLocation(to.Host))
		}
		if err != nil {
			return r, at, fmt.Errorf("%s %s: HTTP %d: %w", method, at.Host, resp.StatusCode, err)
		}
		if hops == maxHops {
			return r, at, fmt.Errorf("%s %s: more than %d redirects", method, at.Host, maxHops)
		}
		at = to
	}
}

// ErrorLog reads the start of the error page that the answer of a load names. The address comes from outside, so it gets our credentials
// only when it is on the server that gave the answer and no less secret, and redirects are not followed.
func (t *Transport) ErrorLog(ctx context.Context, address string, of Attempt) ([]byte, error) {
	at, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the ErrorURL is no URL")
	}
	if err := checkAuthority(at); err != nil {
		return nil, fmt.Errorf("the ErrorURL %w", err)
	}
	at.User = nil
	req := t.request(ctx, http.MethodGet, at, 0)
	if at.Host != of.Server || of.Secure && at.Scheme != "https" {
		delete(req.Header, "Authorization")
	}
	resp, err := t.calls.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", at.Host, explain(ctx, err))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorLog))
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: HTTP %d", at.Host, resp.StatusCode)
	}
	if len(body) > 0 {
		return body, nil // a page that breaks off still tells the first rows
	}
	return nil, err
}
