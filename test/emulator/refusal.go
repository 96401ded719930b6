package emulator

import (
	"errors"
	"fmt"
	"strings"
)

// beError is an error of the BE's own: the name of the code and its text.
type beError struct{ code, text string }

func (e *beError) Error() string { return "[" + e.code + "]" + e.text }

// feError is a refusal of the FE: the name of the status code and its text.
type feError struct{ code, text string }

func (e *feError) Error() string {
	return "[" + e.code + "]TStatus: errCode = 2, detailMessage = " + e.text
}

func analysis(format string, args ...any) *feError {
	return &feError{"ANALYSIS_ERROR", fmt.Sprintf(format, args...)}
}

// labelUsed says that a label has a transaction that is not aborted.
type labelUsed struct {
	label string
	id    int64
	state State
}

func (e *labelUsed) Error() string {
	return fmt.Sprintf("Label [%s] has already been used", e.label)
}

// message is what an answer says of an error: Doris puts the name of the code in
// front (be/src/common/status.h), StarRocks gives the bare text.
func (p *profile) message(err error) string {
	code, text := p.codeAndText(err)
	switch {
	case p.starrocks(), !p.statusPrefix() && strings.HasPrefix(text, feWords):
		return text
	case p.stackInMessage():
		text += stackOf20
	}
	return "[" + code + "]" + text
}

// codeAndText takes an error apart into the name of its code and what an answer
// says besides.
func (p *profile) codeAndText(err error) (code, text string) {
	be, isBE := errors.AsType[*beError](err)
	fe, isFE := errors.AsType[*feError](err)
	used, isUsed := errors.AsType[*labelUsed](err)
	switch {
	case isBE:
		return be.code, be.text
	case isUsed && p.starrocks():
		return "LABEL_ALREADY_EXISTS", used.Error() + "."
	case isUsed:
		fe, isFE = &feError{"LABEL_ALREADY_EXISTS", fmt.Sprintf("%s, relate to txn [%d]", used, used.id)}, true
	}
	switch {
	case !isFE:
		return "INTERNAL_ERROR", err.Error()
	case p.starrocks():
		return fe.code, fe.text
	}
	if text = feWords + fe.text; p.statusPrefix() {
		text = "TStatus: " + text
	}
	return fe.code, text
}

// feWords is how FEs of Doris begin what they have to say.
const feWords = "errCode = 2, detailMessage = "

// detail is the text of an error as the FE itself gives it.
func (p *profile) detail(err error) string {
	_, text := p.codeAndText(err)
	return strings.TrimPrefix(text, "TStatus: ")
}

// accessDenied is the FE's answer to a wrong password.
func (p *profile) accessDenied(user, ip, password string) string {
	if p.starrocks() {
		return fmt.Sprintf("Access denied for %s@%s", user, ip)
	}
	using := "YES"
	if password == "" {
		using = "NO"
	}
	return fmt.Sprintf("Access denied for user '%s@%s' (using password: %s)", user, ip, using)
}

// needLoad is the FE's answer to an account that may not load into the table.
func (p *profile) needLoad() string {
	if p.starrocks() {
		return "Access denied; you need (at least one of) the INSERT privilege(s) on TABLE for this operation"
	}
	return "Access denied; you need (at least one of) the (LOAD) privilege(s) for this operation"
}
