package emulator

import (
	"net/http"
	"strings"
)

// serveBE routes a request at a BE.
func (e *Emulator) serveBE(x *exchange) {
	seg, ok := segments(x.r.URL.EscapedPath())
	if !ok || seg[0] != "api" {
		x.notFound()
		return
	}
	end := seg[len(seg)-1]
	put := x.r.Method == http.MethodPut
	starrocks := e.profile.starrocks()
	switch {
	case starrocks && (put || x.r.Method == http.MethodPost) && len(seg) == 3 && seg[1] == "transaction":
		if !e.profile.txnInterface() {
			x.notFound()
			return
		}
		x.beTxn(seg[2])
	case put && len(seg) == 4 && end == "_stream_load":
		x.db, x.table = seg[1], seg[2]
		x.beLoad()
	case put && end == "_stream_load_2pc" && !starrocks && (len(seg) == 3 || len(seg) == 4 && e.profile.labels2PC()):
		x.db = seg[1]
		x.be2PC()
	case (x.r.Method == http.MethodGet || x.r.Method == http.MethodHead) && len(seg) == 2 && end == "_load_error_log":
		x.errorLog()
	case x.r.Method == http.MethodGet && len(seg) == 2 && end == "health":
		x.answer(http.StatusOK, jsonType, []byte(`{"status":"OK","msg":"To Be Added"}`))
	default:
		x.notFound()
	}
}

// notFound answers without reading a body and without 100 Continue.
func (x *exchange) notFound() {
	x.answer(http.StatusNotFound, "text/plain", []byte("Not Found"))
}

func (x *exchange) errorLog() {
	file := x.r.URL.Query().Get("file")
	if strings.Contains(file, "..") {
		x.answer(http.StatusForbidden, "text/html", []byte("<html><body>403 Forbidden</body></html>"))
		return
	}
	text, ok := x.e.logs.get(file)
	if !ok {
		x.answer(http.StatusNotFound, "text/html", []byte("<html><body>404 Not Found: file does not exist</body></html>"))
		return
	}
	x.answer(http.StatusOK, "text/plain; charset=utf-8", []byte(text))
}
