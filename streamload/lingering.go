package streamload

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"github.com/dorisload/benthos-doris/streamload/encode"
	"github.com/dorisload/benthos-doris/streamload/internal/answer"
	"github.com/dorisload/benthos-doris/streamload/internal/transport"
)

// A process that dies in the middle of a load in two phases leaves its transaction. One that waits for its second phase stays for an hour
// (stream_load_default_precommit_timeout_second), and changes of the table's schema wait for it.

// Lingering is a transaction that was begun under a label of ours and has not ended.
type Lingering struct {
	TxnID int64
	Label string
	// State is PREPARE or PRECOMMITTED.
	State string
	// Err is why it was not aborted, nil when it was, and from Lingering.
	Err error
}

// maxLingering is how many transactions are looked at in each state: more than may run in a database by default (max_running_txn_num_per_db).
const maxLingering = 10_000

// Lingering lists the transactions of a database that run under random labels of this client's LabelPrefix, whoever began them: also those of this
// client, and of any other with the same prefix. Labels made from an identity (Batch.Identity) are not among them: those of a longer
// prefix cannot be told apart. Doris only; the FEs are asked in turn to show them (fe ShowTransactionStmt.java and ShowTransactionCommand.java, which
// want the LOAD privilege on the database). The error is as that of InspectTable.
func (c *Client) Lingering(ctx context.Context, database string) ([]Lingering, error) {
	if c.conf.Options.dialect() != encode.Doris {
		return nil, fmt.Errorf("%w: StarRocks shows no transactions by their labels", ErrNoSuchCall)
	}
	ours := randomLabels(c.conf.LabelPrefix)
	var found []Lingering
	for _, state := range []answer.LabelState{answer.StatePrepare, answer.StatePrecommitted} {
		// Nothing of it comes from outside, so there is nothing to be quoted.
		rows, err := c.query(ctx, database, fmt.Sprintf("SHOW TRANSACTION WHERE STATUS = '%s'", state))
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			id, err := strconv.ParseInt(row["transactionid"], 10, 64)
			if err != nil || id <= 0 || row["transactionstatus"] != state.String() || !ours.MatchString(row["label"]) {
				continue
			}
			found = append(found, Lingering{TxnID: id, Label: row["label"], State: state.String()})
		}
	}
	return found, nil
}

// AbortLingering aborts what Lingering lists, by its number, but for loads in the ledger. It is for the time before the first load: those of this client
// that run would be aborted too, and sent again. What is committed meanwhile stays so.
func (c *Client) AbortLingering(ctx context.Context, database string) ([]Lingering, error) {
	found, err := c.Lingering(ctx, database)
	kept := found[:0]
	for _, l := range found {
		if c.ledger.of(l.Label) != nil {
			continue // it is settled when its rows come back
		}
		// Never by the label: by then another transaction may have it.
		l.Err = c.abortTxn(ctx, ctx, c.loaders().current(), database, "", l.TxnID)
		kept = append(kept, l)
	}
	return kept, err
}

// query runs a statement at the FEs in turn until one answers.
func (c *Client) query(ctx context.Context, database, statement string) (rows []map[string]string, err error) {
	err = c.ask(ctx, func(ctx context.Context, i int) (transport.Page, error) {
		return c.transport.Query(ctx, c.frontends.urls[i], database, statement, maxLingering)
	}, func(p transport.Page) answer.Info {
		var i answer.Info
		rows, i = answer.ParseRows(p.Body)
		return i
	})
	return rows, err
}

// randomLabels matches the labels that randomLabel and attemptLabel make of a prefix, and none of a longer prefix.
func randomLabels(prefix string) *regexp.Regexp {
	return regexp.MustCompile(fmt.Sprintf(`^%s_[a-z2-7]{%d}(_[0-9]{1,4})?$`, regexp.QuoteMeta(randomPrefix(prefix)), randomLength))
}
