package preflight

import (
	"context"
	"fmt"
	"time"
)

// labels compares how long labels are remembered with how long one is asked for.
func (r *run) labels(ctx context.Context) {
	if r.conf.Options.Unlabelled() {
		return
	}
	kept, err := r.Client.InspectLabels(ctx)
	if err != nil {
		text := "how long labels are remembered cannot be read with this account"
		if !r.starRocks() {
			text += " (12 h and 2000 loads of a database by default)"
		}
		r.add("labels", Skipped, text, "")
		return
	}
	budget := r.budget()
	switch {
	case budget == 0:
		r.add("labels", Warning, fmt.Sprintf("a label is remembered for %s, but loads are retried without a bound of time", kept.For),
			"set backoff.max_elapsed_time and label_poll.max_elapsed_time to less than that")
	case kept.For <= budget:
		r.add("labels", Warning, fmt.Sprintf("a label is remembered for %s, and a load may take %s with its retries: a label can be forgotten before it is asked for, and rows stored twice", kept.For, budget),
			"raise streaming_label_keep_max_second of the FEs, or lower backoff.max_elapsed_time")
	case kept.Loads > 0:
		rate := float64(kept.Loads) / budget.Seconds()
		r.add("labels", Note, fmt.Sprintf("a label is remembered for %s, and at most %d of a database. A load may take %s with its retries: with more than %.2g loads a second in the database a label can be forgotten before it is asked for",
			kept.For, kept.Loads, budget, rate), "make larger and fewer loads, or raise label_num_threshold of the FEs")
	default:
		r.add("labels", OK, fmt.Sprintf("a label is remembered for %s, a load takes %s at most with its retries", kept.For, budget), "")
	}
}

// budget is how long after its first request a load may still ask for its label; 0 means without bound.
func (r *run) budget() time.Duration {
	retries, polls := r.conf.Backoff.MaxElapsed, r.conf.LabelPoll.MaxElapsed
	if retries == 0 || polls == 0 {
		return 0
	}
	return retries + r.conf.Timeout + polls
}
