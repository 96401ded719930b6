package preflight

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/dorisload/benthos-doris/streamload"
)

// Subject is what to look at: one output of a pipeline.
type Subject struct {
	// Client is the client that the output loads with.
	Client *streamload.Client
	// Database and Table are where the rows go; "" where that depends on the rows.
	Database, Table string
	// MaxInFlight is how many loads run at a time.
	MaxInFlight int
	// Identity is true when batches have an identity that survives the process, from which their labels are made.
	Identity bool
	// Load also loads no rows, all the way to a commit.
	Load bool
}

// anyDatabase exists on every Doris.
const anyDatabase = "information_schema"

// run is a preflight under way.
type run struct {
	Subject
	Report

	conf streamload.Config
	up   []int // the FEs that answer, by their place in the config
}

// Run looks at everything. The context bounds all of it; each question to a server takes 10 s at most.
func Run(ctx context.Context, s Subject) Report {
	r := &run{Subject: s, conf: s.Client.Config()}
	r.frontends(ctx)
	if len(r.up) == 0 {
		r.add("user", Skipped, "nothing else can be looked at while no FE answers", "")
		return r.Report
	}
	if !r.user(ctx) {
		return r.Report
	}
	r.version(ctx)
	there := r.table(ctx)
	ways := r.way(ctx, there)
	r.backends(ctx, ways)
	r.labels(ctx)
	r.lingering(ctx)
	if s.Load {
		r.load(ctx)
	}
	return r.Report
}

// starRocks is true when the servers are those of StarRocks.
func (r *run) starRocks() bool { return r.conf.Options.Dialect == "starrocks" }

// grant is the statement that gives the user a privilege on the table.
func (r *run) grant(doris, starRocks string) string {
	if r.starRocks() {
		return fmt.Sprintf("GRANT %s ON TABLE %s TO USER '%s'", starRocks, r.name(), r.conf.Username)
	}
	return fmt.Sprintf("GRANT %s ON %s TO '%s'", doris, r.name(), r.conf.Username)
}

// known is true when the table does not depend on the rows.
func (r *run) known() bool { return r.Database != "" && r.Table != "" }

func (r *run) name() string { return r.Database + "." + r.Table }

// user looks whether the account is taken, and whether label states can be asked for: an FE looks at user and password before it looks for the
// label (Doris: fe GetStreamLoadState.java), so a label that nobody ever used will do.
func (r *run) user(ctx context.Context) bool {
	database := r.Database
	if database == "" {
		database = anyDatabase
	}
	_, err := r.Client.LabelState(ctx, database, "connection_test_"+rand.Text())
	switch {
	case err == nil, r.Database == "" && unknownDatabase(err): // the account is looked at first
		r.add("user", OK, fmt.Sprintf("the user %q is accepted", r.conf.Username), "")
	case errors.Is(err, streamload.ErrDenied):
		r.add("user", Failed, fmt.Sprintf("the user %q is refused: %s", r.conf.Username, reason(err)),
			"look at username and password, and from where the user may come: 'user'@'%' may from everywhere")
		return false
	case unknownDatabase(err):
		r.add("database", Failed, fmt.Sprintf("the database %s does not exist: %s", database, reason(err)), "create it, or correct database; upper and lower case differ")
		return false
	default:
		r.add("user", Warning, fmt.Sprintf("the state of a label cannot be asked for: %s", reason(err)),
			"without it a load whose answer gets lost stays unresolved; pass GET /api/"+database+"/get_load_state on to the FE master")
	}
	return true
}

func unknownDatabase(err error) bool {
	return strings.Contains(strings.ToLower(err.Error()), "unknown database")
}

// load runs a load of no rows.
func (r *run) load(ctx context.Context) {
	if !r.known() {
		r.add("load", Skipped, "a load cannot be tried: the table depends on the messages", "")
		return
	}
	note, err := r.Client.LoadNothing(ctx, r.Database, r.Table)
	if err != nil {
		r.add("load", Failed, fmt.Sprintf("a load of no rows fails: %s", reason(err)), lower(note))
		return
	}
	r.add("load", OK, "a load of no rows went all the way to "+r.name(), "")
}

// lower makes a sentence of the class table the end of a line.
func lower(note string) string {
	if note == "" {
		return ""
	}
	return strings.ToLower(note[:1]) + strings.TrimSuffix(note[1:], ".")
}

// reason is the text of an error without the words of its kind, which the finding says itself.
func reason(err error) string {
	text := err.Error()
	for _, kind := range []error{streamload.ErrDenied, streamload.ErrNotThere, streamload.ErrNoSuchCall, streamload.ErrNoBackend} {
		text = strings.TrimPrefix(text, kind.Error()+": ")
	}
	return text
}
