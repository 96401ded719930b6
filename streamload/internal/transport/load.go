package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// maxHops is how many redirects are followed: an FE to its master, the master to a BE, a BE to the BE that a group commit wants,
// and a proxy or two.
const maxHops = 5

// Load is one request to load.
type Load struct {
	Database, Table string
	// Header has the load's own headers, and is not changed; Expect, Authorization, the length and Label are added.
	Header http.Header
	// Label is sent as such if it is not "".
	Label string
	Body  Body
	// Rows is how many rows of the body the server has to count; 0 where it may count none and be right.
	Rows int64
	// Direct says that the address is that of a BE: one that an FE has sent us to before, see Base.
	Direct bool
	// Eager lets a small body go to a server that is known to store without waiting until it asks for it. That saves a turn on the wire; but
	// where the connection proves to be closed, the body may have left. So it is for loads whose label can be asked for.
	Eager bool
	// txn says that it is a load into a transaction, which answers in other words.
	txn bool
}

// eagerBody is the length in bytes up to which a body may go unasked. A server that refuses it early and closes loses its own answer when much
// of the body is still unread; this little is read with the head.
const eagerBody = 32 << 10

// Attempt is what came of one request to load.
type Attempt struct {
	decide.Attempt
	// Server is the host:port that the last word came from, or should have come from; Secure is true when it speaks TLS.
	Server string
	Secure bool
	// Base is the address of the server that answered, without the part of the path that names the call, if it can be used for other
	// loads without asking an FE; nil if not.
	Base *url.URL
	// Hops is how many redirects were followed.
	Hops int
	// ContentType of the answer.
	ContentType string
	// Err is why there is no answer.
	Err error
}

// Load sends a load to an FE and follows it to a BE. The context bounds all of it.
func (t *Transport) Load(ctx context.Context, base *url.URL, l Load) Attempt {
	at := Path(base, l.Database, l.Table, loadCall)
	left := false // some of the body left at an earlier hop
	for hops := 0; ; hops++ {
		a, to := t.put(ctx, base, at, l, hops)
		a.Hops, a.Direct, a.Rows = hops, l.Direct, l.Rows
		if left && a.Sent == decide.NotSent {
			a.Sent, a.Stale = decide.MaybeReceived, false
			if a.HasAnswer {
				a.Sent = decide.Answered
			}
		}
		if to == nil {
			return a
		}
		left = left || a.Sent != decide.NotSent
		if hops == maxHops {
			a.HasAnswer = false
			a.Trouble = decide.BadRedirect
			a.Err = fmt.Errorf("more than %d redirects, the last from %s to %s; do they go in a circle?", maxHops, at.Host, to.Host)
			return a
		}
		at = to
	}
}

// put does one hop; base is where the first began. It returns where to go next when the answer was a redirect.
func (t *Transport) put(ctx context.Context, base, at *url.URL, l Load, hop int) (Attempt, *url.URL) {
	body := openBody(l.Body)
	trace := &hopTrace{}
	hooks := trace.hooks()
	client := t.back
	front := hop == 0 && !l.Direct
	if front {
		client = t.front
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		wait := time.AfterFunc(t.conf.FEWait, func() { cancel(errNoFEAnswer) })
		defer wait.Stop()
		hooks.Got100Continue = func() { wait.Stop() }
	}
	req := t.request(httptrace.WithClientTrace(ctx, hooks), http.MethodPut, at, len(l.Header)+2)
	for name, values := range l.Header {
		if strings.EqualFold(name, "User-Agent") {
			name = "User-Agent" // net/http would send ours as well
		}
		req.Header[name] = values
	}
	if l.Label != "" {
		req.Header["label"] = []string{l.Label}
	}
	if l.Eager && !front && body.length > 0 && body.length <= eagerBody && t.storers.has(at) {
		trace.eager = true
	} else {
		req.Header["Expect"] = expectContinue
	}
	req.Body, req.ContentLength = body, body.length
	if body.length == 0 {
		req.Body = http.NoBody // any other body of no length is sent in chunks
	}
	// An FE's connection is of no use after an answer without a body, and saying so makes sure that none is sent, also where
	// a TLS proxy hides the answer from withholdConn.
	req.Close = front

	resp, err := client.RoundTrip(req)
	body.answered()
	stores := false
	if !front {
		defer func() { t.storers.report(at, stores) }()
	}
	if err != nil {
		err = explain(ctx, err)
		a := t.unanswered(at, hop, body, err)
		a.Stale = a.Sent == decide.NotSent && a.Trouble == decide.ConnectionLost && trace.reused.Load() && !trace.answered.Load() && ctx.Err() == nil
		_ = body.Close()
		return a, nil
	}
	defer resp.Body.Close()
	if isRedirect(resp.StatusCode) {
		to, err := t.follow(at, resp.Header.Get("Location"), callOf(base, l.Database, l.Table, loadCall))
		a := t.facts(at, body)
		a.HTTPStatus = resp.StatusCode
		if err != nil {
			a.Trouble = decide.BadRedirect
			a.Err = fmt.Errorf("HTTP %d from %s: %w", resp.StatusCode, at.Host, err)
			return a, nil
		}
		return a, to
	}
	if resp.StatusCode == http.StatusSwitchingProtocols { // it has no end, and is no answer to anything we asked
		a := t.unanswered(at, hop, body, errors.New("malformed HTTP response: HTTP 101 without an Upgrade request"))
		a.HTTPStatus = resp.StatusCode
		return a, nil
	}
	parse := answer.ParseLoad
	if l.txn {
		parse = answer.ParseTxn
	}
	result, err := t.readLoad(resp, parse)
	retry := retryAfter(resp.Header.Get("Retry-After"), time.Now())
	if err != nil {
		a := t.unanswered(at, hop, body, fmt.Errorf("HTTP %d, and the answer broke off: %w", resp.StatusCode, explain(ctx, err)))
		a.HTTPStatus, a.RetryAfter = resp.StatusCode, retry
		return a, nil
	}
	a := t.facts(at, body)
	a.HasAnswer = true
	if a.Sent == decide.MaybeReceived {
		a.Sent = decide.Answered
	}
	a.HTTPStatus, a.RetryAfter = resp.StatusCode, retry
	a.ContentType = resp.Header.Get("Content-Type")
	a.Load = result
	a.Rows = l.Rows
	if stores = stored(a.Attempt); stores {
		if a.Base = base; hop > 0 {
			a.Base = Base(at, l.Database, l.Table)
		}
	}
	return a, nil
}

// stored is true when the answer can only be that of a server that stores.
func stored(a decide.Attempt) bool {
	return a.Sent == decide.Answered && a.WholeBody && a.HTTPStatus == http.StatusOK &&
		(a.Load.Word == answer.Success || a.Load.Word == answer.PublishTimeout) && decide.CountsOf(a) == decide.CountsFit
}

// facts is how much of the body may have left. After it nothing more of it leaves.
func (t *Transport) facts(at *url.URL, body *countedBody) Attempt {
	a := Attempt{Server: at.Host, Secure: at.Scheme == "https"}
	if some, whole := body.shutdown(); some {
		a.Sent, a.WholeBody = decide.MaybeReceived, whole
	} else {
		_ = body.Close() // net/http does so too, at some time
	}
	return a
}

func (t *Transport) unanswered(at *url.URL, hop int, body *countedBody, err error) Attempt {
	a := t.facts(at, body)
	a.Trouble = troubleOf(err)
	a.Err = fmt.Errorf("PUT %s: %w", at.Host, err)
	if a.Trouble == decide.Unreachable && hop > 0 {
		a.Err = fmt.Errorf("the FE sent us to %s, which cannot be reached from here: if that address is good only inside the cluster, set redirect_map, redirect_policy or be_urls: %w", at.Host, err)
	}
	return a
}

// readAnswer reads an answer of at most limit bytes. Of a longer one only the start is given, in words: nothing that long is a result, and its
// beginning, which may be one followed by white space without end, must not be taken for it.
func readAnswer(resp *http.Response, limit int64) (text []byte, long string, err error) {
	text, err = io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if int64(len(text)) > limit {
		return nil, tooLong(text, limit), nil
	}
	return text, "", err
}

// answers are buffers for the answers to loads. One that had to hold more than maxKept bytes is not used again.
var answers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

const maxKept = 64 << 10

// readLoad reads the answer to a load as readAnswer does, and makes sense of it.
func (t *Transport) readLoad(resp *http.Response, parse func([]byte) answer.Load) (answer.Load, error) {
	text := answers.Get().(*bytes.Buffer)
	defer func() {
		if text.Cap() <= maxKept {
			text.Reset()
			answers.Put(text)
		}
	}()
	switch _, err := text.ReadFrom(io.LimitReader(resp.Body, t.conf.MaxAnswer+1)); {
	case int64(text.Len()) > t.conf.MaxAnswer:
		return answer.Load{Excerpt: tooLong(text.Bytes(), t.conf.MaxAnswer)}, nil
	case err != nil:
		return answer.Load{}, err
	default:
		return parse(text.Bytes()), nil
	}
}

func tooLong(text []byte, limit int64) string {
	return fmt.Sprintf("an answer of more than %d bytes: %s", limit, answer.Excerpt(text))
}

// Values of headers are shared by all requests; nothing changes them.
var (
	userAgent      = []string{"benthos-doris"}
	expectContinue = []string{"100-continue"}
)

// request makes a request without a body, with our credentials and room for more headers.
func (t *Transport) request(ctx context.Context, method string, at *url.URL, headers int) *http.Request {
	req := (&http.Request{
		Method: method, URL: at, Host: at.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header, 2+headers),
	}).WithContext(ctx)
	req.Header["User-Agent"] = userAgent
	if t.auth != nil {
		req.Header["Authorization"] = t.auth
	}
	return req
}

// retryAfter reads seconds or an HTTP date.
func retryAfter(s string, now time.Time) time.Duration {
	if s = strings.TrimSpace(s); s == "" {
		return 0
	}
	if n, err := strconv.Atoi(s); err == nil {
		return time.Duration(min(max(n, 0), 86400)) * time.Second
	}
	if at, err := http.ParseTime(s); err == nil {
		return min(max(at.Sub(now), 0), 24*time.Hour)
	}
	return 0
}

// troubleOf finds the kind of an error of net/http.
func troubleOf(err error) decide.Trouble {
	var (
		dns    *net.DNSError
		op     *net.OpError
		hs     tlsError
		cert   *tls.CertificateVerificationError
		record tls.RecordHeaderError
		slow   net.Error
	)
	switch {
	case errors.As(err, &hs), errors.As(err, &cert), errors.As(err, &record):
		return decide.TLSFailed
	case errors.As(err, &dns), errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect"):
		return decide.Unreachable
	case errors.Is(err, errNoFEAnswer), errors.Is(err, context.DeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		return decide.TimedOut
	case strings.Contains(err.Error(), "malformed"), strings.Contains(err.Error(), "response headers exceeded"):
		return decide.Garbled
	default:
		return decide.ConnectionLost
	}
}
