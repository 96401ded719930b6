package emulator_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

func TestFaultText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"be.before-commit:do=reset,times=3",
		"be.answer:do=http,status=503,body=\"busy, \\\"try\\\" later\",content-type=text/plain",
		"be.begin:do=delay,skip=1,db=d,table=t,label=l*,p=0.25,for=1.5s",
		"be.body:do=close,keep=true,bytes=100",
		"fe.redirect:do=http,status=307,location=http://x/y?",
		"be.before-commit:do=fail,keep=true,commit-after=1m0s,message=a=b",
	} {
		f, err := emulator.ParseFault(text)
		require.NoError(t, err, text)
		require.Equal(t, text, f.String())
	}
	for text, want := range map[string]string{
		"":                                "want point:key=value",
		"be.answer":                       "want point:key=value",
		"be.answer:times=1":               "do=... is missing",
		"moon:do=reset":                   "unknown point",
		"state:do=explode":                "unknown action",
		"state:do=truncate":               "does not work at state",
		"state:do=reset,times":            "has no value",
		"state:do=reset,times=x":          "invalid syntax",
		"state:do=reset,times=-1":         "cannot be negative",
		"state:do=reset,p=2":              "not in 0..1",
		"state:do=reset,color=red":        "unknown key",
		"state:do=delay":                  "needs a duration",
		"state:do=http,status=99":         "not in 200..599",
		`state:do=http,body="x`:           "not quoted well",
		`state:do=http,body="x"y=1`:       "want a comma",
		"state:do=reset,for=soon":         "invalid duration",
		"state:do=reset,keep=perhaps":     "invalid syntax",
		"state:do=reset,commit-after=-1s": "cannot be negative",
	} {
		_, err := emulator.ParseFault(text)
		require.ErrorContains(t, err, want, text)
	}
}

func FuzzFaultText(f *testing.F) {
	f.Add("be.before-commit:do=fail,keep=true,commit-after=1m0s,message=a=b")
	f.Add(`be.answer:do=http,status=503,body="busy, \"try\" later"`)
	f.Fuzz(func(t *testing.T, text string) {
		fault, err := emulator.ParseFault(text)
		if err != nil {
			return
		}
		again, err := emulator.ParseFault(fault.String())
		require.NoError(t, err, fault.String())
		require.Equal(t, fault, again)
	})
}

// What a client sees, and what becomes of the rows.
func TestFaultsOfALoad(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		fault   string
		err     string // of the exchange; empty: answered
		status  string // of the answer
		message string
		state   emulator.State
		rows    int
	}{
		{"reset before all", "be.headers:do=reset", "reset", "", "", emulator.Unknown, 0},
		{"close before all", "be.headers:do=close", "EOF", "", "", emulator.Unknown, 0},
		{"fail before all", "be.headers:do=fail,message=no", "", "Fail", "no", emulator.Unknown, 0},
		{"reset at begin", "be.begin:do=reset", "reset", "", "", emulator.Unknown, 0},
		{"limit", "be.begin:do=txn-limit", "", "Fail", "larger than limit 1000", emulator.Unknown, 0},
		{"reset in the body", "be.body:do=reset,bytes=3", "reset|broken pipe", "", "", emulator.Aborted, 0},
		{"reset in the body, open", "be.body:do=reset,bytes=3,keep=true", "reset|broken pipe", "", "", emulator.Prepare, 0},
		{"fail in the body", "be.body:do=fail,message=[MEM_LIMIT_EXCEEDED]x", "", "Fail", "[MEM_LIMIT_EXCEEDED]x", emulator.Aborted, 0},
		{"reset before commit", "be.before-commit:do=reset", "reset", "", "", emulator.Aborted, 0},
		{"close before commit, open", "be.before-commit:do=close,keep=true", "EOF", "", "", emulator.Prepare, 0},
		{"fail before commit", "be.before-commit:do=fail,message=[X]y", "", "Fail", "[X]y", emulator.Aborted, 0},
		{"too many versions", "be.before-commit:do=too-many-versions", "", "Fail", "[E-235]", emulator.Aborted, 0},
		{"reset after commit", "be.after-commit:do=reset", "reset", "", "", emulator.Visible, 1},
		{"fail after commit", "be.after-commit:do=fail", "", "Fail", "[THRIFT_RPC_ERROR]failed to call frontend service", emulator.Visible, 1},
		{"fail as answer", "be.answer:do=fail,message=m", "", "Fail", "m", emulator.Visible, 1},
		{"truncated", "be.answer:do=truncate,bytes=20", "unexpected EOF", "", "", emulator.Visible, 1},
		{"close instead of the answer", "be.answer:do=close", "EOF", "", "", emulator.Visible, 1},
		{"delayed answer", "be.answer:do=delay,for=1ms", "", "Success", "OK", emulator.Visible, 1},
		{"hang, then close", "be.answer:do=hang,for=1ms", "EOF", "", "", emulator.Visible, 1},
		{"hang before commit", "be.before-commit:do=hang,for=1ms", "EOF", "", "", emulator.Aborted, 0},
		{"evict", "be.answer:do=evict", "", "Success", "OK", emulator.Unknown, 1},
		{"master switch in the middle", "be.before-commit:do=master-switch", "", "Fail", "not found", emulator.Unknown, 0},
		{"restart in the middle", "be.before-commit:do=be-restart", "reset|EOF", "", "", emulator.Aborted, 0},
		{"restart after commit", "be.after-commit:do=be-restart", "reset|EOF", "", "", emulator.Visible, 1},
		{"other label", "be.headers:do=reset,label=x*", "", "Success", "OK", emulator.Visible, 1},
		{"other table", "be.headers:do=reset,table=x", "", "Success", "OK", emulator.Visible, 1},
		{"other database", "be.headers:do=reset,db=x", "", "Success", "OK", emulator.Visible, 1},
		{"this label", "be.headers:do=reset,label=la*", "reset", "", "", emulator.Unknown, 0},
		{"skipped", "be.headers:do=reset,skip=1", "", "Success", "OK", emulator.Visible, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f, err := emulator.ParseFault(tc.fault)
			require.NoError(t, err)
			emu := start(t, emulator.Options{Faults: []emulator.Fault{f}})
			r, err := tryJSON(t, emu, oneRow, "label: label")
			if tc.err != "" {
				require.Error(t, err)
				require.Regexp(t, tc.err, err.Error())
			} else {
				require.NoError(t, err)
				require.Equal(t, tc.status, r.Status)
				require.Contains(t, r.Message, tc.message)
			}
			require.Equal(t, tc.state, emu.LabelState("db", "label"))
			require.Equal(t, tc.rows, emu.Count("db", "t"))
			require.Len(t, emu.Loads(), 1)
		})
	}
}

func TestFaultHTTPAnswers(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{})
	for _, at := range []emulator.Point{emulator.BEHeaders, emulator.BEBegin, emulator.BEBody, emulator.BEBeforeCommit, emulator.BEAfterCommit, emulator.BEAnswer} {
		f := emu.Inject(emulator.Fault{At: at, Do: emulator.HTTP, Status: 503, Body: "<html>" + string(at), ContentType: "text/x"})
		r := putJSON(t, emu, oneRow)
		require.Equal(t, 503, r.http, at)
		require.Equal(t, "<html>"+string(at), r.raw)
		require.Equal(t, "text/x", r.header.Get("Content-Type"))
		require.Equal(t, 1, f.Hits())
		f.Remove()
	}
	require.Equal(t, 2, emu.Count("db", "t"), "two of them came after the commit")
	for _, at := range []emulator.Point{emulator.FEBeforeAnswer, emulator.FERedirect} {
		emu.Inject(emulator.Fault{At: at, Do: emulator.HTTP, Status: 502, Times: 1})
		require.Equal(t, 502, do(t, http.MethodPut, emu.FEURL()+"/api/db/t/_stream_load", "x", "Expect: 100-continue").http)
	}
}

func TestFaultsOfAnFE(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{FEs: 2})
	load := func() (reply, error) {
		return try(t.Context(), t, http.MethodPut, emu.FEURL()+"/api/db/t/_stream_load", "x", "Expect: 100-continue")
	}
	once := func(text string) {
		f, err := emulator.ParseFault(text + ",times=1")
		require.NoError(t, err)
		emu.Inject(f)
	}
	once("fe.redirect:do=dead-be")
	r, err := load()
	require.NoError(t, err)
	require.Contains(t, r.header.Get("Location"), emu.DeadAddr())
	_, err = try(t.Context(), t, http.MethodPut, r.header.Get("Location"), "x")
	require.ErrorContains(t, err, "refused")

	once("fe.redirect:do=http,status=307,location=/elsewhere")
	r, err = load()
	require.NoError(t, err)
	require.Equal(t, "/elsewhere", r.header.Get("Location"))

	once("fe.redirect:do=no-backend")
	r, err = load()
	require.NoError(t, err)
	require.Equal(t, "FAILED", r.Status)
	require.Contains(t, r.Msg, "No backend load available")

	once("fe.before-answer:do=fail,message=insert table t is blocked on schema change")
	r, err = load()
	require.NoError(t, err)
	require.Equal(t, "insert table t is blocked on schema change", r.Msg)

	once("fe.before-answer:do=reset")
	_, err = load()
	require.Error(t, err)

	once("state:do=set-state,message=PRECOMMITTED")
	require.Equal(t, "PRECOMMITTED", state(t, emu, "x"))
	require.Equal(t, "UNKNOWN", state(t, emu, "x"))
	once("state:do=fail,message=Node catalog is not ready")
	require.Equal(t, "Node catalog is not ready", do(t, http.MethodGet, emu.FEURL()+"/api/db/get_load_state?label=x", "").Data)
	once("state:do=http,status=302,location=http://x/")
	r = do(t, http.MethodGet, emu.FEURL()+"/api/db/get_load_state?label=x", "")
	require.Equal(t, 302, r.http)
	require.Equal(t, "http://x/", r.header.Get("Location"))
	once("cancel:do=fail,message=busy")
	require.Equal(t, "busy", do(t, http.MethodPost, emu.FEURL()+"/api/db/_cancel?label=x", "").Data)

	once("fe.before-answer:do=fe-down,for=1ms")
	_, err = load()
	require.Error(t, err)
	require.Eventually(t, func() bool { r, err = load(); return err == nil }, 10*time.Second, time.Millisecond)
	require.Equal(t, http.StatusTemporaryRedirect, r.http)
	once("fe.before-answer:do=fe-down")
	_, err = load()
	require.Error(t, err)
	_, err = load()
	require.ErrorContains(t, err, "refused")
}

// A load that was left in PREPARE can land later.
func TestFaultLateCommit(t *testing.T) {
	t.Parallel()
	clk := newClock()
	emu := start(t, emulator.Options{Now: clk.now})
	emu.Inject(emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Reset, Keep: true, Label: "manual"})
	emu.Inject(emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Reset, Keep: true, CommitAfter: time.Minute, Label: "late"})
	emu.Inject(emulator.Fault{At: emulator.BEBody, Do: emulator.Reset, Keep: true, Label: "half"})
	for _, label := range []string{"manual", "late", "half"} {
		_, err := tryJSON(t, emu, oneRow, "label: "+label)
		require.Error(t, err)
		require.Equal(t, "RUNNING", putJSON(t, emu, oneRow, "label: "+label).ExistingJobStatus)
	}
	require.NoError(t, emu.CommitLabel("db", "manual"))
	require.ErrorContains(t, emu.CommitLabel("db", "half"), "no complete rows")
	require.Equal(t, 1, emu.Count("db", "t"))
	clk.move(time.Minute)
	require.Equal(t, "VISIBLE", state(t, emu, "late"))
	require.Equal(t, 2, emu.Count("db", "t"))
	emu.RestartBE(0)
	require.Equal(t, "ABORTED", state(t, emu, "half"))
}

// A load in two phases that lands late ends where its first phase ends.
func TestFaultLateFirstPhase(t *testing.T) {
	t.Parallel()
	clk := newClock()
	emu := start(t, emulator.Options{Now: clk.now})
	emu.Inject(emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Fail, Keep: true, CommitAfter: time.Minute, Times: 1})
	require.Equal(t, "Fail", putJSON(t, emu, oneRow, "label: l", "two_phase_commit: true").Status)
	require.Equal(t, "PREPARE", state(t, emu, "l"))
	clk.move(time.Minute)
	require.Equal(t, "PRECOMMITTED", state(t, emu, "l"))
	require.Zero(t, emu.Count("db", "t"))
	require.NoError(t, emu.AbortLabel("db", "l", "by the test"))
	require.Equal(t, "ABORTED", state(t, emu, "l"))
}

// While the begin is on its way the label is unknown, and then it lands.
func TestFaultDelayedBegin(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	emu := start(t, emulator.Options{Injector: injectAt(emulator.BEBegin, func() {
		close(entered)
		<-release
	})})
	w := dial(t, emu.BEAddr())
	w.head("db", "t", len(oneRow), "label: l", "format: json")
	w.send(oneRow)
	<-entered
	require.Equal(t, "UNKNOWN", state(t, emu, "l"))
	_ = w.Close()
	close(release)
	require.Eventually(t, func() bool { return emu.LabelState("db", "l") == emulator.Visible }, 10*time.Second, time.Millisecond)
}

func TestFaultProbabilityIsSeeded(t *testing.T) {
	t.Parallel()
	run := func(seed uint64) string {
		emu := start(t, emulator.Options{Seed: seed})
		emu.Inject(emulator.Fault{At: emulator.StateQuery, Do: emulator.SetState, Message: "PREPARE", Probability: 0.5})
		var b strings.Builder
		for range 30 {
			b.WriteString(state(t, emu, "x")[:1])
		}
		return b.String()
	}
	one := run(7)
	require.Equal(t, one, run(7))
	require.NotEqual(t, one, run(8))
	require.Contains(t, one, "P")
	require.Contains(t, one, "U")
}

func TestInjectorDecides(t *testing.T) {
	t.Parallel()
	var at []string
	emu := start(t, emulator.Options{Injector: emulator.InjectorFunc(func(_ context.Context, e emulator.Exchange) (emulator.Fault, bool) {
		at = append(at, e.Server+" "+string(e.Point)+" "+e.DB+"."+e.Table+" "+e.Label)
		return emulator.Fault{Do: emulator.DeadBE}, e.Point == emulator.BEAnswer
	})})
	r := do(t, http.MethodPut, emu.FEURL()+"/api/db/t/_stream_load", oneRow, "Expect: 100-continue", "label: l", "format: json")
	r = do(t, http.MethodPut, r.header.Get("Location"), oneRow, "label: l", "format: json")
	require.Equal(t, 500, r.http)
	require.Contains(t, r.raw, "dead-be does not work at be.answer")
	require.Equal(t, []string{
		"fe1 fe.before-answer db.t l", "fe1 fe.redirect db.t l", "be1 be.headers db.t l", "be1 be.begin db.t l",
		"be1 be.body db.t l", "be1 be.before-commit db.t l", "be1 be.after-commit db.t l", "be1 be.answer db.t l",
	}, at)
	require.Panics(t, func() { emu.Inject(emulator.Fault{At: emulator.StateQuery, Do: emulator.Truncate}) })
}

// Closing ends what hangs.
func TestCloseEndsHangingExchanges(t *testing.T) {
	t.Parallel()
	emu, err := emulator.Start(emulator.Options{AutoCreate: true, Faults: []emulator.Fault{
		{At: emulator.BEBeforeCommit, Do: emulator.Hang, Label: "hang"},
		{At: emulator.BEBeforeCommit, Do: emulator.Delay, For: time.Hour, Label: "delay"},
		{At: emulator.FEBeforeAnswer, Do: emulator.FEDown, For: time.Hour, Label: "down"},
	}})
	require.NoError(t, err)
	var open []*wire
	for _, label := range []string{"hang", "delay", "half"} {
		w := dial(t, emu.BEAddr())
		w.head("db", "t", 10, "label: "+label)
		w.send("123456789")
		if label != "half" {
			w.send("\n")
		}
		open = append(open, w)
		require.Eventually(t, func() bool { return emu.LabelState("db", label) == emulator.Prepare }, 10*time.Second, time.Millisecond)
	}
	_, err = try(t.Context(), t, http.MethodPut, emu.FEURL()+"/api/db/t/_stream_load", "x", "Expect: 100-continue", "label: down")
	require.Error(t, err)
	require.NoError(t, emu.Close())
	require.NoError(t, emu.Close(), "closing twice does no harm")
	for _, w := range open {
		_, err := io.Copy(io.Discard, w)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
	}
	require.Error(t, emu.StartFE(0))
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{})
	_, err := emulator.Start(emulator.Options{BEAddrs: []string{emu.BEAddr()}})
	require.ErrorContains(t, err, "address already in use")
	_, err = emulator.Start(emulator.Options{
		Faults: []emulator.Fault{{At: "x"}},
		Tables: []emulator.Table{{Database: "d", Name: "t"}, {Database: "d", Name: "u", Columns: []emulator.Column{{Name: "c", Type: "HLL"}}}},
	})
	require.ErrorContains(t, err, "unknown point")
	require.ErrorContains(t, err, "no columns")
	require.ErrorContains(t, err, `column type "HLL" is not supported`)
}

func TestFaultsOverHTTP(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{})
	url := emu.FEURL() + "/emulator/faults"
	exact(t, "{\"added\":2}\n", do(t, http.MethodPost, url, "be.answer:do=http,status=503,times=1\n\nbe.headers:do=delay,for=1ms\n").raw)
	require.Equal(t, 503, putJSON(t, emu, oneRow).http)
	require.Equal(t, 200, putJSON(t, emu, oneRow).http)
	exact(t, `[{"fault":"be.answer:do=http,times=1,status=503","hits":1},{"fault":"be.headers:do=delay,for=1ms","hits":2}]`+"\n", do(t, http.MethodGet, url, "").raw)
	require.Contains(t, do(t, http.MethodPost, url, "be.answer:do=x").raw, "unknown action")
	do(t, http.MethodDelete, url, "")
	require.Equal(t, "[]\n", do(t, http.MethodGet, url, "").raw)
	require.Equal(t, http.StatusMethodNotAllowed, do(t, http.MethodPut, url, "x").http)
}
