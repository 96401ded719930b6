package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// Page is the answer to a question about a server.
type Page struct {
	Reply
	Header http.Header
	// TLS of the connection, nil for none.
	TLS *tls.ConnectionState
}

// Get reads one page of an FE with our credentials. Redirects are facts, and not followed.
func (t *Transport) Get(ctx context.Context, base *url.URL, segments ...string) (Page, error) {
	return t.page(t.request(ctx, http.MethodGet, under(base, segments...), 0))
}

// GetPublic is Get without credentials.
func (t *Transport) GetPublic(ctx context.Context, base *url.URL, segments ...string) (Page, error) {
	req := t.request(ctx, http.MethodGet, under(base, segments...), 0)
	delete(req.Header, "Authorization")
	return t.page(req)
}

func (t *Transport) page(req *http.Request) (Page, error) {
	resp, err := t.calls.RoundTrip(req)
	if err != nil {
		return Page{Reply: Reply{Server: req.URL.Host}}, fmt.Errorf("%s %s: %w", req.Method, req.URL.Host, explain(req.Context(), err))
	}
	defer resp.Body.Close()
	p := Page{Reply: Reply{HTTPStatus: resp.StatusCode, Server: req.URL.Host}, Header: resp.Header, TLS: resp.TLS}
	if p.Body, err = io.ReadAll(io.LimitReader(resp.Body, maxCallAnswer)); err != nil {
		return p, fmt.Errorf("%s %s: HTTP %d, and the answer broke off: %w", req.Method, req.URL.Host, resp.StatusCode, explain(req.Context(), err))
	}
	return p, nil
}

// under is a path below base that does not begin with /api.
func under(base *url.URL, segments ...string) *url.URL {
	at := Path(base, segments...)
	prefix, rawPrefix := strings.TrimRight(base.Path, "/"), strings.TrimRight(base.EscapedPath(), "/")
	at.Path = prefix + strings.TrimPrefix(at.Path, prefix+"/api")
	at.RawPath = rawPrefix + strings.TrimPrefix(at.RawPath, rawPrefix+"/api")
	return at
}

// Trouble is what kind of failure an error of Get is.
func Trouble(err error) decide.Trouble { return troubleOf(err) }

// Way is what an FE says to a load before it has a body.
type Way struct {
	// HTTPStatus of the answer; 0 when there was none.
	HTTPStatus int
	// To is where it sends the load; nil when it does not, and Load is its answer.
	To   *url.URL
	Load answer.Load
	// Asked is true when the server asked for the body: it is no FE, or something before it hides that.
	Asked bool
}

// errBodyKept ends a request whose body nobody is to get.
var errBodyKept = errors.New("the body is kept back")

// keptBody is a body that is announced and never sent.
type keptBody struct{}

// Read gives nothing.
func (keptBody) Read([]byte) (int, error) { return 0, errBodyKept }

// Close does nothing.
func (keptBody) Close() error { return nil }

// Ask asks an FE where it would send a load, without going there: nothing is stored. A server that is a BE, in truth, may begin a
// transaction, which it gives up when the connection ends without a body.
func (t *Transport) Ask(ctx context.Context, base *url.URL, l Load) (Way, error) {
	at := Path(base, l.Database, l.Table, loadCall)
	ctx, cancel := context.WithTimeout(ctx, t.conf.FEWait)
	defer cancel()
	var asked atomic.Bool
	req := t.request(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			if c, ok := info.Conn.(*withholdConn); ok {
				c.armed.Store(true)
			}
		},
		Got100Continue: func() { asked.Store(true); cancel() },
	}), http.MethodPut, at, len(l.Header)+1)
	maps.Copy(req.Header, l.Header)
	req.Header["Expect"] = []string{"100-continue"}
	req.Body, req.ContentLength, req.Close = keptBody{}, 1, true
	resp, err := t.front.RoundTrip(req)
	switch {
	case asked.Load():
		if err == nil {
			_ = resp.Body.Close()
		}
		return Way{Asked: true}, nil
	case err != nil:
		return Way{}, fmt.Errorf("PUT %s: %w", at.Host, explain(ctx, err))
	}
	defer resp.Body.Close()
	w := Way{HTTPStatus: resp.StatusCode}
	if isRedirect(resp.StatusCode) {
		if w.To, err = Follow(at, resp.Header.Get("Location"), callOf(base, l.Database, l.Table, loadCall), t.conf.AllowInsecureRedirect); err != nil {
			return w, fmt.Errorf("HTTP %d from %s: %w", resp.StatusCode, at.Host, err)
		}
		return w, nil
	}
	result, err := t.readLoad(resp, answer.ParseLoad)
	if err != nil {
		return w, fmt.Errorf("PUT %s: HTTP %d, and the answer broke off: %w", at.Host, resp.StatusCode, explain(ctx, err))
	}
	w.Load = result
	return w, nil
}

// Empty is a body of nothing.
type Empty struct{}

// Len is 0.
func (Empty) Len() int64 { return 0 }

// Open gives a reader at its end.
func (Empty) Open() io.ReadCloser { return http.NoBody }
