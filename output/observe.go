package output

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"github.com/dorisload/benthos-doris/streamload"
)

// observer turns what happens to loads into metrics and log lines. All texts come from the client, which takes out secrets.
type observer struct {
	streamload.NopObserver

	log    *service.Logger
	meters *meters
	// progress is nil where nobody asked for it.
	progress *progress
	client   *streamload.Client // set before the first load

	mu    sync.Mutex
	limit int // of loads at a time, as last seen

	ungrouped sync.Once // it is so for every load, or for none
}

var _ streamload.Observer = (*observer)(nil)

// Started counts a load that begins.
func (o *observer) Started(string, string) {
	o.meters.started()
	o.progress.started()
}

// Attempted counts a request to load, and logs one that failed.
func (o *observer) Attempted(a streamload.AttemptInfo) {
	o.meters.attempted(a)
	o.pace()
	if a.Stored {
		return
	}
	o.log.With("table", a.Database+"."+a.Table, "label", a.Label, "class", string(a.Class), "server", a.Server).
		Warnf("Attempt %d to load failed (%s): %s; next: %s", a.Attempt, a.Sent, a.Message, next(a.Next, a.After))
}

// pace shows how many loads may run at a time, and says when that begins to be limited and when it ends. Only attempts change it.
func (o *observer) pace() {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.limit
	if o.limit = o.client.LoadLimit(); o.limit == before {
		return
	}
	o.meters.loadLimit(o.limit)
	switch {
	case before == 0:
		o.log.Warnf("Doris is short of something (class capacity): all loads wait a little, and then %d at a time are sent, more when it recovers", o.limit)
	case o.limit == 0:
		o.log.Info("Doris takes loads well again: their number is no longer limited")
	}
}

// Polled counts a question for the state of a label.
func (o *observer) Polled(p streamload.PollInfo) {
	state := "none"
	if p.State != "" {
		state = strings.ToLower(p.State)
	}
	o.meters.polled(p, state)
	log := o.log.With("table", p.Database+"."+p.Table, "label", p.Label)
	if p.State == "" {
		log.Warnf("The state of the label cannot be learned: %s; next: %s", p.Message, next(p.Next, p.After))
		return
	}
	log.Debugf("The label is %s; next: %s", p.State, next(p.Next, p.After))
}

// SecondPhase logs a request to commit a transaction that was not answered well.
func (o *observer) SecondPhase(p streamload.SecondPhaseInfo) {
	o.meters.secondPhase(p)
	if p.Committed {
		return
	}
	o.log.With("table", p.Database+"."+p.Table, "label", p.Label).Warnf("The second phase is not known to be done: %s; next: %s", p.Message, next(p.Next, p.After))
}

// FE follows which frontends are up.
func (o *observer) FE(address string, up bool) {
	o.meters.frontend(address, up)
	if up {
		o.log.With("server", address).Info("The FE is up again")
		return
	}
	o.log.With("server", address).Warn("The FE cannot be reached; others are asked first for a while")
}

// Finished counts a load that has ended, and logs what somebody should know about it.
func (o *observer) Finished(r streamload.Report, failure *streamload.Error) {
	o.meters.finished(r, failure)
	o.progress.finished(r, failure != nil)
	if r.Ungrouped {
		o.ungrouped.Do(func() {
			o.log.With("table", r.Database+"."+r.Table).
				Warn("Doris stored a load by itself although group_commit asks for joining it with others, and may do so with all: versions before 2.1 do not know it. Leave group_commit off there: loads then have labels, which protect against doubles")
		})
	}
	// A logger with fields costs more than all else here, so most loads, of which there is nothing to say, do without.
	if failure == nil && !foundByLabel(r) && r.Evidence != "publish_timeout" && r.Filtered == 0 && r.Unaccounted() == 0 && !r.LabelIgnored {
		o.log.Debugf("Loaded %d rows, %d bytes into %s.%s in %s after %d attempt(s): label %s, %s, transaction %d",
			r.Rows, r.Bytes, r.Database, r.Table, r.Took.Round(time.Millisecond), r.Attempts, orNone(r.Label), r.Evidence, r.TxnID)
		return
	}
	log := o.log.With("table", r.Database+"."+r.Table, "label", r.Label)
	if failure != nil {
		if failure.Unresolved {
			log.With("class", string(failure.Class)).
				Errorf("It is not known whether %d rows are stored (label %s): %s", r.Rows, orNone(r.Label), failure.Headline())
		}
		return
	}
	if r.Evidence == "publish_timeout" {
		log.Warn("The load is committed and becomes visible later: Doris took too long to publish it")
	}
	if foundByLabel(r) {
		log.Infof("The load was found to be committed by its label (%s) and was not stored a second time", r.Evidence)
	}
	if r.Filtered > 0 {
		log.Warnf("Doris filtered %d of %d rows out because they do not fit the table (max_filter_ratio allows it), %d are loaded; error page: %s%s",
			r.Filtered, r.Rows, r.Loaded, orNone(r.ErrorURL), firstLines(r.ErrorLines))
	}
	if n := r.Unaccounted(); n != 0 {
		log.Errorf("Doris says that it committed the load, but its count of rows does not match: %d rows were sent, and it counts %d: %d loaded, %d filtered, %d unselected",
			r.Rows, r.Total, r.Loaded, r.Filtered, r.Unselected)
	}
	if r.LabelIgnored {
		log.Warn("Doris stored the load under another label than the one sent (group commit of the table?): rows may be stored twice when an answer gets lost")
	}
}

// next says what follows and when.
func next(what string, after time.Duration) string {
	if after <= 0 {
		return what
	}
	return fmt.Sprintf("%s within %s", what, after.Round(time.Millisecond))
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func firstLines(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return "; its first lines: " + strings.Join(lines, " | ")
}
