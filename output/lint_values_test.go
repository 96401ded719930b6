package output

import (
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"
)

// What the linter refuses the constructor refuses in the same words, and the other way round.
func TestLintsSayWhatTheConstructorSays(t *testing.T) {
	t.Parallel()
	const bracketed = "has several colons in its host; an IPv6 address must be in brackets, for instance http://[2001:db8::1]:8030"
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

		{"database: ''", []string{`database is ""; it must be a name, or an expression that gives one`}},
		{"database: 'null'", []string{`database is "null"; it must be a name, or an expression that gives one`}},
		{"table: a/b", []string{`table is "a/b"; no name may have one of / \ ? # % in it`}},
		{`table: 'a\b'`, []string{`table is "a\\b"; no name may have one of / \ ? # % in it`}},
		{"table: '..'", []string{`table is "..", which no path can carry`}},
		{"table: ../a/b", []string{`table is "../a/b", which no path can carry`}},
		{`table: "a\nb"`, []string{`table is "a\nb", which has a control character in it`}},
		{"table: größe", nil},
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
  fe_urls: [ "${FE}", http://fe:8030 ]
  database: d
  table: t
  username: ${DORIS_USER}
  timeout: ${TIMEOUT}
  backoff: { max_elapsed_time: "${ELAPSED}" }
  headers: { comment: "${COMMENT}" }
  batching: { period: "${PERIOD}" }
`))
	require.NoError(t, err)
	require.Empty(t, lints)
}
