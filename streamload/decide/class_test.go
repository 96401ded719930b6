package decide

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// what a server really sends where a pattern applies, by the pattern. Every row of the table has its text here, and each
// text must come to its own row, so no row stands behind another that takes everything from it.
var serverTexts = map[string]string{
	"has already been used":      "[LABEL_ALREADY_EXISTS]TStatus: errCode = 2, detailMessage = Label [b_1] has already been used, relate to txn [1001]",
	"label already exists":       "Label Already Exists",
	"label format error":         "[ANALYSIS_ERROR]TStatus: errCode = 2, detailMessage = Label format error. regex: ^[-_A-Za-z0-9]{1,128}$, label: a/b",
	"schema version not match":   "[DATA_QUALITY_ERROR]schema version not match",
	"schema change":              "[INTERNAL_ERROR]insert table 1753872 is blocked on schema change",
	"schema compatibility":       "check schema compatibility failed, partial update can't commit with old schema sucessfully .",
	"fail to get tablet":         "Fail to get tablet, perhaps it has already been dropped. Please try again. tablet_id=40330742",
	"key columns":                "[ANALYSIS_ERROR]TStatus: errCode = 2, detailMessage = Partial update should include all key columns, missing: id",
	"unknown column":             "[ANALYSIS_ERROR]TStatus: errCode = 2, detailMessage = Unknown column 'nme' in 'orders'",
	"is in restore process":      "Table orders is in restore process. Can not load into it",
	"exceed max size":            "body exceed max size, max_body_bytes=10737418240",
	"exceed the max size":        "The size of this batch exceed the max size [104857600]  of json type data  data [ 157286400 ]. Split the file, or use 'read_json_by_line'",
	"streaming_load_max_mb":      "[E-217]body size 11811160064 exceed BE's conf `streaming_load_max_mb` 10737418240. increase it if you are sure this load is reasonable",
	"streaming_load_json_max_mb": "[E-217]json body size 157286400 exceed BE's conf `streaming_load_json_max_mb` 104857600. increase it if you are sure this load is reasonable",
	"too_many_segments":          "[TOO_MANY_SEGMENTS]failed to write",
	"[e-238]":                    "tablet error: [E-238]segment count exceeds limit 200",
	"current running txns":       "[ANALYSIS_ERROR]errCode = 2, detailMessage = current running txns on db 11027 is 100, larger than limit 100",
	"too many tablet versions":   "[INTERNAL_ERROR]tablet error: failed to init delta writer, too many tablet versions. tablet_id: 221090, version_count: 2001, limit: 2000",
	"too many versions":          "because of too many versions, current/limit: 1001/1000",
	"[e-235]":                    "[INTERNAL_ERROR]tablet error: failed to init rowset builder, err=[E-235]version count: 2001, exceed limit: 2000, tablet: 221090",
	"err=-235":                   "tablet writer write failed, tablet_id=221090, txn_id=1001, err=-235",
	"reduce the frequency":       "failed to init rowset builder. version count: 2001. Please reduce the frequency of loading data or adjust the max_tablet_version_num",
	"mem_limit_exceeded":         "[MEM_LIMIT_EXCEEDED]PreCatch error code:11",
	"memory exceed":              "PreCatch error code:11, process memory exceed limit",
	"memory limit":               "Memory limit (2.00 GB) of the load was exceeded",
	"too_many_tasks":             "[TOO_MANY_TASKS]query queue is full",
	"disk_reach_capacity":        "[DISK_REACH_CAPACITY_LIMIT]disk /data1 exceed capacity limit",
	"[e-232]":                    "[E-232]disk /data1 exceed capacity limit",
	"no space":                   "[E-217]There is no space for group commit stream load async WAL. This stream load size is 10",
	"quota":                      "errCode = 2, detailMessage = Database[shop] data size exceeds quota[1.000 TB]",
	"too many filtered rows":     "[DATA_QUALITY_ERROR]too many filtered rows",
	"unqualified data":           "[DATA_QUALITY_ERROR]Encountered unqualified data, stop processing",

	"all partitions have no load data": "all partitions have no load data",
	"no partition for this tuple":      "no partition for this tuple. tuple=[(2020-01-01)]",
	"data_quality_error":               "[DATA_QUALITY_ERROR]the row is not fit",
	"parse json data":                  "Parse json data failed. code: 3, error info: TAPE_ERROR",
	"access denied":                    "errCode = 2, detailMessage = Access denied for user 'root@10.0.0.1' (using password: YES)",
	"need auth information":            "Need auth information.",
	"no valid basic authorization":     "[NOT_AUTHORIZED]no valid Basic authorization",
	"unauthorized":                     "Unauthorized",
	"not_authorized":                   "[NOT_AUTHORIZED]",
	"invalid token":                    "Invalid token: 1f3a",
	"unknown database":                 "[ANALYSIS_ERROR]TStatus: errCode = 2, detailMessage = unknown database, database=shp",
	"unknown table":                    "[ANALYSIS_ERROR]TStatus: errCode = 7, detailMessage = Unknown table 'ordrs'",
	"database not found":               "Database not found.",
	"table not found":                  "OlapTable not found.",
	"database is invalid":              "database is invalid for dbName: shp",
	"table is invalid":                 "table is invalid: ordrs",
	"100-continue":                     "There is no 100-continue header",
	"content_length":                   "[INVALID_ARGUMENT]content_length is empty and transfer-encoding!=chunked, please set content_length or transfer-encoding=chunked",
	"receive body don't equal":         "[NETWORK_ERROR]receive body don't equal with body bytes, body_bytes=40, receive_bytes=20, id=1",
	"endpoint is null":                 "public endpoint is null, please check be public endpoint config",
	"compress data of json format":     "[INTERNAL_ERROR]compress data of JSON format is not supported.",
	"unsupported compression":          "Unsupported compression type: SNAPPY",
	"failed to inflate":                "[INTERNAL_ERROR]Failed to inflate. return code: -3",
	"decompress":                       "[INTERNAL_ERROR]Failed to bz2 decompress. status code: -4",
	"unknown data format":              "[INTERNAL_ERROR]unknown data format, format=arow",
	"timeout":                          "transaction [7] is already aborted. abort reason: timeout by txn manager",
	"timed out":                        "[THRIFT_RPC_ERROR]read timed out",
	"no backend":                       "errCode = 2, detailMessage = No backend load available, policy: {}, compute group is default",
	"scannode backend":                 "errCode = 2, detailMessage = There is no scanNode Backend available.[10002: not alive]",
	"not ready":                        "Node catalog is not ready, please wait for a while.",
	"fe master heartbeat":              "[E-240]Have not get FE Master heartbeat yet",
	"replica num":                      "Failed to commit txn 1584905. Tablet [4620760] success replica num 0 is less then quorum replica num 1 while error backends 11029",

	"failed to call frontend service": "failed to call frontend service",
	"rpc":                             "[THRIFT_RPC_ERROR]Couldn't open transport for 10.0.0.1:9020",
	"already stopped":                 "already stopped, skip waiting for close. cancelled/!eos: 1/1",
	"cancelled":                       "[INTERNAL_ERROR]cancelled: sender is gone",

	"primary key table support":    "Only primary key table support partial update",
	"txn num per be":               "streamload txn num per be exceeds limit, be: 10001, limit: 100",
	"http cuncurrent limit":        "Stream Load exceed http cuncurrent limit 8, please try again later",
	"too large compaction score":   "Failed to load data into partition 10086, because of too large compaction score, current/limit: 2000/1000",
	"memory of":                    "Memory of process exceed limit. Used: 1073741824, Limit: 1000000000",
	"primary key size exceed":      "primary key size exceed the limit.",
	"database[":                    "class com.starrocks.common.StarRocksException: Database[shp] does not exist.",
	"must be bool type":            "Invalid parameter enable_merge_commit. The value must be bool type, but is yes",
	"must be set positive":         "Batch write interval must be set positive, but is null",
	"transaction status unknown":   "Commit transaction fail cause read timed out, Transaction status unknown, you can retry with same label.",
	"call frontend service failed": "call frontend service failed, address=TNetworkAddress(10.0.0.1:9020), reason=No more data to read.",
	"can't find node":              "class com.starrocks.common.DdlException: Can't find node id 10001",
	"shutting down":                "Service is shutting down, please retry later!",
	"write is stopped":             "Batch write is stopped",
	"current fe is not":            "current fe is not master",

	"coordinate be": "transaction [7] is already aborted. abort reason: coordinate BE is down",
}

// rowOf is the first row of the table that a server's text comes to.
func rowOf(text string) int {
	for i, r := range classTable {
		if r.http == 0 && r.trouble == NoTrouble && strings.Contains(strings.ToLower(text), r.Pattern) {
			return i
		}
	}
	return -1
}

func TestClassTable(t *testing.T) {
	t.Parallel()
	known := map[Class]bool{
		DataQuality: true, Schema: true, Auth: true, NotFound: true, Capacity: true, Timeout: true,
		Unavailable: true, LabelTaken: true, Protocol: true, TooLarge: true,
	}
	seen := map[string]bool{}
	for i, row := range ClassTable() {
		t.Run(row.Pattern, func(t *testing.T) {
			require.False(t, seen[row.Pattern], "twice")
			seen[row.Pattern] = true
			require.True(t, known[row.Class], "class %q", row.Class)
			require.True(t, strings.HasSuffix(row.Note, "."), "a note is a sentence: %q", row.Note)
			switch {
			case row.http != 0:
				require.Equal(t, row.Class, Classify(row.http, answer.ParseLoad([]byte("<html>"))), "as HTTP status")
				l := answer.ParseLoad(fmt.Appendf(nil, `{"code":%d,"msg":"-","data":"-"}`, row.http))
				require.Equal(t, row.Class, Classify(200, l), "as an FE's code")
			case row.trouble != NoTrouble:
				require.Equal(t, row.Class, Attempt{Trouble: row.trouble}.Class())
			default:
				require.Equal(t, strings.ToLower(row.Pattern), row.Pattern, "patterns are compared in lower case")
				text, ok := serverTexts[row.Pattern]
				require.True(t, ok, "no text of a server for this row")
				require.Equal(t, i, rowOf(text), "%q comes to another row", text)
				for _, upper := range []bool{false, true} {
					if upper {
						text = strings.ToUpper(text)
					}
					l := answer.Load{Readable: true, Word: answer.Failure, Status: "Fail", Message: text}
					require.Equal(t, row.Class, Classify(200, l))
					require.Equal(t, row.Class, Attempt{HasAnswer: true, HTTPStatus: 200, Load: l}.Class())
				}
			}
		})
	}
	for pattern := range serverTexts {
		require.True(t, seen[pattern], "a text for a row that is not there: %s", pattern)
	}
	require.False(t, known[Unknown], "no row may say that the class is not known")
}

func TestClassTableIsACopy(t *testing.T) {
	t.Parallel()
	ClassTable()[0].Class = "changed"
	require.NotEqual(t, Class("changed"), ClassTable()[0].Class)
}

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		httpStatus int
		body       string
		want       Class
	}{
		{"text before tag: a schema change is no data error", 200, `{"Status":"Fail","Message":"[DATA_QUALITY_ERROR]schema version not match"}`, Schema},
		{"text before tag: too many versions under an internal error", 200, `{"Status":"Fail","Message":"[INTERNAL_ERROR][E-235]version count"}`, Capacity},
		{"text before tag: used label under an analysis error", 200, `{"Status":"Fail","Message":"[ANALYSIS_ERROR]TStatus: Label [x] has already been used"}`, LabelTaken},
		{"text before HTTP status", 503, `{"Status":"Fail","Message":"unknown table, tableName=t"}`, NotFound},
		{"message before first error", 200, `{"Status":"Fail","Message":"[DATA_QUALITY_ERROR]too many filtered rows","FirstErrorMsg":"Reason: bad. src line [schema change timeout, access denied]"}`, DataQuality},
		{"first error when the message says nothing", 200, `{"Status":"Fail","Message":"failed","FirstErrorMsg":"no partition for this tuple"}`, DataQuality},
		{"a table name that looks like a code", 200, `{"Status":"Fail","Message":"cannot write into table-2350, rate-238"}`, Unknown},
		{"label exists by its word", 200, `{"Status":"Label Already Exists","Message":"timeout"}`, LabelTaken},
		{"FE code 401", 200, `{"code":401,"msg":"-"}`, Auth},
		{"FE code 1", 200, `{"code":1,"msg":"Error","data":"some text"}`, Unknown},
		{"FE code with a text", 200, `{"code":1,"msg":"Error","data":"Node catalog is not ready"}`, Unavailable},
		{"HTML 502", 502, `<html>502`, Unavailable},
		{"HTML with a status without a row", 599, `<html>`, Unavailable},
		{"HTML 418", 418, `<html>`, Protocol},
		{"HTML 200", 200, `<html>access denied`, Protocol},
		{"words of an unreadable answer do not count", 413, `too many filtered rows`, TooLarge},
		{"nothing", 200, ``, Protocol},
		{"a word that nobody knows", 200, `{"Status":"Maybe","Message":"-"}`, Unknown},
		{"Success that is none", 200, `{"Status":"Success","Message":"timeout"}`, Protocol},
		{"Success with an error status", 504, `{"Status":"Success","Message":"OK"}`, Timeout},
		{"Publish Timeout with an error status", 500, `{"Status":"Publish Timeout","Message":"OK"}`, Unavailable},
		{"StarRocks: Access denied of an FE", 401, `{"status":"FAILED","code":"1","msg":"Access denied; you need (at least one of) the INSERT privilege(s)"}`, Auth},
		{"StarRocks: an FE that broke", 500, `{"status":"FAILED","code":"1","msg":"null","message":"null"}`, Unavailable},
		{"StarRocks: no BE", 200, `{"Status":"FAILED","Message":"class com.starrocks.common.DdlException: No backend or compute node alive."}`, Unavailable},
		{"StarRocks: too many versions", 200, `{"Status":"Fail","Message":"Failed to load data into tablet 10086, because of too many versions, current/limit: 1001/1000. You can reduce the loading job concurrency"}`, Capacity},
		{"StarRocks: its limit of bytes is of size, not memory", 200, `{"Status":"Fail","Message":"body size 20 exceed limit: 10, . You can increase the limit by setting streaming_load_max_mb in be.conf."}`, TooLarge},
		{"Fail with nothing to go by", 200, `{"Status":"Fail","Message":"OK"}`, Unknown},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, Classify(test.httpStatus, answer.ParseLoad([]byte(test.body))))
		})
	}
	require.Equal(t, Unknown, Attempt{}.Class(), "no trouble and no answer")
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		httpStatus int
		body       string
		want       bool
	}{
		{"a state", 200, `{"code":0,"data":"UNKNOWN"}`, false},
		{"a state with an error status", 403, `{"code":0,"data":"VISIBLE"}`, false}, // the transport drops such a state
		{"401", 401, ``, true},
		{"403 of a proxy", 403, `<html>`, true},
		{"404: no such call", 404, `{"status":404}`, true},
		{"405", 405, ``, true},
		{"408", 408, ``, false},
		{"425", 425, ``, false},
		{"429", 429, ``, false},
		{"500", 500, ``, false},
		{"503", 503, `Service Unavailable`, false},
		{"code 401", 200, `{"code":401,"msg":"Unauthorized","data":"Access denied"}`, true},
		{"code 403", 200, `{"code":403,"msg":"Bad Request","data":"No label selected"}`, true},
		{"code 1", 200, `{"code":1,"msg":"Error","data":"Unknown database 'db'"}`, false},
		{"HTML", 200, `<html>`, false},
		{"nothing", 200, ``, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, Refused(test.httpStatus, answer.ParseState([]byte(test.body))))
		})
	}
}
