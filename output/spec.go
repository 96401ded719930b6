package output

import (
	"github.com/redpanda-data/benthos/v4/public/service"

	"github.com/dorisload/benthos-doris/streamload"
)

// The fields of the config.
const (
	fieldDialect               = "dialect"
	fieldFEURLs                = "fe_urls"
	fieldURL                   = "url"
	fieldDatabase              = "database"
	fieldTable                 = "table"
	fieldUsername              = "username"
	fieldPassword              = "password"
	fieldTLS                   = "tls"
	fieldAllowInsecureRedirect = "allow_insecure_redirect"
	fieldBEURLs                = "be_urls"
	fieldRedirectPolicy        = "redirect_policy"
	fieldRedirectMap           = "redirect_map"
	fieldQueryPort             = "query_port"
	fieldFormat                = "format"
	fieldMessageRows           = "message_rows"
	fieldReadJSONByLine        = "read_json_by_line"
	fieldStripOuterArray       = "strip_outer_array"
	fieldValidateJSON          = "validate_json"
	fieldJSONPaths             = "jsonpaths"
	fieldJSONRoot              = "json_root"
	fieldNumAsString           = "num_as_string"
	fieldFuzzyParse            = "fuzzy_parse"
	fieldColumnSeparator       = "column_separator"
	fieldLineDelimiter         = "line_delimiter"
	fieldCSVMapping            = "csv_mapping"
	fieldEnclose               = "enclose"
	fieldEscape                = "escape"
	fieldTrimDoubleQuotes      = "trim_double_quotes"
	fieldSkipLines             = "skip_lines"
	fieldEmptyFieldAsNull      = "empty_field_as_null"
	fieldCompression           = "compression"
	fieldCompressionLevel      = "compression_level"
	fieldColumns               = "columns"
	fieldWhere                 = "where"
	fieldMaxFilterRatio        = "max_filter_ratio"
	fieldIsolateBadRows        = "isolate_bad_rows"
	fieldStrictMode            = "strict_mode"
	fieldPartitions            = "partitions"
	fieldTemporaryPartitions   = "temporary_partitions"
	fieldTimezone              = "timezone"
	fieldExecMemLimit          = "exec_mem_limit"
	fieldMergeType             = "merge_type"
	fieldDelete                = "delete"
	fieldSequenceColumn        = "sequence_column"
	fieldHiddenColumns         = "hidden_columns"
	fieldPartialColumns        = "partial_columns"
	fieldUpdateMode            = "unique_key_update_mode"
	fieldNewKeyBehavior        = "partial_update_new_key_behavior"
	fieldPartialUpdateMode     = "partial_update_mode"
	fieldHeaders               = "headers"
	fieldGroupCommit           = "group_commit"
	fieldOnUnknownOutcome      = "on_unknown_outcome"
	fieldMergeCommitInterval   = "merge_commit_interval"
	fieldMergeCommitParallel   = "merge_commit_parallel"
	fieldTwoPhaseCommit        = "two_phase_commit"
	fieldAbortLingering        = "abort_lingering"
	fieldLabelPrefix           = "label_prefix"
	fieldLabel                 = "label"
	fieldMaxRetries            = "max_retries"
	fieldBackoff               = "backoff"
	fieldLabelPoll             = "label_poll"
	fieldLedger                = "ledger"
	fieldMaxRows               = "max_rows"
	fieldMaxAge                = "max_age"
	fieldInitialInterval       = "initial_interval"
	fieldMaxInterval           = "max_interval"
	fieldMaxElapsedTime        = "max_elapsed_time"
	fieldTimeout               = "timeout"
	fieldConnectTimeout        = "connect_timeout"
	fieldMaxInFlight           = "max_in_flight"
	fieldLinger                = "linger"
	fieldMaxPending            = "max_pending"
	fieldMaxLoadBytes          = "max_load_bytes"
	fieldMaxLoadRows           = "max_load_rows"
	fieldBatching              = "batching"
	fieldProgressInterval      = "progress_interval"
)

// The values of some fields.
const (
	messageOne  = "one"
	messageMany = "many"

	formatJSON = "json"
	formatCSV  = "csv"

	formatCSVWithNames         = "csv_with_names"
	formatCSVWithNamesAndTypes = "csv_with_names_and_types"
	formatParquet              = "parquet"
	formatORC                  = "orc"
	formatArrow                = "arrow"

	groupCommitSync  = "sync_mode"
	groupCommitAsync = "async_mode"
	groupCommitOff   = "off_mode"

	unknownRetry  = "retry"
	unknownReject = "reject"
)

// Spec describes the config of the output: every field with its default, and the lints.
func Spec() *service.ConfigSpec {
	spec := specOf(streamload.DialectDoris).
		Summary("Loads messages into Apache Doris by Stream Load, each row once where that is possible.").
		Description(description)
	for _, e := range examples {
		spec = spec.Example(e.title, e.summary, e.config)
	}
	return spec
}

// StarRocksSpec is Spec with the other dialect as its default.
func StarRocksSpec() *service.ConfigSpec {
	return specOf(streamload.DialectStarRocks).
		Summary("Loads messages into StarRocks by Stream Load, each row once where that is possible.").
		Description(starRocksDescription)
}

func specOf(dialect string) *service.ConfigSpec {
	spec := service.NewConfigSpec().
		Beta().
		Categories("Services").
		LintRule(specLint)
	for _, group := range [][]*service.ConfigField{
		targetFields(dialect), connectionFields(), formatFields(), loadFields(), uniqueFields(), labelFields(), paceFields(), {progressField()},
	} {
		spec = spec.Fields(group...)
	}
	return spec
}

const starRocksDescription = `
The same output as ` + "`doris_stream_load`" + `, with ` + "`dialect: starrocks`" + ` as the default. The fields have the same names and meanings; those that StarRocks does not have are refused.`

const description = `
A message is one row: a JSON object whose keys are column names or, with ` + "`format: csv`" + `, one line of CSV; or it is many such lines (` + "`message_rows`" + `). A message is
acknowledged only when Doris has committed its rows.

Doris wants few large loads rather than many small ones: each load makes a new version of the table, and too many of them stop it from taking more. So loads form
themselves: batches of the input, or single messages, that arrive while loads run or within ` + "`linger`" + ` are joined into one load for each table, and each gets its own result.
Leave ` + "`batching`" + ` out: it makes the result of a batch that fails in part less exact, and adds nothing.

A load that fails is sent again, and every load has a label by which Doris tells a resend from a new load. When an answer is missing or unclear the state of the label is asked
for before anything is sent again, so that rows are neither lost nor stored twice. Where that does not tell, the messages are failed, and their rows are remembered until
they come back (` + "`ledger`" + `). With ` + "`label`" + ` this also holds when the process ends in the middle and the input delivers the same batches again.

While no frontend answers, the output keeps its batches and tries to connect; nothing is failed for that.

Messages that are no single JSON object fail alone, the others of their batch are loaded. Wrap the output in ` + "`fallback`" + ` to keep those that fail, each with its reason
in the metadata field ` + "`fallback_error`" + `. Rows that Doris itself refuses (a value that does not fit its column) fail their whole load, unless
` + "`isolate_bad_rows`" + ` finds them, so that they fail alone, or ` + "`max_filter_ratio`" + ` lets Doris drop them.

Redpanda Connect has an output of the same name, whose configs run here unchanged.`
