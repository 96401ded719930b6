package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/dorisload/benthos-doris/test/cases/internal/script"
)

// tokens are the values for a text that answers this request. In a URL the
// credentials are quoted.
func (x *exchange) tokens(inURL bool) map[string]string {
	values := maps.Clone(x.cluster.tokens)
	values["PATH"] = x.req.Path
	values["LABEL"] = x.req.Label
	if inURL {
		values["USER"] = url.PathEscape(values["USER"])
		values["PASS"] = url.PathEscape(values["PASS"])
	}
	return values
}

// send writes the answer and tells whether the connection ends with it.
func (x *exchange) send(a answer) (closes bool) {
	body := x.encoded(a)
	var head strings.Builder
	fmt.Fprintf(&head, "HTTP/1.1 %d %s\r\n", a.reply.Status, http.StatusText(a.reply.Status))
	has := map[string]bool{}
	trickles := a.reply.TrickleMS > 0
	for _, name := range slices.Sorted(maps.Keys(a.reply.Headers)) {
		value, err := script.Expand(a.reply.Headers[name], x.tokens(strings.EqualFold(name, "Location")))
		if err != nil {
			x.cluster.complain("header %s of the answer: %v", name, err)
		}
		if trickles && strings.EqualFold(name, "Content-Length") {
			continue // a trickle is chunked
		}
		has[strings.ToLower(name)] = true
		if strings.EqualFold(name, "Connection") && strings.EqualFold(value, "close") {
			closes = true
		}
		fmt.Fprintf(&head, "%s: %s\r\n", name, value)
	}
	if a.reply.Close || x.head.Close {
		closes = true
		if !has["connection"] {
			head.WriteString("Connection: close\r\n")
		}
	}
	switch {
	case trickles:
		head.WriteString("Transfer-Encoding: chunked\r\n")
	case !has["content-length"]:
		fmt.Fprintf(&head, "Content-Length: %d\r\n", len(body))
	}
	head.WriteString("\r\n")
	if !trickles {
		x.write(head.String() + string(body))
		return closes
	}
	x.write(head.String())
	for _, b := range body {
		if !x.cluster.sleep(time.Duration(a.reply.TrickleMS) * time.Millisecond) {
			return true
		}
		x.write("1\r\n" + string([]byte{b}) + "\r\n")
	}
	x.write("0\r\n\r\n")
	return closes
}

// encoded is the body as it goes over the wire.
func (x *exchange) encoded(a answer) []byte {
	body := []byte(a.body)
	if patch := a.reply.BodyPatch.ReplaceFFFDWithHex; patch != "" {
		raw, err := hex.DecodeString(patch)
		if err != nil {
			x.cluster.complain("replace_ufffd_with_hex: %v", err)
		}
		body = bytes.ReplaceAll(body, []byte("\ufffd"), raw)
	}
	if a.reply.BodyEncoding == "gzip" {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(body) // a buffer takes everything
		_ = w.Close()
		body = packed.Bytes()
	}
	return body
}
