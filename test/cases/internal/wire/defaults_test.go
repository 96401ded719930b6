package wire

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/cases/internal/script"
)

func TestFrontendRedirectsWithoutReading(t *testing.T) {
	t.Parallel()
	c := start(t, `[]`)
	p := dial(t, c, FE)
	p.send(head("l1", 7))
	resp := p.answer()
	require.Equal(t, http.StatusTemporaryRedirect, resp.status)
	require.Equal(t, "http://loader:secret@"+c.tokens["BE"]+"/api/db/t1/_stream_load?", resp.header.Get("Location"))
	require.Empty(t, resp.body)

	got := c.Traffic().Requests
	require.Len(t, got, 1)
	require.True(t, got[0].ToFrontend())
	require.True(t, got[0].Redirected())
	require.Equal(t, "l1", got[0].Label)
	require.Equal(t, int64(7), got[0].Length)
	require.Zero(t, got[0].Unasked)
	require.Empty(t, c.Traffic().Durable)
}

func TestBytesThatNobodyAskedForAreCounted(t *testing.T) {
	t.Parallel()
	c := start(t, `[]`)
	p := dial(t, c, FE)
	p.send(head("l1", 7))
	p.answer()
	p.send("{\"a\":1}")
	p.send(head("l2", 3)) // the connection is still of use
	p.answer()

	got := c.Traffic().Requests
	require.Len(t, got, 2)
	require.Equal(t, int64(7), got[0].Unasked)
	require.Equal(t, `{"a":1}`, string(got[0].UnaskedStart))
	require.True(t, got[1].Reused)
	require.True(t, got[1].PrevBodyUnread)
	require.Contains(t, got[0].String(), "7 unasked")
}

func TestBackendKeepsWhatItAcknowledges(t *testing.T) {
	t.Parallel()
	c := start(t, `[]`)
	require.Contains(t, state(t, c, "l1"), `"UNKNOWN"`)
	require.Contains(t, load(t, c, BE, "l1", "{}\n{}"), `"Status":"Success"`)
	require.Contains(t, state(t, c, "l1"), `"VISIBLE"`)

	again := load(t, c, BE2, "l1", "{}\n{}")
	require.Contains(t, again, `"Status":"Label Already Exists"`)
	require.Contains(t, again, `"ExistingJobStatus":"FINISHED"`)
	require.Equal(t, []Stored{{Label: "l1", Body: []byte("{}\n{}")}}, c.Traffic().Durable)

	refused := call(t, c, FE, http.MethodPost, "/api/db/_cancel?label=l1").body
	require.Contains(t, refused, `"code":1`)
	done := call(t, c, FE, http.MethodPost, "/api/db/_cancel?label=l2").body
	require.Contains(t, done, `"code":0`)
	require.Contains(t, state(t, c, "l2"), `"ABORTED"`)
}

func TestLoadsWithoutLabelAreAllKept(t *testing.T) {
	t.Parallel()
	c := start(t, `[]`)
	load(t, c, BE, "", "{}")
	load(t, c, BE, "", "{}")
	require.Len(t, c.Traffic().Durable, 2)
}

func TestScriptedAnswersDecideWhatIsKept(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, step string
		durable    int
		state      string
	}{
		{"success", `"reply":{"status":200,"body":"{\"Status\":\"Success\"}"}`, 1, "VISIBLE"},
		{"ok", `"reply":{"status":200,"body":"{\"Status\":\"OK\"}"}`, 1, "VISIBLE"},
		{"publish timeout", `"reply":{"status":200,"body":"{\"Status\":\"Publish Timeout\"}"}`, 1, "VISIBLE"},
		{"success that says otherwise", `"reply":{"status":200,"body":"{\"Status\":\"Success\"}"},"stores":false`, 0, "UNKNOWN"},
		{"fail", `"reply":{"status":200,"body":"{\"Status\":\"Fail\"}"}`, 0, "ABORTED"},
		{"fail that says otherwise", `"reply":{"status":200,"body":"{\"Status\":\"Fail\"}"},"stores":true`, 1, "VISIBLE"},
		{"no JSON", `"reply":{"status":500,"body":"oops"}`, 0, "UNKNOWN"},
		{"exact key first", `"reply":{"status":200,"body":"{\"status\":\"FAILED\",\"Status\":\"Success\"}"}`, 1, "VISIBLE"},
		{"lower-case key", `"reply":{"status":200,"body":"{\"status\":\"Success\"}"}`, 1, "VISIBLE"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := start(t, `[{"on":"be_load","times":-1,`+tc.step+`}]`)
			load(t, c, BE, "l1", "{}")
			require.Len(t, c.Traffic().Durable, tc.durable)
			require.Contains(t, state(t, c, "l1"), tc.state)
			load(t, c, BE, "l1", "{}")
			require.Len(t, c.Traffic().Durable, tc.durable, "a label is stored once")
		})
	}
}

func TestFrontendReadsWhatItStores(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, step string }{
		{"success", `"reply":{"status":200,"body":"{\"Status\":\"Success\"}"}`},
		{"consume_body", `"reply":{"status":500,"consume_body":true}`},
		{"test on the body", `"reply":{"status":500},"expect_request":{"body_nonempty":true}`},
		{"choice by the body", `"reply":{"status":500},"when":{"body_contains":"{}"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := start(t, `[{"on":"fe_load","times":1,`+tc.step+`}]`)
			load(t, c, FE, "l1", "{}")
			got := c.Traffic()
			require.Equal(t, "{}", string(got.Requests[0].Body))
			require.Equal(t, 0, got.Requests[0].Step)
			require.Empty(t, got.Complaints)
		})
	}
}

func TestTwoPhaseCommit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, verb, by string
		durable        int
		state          string
	}{
		{"commit by txn", "commit", "txn_id: 1001", 1, "VISIBLE"},
		{"commit by label", "commit", "label: l1", 1, "VISIBLE"},
		{"abort", "abort", "txn_id: 1001", 0, "ABORTED"},
		{"commit of another", "commit", "txn_id: 7", 0, "PRECOMMITTED"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := start(t, `[{"on":"be_load","times":1,"stores":false,"reply":{"status":200,"body":"{\"Status\":\"Success\",\"TxnId\":1001}"}}]`)
			load(t, c, BE, "l1", "{}", "two_phase_commit: true")
			require.Empty(t, c.Traffic().Durable)
			require.Contains(t, state(t, c, "l1"), "PRECOMMITTED")
			body := call(t, c, FE, http.MethodPut, "/api/db/_stream_load_2pc", "txn_operation: "+tc.verb, tc.by).body
			require.Contains(t, body, `"Success"`)
			require.Len(t, c.Traffic().Durable, tc.durable)
			require.Contains(t, state(t, c, "l1"), tc.state)
		})
	}
}

func TestStarRocksStates(t *testing.T) {
	t.Parallel()
	c, err := Start(nil, Options{StarRocks: true, CountRows: func([]byte) int { return 1 }})
	require.NoError(t, err)
	defer c.Close()
	require.Contains(t, state(t, c, "l1"), `"state":"UNKNOWN"`)
}

func TestOtherRequests(t *testing.T) {
	t.Parallel()
	c := start(t, `[{"on":"error_url","times":1,"reply":{"status":200,"body":"Reason: x"}},
		{"on":"fe_path:/be","times":1,"reply":{"status":200,"body":"{\"Status\":\"Success\"}"}}]`)
	resp := call(t, c, FE, http.MethodGet, "/api/bootstrap")
	require.Equal(t, http.StatusNotFound, resp.status)
	page := call(t, c, BE, http.MethodGet, "/api/_load_error_log?file=a").body
	require.Equal(t, "Reason: x", page)

	p := dial(t, c, FE)
	p.send("PUT /be/api/db/t1/_stream_load HTTP/1.1\r\nHost: x\r\nlabel: l1\r\nContent-Length: 2\r\n\r\n{}")
	body := p.answer().body
	require.Contains(t, body, "Success")
	got := c.Traffic()
	require.Equal(t, OnOther, got.Requests[0].On)
	require.Equal(t, script.OnErrorURL, got.Requests[1].On)
	require.True(t, got.Requests[2].ToBackend())
	require.Len(t, got.Durable, 1)
}
