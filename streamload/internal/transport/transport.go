// Package transport speaks HTTP with FEs and BEs. It reports facts and decides nothing: what follows from a fact is decided
// in package decide. It never sends a load a second time by itself.
//
// How a body is kept from a server that redirects: every hop is a PUT with "Expect: 100-continue" and the real Content-Length.
// At an FE the body leaves only after "100 Continue", however long that takes; at the hops behind it, it leaves after
// ContinueWait as well, because some servers and proxies do not know Expect. A server that answers at once gets no body byte
// (see withholdConn). Only a server that has just stored a load gets a small body at once (see Load.Eager). The other way, a PUT without a body to find the BE, was not taken: what is configured as an FE may in
// truth be a BE or a proxy that answers by itself, and it would store, and report as a success, a load of no rows under our label.
package transport

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Config of a Transport. Zero durations and sizes take the defaults.
type Config struct {
	Username, Password string
	// TLS is used with every https address; nil means the system's certificates.
	TLS *tls.Config
	// AllowInsecureRedirect lets an https FE send us to an http BE.
	AllowInsecureRedirect bool
	// Redirects says how servers are reached to which others send us.
	Redirects RedirectMap
	// StarRocks says that the servers are those of StarRocks.
	StarRocks bool
	// ConnectTimeout bounds a dial, and a TLS handshake. Default 10 s.
	ConnectTimeout time.Duration
	// ContinueWait is how long a BE may take to ask for the body before it is sent unasked. Default 1 s.
	ContinueWait time.Duration
	// FEWait is how long an FE may take to answer. Default 30 s.
	FEWait time.Duration
	// MaxAnswer is the most that is read of one answer, in bytes. Default 4 MiB: a Doris
	// 2.0 puts a stack trace of up to 2 MB into its message. A longer answer is not understood.
	MaxAnswer int64
}

// Transport sends loads and asks for label states. It is safe for concurrent use.
type Transport struct {
	conf Config
	auth []string // the Authorization header, nil without a user
	// front is for the first hop: the body waits for 100 Continue without end (the context ends it).
	front *http.Transport
	// back is for the hops behind it.
	back *http.Transport
	// calls is for everything that has no body.
	calls *http.Transport
	// storers are the servers that take a small body unasked.
	storers storers
}

// never is longer than any load; ExpectContinueTimeout has no value for "no limit".
const never = 365 * 24 * time.Hour

// frontBuffer is in bytes.
const frontBuffer = 2 << 10

// New makes a Transport. It opens no connection and starts no goroutine.
func New(c Config) *Transport {
	if c.ConnectTimeout <= 0 {
		c.ConnectTimeout = 10 * time.Second
	}
	if c.ContinueWait <= 0 {
		c.ContinueWait = time.Second
	}
	if c.FEWait <= 0 {
		c.FEWait = 30 * time.Second
	}
	if c.MaxAnswer <= 0 {
		c.MaxAnswer = 4 << 20
	}
	t := &Transport{conf: c}
	if c.Username != "" {
		t.auth = []string{"Basic " + base64.StdEncoding.EncodeToString([]byte(c.Username+":"+c.Password))}
	}
	t.front = t.newHTTP(never, true)
	// Each of its connections is mostly for one head and one redirect; larger buffers would be garbage of every load.
	t.front.ReadBufferSize, t.front.WriteBufferSize = frontBuffer, frontBuffer
	t.back = t.newHTTP(c.ContinueWait, true)
	t.calls = t.newHTTP(0, false)
	return t
}

// Close gives up idle connections.
func (t *Transport) Close() {
	t.front.CloseIdleConnections()
	t.back.CloseIdleConnections()
	t.calls.CloseIdleConnections()
}

// tlsError marks a failed handshake.
type tlsError struct{ err error }

func (e tlsError) Error() string { return "TLS handshake: " + e.err.Error() }
func (e tlsError) Unwrap() error { return e.err }

func (t *Transport) newHTTP(continueWait time.Duration, withhold bool) *http.Transport {
	dialer := &net.Dialer{Timeout: t.conf.ConnectTimeout, KeepAlive: 15 * time.Second}
	wrap := func(c net.Conn) net.Conn {
		if withhold {
			return &withholdConn{Conn: c}
		}
		return c
	}
	h := &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return wrap(c), nil
		},
		TLSClientConfig:       t.tlsConfig(""),
		TLSHandshakeTimeout:   t.conf.ConnectTimeout,
		ExpectContinueTimeout: continueWait,
		MaxIdleConnsPerHost:   64,
		// Shorter than the idle time of the proxies that are common in front of Doris (nginx 75 s, cloud balancers 60 s).
		IdleConnTimeout:        50 * time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}
	// The handshake is done here, not by net/http, so that the wrapper sees what is inside of TLS.
	h.DialTLSContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			host = addr
		}
		ctx, cancel := context.WithTimeout(ctx, t.conf.ConnectTimeout)
		defer cancel()
		tc := tls.Client(c, t.tlsConfig(host))
		if err := tc.HandshakeContext(ctx); err != nil {
			_ = c.Close()
			return nil, tlsError{err}
		}
		return wrap(tc), nil
	}
	return h
}

func (t *Transport) tlsConfig(host string) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.conf.TLS != nil {
		c = t.conf.TLS.Clone()
	}
	if c.ServerName == "" {
		c.ServerName = host
	}
	c.NextProtos = []string{"http/1.1"} // Stream Load needs Expect, which HTTP/2 does not have
	return c
}

var (
	errNoFEAnswer = errors.New("no answer from the FE in time, and the body is not sent before it answers; is this address an FE?")
	errStopped    = errors.New("stopped")
)

// explain puts the end of a context in the place of the error that it caused, which is mostly less clear.
func explain(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return err
	case errors.Is(cause, errNoFEAnswer):
		return errNoFEAnswer
	case errors.Is(cause, context.DeadlineExceeded):
		return fmt.Errorf("no answer in time: %w", context.DeadlineExceeded)
	case errors.Is(cause, context.Canceled):
		return fmt.Errorf("%w: %w", errStopped, context.Canceled)
	default:
		return cause
	}
}
