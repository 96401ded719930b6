package streamload

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/streamload/internal/redact"
)

// Stage is how far a failed delivery came.
type Stage string

// The stages.
const (
	// StageEncode: no row could be made part of a body; nothing was sent.
	StageEncode Stage = "encode"
	// StageLimit: a row is larger than a load may be; it was not sent.
	StageLimit Stage = "limit"
	// StageConnect: no server could be reached.
	StageConnect Stage = "connect"
	// StageFrontend: an FE refused, or sent us nowhere.
	StageFrontend Stage = "frontend"
	// StageLoad: the load itself failed.
	StageLoad Stage = "load"
	// StageLabel: the fate of a request could not be learned from its label.
	StageLabel Stage = "label_state"
	// StageStopped: the caller cancelled.
	StageStopped Stage = "stopped"
)

// Sizes of the parts of an error text, in bytes.
const (
	maxMessage    = 2048
	maxErrorLine  = 400
	maxErrorLines = 3
	maxErrorURL   = 500
	maxStatus     = 100
	maxName       = 200
)

// firstErrorMark stands in a message before the server's words about the first bad row, which may quote the row.
const firstErrorMark = "; first error: "

// Error is a delivery that did not store all rows of its batch.
type Error struct {
	// Class is the kind of failure, a stable token; it begins the error text.
	Class Class
	Stage Stage
	// Database, Table and Label say which load; Label is "" when none was sent.
	Database, Table, Label string
	// Attempts is how many requests to load were made.
	Attempts int
	// HTTPStatus and Status are the last answer's, 0 and "" if there was none.
	HTTPStatus int
	Status     string
	// Message is the server's last message, or what went wrong on the way to it, and what that means. No secrets, at most 5 KiB.
	Message string
	// Reason is why no further attempt was made, for instance "retries used up".
	Reason string
	// LabelState is the last state of the label that was seen, "" if none.
	LabelState string
	// ErrorURL shows the rejected rows, without secrets; ErrorLines are its first lines.
	ErrorURL   string
	ErrorLines []string
	// Unresolved is true when the rows may be stored all the same, now or later: nobody may load them again under another label without
	// looking at this one's state first.
	Unresolved bool
	// Rejected are the rows that were refused before sending, each with its own reason, by index.
	Rejected []RowError
	// Held are the rows that failed because an earlier load that they were in may still store them, each with its own reason, by index. They were
	// not sent.
	Held []RowError
	// Failed are the rows of loads that failed when the batch took several loads, each with its own reason, by index; the error itself
	// tells the first reason.
	Failed []RowError
	// Partial is true when only the rows in Rejected, Held and Failed failed and all others are committed.
	Partial bool
	// NoFE is true when no FE answered the last request of the delivery, be it to load or for the state of a label. The rows can
	// then be given to Load again at any time: they are stored by none of the requests, or the ledger has them.
	NoFE bool
	// Err is the cause, for errors.Is; it may be nil.
	Err error

	stored []int // rows that are committed although Partial is not set, sorted
	divide bool  // the rows may be stored in smaller loads
	settle bool  // the rows may be stored in other loads, once the label is settled

	refused  bool   // the server refuses some of the rows, and the others may be stored in other loads
	filtered int64  // how many, by its count
	page     []byte // the start of its error page
}

// Error is one line that begins with the class.
func (e *Error) Error() string {
	if e.Stage == StageEncode && len(e.Rejected) > 0 {
		return fmt.Sprintf("%s: %s of %s cannot be loaded, the first: %v", e.Class, e.rejected(), e.target(), e.Rejected[0])
	}
	return e.text()
}

// Headline is the error without anything that may quote a row: no error page and no first bad row. It begins with the class too.
func (e *Error) Headline() string {
	if e.Stage == StageEncode && len(e.Rejected) > 0 {
		return e.RejectedHeadline()
	}
	short := *e
	short.Message, _, _ = strings.Cut(e.Message, firstErrorMark)
	short.ErrorLines = nil
	return short.text()
}

// RejectedHeadline is the headline over the rows in Rejected, "" when there are none. They may have been refused besides a failure of the others.
func (e *Error) RejectedHeadline() string {
	if len(e.Rejected) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s of %s cannot be loaded and were not sent, the first: %s",
		decide.DataQuality, e.rejected(), e.target(), withoutQuotes(e.Rejected[0].Err.Error()))
}

// rejected is how many rows were refused before sending, in words.
func (e *Error) rejected() string {
	if e.Rejected[0].Lines > 0 {
		return fmt.Sprintf("%d message(s) of many rows", len(e.Rejected))
	}
	return fmt.Sprintf("%d row(s)", len(e.Rejected))
}

// withoutQuotes cuts out of the reason for a rejected row what it quotes of the row, which package encode puts in backquotes.
// A row may itself have backquotes, so everything from the first to the last goes.
func withoutQuotes(reason string) string {
	from, to := strings.IndexByte(reason, '`'), strings.LastIndexByte(reason, '`')
	if from < 0 {
		return reason
	}
	return reason[:from] + "[not shown]" + reason[to+1:]
}

func (e *Error) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: load into %s failed", e.Class, e.target())
	if e.Unresolved {
		fmt.Fprintf(&b, " with its outcome unknown")
	}
	fmt.Fprintf(&b, ": %s", e.Message)
	if e.HTTPStatus != 0 && e.HTTPStatus != 200 && !strings.Contains(e.Message, fmt.Sprintf("HTTP %d", e.HTTPStatus)) {
		fmt.Fprintf(&b, " (HTTP %d)", e.HTTPStatus)
	}
	if e.ErrorURL != "" {
		fmt.Fprintf(&b, "; error page: %s", e.ErrorURL)
	}
	for i, line := range e.ErrorLines {
		if i == 0 {
			b.WriteString("; its first lines:")
		}
		fmt.Fprintf(&b, " %s", line)
	}
	fmt.Fprintf(&b, " [stage=%s", e.Stage)
	if e.Label != "" {
		fmt.Fprintf(&b, " label=%s", e.Label)
	}
	if e.LabelState != "" {
		fmt.Fprintf(&b, " label_state=%s", e.LabelState)
	}
	fmt.Fprintf(&b, " attempts=%d", e.Attempts)
	if e.Reason != "" {
		fmt.Fprintf(&b, " ended=%q", e.Reason)
	}
	b.WriteString("]")
	return b.String()
}

func (e *Error) target() string { return TableName(e.Database, e.Table) }

// TableName is a table in words: names come from messages, and may be anything. It is one line of valid UTF-8 and at most 401 bytes long.
func TableName(database, table string) string {
	return redact.Secrets{}.Text(database, maxName) + "." + redact.Secrets{}.Text(table, maxName)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Row is the error of the i-th row of the batch; nil when the row is committed.
func (e *Error) Row(i int) error {
	for _, rows := range [...][]RowError{e.Rejected, e.Held, e.Failed} {
		at := sort.Search(len(rows), func(k int) bool { return rows[k].Index >= i })
		if at < len(rows) && rows[at].Index == i {
			return rows[at].Err
		}
	}
	if _, found := slices.BinarySearch(e.stored, i); found || e.Partial {
		return nil
	}
	return e
}

// firstLines picks the first lines of an error page that say something.
func firstLines(page []byte, secrets redact.Secrets) (lines []string) {
	for line := range strings.SplitSeq(string(page), "\n") {
		if line = secrets.Text(line, maxErrorLine); line == "" {
			continue
		}
		if lines = append(lines, line); len(lines) == maxErrorLines {
			break
		}
	}
	return lines
}
