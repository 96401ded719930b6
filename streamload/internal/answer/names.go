package answer

import "unicode/utf8"

// names are the keys that the readers of answers look for, and others that servers send in every answer (be stream_load_context.cpp).
// They are known so that reading an answer does not cost much more than checking that it is JSON: a key in the table is not made a
// string of its own, and one that is not in an answer is not searched for.
var names = [...]string{
	"Status", "Message", "msg", "code", "data", "state", "ExistingJobStatus", "Label", "TxnId", "TwoPhaseCommit", "GroupCommit", "Comment",
	"NumberTotalRows", "NumberLoadedRows", "NumberFilteredRows", "NumberUnselectedRows", "LoadBytes", "ErrorURL", "FirstErrorMsg",
	"LoadTimeMs", "BeginTxnTimeMs", "StreamLoadPutTimeMs", "StreamLoadPlanTimeMs", "ReadDataTimeMs", "WriteDataTimeMs", "ReceiveDataTimeMs", "CommitAndPublishTimeMs",
}

// spelling is a key as it is written, and its bit, which is the same in any letter case.
type spelling struct {
	key string
	bit uint32
}

// spellings have each name as above and in lower case.
var spellings = func() map[string]spelling {
	m := map[string]spelling{}
	for i, name := range names {
		var lower [maxName]byte
		for at := range len(name) {
			lower[at] = lowerASCII(name[at])
		}
		for _, key := range []string{name, string(lower[:len(name)])} {
			m[key] = spelling{key, 1 << i}
		}
	}
	return m
}()

// maxName is longer than any name.
const maxName = 32

func lowerASCII(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// spell makes the key of a member. plain is false where letters outside ASCII may be the same as some in it, which only a comparison tells.
func spell(raw []byte) (s spelling, plain bool) {
	inside := raw[1 : len(raw)-1]
	if s, ok := spellings[string(inside)]; ok {
		return s, true
	}
	s.key = text(raw)
	var lower [maxName]byte
	for at := range len(s.key) {
		if s.key[at] >= utf8.RuneSelf {
			return s, false
		}
		if at < maxName {
			lower[at] = lowerASCII(s.key[at])
		}
	}
	if len(s.key) <= maxName {
		s.bit = spellings[string(lower[:len(s.key)])].bit
	}
	return s, true
}
