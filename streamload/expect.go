package streamload

import (
	"slices"
	"time"

	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/streamload/encode"
)

const (
	// minExpectAge is how long expected rows are remembered at least. A source delivers again within seconds; what may take longer is
	// that all loads are busy.
	minExpectAge = 10 * time.Minute
	// expectTogether is how long expected rows of one table are kept as one entry, so that there are few.
	expectTogether = time.Minute
)

// Expect tells the client that rows which it has stored will be given to Load again, because the caller has to hand back a whole batch of
// which only a part has failed. They are acknowledged when they come, each as often as it was expected, and not loaded again. That works with
// group commit too. They are remembered in memory for 10 minutes, or as long as one load may take (Backoff.MaxElapsed and Timeout)
// if that is longer, and not for longer than Ledger.MaxAge, within the limit of Ledger.MaxRows; what is dropped before it has come is
// reported to Observer.Forgotten. Rows with the same bytes that come in that time from elsewhere are taken for them.
func (c *Client) Expect(b Batch) {
	body, _ := encode.Encode(b.Rows, c.encoding) // rows that are refused were not stored
	if body.Rows() == 0 {
		return
	}
	c.ledger.expect(b, c.expectAge(), digestsOf(&body))
}

func (c *Client) expectAge() time.Duration {
	age := max(minExpectAge, c.conf.Backoff.MaxElapsed+c.conf.Timeout)
	if most := c.conf.Ledger.MaxAge; most > 0 {
		age = min(age, most)
	}
	return age
}

// expect adds rows that are stored, for a time.
func (l *ledger) expect(b Batch, maxAge time.Duration, rows []digest) {
	fresh := l.newEntry(b, "", maxAge+expectTogether)
	fresh.settled = decide.SettledCommitted
	l.mu.Lock()
	defer l.unlock()
	into := l.expecting(b, fresh.bornAt)
	if into == nil {
		into = fresh
		l.entries = append(l.entries, into)
	}
	l.fill(into, rows)
	l.sweep()
}

// expecting is the entry of rows expected in a table, if there is one that is young enough to take more. It wants the lock held.
func (l *ledger) expecting(b Batch, now time.Duration) *entry {
	for _, e := range slices.Backward(l.entries) {
		if e.expected() && e.database == b.Database && e.table == b.Table && now-e.bornAt < expectTogether {
			return e
		}
	}
	return nil
}
