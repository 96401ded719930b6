package decide

import "github.com/dorisload/benthos-doris/streamload/internal/answer"

// Refused is true when an FE will not tell a label's state however often it is asked: the user may not ask, or there is no
// such call. Everything else that is no state (an FE that starts, a proxy that limits the rate, HTML) is worth another try.
func Refused(httpStatus int, s answer.State) bool {
	if s.State != answer.NoState {
		return false
	}
	switch httpStatus {
	case 408, 425, 429:
		return false
	}
	if httpStatus >= 400 && httpStatus < 500 {
		return true
	}
	return s.HasCode && (s.Code == 401 || s.Code == 403)
}
