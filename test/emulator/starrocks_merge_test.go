package emulator_test

import (
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

var mergeHeaders = []string{"enable_merge_commit: true", "merge_commit_interval_ms: 1000", "merge_commit_parallel: 2"}

func TestStarRocksMergeCommit(t *testing.T) {
	t.Parallel()
	emu := rocks(t, emulator.Options{})
	r := put(t, emu, "1\ta\t1\n", append(mergeHeaders, "label: mine")...)
	got := regexp.MustCompile(`(Ms|TxnId)": \d+`).ReplaceAllString(r.raw, `$1": N`)
	got = regexp.MustCompile(`merge_commit_[-0-9a-f]+`).ReplaceAllString(got, "LABEL")
	exact(t, `{
    "TxnId": N,
    "Label": "LABEL",
    "Status": "Success",
    "Message": "OK",
    "RequestId": "mine",
    "LoadBytes": 6,
    "LoadTimeMs": N,
    "ReadDataTimeMs": N,
    "PendingTimeMs": N,
    "WaitPlanTimeMs": N,
    "WriteDataTimeMs": N,
    "WaitFinishTimeMs": N,
    "LeftMergeTimeMs": N
}`, got)
	require.Equal(t, emulator.Visible, emu.LabelState("db", r.Label))
	require.Equal(t, emulator.Unknown, emu.LabelState("db", "mine"), "it is no label")
	require.Equal(t, "Success", put(t, emu, "1\ta\t1\n", append(mergeHeaders, "label: mine")...).Status, "and a resend is stored twice")
	require.Equal(t, 2, emu.Count("db", "t"))

	r = put(t, emu, "x\ta\t1\n", mergeHeaders...)
	require.Equal(t, "Fail", r.Status)
	require.Equal(t, "Load is aborted, reason: too many filtered rows", r.Message)
	require.Contains(t, put(t, emu, "1", "enable_merge_commit: maybe").Message, "Invalid parameter enable_merge_commit. The value must be bool type, but is maybe")
	require.Equal(t, "Load is aborted, reason: Unknown column 'nope' in 't'", put(t, emu, "1\n", append(mergeHeaders, "columns: id, nope = 1")...).Message)

	old := rocks(t, emulator.Options{Version: "3.3"})
	r = put(t, old, "1\ta\t1\n", append(mergeHeaders, "label: mine")...)
	require.Equal(t, "mine", r.Label, "older versions do not know it")
}

func TestStarRocksMergeCommitAsync(t *testing.T) {
	t.Parallel()
	c := newClock()
	emu := rocks(t, emulator.Options{Now: c.now})
	r := put(t, emu, "1\ta\t1\n", append(mergeHeaders, "merge_commit_async: true")...)
	require.Equal(t, "Success", r.Status)
	require.Contains(t, r.raw, `"LeftMergeTimeMs": 1000`)
	require.Equal(t, emulator.Prepare, emu.LabelState("db", r.Label))
	require.Zero(t, emu.Count("db", "t"))
	c.move(2 * time.Second)
	require.Equal(t, emulator.Visible, emu.LabelState("db", r.Label))
	require.Equal(t, 1, emu.Count("db", "t"))

	r = put(t, emu, "x\ta\t1\n", append(mergeHeaders, "merge_commit_async: true")...)
	require.Equal(t, "Success", r.Status, "the answer says nothing about the rows")
	require.Equal(t, emulator.Aborted, emu.LabelState("db", r.Label))
	require.Equal(t, "Fail", do(t, http.MethodPut, "http://"+emu.BEAddr()+"/api/no/t/_stream_load", "1", append(mergeHeaders, "merge_commit_async: true")...).Status)
}

func TestStarRocksMergeCommitAtTheFrontend(t *testing.T) {
	t.Parallel()
	emu := rocks(t, emulator.Options{})
	for _, tc := range [][]string{
		{"Batch write interval must be set positive, but is null", "enable_merge_commit: true", "merge_commit_parallel: 1"},
		{"Batch write interval must be set positive, but is 0", "enable_merge_commit: true", "merge_commit_interval_ms: 0", "merge_commit_parallel: 1"},
		{"Batch write parallel must be set positive, but is null", "enable_merge_commit: true", "merge_commit_interval_ms: 5"},
	} {
		r := do(t, http.MethodPut, emu.FEURL()+"/api/db/t/_stream_load", "x", append(tc[1:], "Expect: 100-continue")...)
		require.Equal(t, http.StatusOK, r.http)
		exact(t, `{"status":"FAILED","code":"INVALID_ARGUMENT","msg":"`+tc[0]+`","message":"`+tc[0]+`"}`, r.raw)
	}
	require.Equal(t, http.StatusTemporaryRedirect, do(t, http.MethodPut, emu.FEURL()+"/api/db/t/_stream_load", "x", append(mergeHeaders, "Expect: 100-continue")...).http)
}
