package answer

import "strings"

// LabelState is what get_load_state says about a label (Doris: fe TransactionStatus.java, GetStreamLoadState.java;
// StarRocks: the key "state" instead of "data").
type LabelState uint8

// The states of a label. The zero value means that the answer holds none.
const (
	// NoState is an answer that names no state: an error text, nothing, HTML.
	NoState LabelState = iota
	// StateUnknown means that the server does not know the label: never arrived, not begun yet, or forgotten.
	StateUnknown
	// StatePrepare is a transaction that is still loading.
	StatePrepare
	// StatePrecommitted waits for the second phase of a two-phase commit.
	StatePrecommitted
	// StateCommitted is durable and becomes visible by itself.
	StateCommitted
	// StateVisible is durable and visible.
	StateVisible
	// StateAborted is not stored; the label can be begun again.
	StateAborted
)

func (s LabelState) String() string {
	switch s {
	case StateUnknown:
		return "UNKNOWN"
	case StatePrepare:
		return "PREPARE"
	case StatePrecommitted:
		return "PRECOMMITTED"
	case StateCommitted:
		return "COMMITTED"
	case StateVisible:
		return "VISIBLE"
	case StateAborted:
		return "ABORTED"
	default:
		return "no state"
	}
}

// State is the answer to a question for a label's state. It is a type of its own: it must never be read as the answer to a load.
type State struct {
	State LabelState
	// Code is the FE's own code, 0 for success; HTTP status 200 does not mean success. See HasCode.
	Code    int64
	HasCode bool
	// Message is the server's text when it names no state, or an excerpt of an unreadable answer.
	Message string
}

// ParseState reads the answer to get_load_state. It takes any bytes.
func ParseState(body []byte) State {
	o, ok := parseObject(body, nil)
	if !ok {
		return State{Message: Excerpt(body)}
	}
	var a State
	for _, raw := range o.all("code") {
		a.HasCode = true
		if n, isNumber := integer(raw); isNumber {
			a.Code = n
		} else {
			a.Code = -1
		}
		if a.Code != 0 {
			break // one that is not 0 counts, whatever else there is
		}
	}
	// An error text stands where the state would be, so the code and the status are looked at first.
	refused := a.Code != 0
	for _, raw := range o.all("status") {
		if s := plainText(raw); s != "" && !strings.EqualFold(s, "OK") && !strings.EqualFold(s, "Success") {
			refused = true
		}
	}
	// StarRocks says "state", Doris "data".
	word := ""
	for _, raw := range append(o.all("state"), o.all("data")...) {
		switch said := plainText(raw); {
		case said == "":
		case word == "":
			word = said
		case word != said:
			refused = true
		}
	}
	if !refused {
		a.State = stateOf(word)
	}
	if a.State == NoState {
		a.Message = join(o.text("msg", "Message"), word)
		if a.Message == "" {
			a.Message = Excerpt(body)
		}
	}
	return a
}

func stateOf(word string) LabelState {
	switch strings.ToUpper(strings.TrimSpace(word)) {
	case "UNKNOWN":
		return StateUnknown
	// PREPARED is how StarRocks names the state that Doris calls PRECOMMITTED.
	case "PREPARE":
		return StatePrepare
	case "PRECOMMITTED", "PREPARED":
		return StatePrecommitted
	case "COMMITTED":
		return StateCommitted
	case "VISIBLE":
		return StateVisible
	case "ABORTED":
		return StateAborted
	default:
		return NoState
	}
}
