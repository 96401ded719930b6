// Package redact keeps secrets and floods out of logs and errors.
package redact

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// userinfo finds user:password@ in front of a host inside any text, also where the text is no valid URL. A password may
// itself contain an @ that is not escaped, so it ends at the last one before the path.
var userinfo = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^/?#\s"'<>]*@`)

// signature finds the query parameters that make a presigned URL a secret.
var signature = regexp.MustCompile(`(?i)([?&](?:x-amz-[a-z-]+|signature|sig|awsaccesskeyid|ossaccesskeyid|security-token|expires|token|x-goog-[a-z-]+|q-[a-z-]+|se|sp|sv|sr|skoid|sktid)=)[^&\s"'<>]*`)

// Secrets replaces a password in texts that come from elsewhere: a server or a proxy may repeat what it was sent.
type Secrets struct{ replacer *strings.Replacer }

// NewSecrets knows the password of a user in the forms in which it travels. Passwords of less than 4 bytes are not looked for in
// plain: they stand in too many innocent texts.
func NewSecrets(username, password string) Secrets {
	if password == "" {
		return Secrets{}
	}
	pairs := []string{base64.StdEncoding.EncodeToString([]byte(username + ":" + password)), "***"}
	if len(password) >= 4 {
		for _, form := range []string{password, url.QueryEscape(password), url.PathEscape(password), url.UserPassword("", password).String()[1:]} {
			pairs = append(pairs, form, "***")
		}
	}
	return Secrets{strings.NewReplacer(pairs...)}
}

// Text makes any text fit to be shown: no secrets, valid UTF-8, no control characters but spaces, at most limit bytes.
func (s Secrets) Text(text string, limit int) string {
	// The cut comes first so that a text of megabytes costs nothing; it leaves room for what redaction removes.
	if len(text) > 4*limit+1024 {
		text = text[:4*limit+1024]
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if s.replacer != nil {
		text = s.replacer.Replace(text)
	}
	text = userinfo.ReplaceAllString(text, "$1")
	text = signature.ReplaceAllString(text, "${1}***")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	return Cut(strings.TrimSpace(text), limit)
}

// Cut shortens a text to at most limit bytes, at a whole character, and shows that it did.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const dots = "..."
	limit = max(limit-len(dots), 0)
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + dots
}
