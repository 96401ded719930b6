package wire

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/dorisload/benthos-doris/test/cases/internal/script"
)

// misses returns what the request does not fulfil. Tests on a body that has not
// been read are made on its announced length only. The caller holds the lock.
func (c *Cluster) misses(t script.Tests, x *exchange) []string {
	var found []string
	miss := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	want := func(name string, wanted *bool, is bool) {
		if wanted != nil && *wanted != is {
			miss("%s is %v", name, is)
		}
	}
	expand := func(text string) string {
		expanded, err := script.Expand(text, c.tokens)
		if err != nil {
			miss("%v", err)
		}
		return expanded
	}

	if t.Method != "" && t.Method != x.req.Method {
		miss("method is %s", x.req.Method)
	}
	if !strings.Contains(x.req.Target, t.PathContains) {
		miss("path %s does not contain %q", x.req.Target, t.PathContains)
	}
	if t.RawPath != "" && t.RawPath != x.req.Path {
		miss("path is %s, not %s", x.req.Path, t.RawPath)
	}
	want("has_content_length", t.HasContentLength, x.req.HasLength)
	want("chunked", t.Chunked, x.req.Chunked)
	want("conn_reused", t.ConnReused, x.req.Reused)
	want("prev_body_unread", t.PrevBodyUnread, x.req.PrevBodyUnread)

	missedHeaders(t, x.req.Header, expand, miss)
	missedCredentials(t, x.req.Header.Get("Authorization"), expand, miss)

	if t.LabelIsNew != nil {
		want("label_is_new", t.LabelIsNew, !c.label(x.req.Label).seen)
	}
	if t.LabelRegex != "" && !regexp.MustCompile(t.LabelRegex).MatchString(x.req.Header.Get("label")) {
		miss("label %q does not match %s", x.req.Header.Get("label"), t.LabelRegex)
	}
	if t.QueryLabelIsSent != nil {
		want("query_label_equals_header_label", t.QueryLabelIsSent, c.wasSent(x.req.Label))
	}
	missedBody(t, x, want, miss)
	return found
}

// wasSent tells whether a load came with this label. The caller holds the lock.
func (c *Cluster) wasSent(name string) bool {
	for _, r := range c.requests {
		if r.Load() && r.Label == name {
			return name != ""
		}
	}
	return false
}

func missedHeaders(t script.Tests, h http.Header, expand func(string) string, miss func(string, ...any)) {
	for _, name := range t.HeaderPresent {
		if len(h.Values(name)) == 0 {
			miss("header %s is missing", name)
		}
	}
	for _, name := range t.HeaderAbsent {
		if len(h.Values(name)) > 0 {
			miss("header %s is there", name)
		}
	}
	for _, exact := range []map[string]string{t.Header, t.HeaderBytesUTF8} {
		for name, value := range exact {
			if got := h.Values(name); len(got) != 1 || got[0] != expand(value) {
				miss("header %s is %q, not %q", name, got, value)
			}
		}
	}
	for name, value := range t.HeaderNot {
		for _, got := range h.Values(name) {
			if got == expand(value) {
				miss("header %s is %q", name, got)
			}
		}
	}
	for name, expr := range t.HeaderCI {
		if got := h.Get(name); !regexp.MustCompile(expr).MatchString(got) {
			miss("header %s is %q, which does not match %s", name, got, expr)
		}
	}
}

func missedCredentials(t script.Tests, authorization string, expand func(string) string, miss func(string, ...any)) {
	basic := func(credentials string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(expand(credentials)))
	}
	if t.AuthPresent != nil && *t.AuthPresent != (authorization != "") {
		miss("auth_present is %v", authorization != "")
	}
	for _, wanted := range []string{t.Auth, t.AuthB64UTF8, t.AuthIs} {
		if wanted != "" && authorization != basic(wanted) {
			miss("the credentials are not those that are expected")
		}
	}
	if t.AuthIsNot != "" && authorization == basic(t.AuthIsNot) {
		miss("the credentials are those that must not come")
	}
}

func missedBody(t script.Tests, x *exchange, want func(string, *bool, bool), miss func(string, ...any)) {
	if t.BodyBytesGT != nil {
		size := x.req.Length
		if x.consumed {
			size = int64(len(x.body))
		}
		if size <= *t.BodyBytesGT {
			miss("the body has %d bytes", size)
		}
	}
	if !x.consumed {
		if t.NeedBody() {
			miss("the body was not read")
		}
		return
	}
	body := string(x.body)
	want("body_nonempty", t.BodyNonempty, body != "")
	for _, text := range t.BodyContains {
		if !strings.Contains(body, text) {
			miss("the body does not contain %q", text)
		}
	}
	for _, text := range t.BodyNotContains {
		if strings.Contains(body, text) {
			miss("the body contains %q", text)
		}
	}
	if t.BodyEquals != nil && body != *t.BodyEquals {
		miss("the body is %q, not %q", body, *t.BodyEquals)
	}
	if raw, err := hex.DecodeString(t.BodyEqualsHex); t.BodyEqualsHex != "" && (err != nil || body != string(raw)) {
		miss("the body is %x, not %s", body, t.BodyEqualsHex)
	}
}
