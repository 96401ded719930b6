package wire

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/dorisload/benthos-doris/test/cases/internal/script"
)

// Kinds of requests that no step can answer.
const (
	OnCancel    = "cancel"
	OnOther     = "other"
	OnMalformed = "malformed"
)

// Request is what the servers saw of a request, and how they answered.
type Request struct {
	At     time.Duration // since the start of the cluster
	Server Role
	On     string
	Step   int // the step that answered, -1 for the defaults

	Method string
	Target string // as it stood in the request line
	Path   string // of the target, not decoded
	Header http.Header
	// Label is the label header, or the label of the query where that counts.
	Label string

	Reused         bool // not the first request of its connection
	PrevBodyUnread bool
	HasLength      bool
	Length         int64 // the announced length, -1 if there is none
	Chunked        bool

	Body         []byte
	BodyComplete bool
	// Unasked counts the bytes of the body that came although the request was
	// answered without asking for it; UnaskedStart is the first of them.
	Unasked      int64
	UnaskedStart []byte

	Answer string // status and start of the body, or the fault
}

// Load tells whether the request is a Stream Load, at a frontend or a backend.
func (r *Request) Load() bool { return r.ToFrontend() || r.ToBackend() }

// ToBackend tells whether the request is a load that reached a backend.
func (r *Request) ToBackend() bool {
	return r.On == script.OnBELoad || r.On == script.OnBE2Load || strings.HasPrefix(r.On, script.OnFEPath)
}

// ToFrontend tells whether the request is a load at a frontend.
func (r *Request) ToFrontend() bool {
	return r.On == script.OnFELoad || r.On == script.OnFE2Load || r.On == script.OnFETLSLoad
}

// StatePoll tells whether the request asks for the state of a label.
func (r *Request) StatePoll() bool { return r.On == script.OnState || r.On == script.OnState2 }

// Redirected tells whether the answer sent the client elsewhere.
func (r *Request) Redirected() bool {
	return len(r.Answer) > 3 && r.Answer[0] == '3' || r.Answer == script.FaultRedirectReset
}

func (r *Request) String() string {
	text := fmt.Sprintf("%6d ms  %-6s %s %s", r.At.Milliseconds(), r.Server, r.Method, r.Target)
	if r.Label != "" && !r.StatePoll() {
		text += " label=" + r.Label
	}
	text += fmt.Sprintf(" body=%d", len(r.Body))
	if r.Unasked > 0 {
		text += fmt.Sprintf("+%d unasked", r.Unasked)
	}
	return fmt.Sprintf("%s  step %d: %s", text, r.Step, r.Answer)
}

// Stored is a body whose rows are durable.
type Stored struct {
	Label string
	Body  []byte
}

// Traffic is everything that happened at the servers.
type Traffic struct {
	Requests []Request
	Durable  []Stored
	// Complaints are the misses of expect_request, and answers that the script
	// could not give.
	Complaints []string
	Trapped    []byte // what the trap received
}

// Traffic returns a copy of the record so far.
func (c *Cluster) Traffic() Traffic {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := Traffic{
		Durable:    slices.Clone(c.durable),
		Complaints: slices.Clone(c.complaints),
		Trapped:    bytes.Clone(c.trapped),
	}
	for _, r := range c.requests {
		t.Requests = append(t.Requests, *r)
	}
	return t
}
