package streamload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/streamload/encode"
	"github.com/dorisload/benthos-doris/streamload/internal/redact"
	"github.com/dorisload/benthos-doris/streamload/internal/transport"
)

// Client loads batches. It is safe for concurrent use; each call of Load is one load.
type Client struct {
	conf      Config
	frontends *frontends
	bes       *frontends // the BEs of the config, nil when FEs are asked
	backends  *backends
	header    http.Header // of every load, without its label
	encoding  encode.Options
	counting  counting
	// compressor is nil when bodies go as they are.
	compressor *encode.Compressor
	transport  *transport.Transport
	secrets    redact.Secrets
	policy     decide.Policy
	ledger     *ledger
	pace       *pace
	divisible  bool // rows can be sent in other loads than as they came
}

// New makes a Client. It opens no connection and starts no goroutine. The error names every problem of the config.
func New(conf Config) (*Client, error) {
	conf.setDefaults()
	fes, bes, err := conf.validate()
	if err != nil {
		return nil, err
	}
	compressor, err := conf.Options.compressor()
	if err != nil {
		return nil, err
	}
	redirects, _ := transport.NewRedirectMap(conf.RedirectMap) // validated
	c := &Client{
		conf:       conf,
		pace:       newPace(conf.Backoff.Initial, conf.Backoff.Max),
		frontends:  newFrontends(fes, conf.Observer),
		backends:   newBackends(conf.BackendAge),
		header:     conf.Options.header(conf.Timeout),
		encoding:   conf.Options.encoding(),
		counting:   conf.Options.counting(),
		divisible:  conf.Options.Divisible(),
		compressor: compressor,
		secrets:    redact.NewSecrets(conf.Username, conf.Password),
		transport: transport.New(transport.Config{
			Username:              conf.Username,
			Password:              conf.Password,
			TLS:                   conf.TLS,
			AllowInsecureRedirect: conf.AllowInsecureRedirect,
			Redirects:             redirects,
			StarRocks:             conf.Options.dialect() == encode.StarRocks,
			ConnectTimeout:        conf.ConnectTimeout,
		}),
		policy: decide.Policy{
			MaxRetries:    conf.MaxRetries,
			Backoff:       decide.Backoff(conf.Backoff),
			LabelPoll:     decide.Backoff(conf.LabelPoll),
			Unlabelled:    conf.Options.Unlabelled(),
			TwoPhase:      conf.Options.TwoPhaseCommit,
			RejectUnknown: conf.RejectUnknown,
			LabelOnce:     conf.Options.TwoPhaseCommit && conf.Options.dialect() == encode.StarRocks,
			NoFence:       conf.Options.dialect() == encode.StarRocks,
			FEs:           len(fes),
		},
	}
	if len(bes) > 0 {
		c.bes = newFrontends(bes, NopObserver{}) // FE is about FEs
		c.backends.age = 0
		c.policy.FEs = len(bes)
	}
	c.ledger = newLedger(conf.Ledger, c.Reachable, conf.Observer.Forgotten)
	return c, nil
}

// Close gives up idle connections. Loads that run are not disturbed.
func (c *Client) Close() { c.transport.Close() }

// Load stores the rows of a batch and returns when they are committed, or when it is certain that this call will not make them so.
// The error is nil or an *Error. A cancelled context sends nothing more; a request that is on its way gets Config.Grace to
// learn its fate. A batch without rows is no load and no error.
func (c *Client) Load(ctx context.Context, b Batch) (Report, error) {
	if len(b.Rows) == 0 {
		return Report{Database: b.Database, Table: b.Table}, nil
	}
	if err := b.validate(c.policy.Unlabelled); err != nil {
		return Report{}, notSent(decide.NotFound, b, err)
	}
	if c.policy.LabelOnce && b.Identity != "" {
		return Report{}, notSent(decide.LabelTaken, b, errors.New("a label identity cannot be used with two_phase_commit and dialect starrocks, where a label can be used once only"))
	}
	encoding := c.encoding
	encoding.Hash = b.Identity != "" // the label is made of the rows
	body, rejected := encode.Encode(b.Rows, encoding)
	if body.Rows() == 0 && len(rejected) == 0 { // messages of many rows, without any
		return Report{Database: b.Database, Table: b.Table, RowsFree: true}, nil
	}
	if body.Rows() == 0 {
		return Report{Database: b.Database, Table: b.Table}, &Error{
			Class: decide.DataQuality, Stage: StageEncode, Database: b.Database, Table: b.Table, Rejected: rejected,
		}
	}
	// Requests outlive the caller's context by the grace, so that one on its way can learn its fate.
	alive, cancel := c.withGrace(ctx)
	defer cancel()
	report, failure := c.loadBody(ctx, alive, b, &body)
	report.RowsFree = !body.InUse()
	return result(report, failure, rejected)
}

// loadOnce stores the rows of a body in one load. Where that leaves its label open, and another load of the rows would do better, it settles the label
// and loads them once more, so that only those of one load fail for a broken connection.
func (c *Client) loadOnce(ctx, alive context.Context, b Batch, body *encode.Body) (Report, *Error) {
	first, failure := c.loadNow(ctx, alive, b, body)
	if failure == nil || !failure.settle {
		return first, failure
	}
	e := c.ledger.of(failure.Label)
	if e == nil {
		return first, failure // the ledger has no room for it
	}
	if !c.settleOwn(ctx, alive, e) {
		return first, failure
	}
	report, failure := c.loadNow(ctx, alive, b, body)
	report.tried(first)
	return report, failure
}

func (c *Client) loadNow(ctx, alive context.Context, b Batch, body *encode.Body) (Report, *Error) {
	if c.ledger.empty() {
		return c.deliver(ctx, alive, b, body)
	}
	return c.loadKnown(ctx, alive, b, body)
}

// notSent is the error of a batch that was not tried.
func notSent(class Class, b Batch, err error) *Error {
	return &Error{
		Class: class, Stage: StageFrontend, Database: b.Database, Table: b.Table,
		Message: err.Error(), Reason: "not sent", Err: err,
	}
}

// result joins what became of the rows sent with the rows that were refused before.
func result(report Report, failure *Error, rejected []RowError) (Report, error) {
	switch {
	case failure != nil:
		failure.Rejected = rejected
		return report, failure
	case len(rejected) > 0:
		return report, &Error{
			Class: decide.DataQuality, Stage: StageEncode, Database: report.Database, Table: report.Table, Label: report.Label,
			Attempts: report.Attempts, Rejected: rejected, Partial: true,
		}
	default:
		return report, nil
	}
}

// longestName is more than any server allows for the name of a database or table, in bytes (Doris: 64 characters, unless table_name_length_limit
// says more).
const longestName = 1024

// CheckName says what is wrong with the name of a database or table, as the rest of a sentence; nil if nothing is. Names come from messages. An FE
// takes the escapes out of the path before it puts it into its redirect, where "../other/t" would then lead to another database. No name may
// have these letters anyway (fe FeNameFormat.java).
func CheckName(name string) error {
	switch {
	case name == "":
		return errors.New("is empty")
	case len(name) > longestName:
		return fmt.Errorf("is %d bytes long, and none may be longer than %d; it begins with %.50q", len(name), longestName, name)
	case !utf8.ValidString(name):
		return fmt.Errorf("is %.100q, which is not valid UTF-8", name)
	case name == "." || strings.Contains(name, ".."):
		return fmt.Errorf("is %.100q, which no path can carry", name)
	case slices.ContainsFunc([]byte(name), func(b byte) bool { return b < ' ' || b == 0x7f }):
		return fmt.Errorf("is %.100q, which has a control character in it", name)
	case strings.ContainsAny(name, `/\?#%`):
		return fmt.Errorf("is %.100q; no name may have one of / \\ ? # %% in it", name)
	}
	return nil
}

func (b Batch) validate(unlabelled bool) error {
	for _, part := range [...]struct{ what, name string }{{"database", b.Database}, {"table", b.Table}} {
		if err := CheckName(part.name); err != nil {
			return fmt.Errorf("the %s name %w", part.what, err)
		}
	}
	if unlabelled && b.Identity != "" {
		return errors.New("a label identity cannot be used with group_commit, where the server makes the labels")
	}
	return nil
}

// LabelState asks the FEs in turn for the state of a label: UNKNOWN, PREPARE, PRECOMMITTED, COMMITTED, VISIBLE or ABORTED. UNKNOWN is no
// proof that nothing was stored: a label is forgotten after 12 hours, or 2000 later loads of its database, by default. The error
// wraps ErrDenied when an FE refused the user or the password.
func (c *Client) LabelState(ctx context.Context, database, label string) (string, error) {
	p := c.askState(ctx, ctx, 0, database, label)
	switch {
	case p.state != "":
		return p.state, nil
	case p.denied:
		return "", fmt.Errorf("state of label %s: %w: %s", label, ErrDenied, p.message)
	default:
		return "", fmt.Errorf("state of label %s: %s", label, p.message)
	}
}

// CancelLabel asks the FEs in turn to abort the running transaction of a label. A label that is committed stays so; look at LabelState.
func (c *Client) CancelLabel(ctx context.Context, database, label string) error {
	return c.abort(ctx, ctx, 0, database, label, 0, c.policy.TwoPhase)
}

// Ping asks every FE whether it is up and returns what is wrong with those that are not, by address. Config.ConnectTimeout and the context bound it.
func (c *Client) Ping(ctx context.Context) map[string]error {
	down := map[string]error{}
	for i, fe := range c.frontends.urls {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		r, err := c.transport.Ping(ctx, fe)
		cancel()
		if err == nil && r.HTTPStatus >= 500 {
			err = fmt.Errorf("HTTP %d", r.HTTPStatus)
		}
		c.frontends.report(i, err == nil)
		if err != nil {
			down[fe.Host] = errors.New(c.secrets.Text(err.Error(), maxMessage))
		}
	}
	return down
}

// LedgerSize is how many loads whose outcome was unknown are remembered, and how many of their rows have not come back yet.
func (c *Client) LedgerSize() (loads, rows int) {
	if c.ledger.empty() {
		return 0, 0
	}
	return c.ledger.size()
}

// Reachable is for how long some FE could be reached since the client was made. The ages of the ledger are measured by it, because nothing is
// delivered again in an outage.
func (c *Client) Reachable() time.Duration { return c.frontends.lit() }

// LoadLimit is how many loads may run at a time because the cluster is short of something, 0 while there is no limit.
func (c *Client) LoadLimit() int { return c.pace.slowed() }

// attemptTimeout is how long the client waits for one attempt: the server's own timeout and a margin, so that the server gives up first.
// A commit may take up to 30 s more to be published (BE txn_commit_rpc_timeout_ms, half of it).
func attemptTimeout(timeout time.Duration) time.Duration {
	return time.Duration(seconds(timeout))*time.Second + min(max(timeout/5, 2*time.Second), 35*time.Second)
}
