package streamload

import (
	"time"

	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/streamload/encode"
)

// Batch is what one load stores.
type Batch struct {
	// Database and Table are where the rows go.
	Database, Table string
	// Identity is what makes this batch this batch, and comes again when it is delivered again: for instance topic, partition and
	// offsets. With it the label is made from identity and rows, so that a load which was committed before is not loaded again, even by another
	// process. When the batch takes several loads and one fails, every row that was sent fails, so that the same batch comes again; what is
	// stored of it is acknowledged then. Empty: a random label.
	Identity string
	// Rows are one row each: a JSON object, or a line of CSV. With Options.ManyRows they are any number of lines each. In a format of which a row is a whole body there must be one. They are not modified, and not kept longer than Load runs, except that a
	// connection that is being given up may still read them for a moment; do not change them.
	Rows [][]byte
	// Whole asks for no partial result where it can be avoided: when some rows were in a load whose outcome is still unknown, or the load of
	// the others fails, then every row fails. For callers that hand the whole batch back when one row fails.
	Whole bool
	// Joined says that the rows are those of several callers who know nothing of each other. When a server refuses some of them, which fails the
	// load, it is not sent again as it is: the caller gives the rows to Load again, in smaller batches.
	Joined bool

	part    string // which part of the batch of an Identity this is; "": all of it
	divided bool   // a load of more rows was too large
	again   string // the label of an open load of these very rows; "" for none
}

// RowError is a row that failed by itself: its Index in Batch.Rows, and why.
type RowError = encode.RowError

// Class is what kind of failure something is; see package decide.
type Class = decide.Class

// Report is what is known about a delivery at its end.
type Report struct {
	Database, Table string
	// Label is the last label used; "" if the server made it (group commit).
	Label string
	// TxnID is the server's transaction, 0 if not known.
	TxnID int64
	// Rows and Bytes are what was sent, Bytes before compression. With Options.ManyRows each line is a row. A whole file is as many rows as the server counted in it,
	// and one where its answer counts nothing.
	Rows  int
	Bytes int64
	// HasCounts is true when the server's answer counts rows; it is false when the load was found to be committed by its label.
	HasCounts bool
	// Total, Loaded, Filtered and Unselected are the server's counts. Filtered rows were dropped as bad, unselected ones by "where".
	Total, Loaded, Filtered, Unselected int64
	// Attempts is how many requests to load were made, Polls how many questions for a label's state.
	Attempts, Polls int
	// Evidence is why the rows are known to be committed: success, publish_timeout, label_finished, state_visible, state_committed.
	Evidence string
	// Visible is true when the rows are known to be visible to queries already.
	Visible bool
	// Ambiguous is true when some request of the delivery got no answer that told its fate.
	Ambiguous bool
	// LabelIgnored is true when the server used another label than ours, which takes its protection against doubles away.
	LabelIgnored bool
	// Ungrouped is true when group commit was asked for and the server stored the load by itself: versions of Doris before 2.1 do not know the
	// header and pass it over.
	Ungrouped bool
	// RowsFree is true when nothing looks at the slice Batch.Rows any more: the caller may use the slice for something else, and the rows
	// as soon as nobody reads them. It is false when a connection that was given up may still look at it.
	RowsFree bool
	// AlreadyStored is how many rows of the batch were found to be stored by an earlier load, whose outcome had been unknown or whose rows were
	// expected again; they were not loaded again and are not in Rows.
	AlreadyStored int
	// Took is the time of the whole delivery.
	Took time.Duration
	// Timings are the server's phases in milliseconds: Load, BeginTxn, StreamLoadPut (StarRocks: StreamLoadPlan), ReadData, WriteData, ReceiveData, CommitAndPublish.
	Timings map[string]int64
	// ErrorURL shows the rows that the server filtered, without secrets; ErrorLines are its first lines.
	ErrorURL   string
	ErrorLines []string

	unaccounted int64
}

// Unaccounted is how many of the rows sent the server did not count at all, or counted too often (negative). It is 0 without counts, and
// where the settings leave open how many rows a server counts.
func (r Report) Unaccounted() int64 { return r.unaccounted }
