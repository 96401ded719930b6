package answer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseState(t *testing.T) {
	t.Parallel()
	is := func(s LabelState, code bool) State { return State{State: s, HasCode: code} }
	for _, test := range []struct {
		name, body string
		want       State
	}{
		{"unknown", `{"msg":"success","code":0,"data":"UNKNOWN","count":0}`, is(StateUnknown, true)},
		{"prepare", `{"msg":"success","code":0,"data":"PREPARE","count":0}`, is(StatePrepare, true)},
		{"precommitted", `{"msg":"success","code":0,"data":"PRECOMMITTED","count":0}`, is(StatePrecommitted, true)},
		{"committed", `{"msg":"success","code":0,"data":"COMMITTED","count":0}`, is(StateCommitted, true)},
		{"visible", `{"msg":"success","code":0,"data":"VISIBLE","count":0}`, is(StateVisible, true)},
		{"aborted", `{"msg":"success","code":0,"data":"ABORTED","count":0}`, is(StateAborted, true)},
		{"letter case, spaces, BOM", "\xef\xbb\xbf" + `{"CODE":"0","Data":" visible "}`, is(StateVisible, true)},
		{"StarRocks", `{"state":"VISIBLE","reason":"","status":"OK","code":"0","msg":"Success","message":"OK"}`, is(StateVisible, true)},
		{"older StarRocks", `{"state":"PREPARED","reason":"","status":"OK","msg":"Success"}`, is(StatePrecommitted, false)},
		{"without a code", `{"data":"ABORTED"}`, is(StateAborted, false)},
		{"the same twice", `{"code":0,"code":0,"data":"VISIBLE","data":"VISIBLE"}`, is(StateVisible, true)},
		{"state and data agree", `{"code":0,"data":"VISIBLE","state":"VISIBLE"}`, is(StateVisible, true)},
		{"state and no data", `{"code":0,"data":null,"state":"VISIBLE"}`, is(StateVisible, true)},

		{"an error where the state would be", `{"msg":"Error","code":1,"data":"errCode = 2, detailMessage = Unknown database 'db'","count":0}`, State{Code: 1, HasCode: true, Message: "Error: errCode = 2, detailMessage = Unknown database 'db'"}},
		{"a state with an error code", `{"msg":"Error","code":1,"data":"VISIBLE"}`, State{Code: 1, HasCode: true, Message: "Error: VISIBLE"}},
		{"a state with two codes", `{"code":0,"code":500,"data":"VISIBLE"}`, State{Code: 500, HasCode: true, Message: "VISIBLE"}},
		{"a state with a code that is no number", `{"code":"none","data":"VISIBLE"}`, State{Code: -1, HasCode: true, Message: "VISIBLE"}},
		{"a state with no code in the code", `{"code":null,"data":"VISIBLE"}`, State{Code: -1, HasCode: true, Message: "VISIBLE"}},
		{"a state with a failure", `{"state":"VISIBLE","status":"FAILED","msg":"no"}`, State{Message: "no: VISIBLE"}},
		{"a state with a success and a failure", `{"state":"VISIBLE","status":"OK","status":"FAILED","msg":"no"}`, State{Message: "no: VISIBLE"}},
		{"two states", `{"code":0,"data":"VISIBLE","data":"ABORTED"}`, State{HasCode: true, Message: "VISIBLE"}},
		{"two states under two keys", `{"code":0,"data":"VISIBLE","state":"ABORTED"}`, State{HasCode: true, Message: "ABORTED"}},
		{"refused", `{"msg":"Unauthorized","code":401,"data":"Access denied","count":0}`, State{Code: 401, HasCode: true, Message: "Unauthorized: Access denied"}},
		{"a word that nobody knows", `{"code":0,"msg":"success","data":"LOADING"}`, State{HasCode: true, Message: "success: LOADING"}},
		{"a state in an array", `{"code":0,"data":["VISIBLE"]}`, State{HasCode: true, Message: `["VISIBLE"]`}},
		{"no data", `{"msg":"success","code":0}`, State{HasCode: true, Message: "success"}},
		{"null", `{"msg":"success","code":0,"data":null,"count":0}`, State{HasCode: true, Message: "success"}},
		{"the answer to a load", `{"TxnId":7,"Status":"Success","Message":"OK"}`, State{Message: "OK"}},
		{"an empty object", `{}`, State{Message: "{}"}},
		{"HTML", `<html>maintenance</html>`, State{Message: "<html>maintenance</html>"}},
		{"a bare word", `VISIBLE`, State{Message: "VISIBLE"}},
		{"a bare text", `"VISIBLE"`, State{Message: `"VISIBLE"`}},
		{"cut", `{"code":0,"data":"VISIBLE"`, State{Message: `{"code":0,"data":"VISIBLE"`}},
		{"junk after", `{"code":0,"data":"VISIBLE"}x`, State{Message: `{"code":0,"data":"VISIBLE"}x`}},
		{"nothing", ``, State{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, ParseState([]byte(test.body)))
		})
	}
}

func TestStateNames(t *testing.T) {
	t.Parallel()
	for s := StateUnknown; s <= StateAborted; s++ {
		require.Equal(t, s, stateOf(s.String()))
	}
	require.Equal(t, NoState, stateOf(NoState.String()))
}
