package transport

import (
	"net/http/httptrace"
	"sync/atomic"
)

// hopTrace sees what net/http does for one hop, and arms the connection's withholding.
type hopTrace struct {
	reused   atomic.Bool // the connection was used before
	answered atomic.Bool // at least one byte came back
}

func (h *hopTrace) hooks() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			h.reused.Store(info.Reused)
			if c, ok := info.Conn.(*withholdConn); ok {
				c.armed.Store(true)
			}
		},
		GotFirstResponseByte: func() { h.answered.Store(true) },
	}
}
