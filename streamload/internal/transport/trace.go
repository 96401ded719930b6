package transport

import (
	"net/http/httptrace"
	"sync/atomic"
)

// hopTrace sees what net/http does for one hop, and arms the connection's withholding.
type hopTrace struct {
	reused   atomic.Bool // the connection was used before
	answered atomic.Bool // at least one byte came back
	eager    bool        // the body does not wait: nothing is withheld
}

func (h *hopTrace) hooks() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			h.reused.Store(info.Reused)
			if c, ok := info.Conn.(*withholdConn); ok {
				c.armed.Store(!h.eager)
				if h.eager {
					c.keepHead()
				}
			}
		},
		GotFirstResponseByte: func() { h.answered.Store(true) },
	}
}
