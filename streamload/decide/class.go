package decide

import (
	"fmt"
	"strings"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// Class is what kind of failure something is. It does not change whether a load is sent again (every failure is worth
// another try within the bounds), except with Policy.RejectUnknown; it sets the pace, says what a person can do, and is a stable token in every error.
type Class string

// The classes.
const (
	DataQuality Class = "data_quality"
	Schema      Class = "schema"
	Auth        Class = "auth"
	NotFound    Class = "not_found"
	Capacity    Class = "capacity"
	Timeout     Class = "timeout"
	Unavailable Class = "unavailable"
	LabelTaken  Class = "label"
	Protocol    Class = "protocol"
	TooLarge    Class = "too_large"
	Unknown     Class = "unknown"
)

// Slow is true for failures that an early retry makes worse.
func (c Class) Slow() bool { return c == Capacity }

// OfRows is true for failures that may be due to some rows of a load only: the others might be stored without them.
func (c Class) OfRows() bool {
	return c == DataQuality || c == Schema || c == TooLarge || c == Unknown
}

// ofServers is true for failures inside the cluster. A group commit may have stored the rows before one of them: the BE answers "Fail" too when it is
// the answer to its own commit that got lost.
func (c Class) ofServers() bool {
	return c == Timeout || c == Unavailable || c == Unknown
}

// ClassRow is one row of the class table: a failure that matches Pattern is of Class.
type ClassRow struct {
	Class Class
	// Pattern is a text that the server's message contains (letter case does not matter), "HTTP 413" for a status, or
	// "no answer: ..." for a kind of trouble.
	Pattern string
	// Note says what it means and what to do.
	Note string

	http    int
	code    string // how a status of Load spells http
	trouble Trouble
}

func text(c Class, pattern, note string) ClassRow {
	return ClassRow{Class: c, Pattern: pattern, Note: note}
}

func status(c Class, code int, note string) ClassRow {
	return ClassRow{Class: c, Pattern: fmt.Sprintf("HTTP %d", code), Note: note, http: code, code: fmt.Sprintf("code %d", code)}
}

func trouble(c Class, t Trouble, what, note string) ClassRow {
	return ClassRow{Class: c, Pattern: "no answer: " + what, Note: note, trouble: t}
}

// classTable is read from the top; the first row that matches decides. Texts come before tags such as
// [DATA_QUALITY_ERROR], because a server puts the same tag on different things. The texts are those of Doris'
// DatabaseTransactionMgr.java, FrontendServiceImpl.java, LoadAction.java (FE) and stream_load.cpp, tablet_sink and
// vtablet_writer (BE), and of StarRocks' counterparts.
var classTable = []ClassRow{
	text(LabelTaken, labelUsedTexts[0], "The label belongs to another transaction; its state decides."),
	text(LabelTaken, labelUsedTexts[1], "The label belongs to another transaction; its state decides."),
	text(LabelTaken, "label format error", "The label has a letter that this server does not take; change label_prefix or label."),

	text(Schema, "schema version not match", "The table's schema is being changed; it passes by itself."),
	text(Schema, "schema change", "The table's schema is being changed; it passes by itself."),
	text(Schema, "schema compatibility", "The table's schema was changed during the load; it passes by itself."),
	text(Schema, "fail to get tablet", "The table was dropped, made anew or is being changed."),
	text(Schema, "key columns", "A partial update needs every key column in each row."),
	text(Schema, "unknown column", "The columns setting names a column that the table does not have."),
	text(Schema, "is in restore process", "The table is being restored from a backup."),

	text(Schema, "primary key table support", "A partial update and a merge condition need a table with a primary key (StarRocks)."),

	text(TooLarge, "exceed max size", "The body is larger than the server takes; make batches smaller."),
	text(TooLarge, "exceed the max size", "The body is larger than the server takes; make batches smaller, or load JSON by line."),
	text(TooLarge, "streaming_load_max_mb", "The body is larger than the BE's streaming_load_max_mb."),
	text(TooLarge, "streaming_load_json_max_mb", "The body is larger than the BE's streaming_load_json_max_mb; load JSON by line."),
	text(TooLarge, "too_many_segments", "One load makes too many segments; make batches smaller."),
	text(TooLarge, "[e-238]", "One load makes too many segments; make batches smaller."),

	text(Capacity, "current running txns", "Too many transactions run in the database; load larger batches, less often."),
	text(Capacity, "txn num per be", "Too many loads run at a BE (StarRocks); load larger batches, less often."),
	text(Capacity, "http cuncurrent limit", "Too many loads run at a BE (StarRocks, enable_http_stream_load_limit); load larger batches, less often."),
	text(Capacity, "too large compaction score", "Compaction is behind (StarRocks with shared data); load larger batches, less often."),
	text(Capacity, "too many tablet versions", "Compaction is behind; load larger batches, less often."),
	text(Capacity, "too many versions", "Compaction is behind; load larger batches, less often."),
	text(Capacity, "[e-235]", "Compaction is behind; load larger batches, less often."),
	text(Capacity, "err=-235", "Compaction is behind; load larger batches, less often."),
	text(Capacity, "reduce the frequency", "Compaction is behind; load larger batches, less often."),
	text(Capacity, "mem_limit_exceeded", "The server is short of memory."),
	text(Capacity, "memory exceed", "The server is short of memory."),
	text(Capacity, "memory limit", "The server is short of memory."),
	text(Capacity, "memory of", "The server is short of memory (StarRocks)."),
	text(Capacity, "too_many_tasks", "The server's load queue is full."),
	text(Capacity, "disk_reach_capacity", "A disk of a BE is full."),
	text(Capacity, "[e-232]", "A disk of a BE is full."),
	text(Capacity, "no space", "A disk of a BE is full."),
	text(Capacity, "quota", "The database's quota is used up."),

	text(DataQuality, "too many filtered rows", "More rows were refused than max_filter_ratio allows; the error page shows which."),
	text(DataQuality, "unqualified data", "A row does not fit the table; the error page shows which."),
	text(DataQuality, "all partitions have no load data", "Every row was refused, or none was left to load."),
	text(DataQuality, "primary key size exceed", "A row's primary key is longer than StarRocks allows."),
	text(DataQuality, "no partition for this tuple", "A row belongs to a partition that does not exist."),
	text(DataQuality, "data_quality_error", "Rows do not fit the table; the error page shows which."),
	text(DataQuality, "parse json data", "A row could not be parsed."),

	text(Auth, "access denied", "User, password or grants are wrong: the user needs LOAD on the table, with StarRocks INSERT."),
	text(Auth, "need auth information", "No user was sent, or something removed it on the way."),
	text(Auth, "no valid basic authorization", "The BE got no user; something removed it on the way."),
	text(Auth, "unauthorized", "User or password are wrong."),
	text(Auth, "not_authorized", "User, password or grants are wrong."),
	text(Auth, "invalid token", "The token is wrong."),

	text(NotFound, "unknown database", "The database does not exist."),
	text(NotFound, "unknown table", "The table does not exist."),
	text(NotFound, "database[", "The database does not exist (StarRocks)."),
	text(NotFound, "database not found", "The database does not exist."),
	text(NotFound, "table not found", "The table does not exist."),
	text(NotFound, "database is invalid", "The database does not exist."),
	text(NotFound, "table is invalid", "The table does not exist."),

	text(Protocol, "100-continue", "A proxy removed the Expect header before the FE saw it."),
	text(Protocol, "content_length", "A proxy changed how the body is framed."),
	text(Protocol, "receive body don't equal", "The body was cut on its way."),
	text(Protocol, "compress data of json format", "This version of Doris reads no compressed JSON; from 3.0.5 on it does. Leave compression out, or load CSV."),
	text(Protocol, "endpoint is null", "redirect_policy asks for an address that the BE does not have; give it one (tag.public_endpoint, tag.private_endpoint) or take another policy."),
	text(Protocol, "unsupported compression", "This server does not know the compression."),
	text(Protocol, "must be bool type", "A header has a value that is neither true nor false (StarRocks)."),
	text(Protocol, "must be set positive", "A merge commit lacks a number; something removed a header on the way (StarRocks)."),
	text(Protocol, "failed to inflate", "The compressed body was damaged on its way."),
	text(Protocol, "decompress", "The compressed body was damaged on its way."),
	text(Protocol, "unknown data format", "This server version does not know the format or the compression."),

	text(Unavailable, "transaction status unknown", "A BE could not learn whether the FE has committed the load; it may be committed (StarRocks)."),
	text(Unavailable, "call frontend service failed", "A BE could not reach the FE leader (StarRocks); the load may be committed all the same."),

	text(Timeout, "timeout", "The load took longer than timeout allows, or the cluster is slow."),
	text(Timeout, "timed out", "The load took longer than timeout allows, or the cluster is slow."),

	text(Unavailable, "no backend", "No BE is alive, or none may take loads."),
	text(Unavailable, "scannode backend", "No BE is alive, or none may take loads."),
	text(Unavailable, "can't find node", "The BE that an FE chose is gone (StarRocks)."),
	text(Unavailable, "shutting down", "A BE is shutting down (StarRocks)."),
	text(Unavailable, "write is stopped", "A BE is shutting down (StarRocks)."),
	text(Unavailable, "current fe is not", "The FE has no leader at the moment, or is not it (StarRocks)."),
	text(Unavailable, "not ready", "The FE is starting."),
	text(Unavailable, "fe master heartbeat", "The BE has not heard from the FE master yet."),
	text(Unavailable, "replica num", "Too few replicas of a tablet are alive."),
	text(Unavailable, "failed to call frontend service", "A BE could not reach the FE master; the load may be committed all the same."),
	text(Unavailable, "rpc", "Servers of the cluster cannot reach each other."),
	text(Unavailable, "already stopped", "A BE is shutting down."),
	text(Unavailable, "cancelled", "The load was cancelled inside the cluster."),
	text(Unavailable, "coordinate be", "The BE that ran the load went down."),

	status(Auth, 401, "User or password are wrong, for Doris or for a proxy before it."),
	status(Auth, 403, "Forbidden, mostly by a proxy."),
	status(Auth, 407, "A proxy wants a user."),
	status(NotFound, 404, "The address is not that of an FE's HTTP port, or a proxy does not pass it on."),
	status(Timeout, 408, "A proxy waited too long."),
	status(TooLarge, 413, "A proxy refuses the size; nginx: raise client_max_body_size."),
	status(Capacity, 429, "A gateway limits the rate."),
	status(Timeout, 504, "A proxy waited too long; the load may have been stored."),
	status(Unavailable, 500, "The server failed; the load may have been stored."),
	status(Unavailable, 502, "A proxy found no server behind it; the load may have been stored."),
	status(Unavailable, 503, "The server is not ready."),
	status(Protocol, 400, "The request was changed or not understood."),
	status(Protocol, 405, "The address does not take loads."),
	status(Protocol, 411, "The length of the body got lost on the way."),

	trouble(Unavailable, Unreachable, "not reachable", "Wrong host or port, a firewall, or the server is down."),
	trouble(Unavailable, ConnectionLost, "connection lost", "The server or something in between closed the connection."),
	trouble(Timeout, TimedOut, "timed out", "No answer came in time."),
	trouble(Protocol, TLSFailed, "TLS failed", "The certificate is not trusted, has another name, or the port does not speak TLS."),
	trouble(Protocol, BadRedirect, "bad redirect", "The FE sent us to an address that cannot be used."),
	trouble(Protocol, Garbled, "no HTTP", "The port does not speak HTTP, or TLS is missing."),
}

// labelUsedTexts say that a label belongs to another transaction (fe LabelAlreadyUsedException.java; the second is older).
var labelUsedTexts = [...]string{"has already been used", "label already exists"}

func labelUsed(message string) bool {
	message = strings.ToLower(message)
	return strings.Contains(message, labelUsedTexts[0]) || strings.Contains(message, labelUsedTexts[1])
}

// ClassTable is a copy of the table that classifies failures, in its order. Documentation is made from it.
func ClassTable() []ClassRow { return append([]ClassRow(nil), classTable...) }

// Classify finds the class of an answered failure.
func Classify(httpStatus int, a answer.Load) Class {
	if a.Word == answer.LabelExists {
		return LabelTaken
	}
	// A success that is none: the status says otherwise, or the server did not take the rows. Its text tells nothing.
	stored := a.Word == answer.Success || a.Word == answer.PublishTimeout
	if a.Readable && !stored {
		// What the server says goes first. The first bad row's reason quotes the row, which may hold any words.
		for _, said := range []string{a.Status + "\n" + a.Message, a.FirstError} {
			if c := classOfText(said); c != Unknown {
				return c
			}
		}
	}
	for _, r := range classTable {
		if r.http != 0 && (r.http == httpStatus || a.Status == r.code) {
			return r.Class
		}
	}
	switch {
	case httpStatus >= 500:
		return Unavailable
	case httpStatus >= 300, !a.Readable, stored:
		return Protocol
	default:
		return Unknown
	}
}

func classOfText(said string) Class {
	said = strings.ToLower(said)
	for _, r := range classTable {
		if r.http == 0 && r.trouble == NoTrouble && strings.Contains(said, r.Pattern) {
			return r.Class
		}
	}
	return Unknown
}

// Class finds the class of an attempt that failed.
func (a Attempt) Class() Class {
	if a.HasAnswer {
		return Classify(a.HTTPStatus, a.Load)
	}
	for _, r := range classTable {
		if r.trouble != NoTrouble && r.trouble == a.Trouble {
			return r.Class
		}
	}
	return Unknown
}
