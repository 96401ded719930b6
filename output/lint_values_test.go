package output

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"
)

// What the linter refuses the constructor refuses in the same words, and the other way round.
func TestLintsSayWhatTheConstructorSays(t *testing.T) {
	t.Parallel()
	const bracketed = "has several colons in its host; an IPv6 address must be in brackets, for instance http://[2001:db8::1]:8030"
	const noFE = "fe_urls is empty: at least one FE address is needed"
	const unsendable = "contains a line break or another control character, which a header cannot carry: write it on one line (YAML: use > instead of |)"
	for _, c := range []struct {
		fields string
		want   []string
	}{
		{"timeout: soon", []string{`timeout is "soon", which is no duration; write for instance 500ms, 30s or 5m`}},
		{"timeout: 5 minutes", []string{`timeout is "5 minutes", which is no duration; write for instance 500ms, 30s or 5m`}},
		{"timeout: 30", []string{`timeout is "30", which is no duration; write for instance 500ms, 30s or 5m`}},
		{"timeout: 0s", []string{`timeout is 0s; it must be more than 0`}},
		{"timeout: -1s", []string{`timeout is -1s; it must be more than 0`}},
		{"timeout: 1m30.5s", nil},
		{"timeout: +.5h", nil},
		{"connect_timeout: 10", []string{`connect_timeout is "10", which is no duration; write for instance 500ms, 30s or 5m`}},
		{
			"backoff: { initial_interval: 0s, max_interval: soon, max_elapsed_time: -1s }",
			[]string{
				`backoff.initial_interval is 0s; it must be more than 0`,
				`backoff.max_interval is "soon", which is no duration; write for instance 500ms, 30s or 5m`,
				`backoff.max_elapsed_time is -1s; it must not be negative (0s sets no bound)`,
			},
		},
		{"backoff: { max_elapsed_time: 0s }", nil},
		{"label_poll: { max_elapsed_time: \"\\n\" }", []string{`label_poll.max_elapsed_time is "\n", which is no duration; write for instance 500ms, 30s or 5m`}},
		{"ledger: { max_age: 1d }", []string{`ledger.max_age is "1d", which is no duration; write for instance 500ms, 30s or 5m`}},
		{"ledger: { max_age: 0 }", nil},
		{"linger: soon", []string{`linger is "soon", which is no duration; write for instance 500ms, 30s or 5m`}},
		{"linger: -1s", []string{`linger is -1s; it must not be negative`}},
		{"linger: 0s", nil},
		{"backoff: { initial_interval: 1m, max_interval: 30s }", []string{"backoff has a max_interval of 30s, which is shorter than its initial_interval of 1m0s"}},
		{"backoff: { initial_interval: 11s }", []string{"backoff has a max_interval of 10s, which is shorter than its initial_interval of 11s"}},
		{"label_poll: { max_interval: 100ms }", []string{"label_poll has a max_interval of 100ms, which is shorter than its initial_interval of 200ms"}},
		{"label_poll: { initial_interval: 0.5ms }", []string{"label_poll has an initial_interval of 500µs; it must be at least 1ms"}},
		{"backoff: { initial_interval: 1.1s, max_interval: 1100ms }", nil},
		{"backoff: { initial_interval: 1h0m1s, max_interval: +3601000000µs }", nil},
		{"backoff: { initial_interval: 10s }\nlabel_poll: { initial_interval: 5s }", nil},
		{"two_phase_commit: true\nabort_lingering: true", nil},
		{"two_phase_commit: true\nabort_lingering: true\ntable: ${! this.t }", nil},
		{"abort_lingering: true", []string{"abort_lingering is only for two_phase_commit: other loads end with their connection, and leave nothing that waits"}},
		{"two_phase_commit: true\nabort_lingering: true\nlabel: x", []string{"abort_lingering cannot be used with label: the batch comes again under its label, and takes the place of what it left"}},
		{"two_phase_commit: true\nabort_lingering: true\ndatabase: ${! this.d }", []string{"abort_lingering cannot be used with a database that depends on the messages: it is not known where to look"}},
		{"dialect: starrocks\ntwo_phase_commit: true\nabort_lingering: true", []string{"abort_lingering cannot be used with dialect starrocks, which shows no transactions by their labels"}},
		{"timeout: 72h", nil},
		{"timeout: 73h", []string{"timeout is 73h0m0s; it must be between 1s and 72h"}},
		{"dialect: starrocks\nmerge_commit_interval: 999us", []string{"merge_commit_interval is 999µs; it must be at least 1ms"}},
		{"batching: { count: -1, byte_size: -1 }", []string{"batching.count is negative", "batching.byte_size is negative"}},
		{"batching: { count: 10, period: 0s }", []string{"batching.period is 0s; it must be more than 0"}},
		{"batching: { period: -1s }", []string{"batching.period is -1s; it must be more than 0"}},
		{"max_filter_ratio: .nan", []string{"max_filter_ratio is NaN; it must be between 0 and 1"}},
		{"batching: { period: often }", []string{`batching.period is "often", which is no duration; write for instance 1s`}},

		{"headers: { label: x }", []string{`headers contains "label", which is reserved: labels are made for each load; use label or label_prefix`}},
		{"headers: { Content-Length: 1 }", []string{`headers contains "Content-Length", which is reserved: it is always sent`}},
		{"headers: { 'bad name': y }", []string{`headers contains the name "bad name", which is no header name`}},
		{"headers: { '': y }", []string{`headers contains the name "", which is no header name`}},
		{
			`headers: { comment: "a\r\nlabel: x", memo: "a\tb" }`,
			[]string{`headers contains a line break or another control character in the value of "comment"`},
		},
		{"headers: { a: 1, b: true, c: x y }", nil},
		{"headers: { a: x, A: y }", []string{`headers contains "a" twice, in different letter cases`}},
		{"where: a > 0\nheaders: { Where: b > 0 }", []string{`headers contains "Where", which is set by the field where too`}},
		{"sequence_column: v\nheaders: { function_column.sequence_col: w }", []string{`headers contains "function_column.sequence_col", which is set by the field sequence_column too`}},
		{"max_filter_ratio: 0\nheaders: { max_filter_ratio: '1' }", []string{`headers contains "max_filter_ratio", which is set by the field max_filter_ratio too`}},
		{
			"dialect: starrocks\nexec_mem_limit: 1\nheaders: { load_mem_limit: '2', strict_mode: 'true' }",
			[]string{`headers contains "load_mem_limit", which is set by the field exec_mem_limit too`},
		},
		{"enclose: '|'\nformat: csv\nheaders: { enclose: x, jsonpaths: x }", []string{`headers contains "enclose", which is set by the field enclose too`}},

		{"where: |\n  a > 0\n  and b > 0", []string{"where " + unsendable}},
		{"columns: [ id, \"v =\\n 1\" ]\ntimezone: \"\\x7f\"", []string{"columns " + unsendable, "timezone " + unsendable}},
		{"where: \"a\\t> 0\"\npartitions: [ p1, p2 ]", nil},

		{"username: 'loader:secret'", []string{"username has a colon in it, which basic auth cannot carry"}},
		{"username: ''", nil},

		{"fe_urls: [ 'ftp://fe', 'http://fe:65536,http://ok:8030' ]", []string{
			`fe_urls[0] has the scheme "ftp"; it must be http or https`, `fe_urls[1] has the port 65536; it must be between 1 and 65535`,
		}},
		{"fe_urls: [ '', 'fe:8030', 'HTTPS://fe/gate:way/', ' [2001:db8::1]:8030 ', 10.0.0.1:1, 'http://fe:8030/?' ]", nil},
		{"fe_urls: [ 'http://2001:db8::1:8030' ]", []string{"fe_urls[0] " + bracketed}},
		{"fe_urls: [ '::1' ]", []string{"fe_urls[0] " + bracketed}},
		{"fe_urls: [ 'fe:' ]", nil},
		{"fe_urls: [ 'http://fe:port' ]", []string{"fe_urls[0] is no URL"}},
		{"fe_urls: [ 'http://a b/' ]", []string{"fe_urls[0] is no URL"}},
		{"fe_urls: [ 'http://', 'http://:8030' ]", []string{"fe_urls[0] has no host", "fe_urls[1] has no host"}},
		{"fe_urls: [ 'http://root:hunter2@fe:8030' ]", []string{"fe_urls[0] must not contain a user or password; use username and password"}},
		{"fe_urls: [ 'http://fe/?a=b', 'http://fe#a' ]", []string{"fe_urls[0] must not have a query or fragment", "fe_urls[1] must not have a query or fragment"}},
		{"fe_urls: []\nurl: mysql://fe:9030", []string{`url has the scheme "mysql"; it must be http or https`}},
		{"fe_urls: []\nurl: fe:0", []string{"url has the port 0; it must be between 1 and 65535"}},

		{"be_urls: [ 'ftp://be', 'http://be:65536,http://ok:8040' ]", []string{
			`be_urls[0] has the scheme "ftp"; it must be http or https`, `be_urls[1] has the port 65536; it must be between 1 and 65535`,
		}},
		{"be_urls: [ 'http://root:hunter2@be:8040' ]", []string{"be_urls[0] must not contain a user or password; use username and password"}},
		{"be_urls: [ be:8040, 'http://be2:8040,http://be3:8040' ]", nil},

		{"fe_urls: [ ' ', ',' ]", []string{noFE}},
		{"fe_urls: []\nurl: ' '", []string{noFE}},
		{"fe_urls: [ '' ]\nurl: http://fe:8030", nil},
		{"be_urls: [ '', ' , be:8040' ]", nil},

		{"columns: [ id, '', ' ' ]", []string{"columns[1] is empty", "columns[2] is empty"}},
		{"columns: [ id, v ]", nil},
		{"partitions: [ \"\\t\" ]", []string{"partitions[0] is empty"}},
		{"temporary_partitions: [ '' ]", []string{"temporary_partitions[0] is empty"}},
		{"hidden_columns: [ '' ]", []string{"hidden_columns[0] is empty"}},

		{"redirect_map: { 'http://be:8040': 'be:8040' }", []string{`redirect_map has the entry "http://be:8040", which must be host:port, or a host alone`}},
		{"redirect_map: { 'be:': x }", []string{`redirect_map has the entry "be:", which must be host:port, or a host alone`}},
		{"redirect_map: { ':1': 'x:1' }", []string{`redirect_map has the entry ":1", which has no host`}},
		{"redirect_map: { '::1': x }", []string{`redirect_map has the entry "::1", which must be host:port, or a host alone`}},
		{"redirect_map: { 'be:70000': 'x:1' }", []string{`redirect_map has the entry "be:70000", which has the port 70000; it must be between 1 and 65535`}},
		{"redirect_map: { 'be:8040': 'a b:1', 'be2:1': 'u:p@x:1' }", []string{
			`redirect_map sends "be:8040" to "a b:1", which must be host:port, or a host alone`,
			`redirect_map sends "be2:1" to "u:p@x:1", which must be host:port, or a host alone`,
		}},
		{"redirect_map: { 'be:8040': x }", []string{`redirect_map sends "be:8040" to "x", which has no port`}},
		{"redirect_map: { be: 'x:1' }", []string{`redirect_map sends every port of "be" to one, "x:1": name the port on both sides or on none`}},
		{"redirect_map: { be: x, 'Be1:8040': '[::1]:18040', '[2001:db8::1]': '10.0.0.1', 'doris-be_0.svc:80': 'größe:1' }", nil},

		{"format: csv\ncolumn_separator: ''", []string{"column_separator is empty; leave it out for a comma"}},
		{"format: csv\nline_delimiter: ''", nil},
		{"format: csv\ncolumn_separator: \"\\n\"", []string{"column_separator is the same as line_delimiter"}},
		{`format: csv
column_separator: '\x0A'
line_delimiter: '\n'`, []string{"column_separator is the same as line_delimiter"}},
		{`format: csv_with_names
column_separator: 'a\x62c'
line_delimiter: 'abc'`, []string{"column_separator is the same as line_delimiter"}},
		{`format: csv
column_separator: '\\n'`, nil},
		{`format: csv
column_separator: '\x0'`, []string{`column_separator has \x without two hex digits behind it; a backslash is written \\`}},
		{`format: csv
line_delimiter: 'a\Xzz'`, []string{`line_delimiter has \X without two hex digits behind it; a backslash is written \\`}},
		{"format: csv\nline_delimiter: " + strings.Repeat("x", 65), []string{"line_delimiter is longer than 64 bytes"}},
		{"format: csv\nline_delimiter: " + strings.Repeat("x", 257), []string{"line_delimiter is longer than 64 bytes"}},
		{"format: csv\nline_delimiter: '" + strings.Repeat(`\x01`, 64) + "'", nil},
		{`format: csv
column_separator: '\x01ä'`, []string{"column_separator has control characters, or spaces at an end, together with characters beyond ASCII, which servers do not understand"}},
		{`format: csv
column_separator: '\xff'`, nil},
		{"format: csv\ncolumn_separator: '|'\nenclose: '|'", []string{"enclose is the same as column_separator"}},
		{"format: csv\nescape: ','", []string{"escape is the same as column_separator"}},
		{"format: csv\nline_delimiter: ';'\nescape: ';'\nenclose: '\"'", []string{"escape is the same as line_delimiter"}},
		{"format: csv\ncolumn_separator: '||'\nenclose: '|'", nil},
		{"format: csv\nenclose: '\"'\nescape: '\\'", nil},
		{"dialect: starrocks\nformat: csv\ncolumn_separator: " + strings.Repeat("x", 51), []string{"column_separator is 51 bytes long; StarRocks takes at most 50"}},
		{"dialect: starrocks\nformat: csv\nline_delimiter: '" + strings.Repeat(`\x01`, 50) + "'", nil},
		{
			"format: csv\ncolumn_separator: '||'\nenclose: '|'\ncsv_mapping: root = [ this.a ]",
			[]string{"csv_mapping cannot be used: the enclose byte `|` is part of a separator"},
		},
		{
			"format: csv\nline_delimiter: ';;'\nescape: ';'\nenclose: '\"'\ncsv_mapping: root = [ this.a ]",
			[]string{"csv_mapping cannot be used: the escape byte `;` is part of a separator"},
		},
		{
			"format: csv\nline_delimiter: ',\\n'\ncsv_mapping: root = [ this.a ]",
			[]string{"csv_mapping cannot be used: column_separator and line_delimiter contain each other"},
		},
		{"format: csv\ncolumn_separator: '\\xa7\\xc0'\nenclose: '|'\ncsv_mapping: root = [ this.a ]", nil},

		{"database: ''", []string{`database is ""; it must be a name, or an expression that gives one`}},
		{"database: 'null'", []string{`database is "null"; it must be a name, or an expression that gives one`}},
		{"table: a/b", []string{`table is "a/b"; no name may have one of / \ ? # % in it`}},
		{`table: 'a\b'`, []string{`table is "a\\b"; no name may have one of / \ ? # % in it`}},
		{"table: '..'", []string{`table is "..", which no path can carry`}},
		{"table: ../a/b", []string{`table is "../a/b", which no path can carry`}},
		{`table: "a\nb"`, []string{`table is "a\nb", which has a control character in it`}},
		{"table: größe", nil},
		{"table: " + strings.Repeat("x", 1025), []string{"table is 1025 bytes long, and none may be longer than 1024; it begins with \"" + strings.Repeat("x", 50) + "\""}},
		{"table: ${! this.a + \"/\" }", nil},
	} {
		t.Run(c.fields, func(t *testing.T) {
			t.Parallel()
			fields := []string{c.fields}
			for key, line := range map[string]string{"fe_urls": "fe_urls: [ http://fe:8030 ]", "database": "database: d", "table": "table: t"} {
				if !strings.Contains(c.fields, key+":") {
					fields = append(fields, line)
				}
			}
			yaml := strings.Join(fields, "\n")
			texts := lintsOf(t, "doris_stream_load:\n"+indent(1, yaml))
			for i := range texts { // the example, and a duration as it is written, are the linter's own
				texts[i] = strings.TrimSuffix(texts[i], ", for instance http://localhost:8030")
				texts[i] = strings.NewReplacer("_interval of 1m", "_interval of 1m0s", "0.5ms", "500µs", "999us", "999µs", "73h;", "73h0m0s;").Replace(texts[i])
			}
			require.ElementsMatch(t, c.want, texts)
			_, err := parse(t, yaml)
			if c.want == nil {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			require.Subset(t, strings.Split(err.Error(), "\n"), c.want)
		})
	}
}

// Variables of the environment that are not set may be anything, when nobody wants to hear of them.
func TestVariablesThatAreNotSetAreNotLinted(t *testing.T) {
	t.Parallel()
	lints, err := service.NewEnvironment().NewComponentConfigLinter().SetSkipEnvVarCheck(true).LintOutputYAML([]byte(`
doris_stream_load:
  fe_urls: [ "${FE}" ]
  database: d
  table: t
  username: ${DORIS_USER}
  timeout: ${TIMEOUT}
  backoff: { max_elapsed_time: "${ELAPSED}" }
  headers: { comment: "${COMMENT}" }
  batching: { period: "${PERIOD}" }
  label_poll: { initial_interval: "${FIRST}", max_interval: 1s }
  redirect_map: { "${INNER}": "localhost:8040", "be:8040": "${OUTER}" }
  format: csv
  line_delimiter: "${SEPARATOR}"
`))
	require.NoError(t, err)
	require.Empty(t, lints)
}

// Over any text, a lint refuses nothing that the constructor takes. What is a separator or an address has many forms.
func TestLintsRefuseNothingThatTheConstructorTakes(t *testing.T) {
	t.Parallel()
	letters := []string{`\`, `\x`, `\X`, "0", "a", "F", "n", `"`, "'", " ", "\t", "\n", ":", "[", "]", "::", ".", "%", "@", "/", "#", "?", "ä", "8040", "be", "\x01", "_", "1", "$", "{", ","}
	random := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var b strings.Builder
		for range random.IntN(5) {
			b.WriteString(letters[random.IntN(len(letters))])
		}
		return b.String()
	}
	for range 500 {
		yaml := "fe_urls: [ http://fe:8030 ]\ndatabase: d\ntable: t\nformat: csv\n" + fmt.Sprintf("column_separator: %s\nline_delimiter: %s\nredirect_map: { %s: %s }\n",
			quoted(t, text()), quoted(t, text()), quoted(t, text()), quoted(t, text()))
		conf, err := parse(t, yaml)
		lints := lintsOf(t, "doris_stream_load:\n"+indent(1, yaml))
		if err == nil {
			require.Empty(t, lints, "%s%+v", yaml, conf.client.RedirectMap)
		}
	}
}

// quoted is a text in YAML. A variable of the environment must not begin in it.
func quoted(t *testing.T, text string) string {
	t.Helper()
	q, err := json.Marshal(strings.ReplaceAll(text, "${", "$"))
	require.NoError(t, err)
	return string(q)
}
