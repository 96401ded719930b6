// Package redact keeps secrets and floods out of logs and errors.
package redact

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mask stands where a secret was.
const mask = "***"

// userinfo finds user:password@ in front of a host inside any text, also where the text is no valid URL. A password may
// itself contain an @ that is not escaped, so it ends at the last one before the path.
var userinfo = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^/?#\s"'<>]*@`)

// signature finds the query parameters that make a presigned URL a secret: those of AWS, Google, Azure, Alibaba, Tencent, Huawei
// and Baidu, and what is called token or password. A text may have the & escaped for HTML or JSON.
var signature = regexp.MustCompile(`(?i)((?:[?&]|&amp;|\\u0026)(?:` +
	`x-(?:amz|goog|oss|cos|obs|bce)-[a-z-]+|q-[a-z-]+|` +
	`signature|sig|awsaccesskeyid|ossaccesskeyid|googleaccessid|accesskeyid|security-token|expires|` +
	`s[etprv]|spr|sip|sks|ske|skt|skv|skoid|sktid|` +
	`token|access_token|password|passwd|pwd)=)[^&\s"'<>\\]*`)

// credentials finds what an Authorization header carries, where a server or a proxy shows the request that it got.
var credentials = regexp.MustCompile(`(?i)(authorization["']?\s*[:=]\s*["']?(?:[a-z]+\s+)?)[a-z0-9+/=._~-]{8,}`)

// margin is what is read beyond the limit of a text, so that no half of a secret is left where it is cut. It is more than
// any password in any of its forms.
const margin = 4096

// Secrets replaces a password in texts that come from elsewhere: a server or a proxy may repeat what it was sent.
type Secrets struct{ password *regexp.Regexp }

// NewSecrets knows the password of a user in the forms in which it travels: as it is, escaped for a URL, for JSON or for
// HTML, and in basic auth. Passwords of less than 4 bytes are only looked for in basic auth: they stand in too many innocent
// texts.
func NewSecrets(username, password string) Secrets {
	if password == "" {
		return Secrets{}
	}
	forms := basicAuth(username, password)
	if len(password) >= minPlain {
		forms += "|" + plain(printable(password))
	}
	return Secrets{regexp.MustCompile(forms)} // of at most some hundred characters, so it always compiles
}

// Text makes any text fit to be shown: no secrets, valid UTF-8, printable characters and spaces only, at most limit bytes.
func (s Secrets) Text(text string, limit int) string {
	// The cut comes first so that a text of megabytes costs nothing.
	long := len(text) > 4*limit+margin
	if long {
		text = text[:4*limit+margin]
	}
	text = printable(text)
	if s.password != nil {
		text = s.password.ReplaceAllLiteralString(text, mask)
	}
	text = credentials.ReplaceAllString(text, "${1}"+mask)
	text = userinfo.ReplaceAllString(text, "$1")
	text = signature.ReplaceAllString(text, "${1}"+mask)
	if long {
		text = strings.ToValidUTF8(text[:max(len(text)-margin, 0)], "") + dots
	}
	return Cut(strings.TrimSpace(text), limit)
}

// printable is a text in valid UTF-8 with a space for everything that cannot be seen.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != utf8.RuneError && !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}

const dots = "..."

// Cut shortens a text to at most limit bytes, at a whole character, and shows that it did.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := dots[:max(min(limit, len(dots)), 0)]
	limit = max(limit-len(end), 0)
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + end
}
