// Package emulator is Apache Doris, or StarRocks, as a Stream Load client sees it:
// frontends (FE) and backends (BE) over HTTP, in memory, with transactions, labels,
// typed tables and faults on demand. It is for trying pipelines, for demonstrations and
// for tests. Nothing is kept when it is closed.
//
//	emu := emulator.New(t, emulator.Options{AutoCreate: true})
//	// ... load through emu.FEURL() ...
//	require.Equal(t, 3, emu.Count("demo", "events"))
//
// It behaves like Doris 3.1, or like the version in Options.Version where the
// text below says so, as far as that is written down in its documentation
// and source (be/src/http/action/stream_load.cpp, httpv2/rest/LoadAction.java,
// DatabaseTransactionMgr.java and others). What it does not do it refuses, with an
// answer in the form of Doris that names the emulator. What is said first is about
// Doris; where StarRocks (Options.Dialect) is another matter is said further down.
//
// # Frontends
//
// PUT /api/{db}/{table}/_stream_load is answered from the header alone, without
// 100 Continue and without reading the body, in the order of Doris: the word in
// group_commit, token, account, Expect, names, LOAD grant, group commit target,
// backend. Success is 307 with user and password in Location and a "?" at its end;
// backends take turns, and since 3.1 the group commits of a table go to one. Bytes that come in spite of that are counted
// (Emulator.FEBodyBytes). The connection is closed afterwards, see
// Options.AfterRedirect. Errors are HTTP 200 with {"status":"FAILED","msg":...} or
// {"msg":...,"code":...,"data":...,"count":0}.
//
// There are also get_load_state, _cancel (POST), _stream_load_2pc, _schema,
// backends, bootstrap and health. The first two are sent on by FEs that are not
// the master.
//
// # Backends
//
// PUT /api/{db}/{table}/_stream_load checks the header (group commit and label,
// form of the Authorization header, format, size, framing, timeout), begins the
// transaction (account, grant, database, table, timeout range, label form, label in
// use, running transactions), and plans (columns, where and the rest), all before
// the first byte of the body. A failure is answered at once, without 100 Continue.
// Then the body is read, parsed and judged, the transaction is committed and made
// visible, and the answer is the JSON of Doris. A client that goes away in the
// middle of the body aborts the transaction, one that goes away later does not.
//
// There are also _stream_load_2pc, _load_error_log and health.
//
// # Data
//
// Formats: json (by line, outer array, both, one document; json_root, jsonpaths of
// names and indexes), csv, csv_with_names, csv_with_names_and_types (with
// separators of any length and in the \x01 form, enclose, escape,
// trim_double_quotes, skip_lines, empty_field_as_null).
//
// Bodies may be compressed (header compress_type): gz, deflate (the zlib format),
// bz2, lz4 (frames) and, as master, zstd. Streams in a row are joined;
// rubbish after them, a stream that is cut short and LZ4 bodies of less than 15
// bytes fail the load, as in be/src/exec/decompressor.cpp. JSON is decompressed
// only when it is read by line: a document is parsed as it came.
// Another word is an unknown format for CSV and no compression for JSON.
//
// The header columns takes names and expressions, where and delete take
// conditions. They may use literals, names, + - * / %, comparisons, AND, OR, NOT,
// IN, BETWEEN, IS NULL, CASE WHEN, and the functions concat, upper, lower, trim,
// ltrim, rtrim, reverse, length, char_length, substr, left, replace, abs, mod,
// ifnull, nvl, coalesce, nullif, if. Arithmetic is exact.
//
// Types: BOOLEAN, TINYINT to LARGEINT, DECIMAL, FLOAT, DOUBLE, CHAR, VARCHAR,
// STRING, DATE, DATETIME, JSON, ARRAY (of those; in JSON notation). A text that is
// no value of its column becomes NULL, or the row is filtered when the column is
// NOT NULL or strict_mode is on. A text that is too long is filtered always.
//
// Models: DUPLICATE; UNIQUE; AGGREGATE with REPLACE and SUM.
//
// UNIQUE tables keep the last row of each key, or with a sequence column (mapped to a
// column of the table, or hidden and named by function_column.sequence_col) the one
// with the largest value. Rows delete by merge_type and delete, or by
// __DORIS_DELETE_SIGN__ in columns or hidden_columns; a deleted row keeps its place
// in the sequence. Partial updates (partial_columns, since 3.1 also
// unique_key_update_mode) need merge-on-write, which is the default since 2.1: the
// columns that the header columns names are written, the others keep their values. A
// fixed partial update without columns is an upsert of whole rows since 3.1 and
// refused before. A flexible one, of JSON, writes what each object has and needs
// Table.FlexibleUpdate. New keys get defaults, are refused
// (partial_update_new_key_behavior ERROR), or, before 3.1 in strict_mode, filtered.
// Which keys are new is decided by the rows that are visible when the load is judged.
//
// # Tables
//
// Tables are declared in Options.Tables, by CreateTable, or in a file (ReadTables).
// With Options.AutoCreate a load into an unknown table creates it, and its database,
// with nullable columns and the model DUPLICATE: for JSON one column for each key
// of the first readable row (text and null: STRING, whole number: BIGINT, other
// number: DOUBLE, true and false: BOOLEAN, object and array: JSON); with the header
// columns one STRING for each name in it; for CSV the names of its first line, or
// c1, c2, ..., all STRING. The columns are not changed by later loads; keys that
// have no column are ignored, as in Doris.
//
// # Transactions
//
// A label is UNKNOWN, PREPARE, PRECOMMITTED, COMMITTED, VISIBLE or ABORTED; only an
// ABORTED (or forgotten) one can be used again. Transactions of one table become
// visible in the order of their commits; while one is held back those after it
// answer Publish Timeout as well. Timeouts, retention by age and by count, and
// delayed visibility follow the clock in Options.Now and are applied whenever the
// database is looked at. Doris does it every 30 seconds.
//
// # Versions of Doris
//
// Options.Version is 1.2, 2.0, 2.1, 3.0, 3.1 (the default), 4.0 or master, which is
// what was not released in the middle of 2026. Patch levels make a difference at
// 2.1.5 and 3.0.5. What a client can see of the differences:
//
//	Location        user%40default_cluster before 2.1; master: no "?" at the end, the path as it came
//	redirect-policy public-private and random-be since 3.0, direct, public and private since 3.1; otherwise unknown
//	token           looked at before the password since 3.1, after it before
//	labels          with colons since 2.1
//	Message         "errCode = 2, ..." of an FE bare in 1.2, behind "[CODE]TStatus: " since; in 2.0 a stack trace follows
//	keys            Comment since 2.0, ReceiveDataTimeMs since 3.0, FirstErrorMsg since 4.0; GroupCommitMode and LoadId: master
//	unknown names   the code of unknown databases and tables is NOT_FOUND: master
//	timeout         600 s by default before 2.1, 259200 s since
//	two phases      in 1.2 by id only, without a table in the path, with status words "Fail" and "Internal error"; the state in
//	                "is already visible, not pre-committed" is in upper case before 2.1
//	group_commit    since 2.1; master: also by a property of the table, and a chunked load that does not say off_mode loses its label
//	JSON            by line without being told so since 4.0; something behind a document is a bad row in 1.2, lost since
//	compress_type   with JSON since 3.0.5; lz4 is called lz4frame in 1.2; zstd: master
//	CSV             enclose, escape, trim_double_quotes and skip_lines since 2.0, empty_field_as_null since 3.0; marks of more than
//	                one byte are refused since 3.0, cut before;
//	                two enclose bytes are one since 4.0, where there is an escape
//	bad rows        more than 50 of them without tolerance are "Encountered unqualified data" without an ErrorURL from 2.0 to 2.1.4
//	sizes           the limits have the names of be.conf, and E-217, since 3.0
//	framing         a load with neither Content-Length nor chunks is refused since 2.1, empty before
//	updates         partial_columns since 2.0, unique_key_update_mode and partial_update_new_key_behavior since 3.1
//
// Not sure, because the sources at hand are snapshots and not releases: in which
// version labels with colons, the longer timeout, upper case states, the names of
// limits, the check of marks, doubled marks, ReceiveDataTimeMs, FirstErrorMsg and the order of token
// and password came; when a partial update without columns became an upsert; and whether
// what master does with chunks and table properties will be released. Group commit of
// 2.0, an experiment, is not there. When a client leaves after its body, all versions
// commit, although newer ones may also abort.
//
// # StarRocks
//
// With Options.Dialect StarRocks the calls, headers and answers are those of
// StarRocks 3.5, or of the version in Options.Version (LoadAction.java,
// TransactionLoadAction.java, stream_load.cpp, transaction_stream_load.cpp and
// others of StarRocks).
//
// FEs answer a load with 307 to a BE, with no account in Location and no "?" at its
// end, and refuse with {"Status":"FAILED","Message":"class ...: ..."}. A wrong
// account, or one without the INSERT privilege, is HTTP 401. Followers send
// get_load_state, _cancel, /api/transaction and loads with enable_merge_commit on to
// the leader, so that those take two hops. get_load_state has the state under
// "state" and calls PRECOMMITTED PREPARED; the label of _cancel stands in the path,
// or in the query as the server's own clients write it. There are also bootstrap and
// health.
//
// BEs know row_delimiter, skip_header (3.0), trim_space (3.0), enclose and escape
// (3.0; the first byte counts), ignore_json_size, load_mem_limit, partial_update,
// merge_condition and the rest; not one header of Doris with another name. The
// formats are csv and json. The codec of CSV is the format (gzip, bzip2, lz4,
// deflate, zstd), that of JSON stands in compression or Content-Encoding (3.2.7;
// gzip, bzip2, lz4_frame, deflate, zstd), and what follows the first stream of JSON
// is lost. JSON is a row of documents, with or without newlines. A load without a
// row that can be stored fails with "all partitions have no load data".
//
// When the rows of a commit are not visible at once, the answer is held back until
// they are, or until the timeout of the load is over; then it is Publish Timeout.
//
// enable_merge_commit (3.4) makes every load an interval of its own. Its label is
// the RequestId of the answer. In async mode the answer comes first and the commit
// after merge_commit_interval_ms.
//
// /api/transaction/begin, load, prepare, commit and rollback (2.4): the FE sends
// begin to a BE and remembers it for the label; commit and rollback of what is
// prepared or ended it does itself. The BE joins the bodies of CSV loads and reads the rows
// when the transaction is prepared or committed, compares the headers of all loads,
// works on one request at a time, and rolls back after an error. A load that breaks
// off leaves the transaction alone, and what came of a CSV body in it.
//
// PRIMARY KEY tables: upserts, deletes by __op (0, 1, upsert, delete; a key of JSON
// objects, or in columns), partial_update of the columns in columns,
// merge_condition.
//
// Refused: transaction_type multi and channel_id, envelope, compression lz4, snappy
// and zlib, negative. warehouse, partial_update_mode, load_dop,
// log_rejected_record_num and transmission_compression_type have no effect.
// _stream_load_meta is not there.
//
// Not sure, because the sources at hand do not say, or are of mixed versions: the
// exact texts about names, privileges and merge_condition; what a BE does after a
// syntax error in a row of JSON documents (here the rest is not read) and with a
// truncated compressed JSON body (here the load fails); the answer to a commit whose
// rows are not visible in time (here a failure, although it is committed); the number of
// finished labels that are remembered; since when get_load_state has a reason; and
// that booleans of JSON are 1 and 0 in text columns, as in Doris.
//
// # Faults
//
// A Fault happens at a Point of an exchange, at most one for each point that an
// exchange passes: those injected by Emulator.Inject, Options.Faults or over HTTP
// are asked in order, then Options.Injector. At fe.* points both loads and
// two-phase calls are struck; Fault.Op tells them apart.
//
// # Reading back over HTTP
//
// An FE also answers, without an account:
//
//	GET    /                                         a page for browsers (Accept: text/html) that shows all of this while it happens
//	GET    /emulator/live?loads=&rows=               what the page shows: servers, tables with their last rows (4 by default, 20 at most),
//	                                                 running transactions, the newest loads (50, 200), switches and faults; long texts are cut
//	POST   /emulator/switches                        {"switch":"lost-answer","on":true,"strike":"always"} switches a fault that
//	                                                 /emulator/live lists; strike is always, third or once; {"clear":true}: no
//	                                                 more faults, and every server is started; Content-Type: application/json
//	GET    /emulator/tables                          tables, columns and row counts
//	GET    /emulator/{db}/{table}/rows?limit=&offset=  {"total":n,"rows":[{...}]}; limit is 1000 by default
//	GET    /emulator/loads                           what became of each load (see Load)
//	GET    /emulator/faults                          faults in place and their hits
//	POST   /emulator/faults                          more faults, one to a line (see ParseFault)
//	DELETE /emulator/faults                          no more faults
//
// A browser that asks for a page of another site is refused with HTTP 403 when it would change something, and so is one that was led here by a name
// that is not this emulator's (see Options.Advertise). Requests of the page are not in Emulator.Requests.
//
// # Limits
//
// Refused: parquet, orc, arrow, hive_text; lzo, lzop, lz4_block and
// snappy_block; negative; http_stream; MAP, STRUCT, VARIANT, BITMAP, HLL and the
// like; other expressions than those above.
//
// Different from Doris: partitions are names only, rows are not placed in them.
// Group commit makes every load an interval of its own. Headers that the version
// does not know are passed over as the servers do; Load.Ignored names them. A
// request with both Content-Length and chunked framing is taken as chunked, and an
// Expect header other than 100-continue is answered with 417, by the HTTP library.
package emulator
