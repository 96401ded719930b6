package emulator

import (
	"crypto/tls"
	"slices"
	"time"
)

// Options say what cluster to start. The zero value is one FE and one BE on
// free ports of 127.0.0.1 with an empty catalog and the user root, who needs
// no password.
type Options struct {
	// Dialect is whose servers to be. Default: Doris.
	Dialect Dialect
	// Version is the version of them: one of Versions, with or without a patch
	// level. Default: DefaultVersion. See the package documentation for what
	// differs.
	Version string

	// FEs and BEs are the numbers of nodes; 0 means 1. The first FE is the
	// master.
	FEs, BEs int
	// FEAddrs and BEAddrs are listen addresses, one for each node; they decide
	// the numbers of nodes when set. Default: 127.0.0.1:0 for each.
	FEAddrs, BEAddrs []string
	// Advertise is the host that redirects and error URLs name in place of the
	// host a node listens on. Default: the listen host, or 127.0.0.1 when that
	// is unspecified.
	Advertise string
	// FETLS makes the FEs speak https with this configuration. BEs always
	// speak http, as those of Doris do.
	FETLS *tls.Config

	// Tables exist from the start. See also Emulator.CreateTable.
	Tables []Table
	// AutoCreate makes a database and table on the first load into them; the
	// columns come from the first row (see the package documentation).
	AutoCreate bool
	// Users are the accounts. None: root with any password and all rights.
	Users []User

	// Now is the clock of transactions: begin and finish times, timeouts,
	// retention, delayed visibility. Default time.Now. Delays of faults are
	// real time.
	Now func() time.Time
	// Seed of the random numbers for faults with a probability. 0 means 1.
	Seed uint64
	// Faults are injected from the start.
	Faults []Fault
	// Injector is asked at every point of every exchange, after Faults.
	Injector Injector

	// AfterRedirect is what an FE does with the connection after its answer to
	// a load. Default: CloseAfterRedirect.
	AfterRedirect ConnPolicy
	// BEPublic and BEPrivate are the public and private endpoints of the BEs, as
	// host:port, for the header redirect-policy. A BE without has none.
	BEPublic, BEPrivate []string
	// RedirectPolicy is what FEs do when a load has no header redirect-policy
	// (streamload_redirect_policy).
	RedirectPolicy string
	// PlainLocation leaves user and password out of the Location header.
	PlainLocation bool
	// NoTrailingQuery leaves out the "?" at the end of the Location header.
	NoTrailingQuery bool

	// LabelKeepMax is how long a finished label is remembered. Default 12h, with
	// StarRocks 72h; negative: for ever.
	LabelKeepMax time.Duration
	// LabelKeepCount is how many finished transactions of a database are
	// remembered. Default 2000, with StarRocks 1000; negative: all.
	LabelKeepCount int
	// MaxRunningTxns bounds the transactions in PREPARE or PRECOMMITTED of a
	// database. Default 1000; negative: no bound.
	MaxRunningTxns int
	// DefaultTimeout is the timeout of a transaction whose load has no header
	// timeout. Default 259200s, with StarRocks 600s.
	DefaultTimeout time.Duration
	// PrecommitTimeout aborts a transaction that stays PRECOMMITTED. Default 1h,
	// with StarRocks 24h.
	PrecommitTimeout time.Duration
	// MaxBodyBytes and MaxJSONBytes are the limits streaming_load_max_mb and
	// streaming_load_json_max_mb (StarRocks: streaming_load_max_batch_size_mb), in
	// bytes. Defaults 10 GiB and 100 MiB. The second does not hold for loads with
	// read_json_by_line (StarRocks: ignore_json_size).
	MaxBodyBytes, MaxJSONBytes int64
	// MaxPlainBytes bounds a body after its compression was taken off; the load
	// fails when there is more. It is a limit of the emulator, which holds whole
	// bodies in memory; Doris has none. Default 512 MiB.
	MaxPlainBytes int64

	// FEAway is how long an FE stays away that is taken down on the page of the
	// emulator: the page goes with it, so it must come back by itself. Default 8 s.
	FEAway time.Duration

	// KeepBodies keeps the body of each load in its Request, for assertions.
	KeepBodies bool
	// KeepRecords bounds how many Requests, and how many Loads, are kept; the
	// oldest go first. Default 100000.
	KeepRecords int
	// OnLoad is called after each load that reached a BE, from the goroutine
	// that served it.
	OnLoad func(Load)
}

// ConnPolicy is what an FE does with a connection after its answer to a load.
type ConnPolicy int

// The connection policies of an FE.
const (
	// CloseAfterRedirect closes the connection: what the server does when it
	// answered a request with Expect without having sent 100 Continue.
	CloseAfterRedirect ConnPolicy = iota
	// KeepAfterRedirect keeps the connection open for the next request. A body
	// that is sent in spite of the redirect is read, counted and thrown away.
	KeepAfterRedirect
	// ResetAfterRedirect resets the connection shortly after the answer.
	ResetAfterRedirect
)

// User is an account.
type User struct {
	Name, Password string
	// AnyPassword accepts every password.
	AnyPassword bool
	// Load lists the databases that the user may load into; "*" is all.
	Load []string
}

func (o Options) withDefaults(p *profile) Options {
	if len(o.FEAddrs) == 0 {
		o.FEAddrs = anyPorts("127.0.0.1", o.FEs)
	}
	if len(o.BEAddrs) == 0 {
		o.BEAddrs = anyPorts("127.0.0.1", o.BEs)
	}
	if len(o.Users) == 0 {
		o.Users = []User{{Name: "root", AnyPassword: true, Load: []string{"*"}}}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	orDuration(&o.FEAway, 8*time.Second)
	orDuration(&o.LabelKeepMax, p.labelKeep())
	orDuration(&o.DefaultTimeout, p.timeout())
	orDuration(&o.PrecommitTimeout, p.precommitTimeout())
	orInt(&o.LabelKeepCount, p.labelKeepCount())
	orInt(&o.MaxRunningTxns, 1000)
	orInt(&o.KeepRecords, 100_000)
	if o.MaxBodyBytes == 0 {
		o.MaxBodyBytes = 10 << 30
	}
	if o.MaxJSONBytes == 0 {
		o.MaxJSONBytes = 100 << 20
	}
	if o.MaxPlainBytes == 0 {
		o.MaxPlainBytes = 512 << 20
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	return o
}

// anyPorts are addresses of n nodes (0 means 1) on free ports of a host.
func anyPorts(host string, n int) []string {
	return slices.Repeat([]string{host + ":0"}, max(n, 1))
}

func orDuration(d *time.Duration, def time.Duration) {
	if *d == 0 {
		*d = def
	}
}

func orInt(n *int, def int) {
	if *n == 0 {
		*n = def
	}
}
