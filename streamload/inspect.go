package streamload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/streamload/encode"
	"github.com/dorisload/benthos-doris/streamload/internal/answer"
	"github.com/dorisload/benthos-doris/streamload/internal/transport"
)

// What a question about a cluster can fail with, besides ErrDenied.
var (
	// ErrNotThere: the database or the table does not exist.
	ErrNotThere = errors.New("does not exist")
	// ErrNoSuchCall: the server does not have the call, or says something that is no answer to it.
	ErrNoSuchCall = errors.New("the server does not tell")
	// ErrNoBackend: the FE has no BE for a load.
	ErrNoBackend = errors.New("no BE can take a load")
)

// FEInfo is what one FE shows of itself.
type FEInfo struct {
	// Address is its host:port, as in the config; Secure is true for https.
	Address string
	Secure  bool
	// Err is why there is no answer, nil when there is one; Note is what that means.
	Err  error
	Note string
	// HTTPStatus of the answer. IsFE is true when it is that of an FE, and Ready when the FE says that it takes requests; Message is what it
	// says otherwise.
	HTTPStatus  int
	IsFE, Ready bool
	Message     string
	// RedirectedTo is where the FE sends everybody, "" when it does not.
	RedirectedTo string
	// Took is how long the answer took.
	Took time.Duration
	// Skew is how much its clock is ahead of ours, to about a second; known only when HasSkew.
	Skew    time.Duration
	HasSkew bool
	// CertificateEnds is the end of the certificate that ends first; zero without TLS.
	CertificateEnds time.Time
}

// InspectFEs looks at every FE at the same time (Doris: fe BootstrapFinishAction.java, which needs no account). The list is in the order of the
// config.
func (c *Client) InspectFEs(ctx context.Context) []FEInfo {
	list := make([]FEInfo, len(c.frontends.urls))
	var all sync.WaitGroup
	for i, fe := range c.frontends.urls {
		all.Go(func() { list[i] = c.inspectFE(ctx, fe) })
	}
	all.Wait()
	for i, info := range list {
		c.frontends.report(i, info.Err == nil)
	}
	return list
}

func (c *Client) inspectFE(ctx context.Context, fe *url.URL) FEInfo {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	info := FEInfo{Address: fe.Host, Secure: fe.Scheme == "https"}
	began := time.Now()
	p, err := c.transport.Get(ctx, fe, "api", "bootstrap")
	info.Took = time.Since(began)
	info.HTTPStatus = p.HTTPStatus
	if err != nil && p.HTTPStatus == 0 {
		info.Err, info.Note = c.clean(err), transport.Trouble(err).Note()
		return info
	}
	if date, err := http.ParseTime(p.Header.Get("Date")); err == nil {
		// The date has no parts of a second, and was written somewhere between question and answer.
		info.Skew, info.HasSkew = date.Add(time.Second/2).Sub(began.Add(info.Took/2)), true
	}
	if p.TLS != nil {
		for _, cert := range p.TLS.PeerCertificates {
			if info.CertificateEnds.IsZero() || cert.NotAfter.Before(info.CertificateEnds) {
				info.CertificateEnds = cert.NotAfter
			}
		}
	}
	said := answer.ParseInfo(p.Body)
	switch {
	case p.HTTPStatus >= 300 && p.HTTPStatus < 400:
		info.RedirectedTo = "somewhere else"
		if to, err := url.Parse(p.Header.Get("Location")); err == nil && to.Host != "" {
			info.RedirectedTo = to.Scheme + "://" + to.Host
		}
	case said.Readable && p.HTTPStatus < 500:
		info.IsFE = p.HTTPStatus < 400
		info.Ready = info.IsFE && said.OK()
		info.Message = c.secrets.Text(said.Message, maxMessage)
	default:
		info.Message = c.secrets.Text(said.Message, maxMessage)
	}
	return info
}

// clean takes secrets out of an error for people.
func (c *Client) clean(err error) error { return errors.New(c.secrets.Text(err.Error(), maxMessage)) }

// Column is a column of a table: its name, its type in the server's words, and whether it is part of the key (see TableInfo.HasKeys).
type Column = answer.Column

// TableInfo is what an FE tells of a table.
type TableInfo struct {
	// KeysType is DUP_KEYS, UNIQUE_KEYS, AGG_KEYS, or PRIMARY_KEYS of StarRocks; "" for other kinds of tables.
	KeysType string
	// Columns in the order of the table, without hidden ones. HasKeys is true when it is known which of them are the key.
	Columns []Column
	HasKeys bool
}

// InspectTable asks the FEs in turn for the columns of a table (Doris: fe TableSchemaAction.java; the account needs the SELECT privilege on it). The
// error wraps ErrNotThere, ErrDenied or ErrNoSuchCall where that is the reason.
func (c *Client) InspectTable(ctx context.Context, database, table string) (TableInfo, error) {
	var out TableInfo
	err := c.question(ctx, []string{"api", database, table, "_schema"}, func(p transport.Page) answer.Info {
		s := answer.ParseSchema(p.Body)
		out = TableInfo{KeysType: s.KeysType, Columns: s.Columns, HasKeys: s.HasKeys}
		return s.Info
	})
	return out, err
}

// BackendInfo is a BE as the FEs name it.
type BackendInfo struct {
	// Address is its host:port.
	Address string
	// Alive is what the FEs think.
	Alive bool
	// Err is why it cannot be reached from here; nil when it can, or when it is not alive and was not tried.
	Err error
}

// InspectBackends asks the FEs in turn for all BEs, and each of those that are alive whether it can be reached from here (Doris: fe
// BackendsAction.java, be health_action.cpp). The error is as that of InspectTable.
func (c *Client) InspectBackends(ctx context.Context) ([]BackendInfo, error) {
	var named []answer.Backend
	err := c.question(ctx, []string{"api", "backends"}, func(p transport.Page) answer.Info {
		var i answer.Info
		named, i = answer.ParseBackends(p.Body)
		return i
	})
	if err != nil {
		return nil, err
	}
	list := make([]BackendInfo, len(named))
	var all sync.WaitGroup
	for i, b := range named {
		list[i] = BackendInfo{Address: net.JoinHostPort(b.Host, strconv.Itoa(b.Port)), Alive: b.Alive}
		if b.Alive {
			all.Go(func() { list[i].Err = c.ReachBackend(ctx, list[i].Address) })
		}
	}
	all.Wait()
	return list, nil
}

// ReachBackend looks whether a BE (host:port) answers in HTTP. It gets no credentials.
func (c *Client) ReachBackend(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, min(callTimeout, c.conf.ConnectTimeout))
	defer cancel()
	p, err := c.transport.GetPublic(ctx, &url.URL{Scheme: "http", Host: address}, "api", "health")
	if err != nil && p.HTTPStatus == 0 {
		return c.clean(err)
	}
	return nil
}

// LabelRetention is how long an FE remembers the label of a load that has ended.
type LabelRetention struct {
	// For is the time (streaming_label_keep_max_second).
	For time.Duration
	// Loads is how many loads of one database are remembered (label_num_threshold); 0 means no bound.
	Loads int
}

// InspectLabels asks the FEs in turn for how long labels are remembered (Doris: fe ConfigController.java; the account needs to be an
// administrator in newer versions). The error is as that of InspectTable.
func (c *Client) InspectLabels(ctx context.Context) (LabelRetention, error) {
	var settings map[string]string
	err := c.question(ctx, []string{"rest", "v1", "config", "fe"}, func(p transport.Page) answer.Info {
		var i answer.Info
		settings, i = answer.ParseSettings(p.Body)
		return i
	})
	if err != nil {
		return LabelRetention{}, err
	}
	seconds, ok := answer.Whole(settings, "streaming_label_keep_max_second")
	if !ok || seconds <= 0 || seconds > int64(1<<31) {
		return LabelRetention{}, fmt.Errorf("%w: streaming_label_keep_max_second is not among the settings", ErrNoSuchCall)
	}
	loads, _ := answer.Whole(settings, "label_num_threshold")
	return LabelRetention{For: time.Duration(seconds) * time.Second, Loads: int(max(loads, 0))}, nil
}

// question asks each FE once until one answers. Of the reasons why none does, a denial or a thing that is not there says most.
func (c *Client) question(ctx context.Context, path []string, read func(transport.Page) answer.Info) error {
	return c.ask(ctx, func(ctx context.Context, i int) (transport.Page, error) {
		return c.transport.Get(ctx, c.frontends.urls[i], path...)
	}, read)
}

// ask is question for any request to the i-th FE.
func (c *Client) ask(ctx context.Context, request func(ctx context.Context, i int) (transport.Page, error), read func(transport.Page) answer.Info) error {
	var first error
	c.each(ctx, ctx, c.frontends, c.frontends.current(), func(ctx context.Context, i int) (done bool) {
		p, err := request(ctx, i)
		if err != nil {
			first = moreTelling(first, c.clean(err))
			return false
		}
		said := read(p)
		if p.HTTPStatus == http.StatusOK && said.OK() {
			first = nil
			return true
		}
		text := c.secrets.Text(fmt.Sprintf("%s: HTTP %d: %s", p.Server, p.HTTPStatus, said.Message), maxMessage)
		first = moreTelling(first, fmt.Errorf("%w: %s", reasonOf(p.HTTPStatus, said), text))
		return false
	})
	if first == nil {
		return ctx.Err()
	}
	return first
}

func reasonOf(status int, said answer.Info) error {
	message := strings.ToLower(said.Message)
	switch {
	case isDenial(int64(status)) || isDenial(said.Code) || strings.Contains(message, "access denied"):
		return ErrDenied
	case said.Readable && strings.Contains(message, "unknown") || strings.Contains(message, "does not exist"):
		return ErrNotThere
	default:
		return ErrNoSuchCall
	}
}

func moreTelling(a, b error) error {
	for _, telling := range []error{ErrDenied, ErrNotThere} {
		if a != nil && errors.Is(a, telling) {
			return a
		}
		if errors.Is(b, telling) {
			return b
		}
	}
	if a != nil {
		return a
	}
	return b
}

// AskWay asks the i-th FE where it would send a load of a table, and returns the BE's host:port. Nothing is loaded: the FE answers before it
// sees a body, after it has looked at the account and at the LOAD privilege (Doris: fe LoadAction.java). The error wraps ErrDenied or ErrNoBackend
// where that is the reason.
func (c *Client) AskWay(ctx context.Context, i int, database, table string) (string, error) {
	if err := (Batch{Database: database, Table: table}).validate(c.policy.Unlabelled); err != nil {
		return "", err
	}
	w, err := c.transport.Ask(ctx, c.frontends.urls[i], transport.Load{Database: database, Table: table, Header: c.probeHeader()})
	switch {
	case err != nil:
		return "", c.clean(err)
	case w.Asked:
		return "", fmt.Errorf("%w: %s asks for the rows itself and sends them on to no BE; it is a BE, or a proxy that hides the redirect", ErrNoSuchCall, c.frontends.urls[i].Host)
	case w.To != nil && w.To.Host == c.frontends.urls[i].Host:
		return "", fmt.Errorf("%s sends loads back to itself, in a circle", w.To.Host)
	case w.To != nil:
		return w.To.Host, nil
	}
	message := w.Load.Message
	if message == "" {
		message = w.Load.Excerpt
	}
	text := c.secrets.Text(fmt.Sprintf("HTTP %d: %s %s", w.HTTPStatus, w.Load.Status, message), maxMessage)
	switch decide.Classify(w.HTTPStatus, w.Load) {
	case decide.Auth:
		return "", fmt.Errorf("%w: %s", ErrDenied, text)
	case decide.NotFound:
		return "", fmt.Errorf("%w: %s", ErrNotThere, text)
	case decide.Unavailable:
		return "", fmt.Errorf("%w: %s", ErrNoBackend, text)
	default:
		return "", errors.New(text)
	}
}

// noLoadData is what a server says that commits nothing without rows (StarRocks, and Doris before 1.0): it has done all but that.
const noLoadData = "all partitions have no load data"

// LoadNothing loads no rows into a table, all the way: a transaction is begun, and committed without a row, or aborted for having none. A server
// that refuses the settings, the privilege, the table or the load itself says so: in the error, an *Error, and the note says what it means.
func (c *Client) LoadNothing(ctx context.Context, database, table string) (note string, err error) {
	if err := (Batch{Database: database, Table: table}).validate(c.policy.Unlabelled); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout(c.conf.Timeout))
	defer cancel()
	fe := c.frontends.urls[c.frontends.current()]
	a := c.transport.Load(ctx, fe, transport.Load{Database: database, Table: table, Header: c.probeHeader(), Body: transport.Empty{}})
	switch {
	case a.HasAnswer && (a.Load.Word == answer.Success || a.Load.Word == answer.PublishTimeout) && a.HTTPStatus == http.StatusOK:
		return "", nil
	case a.HasAnswer && strings.Contains(strings.ToLower(a.Load.Message), noLoadData):
		return "", nil
	case !a.HasAnswer:
		return a.Note(), &Error{Class: a.Class(), Stage: StageLoad, Database: database, Table: table, Attempts: 1, Message: c.secrets.Text(a.Err.Error(), maxMessage), Reason: "a load of nothing"}
	}
	message := a.Load.Message
	if message == "" {
		message = a.Load.Excerpt
	}
	return a.Note(), &Error{
		Class: a.Class(), Stage: StageLoad, Database: database, Table: table, Attempts: 1, HTTPStatus: a.HTTPStatus, Status: a.Load.Status,
		Message: c.secrets.Text(message, maxMessage), Reason: "a load of nothing",
	}
}

// probeHeader is that of a load, with a label that no load has. A body of nothing is no file, and not compressed.
func (c *Client) probeHeader() http.Header {
	h := maps.Clone(c.header)
	h["label"] = []string{randomLabel(c.conf.LabelPrefix + "_check")}
	if c.conf.Options.dialect() == encode.Doris {
		h["group_commit"] = []string{"off_mode"}
	}
	delete(h, "compress_type")
	delete(h, "two_phase_commit")
	switch c.conf.Options.Format {
	case "json", "csv":
	default:
		h["format"] = []string{"csv"}
	}
	return h
}

// Config is what the client was made of, with every default filled in; a bound of time that there is not is 0.
func (c *Client) Config() Config { return c.conf }

// Partial is true when rows hold only some of their columns.
func (u UniqueKey) Partial() bool { return u.partial() }

// Fields names the settings that are set and that only a table with a unique key takes.
func (u UniqueKey) Fields() []string {
	var set []string
	for _, f := range []struct {
		field string
		on    bool
	}{
		{"merge_type", u.MergeType != "" && u.MergeType != "APPEND"},
		{"sequence_column", u.SequenceColumn != ""},
		{"partial_columns", u.PartialColumns},
		{"unique_key_update_mode", u.UpdateMode != "" && u.UpdateMode != updateUpsert},
	} {
		if f.on {
			set = append(set, f.field)
		}
	}
	return set
}
