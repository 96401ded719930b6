package redact

import (
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestTextHidesThePassword(t *testing.T) {
	t.Parallel()
	jsonForm := func(s string) string {
		b, err := json.Marshal(s)
		require.NoError(t, err)
		return string(b[1 : len(b)-1])
	}
	for _, password := range []string{"hunter22", `p:%@äß密/?#"&<>'\ x`, "  spaces  ", "+++///", "100%", "😀😀", "AAAA"} {
		secrets := NewSecrets("root", password)
		basic := []byte("root:" + password)
		for form, text := range map[string]string{
			"as it is":                       password,
			"in a query":                     url.QueryEscape(password),
			"in a path":                      url.PathEscape(password),
			"in user info":                   url.UserPassword("", password).String()[1:],
			"in a query, lower case":         lowerHex(url.QueryEscape(password)),
			"escaped twice":                  url.QueryEscape(url.QueryEscape(password)),
			"in JSON":                        jsonForm(password),
			"in HTML":                        html.EscapeString(password),
			"as basic auth":                  base64.StdEncoding.EncodeToString(basic),
			"as basic auth, no padding":      base64.RawStdEncoding.EncodeToString(basic),
			"as basic auth, URL alphabet":    base64.URLEncoding.EncodeToString(basic),
			"as basic auth, in a query":      url.QueryEscape(base64.StdEncoding.EncodeToString(basic)),
			"as basic auth, in JSON":         jsonForm(base64.StdEncoding.EncodeToString(basic)),
			"as FEs before 2.1 escape it":    "root%40default_cluster:" + url.PathEscape(password),
			"twice":                          password + " and " + password,
			"in a word":                      "x" + password + "x",
			"with line breaks around it":     "\n" + password + "\r\n",
			"inside of text that is no UTF8": "\xff" + password + "\xff",
		} {
			got := secrets.Text("he said "+text+" to me", 500)
			require.Contains(t, got, "***", "%s %s", password, form)
			require.NotContains(t, got, strings.TrimSpace(text), "%s %s", password, form)
			require.NotContains(t, got, strings.TrimSpace(password), "%s %s", password, form)
			require.True(t, strings.HasPrefix(got, "he said"), got)
			require.True(t, strings.HasSuffix(got, "to me"), got)
		}
	}
}

// lowerHex is a text with its %XX in lower case.
func lowerHex(s string) string {
	for i := 0; i+2 < len(s); i++ {
		if s[i] == '%' {
			s = s[:i] + strings.ToLower(s[i:i+3]) + s[i+3:]
		}
	}
	return s
}

func TestTextLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"",
		"There is no 100-continue header",
		"no valid Basic authorization",
		"errCode = 2, detailMessage = Access denied for user 'root@10.0.0.1' (using password: YES)",
		"Label [benthos_x] has already been used, relate to txn [7]",
		"http://10.0.0.1:8040/api/_load_error_log?file=__shard_1/error_log_1&lines=20",
		"mail root@example.com about http://10.0.0.1:8040/api",
		"größer 表 😀",
	} {
		require.Equal(t, text, NewSecrets("root", "hunter22").Text(text, 500))
		require.Equal(t, text, NewSecrets("root", "").Text(text, 500), "no password")
		require.Equal(t, text, NewSecrets("", "").Text(text, 500), "nobody")
		require.Equal(t, text, Secrets{}.Text(text, 500), "the zero value")
	}
	require.Equal(t, "abc and abc", NewSecrets("root", "abc").Text("abc and abc", 500), "too short to be looked for in plain")
	require.Equal(t, "*** of abc", NewSecrets("root", "abc").Text(base64.StdEncoding.EncodeToString([]byte("root:abc"))+" of abc", 500))
}

func TestTextHidesOtherSecrets(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		// User info, also that of others.
		"http://root:pw@be:8040/api/db/t/_stream_load?": "http://be:8040/api/db/t/_stream_load?",
		"http://root%40default_cluster:pw@be:8040/x":    "http://be:8040/x",
		"http://u:p@x@be/":                     "http://be/",
		"see http://a:b@c/ and https://d:e@f.": "see http://c/ and https://f.",
		`{"url":"http://a:b@c/"}`:              `{"url":"http://c/"}`,
		"HTTP://a:b@c":                         "HTTP://c",
		"http://a:b@http://c:d@e/":             "http://http://e/",
		"http://:pw@[::1]:8040/":               "http://[::1]:8040/",
		"http://be/path?mail=a@b":              "http://be/path?mail=a@b",

		// Presigned URLs.
		"https://s3/x?X-Amz-Algorithm=A&X-Amz-Credential=K%2F2&X-Amz-Signature=abc&x=1": "https://s3/x?X-Amz-Algorithm=***&X-Amz-Credential=***&X-Amz-Signature=***&x=1",
		"https://s3/x?AWSAccessKeyId=K&Expires=1&Signature=s%3D rest":                   "https://s3/x?AWSAccessKeyId=***&Expires=***&Signature=*** rest",
		"https://oss/x?OSSAccessKeyId=K&Signature=s":                                    "https://oss/x?OSSAccessKeyId=***&Signature=***",
		"https://oss/x?x-oss-signature=s&x-oss-security-token=t":                        "https://oss/x?x-oss-signature=***&x-oss-security-token=***",
		"https://cos/x?q-sign-algorithm=a&q-ak=k&q-signature=s&x-cos-security-token=t":  "https://cos/x?q-sign-algorithm=***&q-ak=***&q-signature=***&x-cos-security-token=***",
		"https://obs/x?AccessKeyId=K&x-obs-security-token=t":                            "https://obs/x?AccessKeyId=***&x-obs-security-token=***",
		"https://blob/x?sv=2&se=3&sr=b&sp=r&sig=abc%3D":                                 "https://blob/x?sv=***&se=***&sr=***&sp=***&sig=***",
		"https://gcs/x?X-Goog-Signature=abc":                                            "https://gcs/x?X-Goog-Signature=***",
		`<a href="https://s3/x?a=1&amp;X-Amz-Signature=abc">`:                           `<a href="https://s3/x?a=1&amp;X-Amz-Signature=***">`,
		`"https://s3/x?a=1\u0026X-Amz-Signature=abc\u0026b=2"`:                          `"https://s3/x?a=1\u0026X-Amz-Signature=***\u0026b=2"`,
		"http://be/x?token=abc&user=b&password=c":                                       "http://be/x?token=***&user=b&password=***",

		// Headers that a proxy shows.
		"Authorization: Basic cm9vdDpodW50ZXIyMg== Host: fe": "Authorization: Basic *** Host: fe",
		`{"authorization":"Bearer abcdef.123456"}`:           `{"authorization":"Bearer ***"}`,
		"authorization=abcdefgh":                             "authorization=***",
	} {
		require.Equal(t, want, NewSecrets("u", "").Text(text, 500), text)
		require.Equal(t, want, NewSecrets("u", "something else").Text(text, 500), text)
	}
}

func TestTextIsPrintable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\r\nb\tc\x00d\x1b[31me\u0085f\u2028g": "a  b c d [31me f g",
		"\n  a  \n":                             "a",
		"a\xffb\xf0\x9f":                        "a\uFFFDb\uFFFD\uFFFD",
		"a\u202eb\u200bc":                       "a b c",
	} {
		require.Equal(t, want, Secrets{}.Text(text, 500))
	}
}

func TestTextOfMegabytes(t *testing.T) {
	t.Parallel()
	secrets := NewSecrets("root", "hunter22hunter22")
	got := secrets.Text(strings.Repeat("x", 10<<20), 100)
	require.Equal(t, strings.Repeat("x", 97)+"...", got)

	// Wherever the text is cut before it is redacted, no half of a secret shows, however much the redaction takes away.
	for _, unit := range []string{"hunter22hunter22 ", "http://someone:something@h ", "&sig=aaaaaaaaaaaaaaaaaaaaaaaa"} {
		for shift := 0; shift < len(unit); shift += 3 {
			got := secrets.Text(strings.Repeat("x", shift)+strings.Repeat(unit, 2000), 300)
			for _, part := range []string{"hunt", "some", "aaaa"} {
				require.NotContains(t, got, part, "%q shifted by %d", unit, shift)
			}
			require.True(t, strings.HasSuffix(got, "..."), got)
			require.LessOrEqual(t, len(got), 300)
		}
	}
}

func TestLongPassword(t *testing.T) {
	t.Parallel()
	password := strings.Repeat("paß/word", 1000)
	secrets := NewSecrets("root", password)
	require.Equal(t, "a *** b", secrets.Text("a "+password+" b", 5000))
	require.Equal(t, "a *** b", secrets.Text("a "+url.QueryEscape(password)+" b", 5000))
	spaced := strings.Repeat("two words ", 100)
	require.Equal(t, "a ***b", NewSecrets("root", spaced).Text("a "+spaced+"b", 5000))
	basic := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("u", 5000) + ":" + password))
	require.Equal(t, "a ***", NewSecrets(strings.Repeat("u", 5000), password).Text("a "+basic, 5000))
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text  string
		limit int
		want  string
	}{
		{"abc", 3, "abc"},
		{"abcd", 4, "abcd"},
		{"abcde", 4, "a..."},
		{"abcde", 3, "..."},
		{"abcde", 2, ".."},
		{"abcde", 0, ""},
		{"abcde", -1, ""},
		{"", 0, ""},
		{"ääää", 7, "ää..."},
		{"ääää", 6, "ä..."},
		{"ääää", 8, "ääää"},
		{"密密密", 5, "..."},
		{"密密密", 6, "密..."},
	} {
		require.Equal(t, test.want, Cut(test.text, test.limit), "%q to %d", test.text, test.limit)
	}
}

func FuzzText(f *testing.F) {
	f.Add("http://root:hunter22@be/?sig=1 hunter22\xff", "root", "hunter22", 50)
	f.Add("%68%75%6e%74%65%7222", "", "hunter22", 10)
	f.Add(strings.Repeat("http://a:b@", 5000), "root", "aaaa", 3)
	f.Add("Authorization: Basic cm9vdDpodW50ZXIyMg==", "root", "hunter22", 500)
	f.Fuzz(func(t *testing.T, text, user, password string, limit int) {
		limit = max(limit%3000, -1)
		got := NewSecrets(user, password).Text(text, limit)
		require.LessOrEqual(t, len(got), max(limit, 0))
		require.True(t, utf8.ValidString(got))
		for _, r := range got {
			require.True(t, r == utf8.RuneError || unicode.IsPrint(r), "%q", got)
		}
		isWord := !strings.ContainsFunc(password, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if len(password) >= minPlain && isWord && utf8.ValidString(password) {
			require.NotContains(t, got, password)
		}
		// What was hidden once has nothing left to hide.
		for _, re := range []string{userinfo.FindString(got)} {
			require.Empty(t, re, "%q", got)
		}
	})
}
