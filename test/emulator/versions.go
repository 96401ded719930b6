package emulator

import (
	"net/http"
	"strings"
)

// What versions of Doris do differently, as far as a client can see it. Where the
// sources do not say when something changed, "about" is in the comment.

// heard leaves of a header what the servers look at, and what is of HTTP. The rest
// is passed over without a word, as by the servers.
func (p *profile) heard(h http.Header) http.Header {
	out := http.Header{}
	for name, values := range h {
		if p.knows(name) || isHTTPHeader(name) {
			out[name] = values
		}
	}
	return out
}

// clusterInUser: the user in Location has the name of the cluster behind it, as in
// u%40default_cluster (RestBaseController of 2.0).
func (p *profile) clusterInUser() bool { return !p.starrocks() && !p.since(2, 1, 0) }

// emptyQuery: Location ends with a "?" when there is no query, and its path was
// decoded and encoded again (RestBaseController before master).
func (p *profile) emptyQuery() bool { return p.name != master }

// statusPrefix: a BE says TStatus in front of what the FE said.
func (p *profile) statusPrefix() bool { return p.since(2, 0, 0) }

// stackInMessage: Message ends with a stack trace of the BE (apache/doris#30381).
func (p *profile) stackInMessage() bool { return p.since(2, 0, 0) && !p.since(2, 1, 0) }

const stackOf20 = "\n\n\t0#  doris::Status doris::Status::create<true>(doris::TStatus const&)\n\t1#  doris::StreamLoadAction::_on_header(doris::HttpRequest*, std::shared_ptr<doris::StreamLoadContext>)\n"

// commentKey: the answer of a load repeats the header comment.
func (p *profile) commentKey() bool { return p.since(2, 0, 0) }

// receiveTimeKey: the answer of a load has ReceiveDataTimeMs, about 3.0.
func (p *profile) receiveTimeKey() bool { return p.since(3, 0, 0) }

// firstErrorKey: the answer of a load has FirstErrorMsg when too many rows are bad,
// about 4.0.
func (p *profile) firstErrorKey() bool { return p.since(4, 0, 0) }

// groupAffinity: FEs send the group commits of a table to one BE.
func (p *profile) groupAffinity() bool { return p.since(3, 1, 0) }

// tableGroupCommit: a property of the table makes group commits of loads that say
// nothing about it, and a chunked load that does not say off_mode loses its label
// (stream_load.cpp of master in 2026; not known to be in a release).
func (p *profile) tableGroupCommit() bool { return p.name == master }

// jsonByLine: a load of JSON that has neither read_json_by_line nor
// strip_outer_array is read by line (apache/doris#55861).
func (p *profile) jsonByLine() bool { return p.since(4, 0, 0) }

// strictDocument: something behind the first value of a JSON document makes a bad
// row; simdjson, which came after 1.2, does not look.
func (p *profile) strictDocument() bool { return !p.starrocks() && !p.since(2, 0, 0) }

// framingCheck: a load with neither Content-Length nor chunks is refused.
func (p *profile) framingCheck() bool { return p.since(2, 1, 0) }

// singleMarks: enclose and escape of more than one byte are refused, about 3.0;
// before only their first byte counts.
func (p *profile) singleMarks() bool { return p.since(3, 0, 0) }

// doubledMarks: where there is an escape, two enclose bytes are read as one, about
// 4.0; before they stay two.
func (p *profile) doubledMarks() bool { return p.since(4, 0, 0) }

// tokenFirst: FEs look at the header token before the password (LoadAction of about
// 3.1), and after it only when the password is wrong before.
func (p *profile) tokenFirst() bool { return p.since(3, 1, 0) }

// namesLimits: the size limits are named as in be.conf, about 3.0.
func (p *profile) namesLimits() bool { return p.since(3, 0, 0) }

// labels2PC: the second phase takes a label, and its path may have a table.
func (p *profile) labels2PC() bool { return p.since(2, 0, 0) }

// lowerStates: a repeated commit names the state in lower case, about 2.1.
func (p *profile) lowerStates() bool { return p.since(2, 1, 0) }

// stopsUnqualified: when more rows are bad than the error log takes, a load without
// tolerance fails as such and has no ErrorURL (apache/doris#36831, 2.1.5).
func (p *profile) stopsUnqualified() bool {
	return !p.starrocks() && p.since(2, 0, 0) && !p.since(2, 1, 5)
}

// formats of bodies that came later, by their words. The emulator does none of
// them; before their time they are unknown.
func (p *profile) laterFormat(word string) bool {
	switch word {
	case "hive_text":
		return !p.since(2, 1, 0)
	case "arrow":
		return !p.since(3, 0, 0)
	}
	return false
}

// unknownName is the code of an unknown database or table.
func (p *profile) unknownName() string {
	if p.name == master {
		return "NOT_FOUND"
	}
	return "ANALYSIS_ERROR"
}

// twoPhaseStatus is the status word of a second phase that failed. Versions of old
// have no names of codes there.
func (p *profile) twoPhaseStatus(code string) string {
	switch {
	case p.since(2, 0, 0):
		return code
	case code == "INTERNAL_ERROR":
		return "Internal error"
	}
	return "Fail"
}

// redirectPolicies says which values of the header redirect-policy FEs know.
func (p *profile) redirectPolicies() string {
	switch {
	case p.since(3, 1, 0):
		return "direct random-be public private public-private"
	case p.since(3, 0, 0):
		return "random-be public-private"
	}
	return ""
}

// ownEndpoints: FEs name a public or private endpoint also when nobody asks for it.
func (p *profile) ownEndpoints() bool { return p.since(3, 1, 0) }

func (p *profile) knowsPolicy(word string) bool {
	return word != "" && strings.Contains(" "+p.redirectPolicies()+" ", " "+word+" ")
}
