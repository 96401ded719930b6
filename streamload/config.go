package streamload

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/dorisload/benthos-doris/streamload/internal/transport"
)

// Backoff is a series of waits: Initial, doubled each time up to Max, each shortened by chance by up to a half.
type Backoff struct {
	Initial, Max time.Duration
	// MaxElapsed bounds the whole series; 0 means no bound.
	MaxElapsed time.Duration
}

// Config of a Client. DefaultConfig has the defaults; a zero field takes the default too, except where it says otherwise.
type Config struct {
	// FEs are the base addresses of the frontends, http or https; "host:port" means http. At least one.
	FEs []string
	// BEs are base addresses of backends. When there are any, loads go straight to them, in turn, and FEs are asked for label states only.
	BEs []string
	// RedirectMap says how the servers to which FEs send us are reached from here: host:port as an FE says it, to host:port; or host to host,
	// with the port kept.
	RedirectMap map[string]string
	// Username and Password are sent as basic auth to the FEs and to where they send us. Default user: none.
	Username, Password string
	// TLS is used with https addresses. Default: the system's certificates.
	TLS *tls.Config
	// AllowInsecureRedirect lets an https FE send us on to an http BE, rows and password in clear text.
	AllowInsecureRedirect bool

	// Options are the load's own settings.
	Options Options
	// IsolateBadRows finds the rows that a server refuses, which fail its whole load, and stores the others; each bad row fails by itself. It takes
	// about k*log2(n/k) + 2k more loads for k bad rows of n, at most 300.
	IsolateBadRows bool
	// RejectUnknown fails rows for good that were in a load whose outcome is unknown and, with Options.GroupCommit, cannot be looked up: when they come
	// again they are not sent, for as long as the Ledger remembers them, so that this client stores each row once at most. Without it they are
	// loaded again, and may be stored twice. Only with a GroupCommit that is on: elsewhere the label tells.
	RejectUnknown bool
	// LabelPrefix begins every label. Letters that a label must not have become "_", and it is cut where the label would get
	// longer than 128 bytes. Default "benthos".
	LabelPrefix string

	// MaxRetries is how often a load is sent again after the first time. 0 means the default of 3; -1 means never.
	MaxRetries int
	// Backoff paces resends. Its MaxElapsed is the time after the start of a delivery in which a resend may begin.
	// Default 500 ms, 10 s, 10 m. Fields are defaulted one by one; MaxElapsed -1 means no bound.
	Backoff Backoff
	// LabelPoll paces the questions for a label's state after a request whose outcome is not known. Default 200 ms, 5 s, 5 m,
	// as above.
	LabelPoll Backoff
	// Timeout of one attempt, sent to the server as whole seconds, rounded up. The client itself waits a little longer, so that the
	// server gives up first and says so. Default 5 m; at most 72 h (BE: 259200 s).
	Timeout time.Duration
	// ConnectTimeout bounds a dial, and a TLS handshake. Default 10 s.
	ConnectTimeout time.Duration
	// BackendAge is how long a BE that an FE named for a load gets further small loads without asking an FE; a retry always asks. Default 10 s;
	// -1 asks an FE for each load.
	BackendAge time.Duration
	// Grace is how long requests may go on after the context is cancelled, to learn the fate of a load: half of it is for a request to load that is
	// under way, and half for a last look at its label. Default 2 s.
	Grace time.Duration

	// MaxLoadRows and MaxLoadBytes are how much one load may hold; the bytes are those of its body, before compression. A larger batch becomes
	// several loads, one after the other, and a row that is larger alone fails. Defaults: no bound of rows, and 90 MiB, which is below what
	// a BE takes of JSON in an array (streaming_load_json_max_mb); -1 means no bound. Not used with Options.SkipLines.
	MaxLoadRows  int
	MaxLoadBytes int64

	// Ledger bounds what is remembered of loads whose outcome is not known.
	Ledger LedgerLimits

	// Observer is told what happens. Default: nobody.
	Observer Observer
}

// LedgerLimits bound the ledger of loads whose outcome is not known. What is dropped from it is reported to the Observer: its rows may be
// stored twice when they are delivered again.
type LedgerLimits struct {
	// MaxRows is how many rows of such loads are remembered, at about 50 bytes each. Default 1,000,000.
	MaxRows int
	// MaxAge is how long one is remembered, not counting the time in which no FE can be reached. Default 1 h; -1 means no bound. A load under a
	// stable label that Doris has committed without its rows is remembered longer: sent again, it would be taken for stored.
	MaxAge time.Duration
}

// DefaultConfig has every default filled in; only FEs is missing.
func DefaultConfig() Config {
	return Config{
		Options:        DefaultOptions(),
		LabelPrefix:    "benthos",
		MaxRetries:     3,
		Backoff:        Backoff{500 * time.Millisecond, 10 * time.Second, 10 * time.Minute},
		LabelPoll:      Backoff{200 * time.Millisecond, 5 * time.Second, 5 * time.Minute},
		Timeout:        5 * time.Minute,
		ConnectTimeout: 10 * time.Second,
		BackendAge:     10 * time.Second,
		Grace:          2 * time.Second,
		MaxLoadBytes:   90 << 20,
		Ledger:         LedgerLimits{MaxRows: 1_000_000, MaxAge: time.Hour},
		Observer:       NopObserver{},
	}
}

// maxTimeout is the longest timeout that a server takes (FE Config max_stream_load_timeout_second).
const maxTimeout = 259200 * time.Second

// ParseFE reads an address as Config.FEs takes it, or says what is wrong with it without repeating it. Its Host is the name that
// Observer.FE and Client.Ping use.
func ParseFE(address string) (*url.URL, error) { return transport.ParseFE(address) }

func (c *Config) setDefaults() {
	d := DefaultConfig()
	if c.LabelPrefix == "" {
		c.LabelPrefix = d.LabelPrefix
	}
	if c.MaxRetries == 0 {
		c.MaxRetries = d.MaxRetries
	}
	c.MaxRetries = max(c.MaxRetries, 0)
	c.Backoff.setDefaults(d.Backoff)
	c.LabelPoll.setDefaults(d.LabelPoll)
	if c.Timeout == 0 {
		c.Timeout = d.Timeout
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = d.ConnectTimeout
	}
	switch c.BackendAge {
	case 0:
		c.BackendAge = d.BackendAge
	case -1:
		c.BackendAge = 0
	}
	if c.Grace == 0 {
		c.Grace = d.Grace
	}
	c.MaxLoadRows = max(c.MaxLoadRows, 0)
	switch c.MaxLoadBytes {
	case 0:
		c.MaxLoadBytes = d.MaxLoadBytes
	case -1:
		c.MaxLoadBytes = 0
	}
	if c.Ledger.MaxRows == 0 {
		c.Ledger.MaxRows = d.Ledger.MaxRows
	}
	switch c.Ledger.MaxAge {
	case 0:
		c.Ledger.MaxAge = d.Ledger.MaxAge
	case -1:
		c.Ledger.MaxAge = 0
	}
	if c.Observer == nil {
		c.Observer = d.Observer
	}
	c.Options.setDefaults()
}

func (b *Backoff) setDefaults(d Backoff) {
	if b.Initial == 0 {
		b.Initial = d.Initial
	}
	if b.Max == 0 {
		b.Max = max(d.Max, b.Initial)
	}
	switch b.MaxElapsed {
	case 0:
		b.MaxElapsed = d.MaxElapsed
	case -1:
		b.MaxElapsed = 0
	}
}

// validate reports all problems at once, each with the name of the field in YAML.
func (c *Config) validate() (fes, bes []*url.URL, err error) {
	var problems []error
	bad := func(field, format string, args ...any) {
		problems = append(problems, fmt.Errorf(field+" "+format, args...))
	}
	if len(c.FEs) == 0 {
		bad("fe_urls", "is empty: at least one FE address is needed")
	}
	fes, bes = parseServers("fe_urls", c.FEs, bad), parseServers("be_urls", c.BEs, bad)
	if _, err := transport.NewRedirectMap(c.RedirectMap); err != nil {
		for problem := range strings.SplitSeq(err.Error(), "\n") { // each with the name of the field
			bad("redirect_map", "%s", problem)
		}
	}
	if strings.Contains(c.Username, ":") {
		bad("username", "has a colon in it, which basic auth cannot carry")
	}
	c.Backoff.validate("backoff", bad)
	c.LabelPoll.validate("label_poll", bad)
	if c.Timeout < 0 || c.Timeout > maxTimeout {
		bad("timeout", "is %s; it must be between 1s and 72h", c.Timeout)
	}
	if c.ConnectTimeout < 0 {
		bad("connect_timeout", "is negative")
	}
	if c.BackendAge < 0 {
		bad("backend_age", "is negative")
	}
	if c.Grace < 0 {
		bad("grace", "is negative")
	}
	if c.MaxLoadBytes < 0 {
		bad("max_load_bytes", "is negative")
	}
	if c.Ledger.MaxRows < 0 {
		bad("ledger", "has a negative max_rows")
	}
	if c.Ledger.MaxAge < 0 {
		bad("ledger", "has a negative max_age")
	}
	if c.IsolateBadRows && !c.Options.Divisible() {
		bad("isolate_bad_rows", "cannot be used with skip_lines, or a format of which a message is a whole file: the rows cannot be loaded in other groups")
	}
	if c.RejectUnknown && !c.Options.Unlabelled() {
		bad("on_unknown_outcome", "is reject, which is for group_commit sync_mode and async_mode only: without them the label tells the outcome, and no row is stored twice for it")
	}
	c.Options.validate(bad)
	return fes, bes, errors.Join(problems...)
}

func (b Backoff) validate(field string, bad func(string, string, ...any)) {
	if b.Initial < time.Millisecond {
		bad(field, "has an initial_interval of %s; it must be at least 1ms", b.Initial)
	}
	if b.Max < b.Initial {
		bad(field, "has a max_interval of %s, which is shorter than its initial_interval of %s", b.Max, b.Initial)
	}
	if b.MaxElapsed < 0 {
		bad(field, "has a negative max_elapsed_time")
	}
}
