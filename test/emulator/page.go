package emulator

import (
	"embed"
	"net/http"
	"strings"
)

// The page shows what goes on in the emulator, and faults can be switched on it. It is made of files that are built in, asks for nothing of
// other servers, and gets its data from /emulator/live (see live) by a script.

//go:embed page/page.html page/page.css page/page.js
var pageFiles embed.FS

// pageParts are the files of the page by the path that they have at an FE.
var pageParts = map[string]struct{ file, contentType string }{
	"/":                  {"page/page.html", "text/html; charset=utf-8"},
	"/emulator/page.css": {"page/page.css", "text/css; charset=utf-8"},
	"/emulator/page.js":  {"page/page.js", "text/javascript; charset=utf-8"},
}

// pagePolicy lets the page use its own files and nothing else, and lets no other page put it into a frame, where a click could be stolen.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// page answers with a part of the page; false means that the request is for something else. At the root only who asks for HTML gets it, so that
// clients and curl see there what they always have.
func (x *exchange) page(path string) bool {
	part, ok := pageParts[path]
	if !ok || x.r.Method != http.MethodGet && x.r.Method != http.MethodHead {
		return false
	}
	if path == "/" && !strings.Contains(x.r.Header.Get("Accept"), "text/html") {
		return false
	}
	body, err := pageFiles.ReadFile(part.file)
	if err != nil {
		return false
	}
	h := x.w.Header()
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Accept")
	x.answer(http.StatusOK, part.contentType, body)
	return true
}

// ofPage says that a request is one that the page makes. Those are not recorded: an open page asks every second, and would push the requests of
// loads out of the record.
func ofPage(r *http.Request) bool {
	path := r.URL.Path
	_, part := pageParts[path]
	return part || path == livePath || path == switchesPath
}
