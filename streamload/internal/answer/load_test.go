package answer

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// beAnswer is what a BE sends after a load (stream_load_context.cpp, with four spaces of indent and a line break at the end).
const beAnswer = `{
    "TxnId": 1003,
    "Label": "benthos_x7",
    "Comment": "",
    "Status": "Success",
    "Message": "OK",
    "NumberTotalRows": 10,
    "NumberLoadedRows": 7,
    "NumberFilteredRows": 2,
    "NumberUnselectedRows": 1,
    "LoadBytes": 118,
    "LoadTimeMs": 173,
    "BeginTxnTimeMs": 1,
    "StreamLoadPutTimeMs": 70,
    "ReadDataTimeMs": 2,
    "WriteDataTimeMs": 48,
    "CommitAndPublishTimeMs": 52,
    "ErrorURL": "http://10.0.0.1:8040/api/_load_error_log?file=__shard_1/error_log_1",
    "FirstErrorMsg": "Reason: bad. src line [x]"
}
`

func TestParseLoadReadsEveryField(t *testing.T) {
	t.Parallel()
	require.Equal(t, Load{
		Word: Success, Readable: true, Status: "Success", Message: "OK", Label: "benthos_x7", TxnID: 1003,
		HasCounts: true, Total: 10, Loaded: 7, Filtered: 2, Unselected: 1, LoadBytes: 118, HasBytes: true,
		Timings: map[string]int64{
			"Load": 173, "BeginTxn": 1, "StreamLoadPut": 70, "ReadData": 2, "WriteData": 48, "CommitAndPublish": 52,
		},
		ErrorURL: "http://10.0.0.1:8040/api/_load_error_log?file=__shard_1/error_log_1", FirstError: "Reason: bad. src line [x]",
	}, ParseLoad([]byte(beAnswer)))
}

func TestParseLoad(t *testing.T) {
	t.Parallel()
	ok := func(status, message string, word Word) Load {
		return Load{Readable: true, Status: status, Message: message, Word: word}
	}
	unreadable := func(excerpt string) Load { return Load{Excerpt: excerpt} }
	nested := strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000)
	for _, test := range []struct {
		name, body string
		want       Load
	}{
		// The three shapes.
		{"a BE", `{"Status":"Fail","Message":"no"}`, ok("Fail", "no", Failure)},
		{"an FE or a BE that refuses", `{"status":"FAILED","msg":"no"}`, ok("FAILED", "no", Failure)},
		{"an FE's REST answer", `{"msg":"Unauthorized","code":401,"data":"Access denied","count":0}`, ok("code 401", "Unauthorized: Access denied", Failure)},
		{"an FE's REST answer that repeats itself", `{"msg":"Access denied for root","code":401,"data":"Access denied"}`, ok("code 401", "Access denied for root", Failure)},
		{"an FE's REST answer without a message", `{"code":500,"data":"NullPointerException"}`, ok("code 500", "NullPointerException", Failure)},
		{"an FE's REST answer with data that is no text", `{"msg":"Error","code":1,"data":{"why":[1]}}`, ok("code 1", `Error: {"why":[1]}`, Failure)},
		{"an FE's REST success proves nothing", `{"msg":"success","code":0,"data":"OK","count":0}`, ok("code 0", "success: OK", Unclear)},
		{"an FE's code as a text", `{"msg":"Unauthorized","code":"401"}`, ok("code 401", "Unauthorized", Failure)},
		{"an FE's code 0 as a text", `{"code":"0"}`, ok("code 0", "", Unclear)},
		{"an FE's code that is no number", `{"code":"E401"}`, ok("code E401", "", Unclear)},
		{"a StarRocks FE", `{"status":"FAILED","code":"1","msg":"Access denied; you need INSERT","message":"-"}`, ok("FAILED", "Access denied; you need INSERT", Failure)},

		// Words.
		{"publish timeout", `{"Status":"Publish Timeout","Message":"later"}`, ok("Publish Timeout", "later", PublishTimeout)},
		{"label exists", `{"Status":"Label Already Exists","ExistingJobStatus":"FINISHED"}`, Load{Readable: true, Word: LabelExists, Status: "Label Already Exists", ExistingWord: "FINISHED", Existing: ExistingFinished}},
		{"label exists, letter case", `{"status":"label already EXISTS","existingjobstatus":" Finished "}`, Load{Readable: true, Word: LabelExists, Status: "label already EXISTS", ExistingWord: " Finished ", Existing: ExistingFinished}},
		{"label exists, running", `{"Status":"Label Already Exists","ExistingJobStatus":"RUNNING"}`, Load{Readable: true, Word: LabelExists, Status: "Label Already Exists", ExistingWord: "RUNNING"}},
		{"label exists, a word that nobody knows", `{"Status":"Label Already Exists","ExistingJobStatus":"FINISHED?"}`, Load{Readable: true, Word: LabelExists, Status: "Label Already Exists", ExistingWord: "FINISHED?"}},
		{"label exists, contradicting", `{"Status":"Label Already Exists","ExistingJobStatus":"FINISHED","ExistingJobStatus":"RUNNING"}`, Load{Readable: true, Word: LabelExists, Status: "Label Already Exists", ExistingWord: "FINISHED"}},
		{"success, letter case and spaces", `{"STATUS":" sUCCESS\t","MESSAGE":"OK"}`, ok(" sUCCESS\t", "OK", Success)},
		{"publish timeout, spaces", `{"Status":"Publish  Timeout"}`, ok("Publish  Timeout", "", PublishTimeout)},
		{"fail, letter case", `{"Status":"FAIL"}`, ok("FAIL", "", Failure)},
		{"a word of another call", `{"status":"OK","msg":"Success"}`, ok("OK", "Success", Unclear)},
		{"a word that begins like success", `{"Status":"Successful"}`, ok("Successful", "", Unclear)},
		{"a word with success in it", `{"Status":"No Success"}`, ok("No Success", "", Unclear)},
		{"a code name", `{"status":"ANALYSIS_ERROR","msg":"transaction [2] not found"}`, ok("ANALYSIS_ERROR", "transaction [2] not found", Unclear)},
		{"an error page of a Java server", `{"timestamp":"2026-01-01","status":404,"error":"Not Found","path":"/x"}`, ok("404", "", Unclear)},
		{"success only in the message", `{"Status":"Fail","Message":"Success"}`, ok("Fail", "Success", Failure)},
		{"success only in a nested object", `{"Status":{"Status":"Success"}}`, ok(`{"Status":"Success"}`, "", Unclear)},
		{"success in an array", `{"Status":["Success"]}`, ok(`["Success"]`, "", Unclear)},
		{"no word", `{"Status":null,"Message":null}`, ok("", "", Unclear)},
		{"a word in escapes", `{"Status":"\u0053uccess"}`, ok("Success", "", Success)},

		// Keys.
		{"the same key twice with the same value", `{"Status":"Success","Status":"\u0053uccess"}`, ok("Success", "", Success)},
		{"the same key twice with two values", `{"Status":"Success","Status":"Fail"}`, ok("Success", "", Unclear)},
		{"the same key twice with two values, the other way round", `{"Status":"Fail","Status":"Success"}`, ok("Fail", "", Unclear)},
		{"the same key in lower case twice with two values", `{"status":"Success","status":"FAILED"}`, ok("Success", "", Unclear)},
		{"two other letter cases with two values", `{"STATUS":"Success","sTATUS":"Fail"}`, ok("Success", "", Unclear)},
		{"the key as written by a BE wins over another letter case", `{"status":"UNKNOWN","Status":"Success","Message":"OK"}`, ok("Success", "OK", Success)},
		{"a key is repeated by a newer BE", `{"Comment":"a","Status":"Success","Comment":"b"}`, ok("Success", "", Success)},
		{"status before code", `{"code":401,"Status":"Fail"}`, ok("Fail", "", Failure)},

		// Values.
		{"numbers as texts", `{"Status":"Success","TxnId":"12","NumberTotalRows":"3","NumberLoadedRows":" 2 ","LoadBytes":"9"}`, Load{Readable: true, Word: Success, Status: "Success", TxnID: 12, HasCounts: true, Total: 3, Loaded: 2, LoadBytes: 9, HasBytes: true}},
		{"numbers with a point", `{"Status":"Success","TxnId":12.0,"NumberTotalRows":3e0}`, Load{Readable: true, Word: Success, Status: "Success", TxnID: 12, HasCounts: true, Total: 3}},
		{"numbers that are none", `{"Status":"Success","TxnId":"x","NumberTotalRows":null,"NumberLoadedRows":1.5,"LoadBytes":1e400,"LoadTimeMs":[1]}`, Load{Readable: true, Word: Success, Status: "Success", Timings: map[string]int64{"Load": 0}}},
		{"the largest numbers", `{"Status":"Fail","TxnId":9223372036854775807,"NumberTotalRows":9223372036854775808,"NumberLoadedRows":-9223372036854775808}`, Load{Readable: true, Word: Failure, Status: "Fail", TxnID: 9223372036854775807, Loaded: -9223372036854775808}},
		{"no transaction was begun", `{"TxnId":-1,"Status":"Fail"}`, Load{Readable: true, Word: Failure, Status: "Fail", TxnID: -1}},
		{"group commit", `{"Status":"Success","GroupCommit":true,"Label":"group_commit_1"}`, Load{Readable: true, Word: Success, Status: "Success", GroupCommit: true, Label: "group_commit_1"}},
		{"no group commit", `{"Status":"Success","GroupCommit":"false"}`, ok("Success", "", Success)},
		{"a message that is no text", `{"Status":"Fail","Message":{"a":1}}`, ok("Fail", `{"a":1}`, Failure)},
		{"invalid UTF-8 in a text", "{\"Status\":\"Fail\",\"Message\":\"a\xffb\"}", ok("Fail", "a\uFFFDb", Failure)},
		{"half a surrogate pair", `{"Status":"Fail","Message":"\ud800"}`, ok("Fail", "\uFFFD", Failure)},

		// What is around it.
		{"BOM", "\xef\xbb\xbf" + `{"Status":"Success"}`, ok("Success", "", Success)},
		{"BOM and white space", "\r\n \xef\xbb\xbf\n" + `{"Status":"Success"}` + "\n\n\t", ok("Success", "", Success)},
		{"two BOMs", "\xef\xbb\xbf\xef\xbb\xbf" + `{"Status":"Success"}`, unreadable(`{"Status":"Success"}`)},
		{"junk before", `OK {"Status":"Success"}`, unreadable(`OK {"Status":"Success"}`)},
		{"junk after", `{"Status":"Success"} OK`, unreadable(`{"Status":"Success"} OK`)},
		{"a second object", `{"Status":"Success"}{"Status":"Fail"}`, unreadable(`{"Status":"Success"}{"Status":"Fail"}`)},
		{"a NUL after", "{\"Status\":\"Success\"}\x00", unreadable(`{"Status":"Success"}`)},
		{"an extra brace", `{"Status":"Success"}}`, unreadable(`{"Status":"Success"}}`)},
		{"an array around it", `[{"Status":"Success"}]`, unreadable(`[{"Status":"Success"}]`)},
		{"a text", `"Success"`, unreadable(`"Success"`)},
		{"a number", `0`, unreadable("0")},
		{"nothing", ``, unreadable("")},
		{"white space", "\n\n", unreadable("")},
		{"an empty object", `{}`, unreadable("{}")},
		{"an object of another kind", `{"state":"VISIBLE"}`, unreadable(`{"state":"VISIBLE"}`)},
		{"HTML", "<html>\n<body>502\tBad Gateway</body>\n</html>", unreadable("<html> <body>502 Bad Gateway</body> </html>")},
		{"plain text", `Not Found`, unreadable("Not Found")},
		{"NaN", `{"Status":"Success","LoadTimeMs":nan}`, unreadable(`{"Status":"Success","LoadTimeMs":nan}`)},
		{"single quotes", `{'Status':'Success'}`, unreadable(`{'Status':'Success'}`)},
		{"a comma too many", `{"Status":"Success",}`, unreadable(`{"Status":"Success",}`)},
		{"no comma", `{"Status":"Success" "Message":"OK"}`, unreadable(`{"Status":"Success" "Message":"OK"}`)},
		{"a raw line break in a text", "{\"Status\":\"Success\",\"Message\":\"a\nb\"}", unreadable(`{"Status":"Success","Message":"a b"}`)},
		{"deep nesting", nested, unreadable(nested[:300])},
		{"deep nesting that is no answer", strings.Repeat("[", 1<<20), unreadable(strings.Repeat("[", 300))},
		{"gzip that nobody undid", "\x1f\x8b\x08\x00\x00\x00", unreadable("")},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, ParseLoad([]byte(test.body)))
		})
	}
}

// Whatever is left of an answer that was cut is not understood.
func TestParseLoadCutAtEveryByte(t *testing.T) {
	t.Parallel()
	whole := strings.TrimSpace(beAnswer)
	for n := range len(whole) {
		got := ParseLoad([]byte(whole[:n]))
		require.False(t, got.Readable, "%d bytes", n)
		require.Equal(t, Unclear, got.Word, "%d bytes", n)
		got = ParseLoad([]byte(whole[n+1:]))
		require.Equal(t, Unclear, got.Word, "without the first %d bytes", n+1)
	}
	require.Equal(t, Success, ParseLoad([]byte(whole)).Word)
}

func TestParseLoadHuge(t *testing.T) {
	t.Parallel()
	message := strings.Repeat("0# doris::Status ", 1<<18)
	got := ParseLoad(fmt.Appendf(nil, `{"Status":"Fail","Message":%q}`, message))
	require.Equal(t, Failure, got.Word)
	require.Equal(t, message, got.Message)
}

// An object of many members would take many times its size in memory. Not parallel, because it counts allocations.
func TestParseLoadManyMembers(t *testing.T) {
	body := []byte(`{"Status":"Success"` + strings.Repeat(`,"a":1`, 1<<20) + `}`)
	allocations := testing.AllocsPerRun(3, func() {
		require.False(t, ParseLoad(body).Readable)
	})
	require.Less(t, allocations, 5000.0)
}

func TestExcerpt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string][2]string{
		"nothing":            {"", ""},
		"one line":           {"a\r\n\tb\x00c\u2028d\u0085e", "a b c d e"},
		"invalid UTF-8":      {"a\xffb", "a b"},
		"no direction marks": {"a\u202eb\ufeffc\u200bd", "a b c d"},
		"letters":            {"größer 表", "größer 表"},
		"long":               {strings.Repeat("é", 400), strings.Repeat("é", 150)},
		"cut in a letter":    {"x" + strings.Repeat("é", 400), "x" + strings.Repeat("é", 149)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Excerpt([]byte(test[0]))
			require.Equal(t, test[1], got)
			require.True(t, utf8.ValidString(got))
		})
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for w := Success; w <= Failure; w++ {
		require.Equal(t, w, wordOf(w.String()))
	}
	require.Equal(t, Unclear, wordOf(Unclear.String()))
}
