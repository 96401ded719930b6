package wire

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every test on a request holds for a request that fulfils it and fails for
// one that does not. The request is a load of "{}" under the label l1.
func TestExpectedRequests(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, holds, misses string }{
		{"method", `"method":"PUT"`, `"method":"GET"`},
		{"path_contains", `"path_contains":"/t1/"`, `"path_contains":"/t2/"`},
		{"raw_path", `"raw_path":"/api/db/t1/_stream_load"`, `"raw_path":"/api/db/t2/_stream_load"`},
		{"has_content_length", `"has_content_length":true`, `"has_content_length":false`},
		{"chunked", `"chunked":false`, `"chunked":true`},
		{"header_present", `"header_present":"label"`, `"header_present":["Label","format"]`},
		{"header_absent", `"header_absent":["format"]`, `"header_absent":"label"`},
		{"header", `"header":{"Label":"l1"}`, `"header":{"label":"l"}`},
		{"header that is missing", `"header":{"x":"ä"}`, `"header":{"format":""}`},
		{"header_not", `"header_not":{"label":"l","format":"csv"}`, `"header_not":{"label":"l1"}`},
		{"header_ci", `"header_ci":{"LABEL":"^.1$"}`, `"header_ci":{"LABEL":"^$"}`},
		{"header_bytes_utf8", `"header_bytes_utf8":{"x":"ä"}`, `"header_bytes_utf8":{"x":"a"}`},
		{"auth", `"auth":"loader:{{PASS}}"`, `"auth":"loader:other"`},
		{"auth_b64_utf8", `"auth_b64_utf8":"loader:secret"`, `"auth_b64_utf8":"x:secret"`},
		{"auth_is", `"auth_is":"{{USER}}:secret"`, `"auth_is":"secret"`},
		{"auth_is_not", `"auth_is_not":"x:y"`, `"auth_is_not":"loader:secret"`},
		{"auth_present", `"auth_present":true`, `"auth_present":false`},
		{"label_regex", `"label_regex":"^[a-z0-9]+$"`, `"label_regex":"^[a-z]+$"`},
		{"label_is_new", `"label_is_new":false`, `"label_is_new":true`}, // it is on record by now
		{"query_label", `"query_label_equals_header_label":true`, `"query_label_equals_header_label":false`},
		{"conn_reused", `"conn_reused":false`, `"conn_reused":true`},
		{"prev_body_unread", `"prev_body_unread":false`, `"prev_body_unread":true`},
		{"body_contains", `"body_contains":"{"`, `"body_contains":["{","["]`},
		{"body_not_contains", `"body_not_contains":"["`, `"body_not_contains":"}"`},
		{"body_bytes_gt", `"body_bytes_gt":1`, `"body_bytes_gt":2`},
		{"body_nonempty", `"body_nonempty":true`, `"body_nonempty":false`},
		{"body_equals", `"body_equals":"{}"`, `"body_equals":""`},
		{"body_equals_hex", `"body_equals_hex":"7b7d"`, `"body_equals_hex":"7b"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			complaints := func(check string) []string {
				c := start(t, `[{"on":"be_load","times":1,"expect_request":{`+check+`},"reply":{"status":200}}]`)
				load(t, c, BE, "l1", "{}", "x: ä")
				return c.Traffic().Complaints
			}
			require.Empty(t, complaints(tc.holds))
			require.NotEmpty(t, complaints(tc.misses))
		})
	}
}

func TestStepsAreTriedInOrder(t *testing.T) {
	t.Parallel()
	c := start(t, `[
		{"on":"be_load","times":1,"when":{"header_present":"x"},"reply":{"status":200,"body":"with x"}},
		{"on":"be_load","times":2,"reply":{"status":200,"body":"twice"}},
		{"on":"be2_load","times":-1,"reply":{"status":200,"body":"the other"}},
		{"on":"be_load","times":-1,"reply":{"status":200,"body":"for ever"}}]`)
	require.Equal(t, "twice", load(t, c, BE, "a", "{}"))
	require.Equal(t, "with x", load(t, c, BE, "b", "{}", "x: 1"))
	require.Equal(t, "twice", load(t, c, BE, "c", "{}", "x: 1"))
	require.Equal(t, "the other", load(t, c, BE2, "d", "{}"))
	require.Equal(t, "for ever", load(t, c, BE, "e", "{}"))
	require.Equal(t, "for ever", load(t, c, BE, "f", "{}"))
}

func TestLabelIsNew(t *testing.T) {
	t.Parallel()
	c := start(t, `[
		{"on":"be_load","times":-1,"when":{"label_is_new":true},"reply":{"status":200,"body":"new"}},
		{"on":"be_load","times":-1,"when":{"label_is_new":false},"reply":{"status":200,"body":"old"}},
		{"on":"state","times":1,"reply":{"status":200,"body":"{\"data\":\"PREPARE\"}"}},
		{"on":"state","times":1,"reply":{"status":200,"body":"{\"data\":\"ABORTED\"}"}}]`)
	require.Equal(t, "new", load(t, c, BE, "a", "{}"))
	require.Equal(t, "old", load(t, c, BE, "a", "{}"))
	require.Equal(t, "new", load(t, c, BE, "b", "{}"))
	state(t, c, "a")
	require.Equal(t, "old", load(t, c, BE, "a", "{}"), "PREPARE changes nothing")
	state(t, c, "a")
	require.Equal(t, "new", load(t, c, BE, "a", "{}"), "an aborted label can be begun again")
	require.Equal(t, "old", load(t, c, BE, "a", "{}"))
}

func TestChunkedBodies(t *testing.T) {
	t.Parallel()
	c := start(t, `[{"on":"be_load","times":-1,"expect_request":{"chunked":true,"has_content_length":false},
		"reply":{"status":200,"body":"{\"Status\":\"Success\"}"}}]`)
	p := dial(t, c, BE)
	for _, label := range []string{"a", "b"} {
		request := strings.Replace(head(label, 2), "Content-Length: 2", "Transfer-Encoding: chunked", 1)
		p.send(strings.Replace(request, "Expect: 100-continue\r\n", "", 1) + "1\r\n{\r\n1\r\n}\r\n0\r\n\r\n")
		p.answer()
	}
	got := c.Traffic()
	require.Empty(t, got.Complaints)
	require.Len(t, got.Durable, 2)
	require.Equal(t, "{}", string(got.Durable[1].Body))
}

func TestBothFramingsAreSeen(t *testing.T) {
	t.Parallel()
	c := start(t, `[{"on":"be_load","times":1,"when":{"chunked":true,"has_content_length":true},"reply":{"status":200,"body":"both"}}]`)
	p := dial(t, c, BE)
	p.send("PUT /api/db/t1/_stream_load HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
	body := p.answer().body
	require.Equal(t, "both", body)
}

func TestUnknownTokensAreReported(t *testing.T) {
	t.Parallel()
	c := start(t, `[{"on":"be_load","times":1,"reply":{"status":200,"body":"{{NOBODY}}","headers":{"X":"{{PAD:-1}}"}}}]`)
	load(t, c, BE, "l1", "{}")
	require.Len(t, c.Traffic().Complaints, 2)
}
