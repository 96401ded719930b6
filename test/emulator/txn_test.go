package emulator_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

const oneRow = `{"id":1,"name":"a","n":1}`

func TestLabelLifecycle(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{})
	require.Equal(t, "UNKNOWN", state(t, emu, "l"))
	first := putJSON(t, emu, oneRow, "label: l")
	require.Equal(t, "Success", first.Status)
	require.Equal(t, "VISIBLE", state(t, emu, "l"))

	again := putJSON(t, emu, oneRow, "label: l")
	require.Equal(t, "Label Already Exists", again.Status)
	require.Equal(t, "FINISHED", again.ExistingJobStatus)
	require.Equal(t, "[LABEL_ALREADY_EXISTS]TStatus: errCode = 2, detailMessage = Label [l] has already been used, relate to txn ["+intText(int(first.TxnID))+"]", again.Message)
	require.EqualValues(t, -1, again.TxnID)
	require.Zero(t, again.Total)
	require.Equal(t, 1, emu.Count("db", "t"))

	// A failed load frees its label; the newest transaction speaks for it.
	require.Equal(t, "Fail", putJSON(t, emu, "junk", "label: m").Status)
	require.Equal(t, "ABORTED", state(t, emu, "m"))
	require.Equal(t, "Success", putJSON(t, emu, oneRow, "label: m").Status)
	require.Equal(t, "VISIBLE", state(t, emu, "m"))

	// Labels belong to a database.
	require.NoError(t, emu.CreateTable(emulator.Table{Database: "db2", Name: "t", Columns: []emulator.Column{{Name: "id", Type: "INT"}}}))
	require.Equal(t, "Success", do(t, http.MethodPut, "http://"+emu.BEAddr()+"/api/db2/t/_stream_load", "1", "label: l").Status)

	// A load without a label gets one.
	require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`, putJSON(t, emu, oneRow).Label)
}

func TestTwoPhaseCommit(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{})
	load := func(label string) string {
		r := putJSON(t, emu, oneRow, "label: "+label, "two_phase_commit: true")
		require.Equal(t, "Success", r.Status)
		require.Equal(t, "true", r.TwoPhaseCommit)
		require.Equal(t, "PRECOMMITTED", state(t, emu, label))
		return intText(int(r.TxnID))
	}
	two := func(headers ...string) string {
		return do(t, http.MethodPut, "http://"+emu.BEAddr()+"/api/db/_stream_load_2pc", "", headers...).raw
	}
	const fe = "TStatus: errCode = 2, detailMessage = "
	fail := func(text string) string { return `{"status":"ANALYSIS_ERROR","msg":"` + fe + text + `"}` }

	a, b, c := load("a"), load("b"), load("c")
	require.Zero(t, emu.Count("db", "t"))
	require.Equal(t, "PRECOMMITTED", putJSON(t, emu, oneRow, "label: a").ExistingJobStatus)

	exact(t, `{"status":"Success","msg":"transaction [`+a+`] commit successfully."}`, two("txn_id: "+a, "txn_operation: commit"))
	require.Equal(t, fail("transaction ["+a+"] is already visible, not pre-committed."), two("txn_id: "+a, "txn_operation: commit"))
	require.Equal(t, fail("transaction ["+a+"] is already VISIBLE, could not abort."), two("txn_id: "+a, "txn_operation: abort"))
	exact(t, `{"status":"Success","msg":"label [b] abort successfully."}`, two("label: b", "txn_operation: abort"))
	require.Equal(t, fail("transaction ["+b+"] is already aborted, abort reason: User Abort"), two("txn_id: "+b, "txn_operation: commit"))
	require.Equal(t, fail("running transaction not found, label=b"), two("label: b", "txn_operation: commit"))
	require.Equal(t, fail("transaction not found, label=z"), two("label: z", "txn_operation: commit"))
	require.Equal(t, fail("transaction [9] not found"), two("txn_id: 9", "txn_operation: commit"))
	exact(t, `{"status":"Success","msg":"label [c] transaction [`+c+`] commit successfully."}`, two("label: c", "txn_id: "+c, "txn_operation: commit"))
	exact(t, `{"status":"INTERNAL_ERROR","msg":"transaction operation should be 'commit' or 'abort'"}`, two("txn_id: "+c, "txn_operation: drop"))
	require.Contains(t, two("txn_id: x", "txn_operation: abort"), "convert txn_id [x] failed")
	require.Contains(t, two("txn_operation: abort"), "transaction id or label is empty")
	require.Contains(t, two("txn_id: 1", "txn_operation: abort", "Authorization: -"), "no valid Basic authorization")
	id, err := emu.BeginLabel("db", "open")
	require.NoError(t, err)
	require.Equal(t, fail("transaction ["+intText(int(id))+"] is prepare, not pre-committed."), two("txn_id: "+intText(int(id)), "txn_operation: commit"))
	require.Equal(t, 2, emu.Count("db", "t"))

	// Only the exact word switches it on.
	require.Equal(t, "false", putJSON(t, emu, oneRow, "two_phase_commit: True").TwoPhaseCommit)

	// The FE sends the call on, with or without a table in the path.
	for _, path := range []string{"/api/db/_stream_load_2pc", "/api/db/t/_stream_load_2pc"} {
		r := do(t, http.MethodPut, emu.FEURL()+path, "", "label: c", "txn_operation: commit")
		require.Equal(t, http.StatusTemporaryRedirect, r.http)
		require.Contains(t, do(t, http.MethodPut, r.header.Get("Location"), "", "label: c", "txn_operation: commit").raw, "not found")
	}
	require.Equal(t, "No transaction id or label selected.", do(t, http.MethodPut, emu.FEURL()+"/api/db/_stream_load_2pc", "").Msg)
	require.Equal(t, "No transaction operation('commit' or 'abort') selected.", do(t, http.MethodPut, emu.FEURL()+"/api/db/_stream_load_2pc", "", "txn_id: 1").Msg)
}

func TestTransactionsTimeOut(t *testing.T) {
	t.Parallel()
	clk := newClock()
	emu := start(t, emulator.Options{Now: clk.now})
	emu.Inject(emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Fail, Keep: true, Message: "left open", Label: "open"})
	require.Equal(t, "left open", putJSON(t, emu, oneRow, "label: open", "timeout: 60").Message)
	require.Equal(t, "Success", putJSON(t, emu, oneRow, "label: two", "two_phase_commit: true").Status)
	require.Equal(t, "PREPARE", state(t, emu, "open"))
	clk.move(60 * time.Second)
	require.Equal(t, "PREPARE", state(t, emu, "open"))
	clk.move(time.Second)
	require.Equal(t, "ABORTED", state(t, emu, "open"))
	require.Equal(t, "PRECOMMITTED", state(t, emu, "two"))
	clk.move(time.Hour)
	require.Equal(t, "ABORTED", state(t, emu, "two"))

	// A load that is slower than its timeout cannot commit.
	emu.Inject(emulator.Fault{At: emulator.BEBegin, Do: emulator.Evict}) // the point works with faults in place
	slow := start(t, emulator.Options{Now: clk.now, Injector: injectAt(emulator.BEBeforeCommit, func() { clk.move(6 * time.Second) })})
	r := putJSON(t, slow, oneRow, "label: slow", "timeout: 5")
	require.Equal(t, "[ANALYSIS_ERROR]TStatus: errCode = 2, detailMessage = transaction ["+intText(int(r.TxnID))+"] is already aborted. abort reason: timeout by txn manager", r.Message)
	require.Zero(t, slow.Count("db", "t"))
}

func TestLabelsAreForgotten(t *testing.T) {
	t.Parallel()
	t.Run("by age", func(t *testing.T) {
		t.Parallel()
		clk := newClock()
		emu := start(t, emulator.Options{Now: clk.now})
		putJSON(t, emu, oneRow, "label: a")
		_, err := emu.BeginLabel("db", "open")
		require.NoError(t, err)
		clk.move(12 * time.Hour)
		require.Equal(t, "VISIBLE", state(t, emu, "a"))
		clk.move(time.Second)
		require.Equal(t, "UNKNOWN", state(t, emu, "a"))
		require.Equal(t, "PREPARE", state(t, emu, "open"), "what runs is not forgotten")
		require.Equal(t, "Success", putJSON(t, emu, oneRow, "label: a").Status, "and the rows are stored twice")
		require.Equal(t, 2, emu.Count("db", "t"))
	})
	t.Run("by count", func(t *testing.T) {
		t.Parallel()
		emu := start(t, emulator.Options{LabelKeepCount: 2})
		for _, label := range []string{"a", "b", "c"} {
			putJSON(t, emu, oneRow, "label: "+label)
		}
		require.Equal(t, "UNKNOWN", state(t, emu, "a"))
		require.Equal(t, "VISIBLE", state(t, emu, "b"))
		require.Equal(t, "VISIBLE", state(t, emu, "c"))
	})
	t.Run("never", func(t *testing.T) {
		t.Parallel()
		clk := newClock()
		emu := start(t, emulator.Options{Now: clk.now, LabelKeepMax: -1, LabelKeepCount: -1})
		putJSON(t, emu, oneRow, "label: a")
		clk.move(1000 * time.Hour)
		require.Equal(t, "VISIBLE", state(t, emu, "a"))
	})
}

func TestRunningTransactionLimit(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{MaxRunningTxns: 1})
	_, err := emu.BeginLabel("db", "open")
	require.NoError(t, err)
	r := putJSON(t, emu, oneRow)
	require.Equal(t, "Fail", r.Status)
	require.Regexp(t, `^\[ANALYSIS_ERROR\]TStatus: errCode = 2, detailMessage = current running txns on db \d+ is 1, larger than limit 1$`, r.Message)
	require.Equal(t, "Label Already Exists", putJSON(t, emu, oneRow, "label: open").Status, "a duplicate is found first")
	require.NoError(t, emu.AbortLabel("db", "open", "enough"))
	require.Equal(t, "Success", putJSON(t, emu, oneRow).Status)
}

func TestPublishTimeout(t *testing.T) {
	t.Parallel()
	clk := newClock()
	emu := start(t, emulator.Options{Now: clk.now})
	emu.Inject(emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.PublishTimeout, Label: "slow", For: time.Minute})
	emu.Inject(emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.PublishTimeout, Label: "manual"})
	r := putJSON(t, emu, oneRow, "label: slow")
	require.Equal(t, "Publish Timeout", r.Status)
	require.Equal(t, "[PUBLISH_TIMEOUT]TStatus: transaction commit successfully, BUT data will be visible later", r.Message)
	require.EqualValues(t, 1, r.Loaded)
	require.Equal(t, "COMMITTED", state(t, emu, "slow"))
	require.Equal(t, "FINISHED", putJSON(t, emu, oneRow, "label: slow").ExistingJobStatus)
	require.Equal(t, "Publish Timeout", putJSON(t, emu, oneRow, "label: next").Status, "it waits for the one before")
	require.Zero(t, emu.Count("db", "t"))
	clk.move(time.Minute)
	require.Equal(t, "VISIBLE", state(t, emu, "slow"))
	require.Equal(t, "VISIBLE", state(t, emu, "next"))
	require.Equal(t, 2, emu.Count("db", "t"))

	require.Equal(t, "Publish Timeout", putJSON(t, emu, oneRow, "label: manual").Status)
	clk.move(24 * time.Hour)
	require.Equal(t, "COMMITTED", state(t, emu, "manual"), "a committed transaction does not time out")
	require.NoError(t, emu.PublishLabel("db", "manual"))
	require.Equal(t, emulator.Visible, emu.LabelState("db", "manual"))
	require.Error(t, emu.PublishLabel("db", "manual"))
}

func TestLoadsAreRecorded(t *testing.T) {
	t.Parallel()
	seen := make(chan emulator.Load, 100)
	emu := start(t, emulator.Options{KeepBodies: true, KeepRecords: 2, OnLoad: func(l emulator.Load) { seen <- l }})
	putJSON(t, emu, oneRow, "label: a")
	putJSON(t, emu, oneRow, "label: a")
	l := emu.Loads()
	require.Len(t, l, 2)
	require.Equal(t, emulator.Visible, l[0].State)
	require.Equal(t, "a", l[0].Label)
	require.EqualValues(t, 1, l[0].Loaded)
	require.EqualValues(t, len(oneRow), l[0].Bytes)
	require.Equal(t, "be1", l[0].BE)
	require.Equal(t, "Label Already Exists", l[1].Status)
	require.Equal(t, emulator.Unknown, l[1].State)
	require.Equal(t, "Success", (<-seen).Status)
	require.Equal(t, "Label Already Exists", (<-seen).Status)

	reqs := emu.Requests()
	require.Len(t, reqs, 2)
	exact(t, oneRow, string(reqs[0].Body))
	require.EqualValues(t, len(oneRow), reqs[0].BodyBytes)
	require.Zero(t, reqs[1].BodyBytes, "refused at the header")
	require.Equal(t, "/api/db/t/_stream_load", reqs[0].Path)
	require.Equal(t, "json", reqs[0].Header.Get("format"))
	for range 60 {
		putJSON(t, emu, oneRow)
	}
	require.Len(t, emu.Loads(), 2, "the oldest records go")
	require.Len(t, emu.Requests(), 2)
}

// Of loads that race under one label exactly one is stored, and each load under
// a label of its own is.
func TestConcurrentLoads(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{BEs: 2})
	const clients = 16
	type outcome struct {
		shared, own reply
		err         error
	}
	results := make(chan outcome, clients)
	for i := range clients {
		go func() {
			var o outcome
			url := "http://" + emu.BEAddrs()[i%2] + "/api/db/t/_stream_load"
			o.shared, o.err = try(t.Context(), t, http.MethodPut, url, oneRow, "format: json", "label: shared")
			if o.err == nil {
				o.own, o.err = try(t.Context(), t, http.MethodPut, url, oneRow, "format: json", "label: own-"+intText(i))
			}
			results <- o
		}()
	}
	stored := map[string]int{}
	for range clients {
		o := <-results
		require.NoError(t, o.err)
		stored[o.shared.Status]++
		require.Equal(t, "Success", o.own.Status, o.own.raw)
	}
	require.Equal(t, 1, stored["Success"])
	require.Equal(t, clients-1, stored["Label Already Exists"])
	require.Equal(t, clients+1, emu.Count("db", "t"))
}
