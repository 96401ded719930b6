package emulator_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// rocksTxn drives the transaction interface at one node.
type rocksTxn struct {
	t          *testing.T
	base       string
	label      string
	db, table  string
	moreOnLoad []string
}

// txnAt talks to the first BE, or through the FE.
func txnAt(t *testing.T, base, label string, headers ...string) rocksTxn {
	t.Helper()
	return rocksTxn{t: t, base: base, label: label, db: "db", table: "t", moreOnLoad: headers}
}

func (x rocksTxn) do(op, body string, headers ...string) reply {
	x.t.Helper()
	method := http.MethodPost
	if op == "load" {
		method = http.MethodPut
		headers = append(append([]string{"Expect: 100-continue"}, x.moreOnLoad...), headers...)
	}
	headers = append([]string{"db: " + x.db, "table: " + x.table, "label: " + x.label}, headers...)
	r := do(x.t, method, x.base+"/api/transaction/"+op, body, headers...)
	for range 3 {
		if r.http != http.StatusTemporaryRedirect {
			break
		}
		r = do(x.t, method, r.header.Get("Location"), body, headers...)
	}
	return r
}

func (x rocksTxn) ok(op, body string, headers ...string) reply {
	x.t.Helper()
	r := x.do(op, body, headers...)
	require.Equal(x.t, "OK", r.Status, "%s: %s", op, r.raw)
	return r
}

func normal(raw string) string {
	raw = regexp.MustCompile(`(Ms|TxnId)": \d+`).ReplaceAllString(raw, `$1": N`)
	raw = regexp.MustCompile(`ransaction \d+`).ReplaceAllString(raw, "ransaction N")
	return strings.Join(strings.Fields(raw), " ")
}

func TestStarRocksTransaction(t *testing.T) {
	t.Parallel()
	emu := rocks(t, emulator.Options{FEs: 2, BEs: 3})
	// Through the follower: two hops, and always to the same BE.
	x := txnAt(t, emu.FEURLs()[1], "l", "format: json")
	exact(t, `{ "Status": "OK", "Message": "", "Label": "l", "TxnId": N, "BeginTxnTimeMs": N }`, normal(x.ok("begin", "").raw))
	require.Equal(t, emulator.Prepare, emu.LabelState("db", "l"))
	exact(t, `{ "Status": "OK", "Message": "", "Label": "l", "TxnId": N, "LoadBytes": 17, "StreamLoadPlanTimeMs": N, "ReceivedDataTimeMs": N }`, normal(x.ok("load", "{\"id\":1}\n{\"id\":2}").raw))
	x.ok("load", `{"id":3}`)
	require.Zero(t, emu.Count("db", "t"))
	exact(t, `{ "Status": "OK", "Message": "", "Label": "l", "TxnId": N, "NumberTotalRows": 3, "NumberLoadedRows": 3, "NumberFilteredRows": 0, "NumberUnselectedRows": 0, "LoadBytes": 25, `+
		`"LoadTimeMs": N, "StreamLoadPlanTimeMs": N, "ReceivedDataTimeMs": N, "WriteDataTimeMs": N, "CommitAndPublishTimeMs": N }`, normal(x.ok("prepare", "").raw))
	require.Equal(t, emulator.Prepared, emu.LabelState("db", "l"))
	require.Contains(t, do(t, http.MethodGet, emu.FEURL()+"/api/db/get_load_state?label=l", "").raw, `{"state":"PREPARED"`)
	require.Equal(t, "RUNNING", put(t, emu, "1\ta\t1\n", "label: l").ExistingJobStatus)
	require.Zero(t, emu.Count("db", "t"))

	exact(t, `{ "Status": "OK", "Message": "", "TxnId": N, "Label": "l" }`, normal(x.ok("commit", "").raw))
	require.Equal(t, 3, emu.Count("db", "t"))
	exact(t, `{ "Status": "OK", "Message": "Transaction N has already committed, label is l", "TxnId": N, "Label": "l" }`, normal(x.ok("commit", "").raw))
	exact(t, `{ "Status": "FAILED", "Message": "class com.starrocks.common.StarRocksException: Can not abort VISIBLE transaction N, label is l" }`, normal(x.do("rollback", "").raw))
	r := x.do("begin", "")
	require.Equal(t, "LABEL_ALREADY_EXISTS", r.Status)
	require.Equal(t, "FINISHED", r.ExistingJobStatus)
	require.Equal(t, "Label [l] has already been used.", r.Message)
	var statuses []string
	for _, l := range emu.Loads() {
		statuses = append(statuses, l.Status+" "+string(l.State))
	}
	require.Equal(t, []string{"OK VISIBLE", "OK VISIBLE", "Label Already Exists UNKNOWN"}, statuses)
}

func TestStarRocksTransactionRollback(t *testing.T) {
	t.Parallel()
	emu := rocks(t, emulator.Options{})
	for _, prepare := range []bool{false, true} {
		x := txnAt(t, emu.FEURL(), "l")
		x.ok("begin", "")
		x.ok("load", "1\ta\t1\n")
		if prepare {
			x.ok("prepare", "")
		}
		x.ok("rollback", "")
		require.Equal(t, emulator.Aborted, emu.LabelState("db", "l"))
		require.Contains(t, normal(x.ok("rollback", "").raw), `"Message": "Transaction N has already aborted, label is l"`)
		exact(t, `{ "Status": "FAILED", "Message": "class com.starrocks.common.StarRocksException: Can not commit ABORTED transaction N, label is l" }`, normal(x.do("commit", "").raw))
	}
	require.Zero(t, emu.Count("db", "t"))
	be := txnAt(t, "http://"+emu.BEAddr(), "none")
	for op, word := range map[string]string{"load": "Transaction", "prepare": "transaction", "commit": "transaction", "rollback": "transaction"} {
		r := be.do(op, "")
		require.Equal(t, "TXN_NOT_EXISTS", r.Status)
		require.Equal(t, word+" with label none not exists", r.Message)
	}
	// An error rolls back; a direct rollback has the label and nothing else.
	be.ok("begin", "")
	exact(t, `{ "Status": "OK", "Message": "", "Label": "none" }`, normal(be.ok("rollback", "").raw))
}

// A commit without a prepare goes to the BE.
func TestStarRocksTransactionInOneStep(t *testing.T) {
	t.Parallel()
	emu := rocks(t, emulator.Options{})
	x := txnAt(t, emu.FEURL(), "l", "column_separator: ,")
	x.ok("begin", "")
	// The bodies of CSV are joined: what ends without a delimiter runs into the next.
	x.ok("load", "1,a,1\n2,b,")
	x.ok("load", "2\n3,c,3\n")
	r := x.ok("commit", "")
	require.EqualValues(t, 3, r.Loaded)
	require.Equal(t, emulator.Visible, emu.LabelState("db", "l"))
	require.Equal(t, 3, emu.Count("db", "t"))
}

func TestStarRocksTransactionErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name            string
		run             func(x rocksTxn) reply
		status, message string
		state           emulator.State
	}{
		{"nothing sent", func(x rocksTxn) reply { return x.do("prepare", "") }, "INTERNAL_ERROR", "hasn't send any data yet", emulator.Aborted},
		{"bad rows", func(x rocksTxn) reply { x.ok("load", "x\ta\t1\n"); return x.do("prepare", "") }, "INTERNAL_ERROR", "too many filtered rows", emulator.Aborted},
		{"no rows", func(x rocksTxn) reply { x.ok("load", ""); return x.do("prepare", "") }, "INTERNAL_ERROR", "all partitions have no load data", emulator.Aborted},
		{"plan", func(x rocksTxn) reply { return x.do("load", "1", "columns: id, x = y") }, "ANALYSIS_ERROR", "Unknown column 'y'", emulator.Aborted},
		{"format", func(x rocksTxn) reply { return x.do("load", "1", "format: orc") }, "INTERNAL_ERROR", "unknown data format, format=orc", emulator.Aborted},
		{"other headers", func(x rocksTxn) reply {
			x.ok("load", "1\ta\t1\n")
			return x.do("load", "1\ta\t1\n", "strict_mode: true")
		}, "INTERNAL_ERROR", "load request not equal last.", emulator.Aborted},
		{"other table", func(x rocksTxn) reply { x.table = "p"; return x.do("load", "1") }, "INVALID_ARGUMENT", "Request table p not equal transaction table t", emulator.Prepare},
		{"other database", func(x rocksTxn) reply { x.db = "db2"; return x.do("prepare", "") }, "INVALID_ARGUMENT", "request db db2 transaction db db not match", emulator.Prepare},
		{"begun twice", func(x rocksTxn) reply { return x.do("begin", "") }, "LABEL_ALREADY_EXISTS", "", emulator.Prepare},
		{"prepared timeout", func(x rocksTxn) reply {
			x.ok("load", "1\ta\t1\n")
			return x.do("prepare", "", "prepared_timeout: soon")
		}, "INVALID_ARGUMENT", "Invalid prepared_timeout: soon", emulator.Prepare},
		{"many statements", func(x rocksTxn) reply { return x.do("prepare", "", "transaction_type: multi") }, "INVALID_ARGUMENT", "Multi-statement transaction requests can only be sent to FE nodes", emulator.Prepare},
		{"unknown operation", func(x rocksTxn) reply { return x.do("revert", "") }, "INVALID_ARGUMENT", "unsupport transaction operation revert", emulator.Prepare},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			emu := rocks(t, emulator.Options{})
			emu.CreateDatabase("db2")
			x := txnAt(t, "http://"+emu.BEAddr(), "l")
			x.ok("begin", "")
			r := tc.run(x)
			require.Equal(t, tc.status, r.Status, r.raw)
			require.Contains(t, r.Message, tc.message)
			require.Equal(t, tc.state, emu.LabelState("db", "l"))
			if tc.state == emulator.Aborted {
				require.Equal(t, "TXN_NOT_EXISTS", x.do("load", "1\ta\t1\n").Status)
				x.ok("begin", "")
			}
			if tc.name == "begun twice" {
				require.Contains(t, r.raw, `"ExistingJobStatus": ""`)
			}
			if tc.name == "bad rows" {
				require.NotEmpty(t, r.ErrorURL)
			}
		})
	}
}

func TestStarRocksTransactionAtTheFrontend(t *testing.T) {
	t.Parallel()
	emu := rocks(t, emulator.Options{})
	post := func(op string, headers ...string) reply {
		return do(t, http.MethodPost, emu.FEURL()+"/api/transaction/"+op, "", headers...)
	}
	const sr = "class com.starrocks.common.StarRocksException: "
	for _, tc := range [][]string{
		{"begin", sr + "No database selected.", "label: l"},
		{"begin", sr + "Empty label.", "db: db"},
		{"begin", sr + "Database[no] does not exist.", "db: no", "label: l"},
		{"vote", sr + "Unknown transaction operation: vote", "db: db", "label: l"},
		{"begin", "class java.lang.NumberFormatException: For input string: \"x\"", "db: db", "label: l", "timeout: x"},
		{"load", sr + "Can't find the transaction with db [db] and label[l].", "db: db", "label: l"},
		{"prepare", sr + "Can't find the transaction with db [db] and label[l].", "db: db", "label: l"},
		{"commit", sr + "No transaction found by label l", "db: db", "label: l"},
		{"begin", sr + "channel_id and channel_num are not supported by the emulator", "db: db", "label: l", "channel_id: 1", "channel_num: 2"},
	} {
		r := post(tc[0], tc[2:]...)
		require.Equal(t, http.StatusOK, r.http)
		require.Equal(t, "FAILED", r.Status, r.raw)
		require.Contains(t, r.Message, tc[1])
	}
	require.Equal(t, http.StatusUnauthorized, post("begin", "db: db", "label: l", "Authorization: -").http)
	require.Equal(t, http.StatusMethodNotAllowed, do(t, http.MethodGet, emu.FEURL()+"/api/transaction/begin", "").http)

	old := rocks(t, emulator.Options{Version: "2.3"})
	exact(t, `{"status":"FAILED","msg":"Not implemented"}`, do(t, http.MethodPost, old.FEURL()+"/api/transaction/begin", "", "db: db", "label: l").raw)
	require.Equal(t, http.StatusNotFound, do(t, http.MethodPost, "http://"+old.BEAddr()+"/api/transaction/begin", "").http)
	multi := rocks(t, emulator.Options{Version: "4.0"})
	require.Contains(t, do(t, http.MethodPost, multi.FEURL()+"/api/transaction/begin", "", "db: db", "label: l", "transaction_type: multi").Message, "not supported by the emulator")
}

func TestStarRocksTransactionTimes(t *testing.T) {
	t.Parallel()
	c := newClock()
	emu := rocks(t, emulator.Options{Now: c.now})
	be := "http://" + emu.BEAddr()
	for label, begin := range map[string][]string{"default": nil, "short": {"timeout: 300"}, "idle": {"idle_transaction_timeout: 10"}} {
		x := txnAt(t, be, label)
		x.ok("begin", "", begin...)
		c.move(9 * time.Second)
		x.ok("load", "1\ta\t1\n")
		c.move(map[string]time.Duration{"default": 592 * time.Second, "short": 292 * time.Second, "idle": 11 * time.Second}[label])
		require.Equal(t, "TXN_NOT_EXISTS", x.do("prepare", "").Status, label)
		require.Equal(t, emulator.Aborted, emu.LabelState("db", label))
	}
	for label, prepare := range map[string][]string{"day": nil, "minute": {"prepared_timeout: 60"}} {
		x := txnAt(t, be, label)
		x.ok("begin", "")
		x.ok("load", "1\ta\t1\n")
		x.ok("prepare", "", prepare...)
		c.move(50 * time.Second)
		require.Equal(t, emulator.Prepared, emu.LabelState("db", label))
		c.move(20 * time.Second)
		require.Equal(t, map[string]emulator.State{"day": emulator.Prepared, "minute": emulator.Aborted}[label], emu.LabelState("db", label))
	}
	c.move(24 * time.Hour)
	require.Equal(t, emulator.Aborted, emu.LabelState("db", "day"))
}

// What a crash and a new leader leave.
func TestStarRocksTransactionLost(t *testing.T) {
	t.Parallel()
	emu := rocks(t, emulator.Options{FEs: 2})
	x := txnAt(t, emu.FEURL(), "l")
	x.ok("begin", "")
	emu.RestartBE(0)
	require.Equal(t, "TXN_NOT_EXISTS", x.do("load", "1\ta\t1\n").Status)
	require.Equal(t, emulator.Aborted, emu.LabelState("db", "l"))

	x = txnAt(t, emu.FEURL(), "m")
	x.ok("begin", "")
	x.ok("load", "1\ta\t1\n")
	x.ok("prepare", "")
	emu.RestartBE(0)
	y := txnAt(t, emu.FEURL(), "n")
	y.ok("begin", "")
	emu.SwitchMaster()
	require.Contains(t, y.do("load", "1\ta\t1\n").Message, "Can't find the transaction with db [db] and label[n]")
	require.Contains(t, y.do("commit", "").Message, "No transaction found by label n")
	x.ok("commit", "")
	require.Equal(t, 1, emu.Count("db", "t"), "what is prepared survives both")
}

func TestStarRocksTransactionFaults(t *testing.T) {
	t.Parallel()
	emu := rocks(t, emulator.Options{})
	x := txnAt(t, emu.FEURL(), "l")
	// The answer to a commit is lost.
	x.ok("begin", "")
	x.ok("load", "1\ta\t1\n")
	x.ok("prepare", "")
	emu.Inject(emulator.Fault{At: emulator.TwoPhaseAnswer, Do: emulator.Reset, Op: "commit", Times: 1})
	_, err := try(t.Context(), t, http.MethodPost, emu.FEURL()+"/api/transaction/commit", "", "db: db", "label: l")
	require.Error(t, err)
	require.Equal(t, emulator.Visible, emu.LabelState("db", "l"))
	require.Contains(t, x.ok("commit", "").Message, "has already committed")

	// The request was lost.
	x = txnAt(t, emu.FEURL(), "m")
	x.ok("begin", "")
	x.ok("load", "1\ta\t1\n")
	emu.Inject(emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Close, Times: 1, Keep: true, CommitAfter: time.Nanosecond})
	_, err = try(t.Context(), t, http.MethodPost, "http://"+emu.BEAddr()+"/api/transaction/prepare", "", "db: db", "label: m")
	require.Error(t, err)
	require.Eventually(t, func() bool { return emu.LabelState("db", "m") == emulator.Prepared }, 10*time.Second, time.Millisecond)

	// A load that breaks leaves the transaction alone: what came of CSV stays.
	x = txnAt(t, emu.FEURL(), "n")
	x.ok("begin", "")
	emu.Inject(emulator.Fault{At: emulator.BEBody, Do: emulator.Reset, Bytes: 6, Times: 1})
	_, err = try(t.Context(), t, http.MethodPut, "http://"+emu.BEAddr()+"/api/transaction/load", "7\ta\t1\n8\ta\t1\n", "db: db", "table: t", "label: n")
	require.Error(t, err)
	x.ok("load", "9\ta\t1\n")
	x.ok("prepare", "")
	x.ok("commit", "")
	require.Equal(t, `{"id":1,"n":1,"name":"a"} {"id":7,"n":1,"name":"a"} {"id":9,"n":1,"name":"a"}`, show(t, emu.Rows("db", "t")))

	// A refusal that the server gives rolls back.
	x = txnAt(t, emu.FEURL(), "o")
	x.ok("begin", "")
	emu.Inject(emulator.Fault{At: emulator.BEBody, Do: emulator.Fail, Message: "Memory of tracker exceed limit", Times: 1})
	require.Equal(t, "Memory of tracker exceed limit", x.do("load", "1\ta\t1\n").Message)
	require.Equal(t, emulator.Aborted, emu.LabelState("db", "o"))
	emu.Inject(emulator.Fault{At: emulator.FEBeforeAnswer, Do: emulator.Fail, Op: "begin", Message: "current fe is not master", Times: 1})
	require.Contains(t, x.do("begin", "").Message, "current fe is not master")
	x.ok("begin", "")
}

// One load at a time, and the rows of a commit that are not visible in time.
func TestStarRocksTransactionWaits(t *testing.T) {
	t.Parallel()
	c := newClock()
	emu := rocks(t, emulator.Options{Now: c.now})
	x := txnAt(t, emu.FEURL(), "l")
	x.ok("begin", "")
	w := dial(t, emu.BEAddr())
	w.send("PUT /api/transaction/load HTTP/1.1\r\nHost: x\r\nAuthorization: Basic cm9vdDo=\r\nContent-Length: 6\r\nExpect: 100-continue\r\ndb: db\r\ntable: t\r\nlabel: l\r\n\r\n")
	require.Equal(t, "HTTP/1.1 100 Continue", w.line())
	require.Empty(t, w.line())
	r := x.do("load", "2\tb\t2\n")
	require.Equal(t, "TXN_IN_PROCESSING", r.Status)
	require.Equal(t, "l", r.Label)
	require.Equal(t, "TXN_IN_PROCESSING", x.do("prepare", "").Status)
	w.send("1\ta\t1\n")
	_, text := w.answer()
	require.Contains(t, text, `"Status": "OK"`)
	x.ok("prepare", "")

	emu.Inject(emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.PublishTimeout, Times: 1})
	first := txnAt(t, "http://"+emu.BEAddr(), "first")
	first.ok("begin", "", "timeout: 60")
	first.ok("load", "3\ta\t1\n")
	late := func(x rocksTxn) string {
		answer := make(chan string, 1)
		go func() {
			r, err := try(t.Context(), t, http.MethodPost, x.base+"/api/transaction/commit", "", "db: db", "label: "+x.label, "timeout: 60")
			if err == nil {
				answer <- normal(r.raw)
			}
		}()
		require.Eventually(t, func() bool { return emu.LabelState("db", x.label) == emulator.Committed }, 10*time.Second, time.Millisecond)
		c.move(61 * time.Second)
		return <-answer
	}
	require.Contains(t, late(first), `"Status": "PUBLISH_TIMEOUT", "Message": "Publish timeout.`)
	require.Contains(t, late(x), `"Status": "FAILED", "Message": "class com.starrocks.common.StarRocksException: publish timeout: 60000"`)
	require.Equal(t, emulator.Committed, emu.LabelState("db", "l"), "it is committed")
	require.NoError(t, emu.PublishLabel("db", "first"))
	require.Equal(t, 2, emu.Count("db", "t"))
}

func TestStarRocksTransactionReadsFewerHeaders(t *testing.T) {
	t.Parallel()
	emu := rocks(t, emulator.Options{})
	x := txnAt(t, emu.FEURL(), "l", "column_separator: ,", "skip_header: 1", `enclose: "`)
	x.ok("begin", "")
	x.ok("load", "id,name,n\n1,\"a\",1\n", "max_filter_ratio: 1")
	x.ok("prepare", "")
	x.ok("commit", "")
	require.Equal(t, `{"id":1,"n":1,"name":"\"a\""}`, show(t, emu.Rows("db", "t")))

	y := txnAt(t, emu.FEURL(), "m", "format: json", "columns: id, n", "partial_update: TRUE")
	y.table = "p"
	y.ok("begin", "")
	y.ok("load", `{"id":1,"n":2}`)
	y.ok("prepare", "")
	y.ok("commit", "")

	small := rocks(t, emulator.Options{MaxJSONBytes: 20})
	z := txnAt(t, small.FEURL(), "n", "format: json")
	z.ok("begin", "")
	z.ok("load", `{"id":1,"n":1}`)
	require.Contains(t, z.do("load", `{"id":2,"n":2}`).Message, "data [ 28 ]", "the sizes add up")
}
