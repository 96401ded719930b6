package script

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const minimal = `{"id":"a","kind":"k","expect":{"outcome":"ack"},"script":[{"on":"fe_load","times":1,"reply":{"status":307}}]}`

func TestReadsOneCaseALine(t *testing.T) {
	t.Parallel()
	cases, err := Read(strings.NewReader(minimal + "\n\n" + strings.Replace(minimal, `"a"`, `"b"`, 1)))
	require.NoError(t, err)
	require.Len(t, cases, 2)
	require.Equal(t, "b", cases[1].ID)
}

func TestNothingIsPassedOverInSilence(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, old, with, want string }{
		{"unknown key", `"kind"`, `"sort":"x","kind"`, `"sort"`},
		{"unknown key of a reply", `"status"`, `"stattus":1,"status"`, `"stattus"`},
		{"unknown test", `"times"`, `"when":{"wind":"north"},"times"`, `"wind"`},
		{"no kind", `"k"`, `""`, "kind"},
		{"no outcome", `"ack"`, `""`, "outcome"},
		{"partial without indexes", `"ack"`, `"partial"`, "failed"},
		{"index out of range", `"ack"`, `"partial","failed":[3]`, "no message 3"},
		{"messages left out", `"expect":{`, `"input":["x","y"],"expect":{"batches":[[0]],`, "leaves a message out"},
		{"unknown request", "fe_load", "fe_lode", "fe_lode"},
		{"no path", "fe_load", "fe_path:", "fe_path:"},
		{"never", `"times":1`, `"times":0`, "times"},
		{"no answer", `,"reply":{"status":307}`, ``, "neither reply nor fault"},
		{"unknown fault", `"reply":{"status":307}`, `"fault":"fire"`, "fire"},
		{"odd status", "307", "99", "status 99"},
		{"odd encoding", "307", `307,"body_encoding":"br"`, "br"},
		{"odd regular expression", `"times"`, `"when":{"label_regex":"["},"times"`, "label_regex"},
		{"odd header expression", `"times"`, `"when":{"header_ci":{"x":"["}},"times"`, "header_ci"},
		{"odd hex", `"times"`, `"expect_request":{"body_equals_hex":"x"},"times"`, "body_equals_hex"},
		{"odd range", `"ack"`, `"ack","loads":[2,1]`, "range"},
		{"odd labels", `"ack"`, `"ack","labels":"some"`, "some"},
		{"odd stage", `"ack"`, `"ack","stage":"later"`, "later"},
		{"odd alternative", `"expect"`, `"accept":[{"outcome":"x"}],"expect"`, "expectation 1"},
		{"odd index of metadata", `"ack"`, `"ack","carry_metadata_from":{"x":0}`, "carry_metadata_from"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			changed := strings.Replace(minimal, tc.old, tc.with, 1)
			require.NotEqual(t, minimal, changed)
			_, err := Read(strings.NewReader(changed))
			require.ErrorContains(t, err, tc.want)
		})
	}
	_, err := Read(strings.NewReader(minimal + "\n" + minimal))
	require.ErrorContains(t, err, "twice")
}

func TestRanges(t *testing.T) {
	t.Parallel()
	cases, err := Read(strings.NewReader(strings.Replace(minimal, `"ack"`, `"ack","loads":2,"fe_loads":[1,3]`, 1)))
	require.NoError(t, err)
	e := cases[0].Expect
	require.Equal(t, "2", e.Loads.String())
	require.True(t, e.Loads.Has(2))
	require.False(t, e.Loads.Has(1))
	require.Equal(t, "1 to 3", e.FELoads.String())
	require.True(t, e.FELoads.Has(3))
	require.False(t, e.FELoads.Has(4))
	require.Nil(t, e.StatePolls)
}

func TestExpand(t *testing.T) {
	t.Parallel()
	values := map[string]string{"FE": "127.0.0.1:1"}
	for _, tc := range []struct{ name, text, want, err string }{
		{"plain", "a {b}} {{c}} }}", "a {b}} {{c}} }}", ""},
		{"value", "http://{{FE}}/", "http://127.0.0.1:1/", ""},
		{"letters", "<{{PAD:4}}>", "<xxxx>", ""},
		{"bytes", "{{HEX:00ff}}", "\x00\xff", ""},
		{"unknown", "{{BE}}", "", "{{BE}} has no value here"},
		{"unknown with argument", "{{FE:3}}", "", "{{FE:3}} has no value here"},
		{"too many letters", "{{PAD:999999999}}", "", "length"},
		{"odd bytes", "{{HEX:f}}", "", "HEX"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := Expand(tc.text, values)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestStarRocksIsRecognised(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, on, body, dialect string
		want                    bool
	}{
		{"Doris state", "state", `{"msg":"success","code":0,"data":"VISIBLE"}`, "", false},
		{"StarRocks state", "state", `{"state":"VISIBLE","status":"OK","msg":"Success"}`, "", true},
		{"Doris answer", "be_load", `{"Status":"Success","Message":"OK"}`, "", false},
		{"StarRocks answer", "fe_load", `{"status":"FAILED","msg":"x"}`, "", true},
		{"both keys", "be_load", `{"Status":"Success","status":"x","msg":""}`, "", false},
		{"two-phase commit of Doris", "txn", `{"status":"Success","msg":"x"}`, "", false},
		{"said so", "be_load", `{}`, "starrocks", true},
		{"said otherwise", "state", `{"state":"VISIBLE"}`, "doris", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := Case{Script: []Step{{On: tc.on, Reply: &Reply{Body: tc.body}}}}
			if tc.dialect != "" {
				c.ProductConfig = map[string]any{"dialect": tc.dialect}
			}
			require.Equal(t, tc.want, c.StarRocks())
		})
	}
}

func TestLongestDelay(t *testing.T) {
	t.Parallel()
	c := Case{Script: []Step{
		{Fault: FaultHang},
		{Reply: &Reply{DelayMS: 200}},
		{Reply: &Reply{Late100MS: 2000}},
		{Reply: &Reply{TrickleMS: 100, Body: "drip"}},
	}}
	require.Equal(t, 2000, c.LongestDelay())
}
