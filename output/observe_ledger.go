package output

import (
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"github.com/dorisload/benthos-doris/streamload"
)

// Settled counts and logs a look at a load whose outcome was unknown.
func (o *observer) Settled(s streamload.SettleInfo) {
	o.meters.settled(s)
	o.meters.ledger(o.client.LedgerSize)
	log, age := o.about(s)
	switch s.Result {
	case "committed":
		log.Infof("The load that ended %s ago with its outcome unknown is committed: rows of it that come back are acknowledged and not stored again (%d have not yet)", age, s.Rows)
	case "closed":
		log.Infof("The load that ended %s ago with its outcome unknown is not stored, and cannot be any more: rows of it are loaded anew", age)
	default:
		log.Warnf("The outcome of the load that ended %s ago is still unknown: rows of it are failed again and not sent (%d have not come back yet)", age, s.Rows)
	}
}

// Forgotten counts and logs a load that is dropped from the ledger.
func (o *observer) Forgotten(s streamload.SettleInfo) {
	o.meters.forgotten(s)
	if s.Expected {
		o.log.With("table", s.Database+"."+s.Table).Warnf(
			"%d rows that were stored up to %s ago and were to be delivered again, because others of their batch had failed, are forgotten, because %s: they may be stored twice when they are delivered again",
			s.Rows, s.Age.Round(time.Millisecond), s.Result)
		return
	}
	log, age := o.about(s)
	if s.Label == "" {
		log.Warnf("The load that ended %s ago with its outcome unknown, of which on_unknown_outcome is to reject the rows, is forgotten, because %s: %d rows of it may be stored twice if they are delivered again",
			age, s.Result, s.Rows)
		return
	}
	log.Warnf("The load that ended %s ago with its outcome unknown (label %s) is forgotten, because %s: %d rows of it may be stored twice when they are delivered again",
		age, s.Label, s.Result, s.Rows)
}

func (o *observer) about(s streamload.SettleInfo) (*service.Logger, time.Duration) {
	return o.log.With("table", s.Database+"."+s.Table, "label", s.Label), s.Age.Round(time.Millisecond)
}
