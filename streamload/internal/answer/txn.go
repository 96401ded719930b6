package answer

import "strings"

// ParseTxn reads the answer to a call of StarRocks' transaction interface. A BE answers with the name of a thrift code, an FE with OK, FAILED or
// LABEL_ALREADY_EXISTS (be transaction_stream_load.cpp, fe TransactionResult.java). Success is exactly OK: the words of a load mean nothing here, as
// OK means nothing in the answer to a load. It takes any bytes.
func ParseTxn(body []byte) Load {
	a := ParseLoad(body)
	if !a.Readable || a.Word == Unclear && a.Status == "" {
		return a
	}
	word := strings.TrimSpace(a.Status)
	switch {
	case word == "OK" && !statusContradicts(body):
		a.Word = Success
	case word == "LABEL_ALREADY_EXISTS" && !statusContradicts(body):
		a.Word = LabelExists
	case a.Word == Failure, isCode(word) && word != "OK":
		a.Word = Failure
	default:
		a.Word = Unclear
	}
	return a
}

// statusContradicts is true for an answer with two statuses that are not the same.
func statusContradicts(body []byte) bool {
	var room [usualMembers]member
	o, ok := parseObject(body, room[:])
	return !ok || contradict(o.all("Status", "status"))
}

// isCode is true for the name of a thrift code, such as TXN_NOT_EXISTS (gensrc StatusCode.thrift).
func isCode(word string) bool {
	return word != "" && !strings.ContainsFunc(word, func(r rune) bool { return r != '_' && (r < 'A' || r > 'Z') })
}
