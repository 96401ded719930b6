package emulator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// feQuery runs a statement (StmtExecutionAction.java). Of all SQL the emulator knows the version, and the transactions of a database in a state.
func (x *exchange) feQuery(catalog, db string) {
	if x.r.Method != http.MethodPost {
		x.springError(http.StatusMethodNotAllowed)
		return
	}
	u, ok := x.login()
	if !ok {
		return
	}
	x.db = db
	var asked struct {
		Stmt  string `json:"stmt"`
		Limit int    `json:"limit"`
	}
	body := http.MaxBytesReader(x.w, x.r.Body, 1<<20)
	if err := json.NewDecoder(body).Decode(&asked); err != nil || asked.Stmt == "" {
		x.entity(badRequest("Missing statement request body"))
		return
	}
	if catalog != "internal" && catalog != "default_cluster" {
		x.entity(sqlError("Unknown catalog '%s'", catalog))
		return
	}
	stmt := strings.TrimSuffix(strings.TrimSpace(asked.Stmt), ";")
	if m := versionStmt.FindString(stmt); m != "" {
		x.entity(resultSet([]string{"Variable_name", "Value", "Default_Value", "Changed"}, [][]string{{"version_comment", x.e.profile.versionComment(), "", "0"}}))
		return
	}
	m := transactionsStmt.FindStringSubmatch(stmt)
	if m == nil {
		x.entity(sqlError("the emulator does not know this statement"))
		return
	}
	c := x.e.cat
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.database(db, c.opt.AutoCreate)
	state := State(strings.ToUpper(m[1]))
	switch {
	case d == nil:
		x.entity(sqlError("Unknown database '%s'", db))
		return
	case !u.mayLoad(db):
		x.entity(sqlError("Access denied; you need (at least one of) the (LOAD) privilege(s) for this operation"))
		return
	case !slices.Contains([]State{Prepare, Precommitted, Committed, Visible, Aborted}, state):
		x.entity(sqlError("status should be prepare/precommitted/committed/visible/aborted"))
		return
	}
	rows := c.transactions(d, state)
	x.entity(resultSet(transactionTitles, rows[:min(len(rows), cmp.Or(asked.Limit, 1000))]))
}

var (
	versionStmt      = regexp.MustCompile(`(?i)^show variables like 'version_comment'$`)
	transactionsStmt = regexp.MustCompile(`(?i)^show transaction where status\s*=\s*['"](\w+)['"]$`)
)

// transactionTitles are those of TransProcDir.java.
var transactionTitles = []string{
	"TransactionId", "Label", "Coordinator", "TransactionStatus", "LoadJobSourceType", "PrepareTime", "PreCommitTime", "CommitTime",
	"PublishTime", "FinishTime", "Reason", "ErrorReplicasCount", "ListenerId", "TimeoutMs", "ErrMsg",
}

// transactions are those in a state, the newest first. It wants the lock held.
func (c *catalog) transactions(db *database, s State) [][]string {
	c.sweep(db)
	var found []*txn
	for _, t := range db.ids {
		if t.state == s {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, func(a, b *txn) int { return cmp.Compare(b.id, a.id) })
	rows := [][]string{}
	for _, t := range found {
		rows = append(rows, []string{
			strconv.FormatInt(t.id, 10), t.label, "BE: 127.0.0.1", string(t.state), "BACKEND_STREAMING", moment(t.begin), moment(t.precommit), "", "",
			moment(t.finish), t.reason, "0", "-1", strconv.FormatInt(t.timeout.Milliseconds(), 10), "",
		})
	}
	return rows
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.DateTime)
}

func resultSet(titles []string, rows [][]string) entity {
	meta := make([]map[string]string, len(titles))
	for i, title := range titles {
		meta[i] = map[string]string{"name": title, "type": "CHAR"}
	}
	return success(map[string]any{"type": "result_set", "meta": meta, "data": rows, "time": 1})
}

func sqlError(format string, args ...any) entity {
	return commonError("Failed to execute sql: java.sql.SQLException: (conn=1) errCode = 2, detailMessage = " + fmt.Sprintf(format, args...))
}

// versionComment is what Doris says that it is (GlobalVariable.java).
func (p *profile) versionComment() string {
	switch {
	case p.name == master:
		return "Doris version doris-0.0.0--0000000"
	case p.v[2] == newest:
		return fmt.Sprintf("Doris version doris-%d.%d.99-rc01-0000000", p.v[0], p.v[1])
	}
	return fmt.Sprintf("Doris version doris-%d.%d.%d-rc01-0000000", p.v[0], p.v[1], p.v[2])
}
