package preflight

import (
	"context"
	"fmt"
)

// lingering looks for transactions that wait for a second phase, or have not come to it: they keep changes of the table's schema waiting.
func (r *run) lingering(ctx context.Context) {
	if !r.conf.Options.TwoPhaseCommit || r.starRocks() || r.Database == "" {
		return
	}
	found, err := r.Client.Lingering(ctx, r.Database)
	switch {
	case err != nil:
		r.add("lingering", Skipped, fmt.Sprintf("transactions that have not ended cannot be looked at: %s", reason(err)), "")
	case len(found) > 0:
		first := found[0]
		r.add("lingering", Note, fmt.Sprintf("%d transaction(s) of label_prefix %q in %s have not ended, for instance %d (%s, label %s): of loads that run, or left by a process that died",
			len(found), r.conf.LabelPrefix, r.Database, first.TxnID, first.State, first.Label), "abort_lingering aborts what is left when a pipeline starts")
	default:
		r.add("lingering", OK, fmt.Sprintf("no transaction of label_prefix %q in %s is left", r.conf.LabelPrefix, r.Database), "")
	}
}
