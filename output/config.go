package output

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/streamload/encode"
)

// config is what the fields say.
type config struct {
	client streamload.Config
	// frontends are the FEs as host:port, as the client names them.
	frontends []string
	// database and table are evaluated for each message, label for each load; label is nil when it is not set.
	database, table, label *service.InterpolatedString
	// cells makes rows of CSV; nil when messages are rows already.
	cells *cellMapping
	// alone is true when a message is a whole body, and so a load of its own.
	alone bool
	// target is database and table as they are written, for the log.
	target      string
	maxInFlight int
	progress    time.Duration // 0 is off
	batching    service.BatchPolicy
	// linger is how long a load may wait for more rows, maxPending how many source batches may be on their way.
	linger     time.Duration
	maxPending int
	// lingering is the database in which transactions of an earlier process are aborted, "" for none.
	lingering string
	// remarks are things that are allowed but probably not meant.
	remarks []string
}

// joins is true when source batches are joined into loads. A load with a label of its own is one source batch, one load at a time keeps the order of
// batches, and some loads have to be as they came. With batching, Benthos has joined them.
func (c *config) joins() bool {
	return c.maxInFlight > 1 && c.label == nil && c.batching.IsNoop() && c.client.Options.Divisible()
}

// parallel is how many batches Benthos may write at a time.
func (c *config) parallel() int {
	if c.joins() {
		return c.maxPending
	}
	return c.maxInFlight
}

// parseConfig reads all fields. Its error names every problem, one a line, each with the name of its field.
func parseConfig(parsed *service.ParsedConfig) (config, error) {
	r := &reader{parsed: parsed}
	conf := config{client: streamload.Config{
		Username:              read(r, parsed.FieldString, fieldUsername),
		Password:              read(r, parsed.FieldString, fieldPassword),
		AllowInsecureRedirect: read(r, parsed.FieldBool, fieldAllowInsecureRedirect),
		BEs:                   r.backends(),
		RedirectMap:           read(r, parsed.FieldStringMap, fieldRedirectMap),
		Options:               r.options(),
		IsolateBadRows:        read(r, parsed.FieldBool, fieldIsolateBadRows),
		RejectUnknown:         r.either(fieldOnUnknownOutcome, unknownRetry, unknownReject),
		LabelPrefix:           read(r, parsed.FieldString, fieldLabelPrefix),
		MaxRetries:            r.maxRetries(),
		Backoff:               r.backoff(fieldBackoff),
		LabelPoll:             r.backoff(fieldLabelPoll),
		Ledger:                r.ledger(),
		Timeout:               r.positive(fieldTimeout),
		ConnectTimeout:        r.positive(fieldConnectTimeout),
		MaxLoadRows:           r.atLeast(0, fieldMaxLoadRows),
		MaxLoadBytes:          int64(r.atLeast(0, fieldMaxLoadBytes)),
	}}
	r.frontends(&conf)
	r.cells(&conf)
	if f, ok := encode.ParseFormat(conf.client.Options.Format); ok {
		conf.alone = f.Whole()
	}
	conf.client.TLS = r.tls()
	conf.database, conf.table = r.route(fieldDatabase), r.route(fieldTable)
	conf.target = read(r, parsed.FieldString, fieldDatabase) + "." + read(r, parsed.FieldString, fieldTable)
	conf.label = r.label(&conf)
	conf.lingering = r.abortLingering(&conf)
	if conf.client.MaxLoadBytes == 0 {
		conf.client.MaxLoadBytes = -1 // in the client 0 is the default
	}
	conf.maxInFlight = r.atLeast(1, fieldMaxInFlight)
	conf.batching = r.batching(&conf)
	conf.linger = r.notNegative(fieldLinger)
	conf.maxPending = r.atLeast(1, fieldMaxPending)
	conf.progress = r.bound(fieldProgressInterval)
	read(r, parsed.FieldInt, fieldQueryPort)

	// A client is made only to hear what it says of the rest.
	if _, err := streamload.New(conf.client); err != nil {
		r.problems = append(r.problems, err)
	}
	return conf, errors.Join(r.problems...)
}

// reader reads fields and keeps what is wrong with them. A field with a problem reads as its zero value, which is a default for the
// client, so that each problem is told once.
type reader struct {
	parsed   *service.ParsedConfig
	problems []error
}

func (r *reader) bad(field, format string, args ...any) {
	r.problems = append(r.problems, fmt.Errorf(field+" "+format, args...))
}

// read gets one field; the errors of the getters name the field.
func read[T any](r *reader, get func(...string) (T, error), path ...string) T {
	v, err := get(path...)
	if err != nil {
		r.problems = append(r.problems, err)
	}
	return v
}

func (r *reader) duration(path ...string) (time.Duration, bool) {
	text := read(r, r.parsed.FieldString, path...)
	d, err := time.ParseDuration(text)
	if err != nil {
		r.bad(strings.Join(path, "."), "is %q, which is no duration; write for instance 500ms, 30s or 5m", text)
	}
	return d, err == nil
}

// positive reads a duration of more than 0.
func (r *reader) positive(path ...string) time.Duration {
	d, ok := r.duration(path...)
	if ok && d <= 0 {
		r.bad(strings.Join(path, "."), "is %s; it must be more than 0", d)
		return 0
	}
	return d
}

// atLeast reads a number that must not be less than another.
func (r *reader) atLeast(least int, field string) int {
	n := read(r, r.parsed.FieldInt, field)
	if n < least {
		r.bad(field, "is %d; it must be at least %d", n, least)
		return least
	}
	return n
}

// notNegative reads a duration that may be 0.
func (r *reader) notNegative(path ...string) time.Duration {
	d, ok := r.duration(path...)
	if ok && d < 0 {
		r.bad(strings.Join(path, "."), "is %s; it must not be negative", d)
	}
	return max(d, 0)
}

// backoff reads a series of waits.
func (r *reader) backoff(field string) streamload.Backoff {
	return streamload.Backoff{
		Initial:    r.positive(field, fieldInitialInterval),
		Max:        r.positive(field, fieldMaxInterval),
		MaxElapsed: r.bound(field, fieldMaxElapsedTime),
	}
}

// bound reads a bound of time. In a config 0s is a bound that there is not, in the client -1 is.
func (r *reader) bound(path ...string) time.Duration {
	switch d, ok := r.duration(path...); {
	case !ok:
		return 0
	case d < 0:
		r.bad(strings.Join(path, "."), "is %s; it must not be negative (0s sets no bound)", d)
		return 0
	case d == 0:
		return -1
	default:
		return d
	}
}

// ledger reads what may be remembered of loads whose outcome is not known.
func (r *reader) ledger() streamload.LedgerLimits {
	rows := read(r, r.parsed.FieldInt, fieldLedger, fieldMaxRows)
	if rows < 1 {
		r.bad(fieldLedger+"."+fieldMaxRows, "is %d; it must be at least 1", rows)
		rows = 0
	}
	return streamload.LedgerLimits{MaxRows: rows, MaxAge: r.bound(fieldLedger, fieldMaxAge)}
}

// maxRetries reads how often to send again. In the client 0 is the default and -1 is never.
func (r *reader) maxRetries() int {
	n := read(r, r.parsed.FieldInt, fieldMaxRetries)
	switch {
	case n < -1:
		r.bad(fieldMaxRetries, "is %d; it must be -1 (never) or more", n)
	case n == 0:
		return -1
	}
	return n
}

// frontends reads fe_urls or, when that is empty, url.
func (r *reader) frontends(conf *config) {
	type entry struct{ field, address string }
	var entries []entry
	for i, list := range read(r, r.parsed.FieldStringList, fieldFEURLs) {
		for address := range strings.SplitSeq(list, ",") {
			if address = strings.TrimSpace(address); address != "" {
				entries = append(entries, entry{fmt.Sprintf("%s[%d]", fieldFEURLs, i), address})
			}
		}
	}
	single := strings.TrimSpace(read(r, r.parsed.FieldString, fieldURL))
	if len(entries) == 0 && single != "" {
		entries = append(entries, entry{fieldURL, single})
	}
	secure := false
	for _, e := range entries {
		u, err := streamload.ParseFE(e.address)
		if err != nil {
			r.bad(e.field, "%w", err)
			continue
		}
		secure = secure || u.Scheme == "https"
		conf.client.FEs = append(conf.client.FEs, e.address)
		conf.frontends = append(conf.frontends, u.Host)
	}
	if len(entries) > 0 && len(conf.client.FEs) == 0 {
		conf.client.FEs = []string{"http://localhost"} // told already: the client must not call the list empty
	}
	if on, _ := r.parsed.FieldBool(fieldTLS, "enabled"); on && len(conf.frontends) > 0 && !secure {
		conf.remarks = append(conf.remarks, "tls is enabled, but no FE address begins with https: they are spoken to in clear text")
	}
}

// backends reads be_urls, where an entry may hold several addresses as in fe_urls.
func (r *reader) backends() (addresses []string) {
	for i, list := range read(r, r.parsed.FieldStringList, fieldBEURLs) {
		for address := range strings.SplitSeq(list, ",") {
			if address = strings.TrimSpace(address); address == "" {
				continue
			}
			if _, err := streamload.ParseFE(address); err != nil {
				r.bad(fmt.Sprintf("%s[%d]", fieldBEURLs, i), "%w", err)
				continue
			}
			addresses = append(addresses, address)
		}
	}
	return addresses
}

func (r *reader) tls() *tls.Config {
	conf, enabled, err := r.parsed.FieldTLSToggled(fieldTLS)
	switch {
	case err != nil:
		r.bad(fieldTLS, "cannot be used: %w", err)
		return nil
	case !enabled:
		return nil
	}
	// Benthos takes a file without a certificate in it for an empty set of authorities, with which no server can be trusted.
	if conf != nil && conf.RootCAs != nil && conf.RootCAs.Equal(x509.NewCertPool()) {
		r.bad(fieldTLS, "has root certificates (root_cas or root_cas_file) in which there is no certificate in PEM form")
	}
	return conf
}

// route reads the expression for a database or table.
func (r *reader) route(field string) *service.InterpolatedString {
	expr := read(r, r.parsed.FieldInterpolatedString, field)
	if expr == nil {
		return nil
	}
	if name, static := expr.Static(); static && isNoName(name) {
		r.bad(field, "is %q; it must be a name, or an expression that gives one", name)
	} else if err := streamload.CheckName(name); static && err != nil {
		r.bad(field, "%w", err)
	}
	return expr
}

// label reads the expression for the identity of a batch; nil when there is none.
func (r *reader) label(conf *config) *service.InterpolatedString {
	expr := read(r, r.parsed.FieldInterpolatedString, fieldLabel)
	if expr == nil {
		return nil
	}
	text, static := expr.Static()
	if static && text == "" {
		return nil
	}
	if static {
		conf.remarks = append(conf.remarks, "label is the same for every batch: a batch with exactly the rows of one that was loaded before is taken for that one and not loaded again")
	}
	if o := conf.client.Options; o.TwoPhaseCommit && o.Dialect == streamload.DialectStarRocks {
		r.bad(fieldLabel, "cannot be used with two_phase_commit and dialect starrocks, where a label can be used once only")
	}
	if conf.client.Options.Unlabelled() {
		r.bad(fieldLabel, "cannot be used with group_commit %s, where Doris makes the labels", conf.client.Options.GroupCommit)
	}
	return expr
}

func (r *reader) batching(conf *config) service.BatchPolicy {
	policy := read(r, r.parsed.FieldBatchPolicy, fieldBatching)
	if policy.Period != "" {
		if d, err := time.ParseDuration(policy.Period); err != nil {
			r.bad(fieldBatching+".period", "is %q, which is no duration; write for instance 1s", policy.Period)
		} else if d <= 0 {
			r.bad(fieldBatching+".period", "is %s; it must be more than 0", d)
		}
	}
	if policy.Count < 0 {
		r.bad(fieldBatching+".count", "is negative")
	}
	if policy.ByteSize < 0 {
		r.bad(fieldBatching+".byte_size", "is negative")
	}
	if policy.Period == "" && (policy.Count > 1 || policy.ByteSize > 0) {
		conf.remarks = append(conf.remarks, "batching has no period: the last messages wait for a batch that never fills")
	}
	return policy
}
