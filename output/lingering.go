package output

import (
	"context"

	"github.com/dorisload/benthos-doris/streamload"
)

// abortLingering reads whether transactions of a process before are aborted, and in which database; "" for not.
func (r *reader) abortLingering(conf *config) string {
	if !read(r, r.parsed.FieldBool, fieldAbortLingering) {
		return ""
	}
	o := conf.client.Options
	if o.Dialect == streamload.DialectStarRocks {
		r.bad(fieldAbortLingering, "cannot be used with dialect starrocks, which shows no transactions by their labels")
	}
	if !o.TwoPhaseCommit {
		r.bad(fieldAbortLingering, "is only for two_phase_commit: other loads end with their connection, and leave nothing that waits")
	}
	if conf.label != nil {
		r.bad(fieldAbortLingering, "cannot be used with label: the batch comes again under its label, and takes the place of what it left")
	}
	if conf.database == nil {
		return ""
	}
	database, static := conf.database.Static()
	if !static {
		r.bad(fieldAbortLingering, "cannot be used with a database that depends on the messages: it is not known where to look")
	}
	return database
}

// abortLingering aborts what a process before has left, before the first load. It stops nothing: without it such a transaction ends by its timeout.
func (o *output) abortLingering(ctx context.Context) {
	database := o.conf.lingering
	if database == "" {
		return
	}
	log := o.log.With("database", database)
	found, err := o.client.AbortLingering(ctx, database)
	if err != nil {
		log.Warnf("Transactions that an earlier process may have left (abort_lingering) cannot be looked up: %v. Doris aborts them when their time is over, an hour by default", err)
		return
	}
	for _, l := range found {
		log := log.With("label", l.Label)
		if l.Err != nil {
			log.Warnf("Transaction %d (%s), which an earlier process has left, was not aborted: %v", l.TxnID, l.State, l.Err)
			continue
		}
		log.Warnf("Transaction %d (%s), which an earlier process has left, is aborted (abort_lingering)", l.TxnID, l.State)
	}
}
