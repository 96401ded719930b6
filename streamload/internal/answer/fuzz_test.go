package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

var seeds = []string{
	beAnswer,
	`{"status":"FAILED","msg":"There is no 100-continue header"}`,
	`{"msg":"Unauthorized","code":401,"data":"Access denied","count":0}`,
	`{"Status":"Publish Timeout","status":"x"}`,
	`{"Status":"Success","Status":"Fail"}`,
	`{"TxnId":-1,"Status":"Label Already Exists","ExistingJobStatus":"FINISHED"}`,
	"\xef\xbb\xbf{\"STATUS\":\"success\"}\n",
	`{"msg":"success","code":0,"data":"VISIBLE","count":0}`,
	`{"state":"PREPARED","status":"OK","code":"0"}`,
	`<html>`, ``, `{`, `[]`, `{"a":{"Status":"Success"}}`, "{\"Status\":\"\xff\"}",
}

// members decodes an object in another way than the parser does: to a map of every key's values. It is nil for
// everything that is not one whole JSON object, with at most a BOM and white space around it.
func members(body []byte) map[string][]any {
	body = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(body), bom))
	if !json.Valid(body) || len(body) == 0 || body[0] != '{' {
		return nil
	}
	m := map[string][]any{}
	dec := json.NewDecoder(bytes.NewReader(body))
	_, _ = dec.Token()
	for dec.More() {
		key, _ := dec.Token()
		var v any
		if dec.Decode(&v) != nil {
			v = nil // a number that no float holds
		}
		m[key.(string)] = append(m[key.(string)], v)
	}
	return m
}

// agree says whether there are values and all are one of the words, whatever their letter case and white space.
func agree(values []any, words ...string) bool {
	for _, v := range values {
		s, _ := v.(string)
		s = strings.Join(strings.Fields(strings.ToLower(s)), " ")
		ok := false
		for _, w := range words {
			ok = ok || s == w
		}
		if !ok {
			return false
		}
	}
	return len(values) > 0
}

func values(m map[string][]any, exact ...string) []any {
	for _, k := range exact {
		if len(m[k]) > 0 {
			return m[k]
		}
	}
	var all []any
	for k, v := range m {
		if strings.EqualFold(k, exact[0]) {
			all = append(all, v...)
		}
	}
	return all
}

func FuzzParseLoad(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		a := ParseLoad(body)
		require.Equal(t, before, body, "the bytes were changed")
		for _, text := range []string{a.Status, a.Message, a.ExistingWord, a.Label, a.ErrorURL, a.FirstError, a.Excerpt} {
			require.True(t, utf8.ValidString(text), "%q", text)
		}
		checkExcerpt(t, a.Excerpt)
		m := members(body)
		if m == nil || !a.Readable {
			require.Equal(t, Unclear, a.Word)
		}
		if m == nil {
			require.False(t, a.Readable)
		}
		status := values(m, "Status", "status")
		switch a.Word {
		case Success:
			require.True(t, agree(status, "success"), "%v", status)
		case PublishTimeout:
			require.True(t, agree(status, "publish timeout"), "%v", status)
		case LabelExists:
			require.True(t, agree(status, "label already exists"), "%v", status)
		case Failure:
			require.True(t, agree(status, "fail", "failed") || len(status) == 0 && len(values(m, "code")) > 0, "%v", status)
		}
		if a.Existing == ExistingFinished {
			require.True(t, agree(values(m, "ExistingJobStatus"), "finished"))
		}
	})
}

func FuzzParseState(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		a := ParseState(body)
		require.True(t, utf8.ValidString(a.Message))
		if a.State == NoState {
			return
		}
		require.Empty(t, a.Message)
		require.Zero(t, a.Code)
		m := members(body)
		require.NotNil(t, m, "a state out of something that is no object")
		words := map[LabelState][]string{
			StateUnknown: {"unknown"}, StatePrepare: {"prepare"}, StatePrecommitted: {"precommitted", "prepared"},
			StateCommitted: {"committed"}, StateVisible: {"visible"}, StateAborted: {"aborted"},
		}[a.State]
		require.True(t, agree(values(m, "state"), words...) || agree(values(m, "data"), words...), "%v", m)
		for _, code := range values(m, "code") {
			n, err := strconv.ParseFloat(strings.TrimSpace(fmt.Sprint(code)), 64)
			require.NoError(t, err, "%v", m)
			require.Zero(t, n, "%v", m)
		}
	})
}

func FuzzExcerpt(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) { checkExcerpt(t, Excerpt(body)) })
}

func checkExcerpt(t *testing.T, s string) {
	t.Helper()
	require.LessOrEqual(t, len(s), 300)
	require.True(t, utf8.ValidString(s), "%q", s)
	for _, r := range s {
		require.True(t, unicode.IsPrint(r), "%q", s)
	}
}
