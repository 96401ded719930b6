package emulator

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// A header that the servers do not know is passed over without a word. What was
// passed over is in Load.Ignored, so that a test can see that a client sends
// headers for nothing, those of another version or of the other dialect.

type versionOf = [3]int

// known makes a table of header names; all of them since one version.
func known(since versionOf, names string) map[string]versionOf {
	out := map[string]versionOf{}
	for name := range strings.FieldsSeq(names) {
		out[name] = since
	}
	return out
}

func joinedHeaders(tables ...map[string]versionOf) map[string]versionOf {
	out := map[string]versionOf{}
	for _, t := range tables {
		maps.Copy(out, t)
	}
	return out
}

// dorisHeaders are those of be/src/http/http_common.h, as far as stream loads use
// them, with the version that each came with. Where the sources do not say when,
// the oldest version that is known to have it stands here.
var dorisHeaders = joinedHeaders(
	known(versionOf{}, `label format compress_type column_separator line_delimiter columns where max_filter_ratio partitions temporary_partitions
		negative strict_mode timezone timeout exec_mem_limit jsonpaths json_root strip_outer_array read_json_by_line num_as_string fuzzy_parse
		merge_type delete function_column.sequence_col hidden_columns send_batch_parallelism load_to_single_tablet two_phase_commit
		token auth-token auth_code`),
	known(versionOf{2, 0, 0}, `enclose escape trim_double_quotes skip_lines partial_columns comment enable_profile`),
	known(versionOf{2, 1, 0}, `group_commit memtable_on_sink_node load_stream_per_node`),
	known(versionOf{3, 0, 0}, `empty_field_as_null compute_group cloud_cluster redirect-policy`),
	known(versionOf{3, 1, 0}, `unique_key_update_mode partial_update_new_key_behavior time_zone`),
)

// starrocksHeaders are those of StreamLoadHttpHeader.java and http_common.h.
var starrocksHeaders = joinedHeaders(
	known(versionOf{}, `label format column_separator row_delimiter columns where max_filter_ratio partitions temporary_partitions negative
		strict_mode timezone timeout load_mem_limit exec_mem_limit jsonpaths json_root strip_outer_array ignore_json_size partial_update
		merge_condition transmission_compression_type load_dop db table idle_transaction_timeout`),
	known(versionOf{3, 0, 0}, `skip_header trim_space enclose escape log_rejected_record_num warehouse partial_update_mode`),
	known(versionOf{3, 2, 7}, `compression`),
	known(versionOf{3, 4, 0}, `enable_merge_commit merge_commit_async merge_commit_interval_ms merge_commit_parallel channel_id channel_num`),
	known(versionOf{3, 5, 4}, `prepared_timeout`),
	known(versionOf{4, 0, 0}, `transaction_type envelope`),
)

// httpHeaders mean something to every server, or nothing to any.
var httpHeaders = []string{
	"accept", "accept-encoding", "authorization", "connection", "content-length", "content-type", "expect", "host", "te", "trailer",
	"transfer-encoding", "user-agent", "via", "x-forwarded-for", "traceparent", "tracestate",
}

func isHTTPHeader(name string) bool { return slices.Contains(httpHeaders, strings.ToLower(name)) }

// knows says whether the servers look at a header of a load.
func (p *profile) knows(name string) bool {
	name = strings.ToLower(name)
	table := dorisHeaders
	if p.starrocks() {
		if table = starrocksHeaders; name == "content-encoding" {
			return p.jsonCompression()
		}
	}
	since, ok := table[name]
	return ok && p.since(since[0], since[1], since[2])
}

// ignored lists the headers of a load that the servers pass over.
func (p *profile) ignored(h http.Header) []string {
	var out []string
	for name := range h {
		if !p.knows(name) && !isHTTPHeader(name) {
			out = append(out, strings.ToLower(name))
		}
	}
	slices.Sort(out)
	return out
}
