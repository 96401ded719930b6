package output

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

const target = "database: d\ntable: t\n"

// theSpec is Spec, made once: to read all its lints takes a while.
var theSpec = sync.OnceValue(Spec)

func parse(t *testing.T, yaml string) (config, error) {
	t.Helper()
	parsed, err := theSpec().ParseYAML(yaml, service.NewEnvironment())
	require.NoError(t, err)
	return parseConfig(parsed)
}

func TestEveryProblemIsToldAtOnce(t *testing.T) {
	t.Parallel()
	_, err := parse(t, `
fe_urls: [ "ftp://fe1", "http://fe2:8030,http://user:hunter2@fe3:8030" ]
database: ""
table: "null"
timeout: 5 minutes
connect_timeout: 0s
backoff: { initial_interval: soon, max_interval: -1s, max_elapsed_time: -1s }
label_poll: { initial_interval: 10s, max_interval: 1s }
ledger: { max_rows: 0, max_age: -1h }
max_retries: -3
max_in_flight: 0
max_load_rows: -1
max_load_bytes: -2
columns: [ id, " " ]
partitions: [ "" ]
temporary_partitions: [ tp ]
group_commit: sometimes
max_filter_ratio: 7
read_json_by_line: false
skip_lines: -1
headers: { label: x, "bad name": y }
where: "a\nb"
batching: { count: -1, byte_size: -1, period: often }
tls: { enabled: true, root_cas: nonsense }
`)
	require.Error(t, err)
	got := strings.Split(err.Error(), "\n")
	for _, want := range []string{
		`fe_urls[0] has the scheme "ftp"; it must be http or https`,
		`fe_urls[1] must not contain a user or password; use username and password`,
		`database is ""; it must be a name, or an expression that gives one`,
		`table is "null"; it must be a name, or an expression that gives one`,
		`timeout is "5 minutes", which is no duration; write for instance 500ms, 30s or 5m`,
		`connect_timeout is 0s; it must be more than 0`,
		`backoff.initial_interval is "soon", which is no duration; write for instance 500ms, 30s or 5m`,
		`backoff.max_interval is -1s; it must be more than 0`,
		`backoff.max_elapsed_time is -1s; it must not be negative (0s sets no bound)`,
		`label_poll has a max_interval of 1s, which is shorter than its initial_interval of 10s`,
		`ledger.max_rows is 0; it must be at least 1`,
		`ledger.max_age is -1h0m0s; it must not be negative (0s sets no bound)`,
		`max_retries is -3; it must be -1 (never) or more`,
		`max_in_flight is 0; it must be at least 1`,
		`max_load_rows is -1; it must be at least 0`,
		`max_load_bytes is -2; it must be at least 0`,
		`columns[1] is empty`,
		`partitions[0] is empty`,
		`partitions and temporary_partitions cannot both be set`,
		`group_commit is "sometimes"; it must be sync_mode, async_mode or off_mode`,
		`max_filter_ratio is 7; it must be between 0 and 1`,
		`read_json_by_line and strip_outer_array are both false: json needs one of them, or Doris takes the whole batch for one document`,
		`skip_lines is negative`,
		`headers contains "label", which is reserved: labels are made for each load; use label or label_prefix`,
		`headers contains the name "bad name", which is no header name`,
		`where contains a line break or another control character, which a header cannot carry: write it on one line (YAML: use > instead of |)`,
		`batching.count is negative`,
		`batching.byte_size is negative`,
		`batching.period is "often", which is no duration; write for instance 1s`,
		`tls has root certificates (root_cas or root_cas_file) in which there is no certificate in PEM form`,
	} {
		require.Contains(t, got, want)
	}
	require.Len(t, got, 30, "each is told once")
	require.NotContains(t, err.Error(), "hunter2")
}

func TestProblemsByThemselves(t *testing.T) {
	t.Parallel()
	certificate := filepath.Join(t.TempDir(), "junk.pem")
	require.NoError(t, os.WriteFile(certificate, []byte("junk"), 0o600))
	for _, c := range []struct{ name, yaml, want string }{
		{"no address", target, "fe_urls is empty: at least one FE address is needed"},
		{"only commas", "fe_urls: [ ' , ' ]\n" + target, "fe_urls is empty: at least one FE address is needed"},
		{"a wrong single address", "url: 'http://'\n" + target, "url has no host"},
		{"an address with a path that is no URL", "url: 'http://a b/'\n" + target, "url is no URL"},
		{"timeout too long", "url: fe\ntimeout: 73h\n" + target, "timeout is 73h0m0s; it must be between 1s and 72h"},
		{"a number for a duration", "url: fe\ntimeout: 30\n" + target, `timeout is "30", which is no duration; write for instance 500ms, 30s or 5m`},
		{"period not positive", "url: fe\nbatching: { period: 0s }\n" + target, "batching.period is 0s; it must be more than 0"},
		{
			"label and group commit", "url: fe\nlabel: ${! this.id }\ngroup_commit: async_mode\n" + target,
			"label cannot be used with group_commit async_mode, where Doris makes the labels",
		},
		{
			"junk for certificates", "url: https://fe\ntls: { enabled: true, root_cas_file: " + certificate + " }\n" + target,
			"tls has root certificates (root_cas or root_cas_file) in which there is no certificate in PEM form",
		},
		{
			"certificates twice", "url: https://fe\ntls: { enabled: true, root_cas_file: a, root_cas: b }\n" + target,
			"tls cannot be used: only one field between root_cas and root_cas_file can be specified",
		},
		{
			"a header that a field sends", "url: fe\nwhere: a > 1\nheaders: { Where: b > 1 }\n" + target,
			`headers contains "Where", which is set by the field where too`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(t, c.yaml)
			require.EqualError(t, err, c.want)
		})
	}
}

func TestFieldsBecomeTheClientsConfig(t *testing.T) {
	t.Parallel()
	conf, err := parse(t, `
fe_urls: [ "fe1:8030, http://fe2:8030", https://fe3 ]
url: http://not-used:1
be_urls: [ "be1:8040, http://be2:8040" ]
redirect_map: { "10.0.0.1:8040": "be1:8040" }
redirect_policy: public
database: shop
table: ${! this.kind }
username: loader
password: pw
allow_insecure_redirect: true
jsonpaths: '["$.a"]'
json_root: $.r
num_as_string: true
fuzzy_parse: true
columns: [ a, b ]
where: a > 1
max_filter_ratio: 0
strict_mode: true
partitions: [ p ]
timezone: UTC
exec_mem_limit: 1000
merge_type: MERGE
delete: op = 'd'
sequence_column: at
headers: { comment: hi }
group_commit: off_mode
label_prefix: mine
label: ${! this.id }
max_retries: 5
backoff: { initial_interval: 1s, max_interval: 2s, max_elapsed_time: 0s }
label_poll: { max_elapsed_time: 1m }
ledger: { max_rows: 7, max_age: 0s }
timeout: 500ms
connect_timeout: 3s
max_in_flight: 2
max_load_rows: 50
max_load_bytes: 60
batching: { count: 5, period: 1s }
tls: { enabled: true, skip_cert_verify: true }
`)
	require.NoError(t, err)
	zero := 0.0
	require.NotNil(t, conf.client.TLS)
	require.True(t, conf.client.TLS.InsecureSkipVerify)
	conf.client.TLS = nil
	require.Equal(t, streamload.Config{
		FEs:         []string{"fe1:8030", "http://fe2:8030", "https://fe3"},
		BEs:         []string{"be1:8040", "http://be2:8040"},
		RedirectMap: map[string]string{"10.0.0.1:8040": "be1:8040"},
		Username:    "loader", Password: "pw", AllowInsecureRedirect: true,
		Options: streamload.Options{
			Dialect: "doris", MergeCommit: streamload.MergeCommit{Interval: time.Second, Parallel: 3},
			Format: "json", Compression: "none", JSONPaths: `["$.a"]`, JSONRoot: "$.r", NumAsString: true, FuzzyParse: true, ColumnSeparator: ",", LineDelimiter: "\n",
			Columns: []string{"a", "b"}, Where: "a > 1", MaxFilterRatio: &zero, StrictMode: true, Partitions: []string{"p"},
			RedirectPolicy: "public", TemporaryPartitions: []string{}, Headers: map[string]string{"comment": "hi"}, GroupCommit: "off_mode", Timezone: "UTC", ExecMemLimit: 1000,
			Unique: streamload.UniqueKey{MergeType: "MERGE", Delete: "op = 'd'", SequenceColumn: "at", HiddenColumns: []string{}},
		},
		LabelPrefix: "mine", MaxRetries: 5,
		Backoff:   streamload.Backoff{Initial: time.Second, Max: 2 * time.Second, MaxElapsed: -1},
		LabelPoll: streamload.Backoff{Initial: 200 * time.Millisecond, Max: 5 * time.Second, MaxElapsed: time.Minute},
		Timeout:   500 * time.Millisecond, ConnectTimeout: 3 * time.Second,
		MaxLoadRows: 50, MaxLoadBytes: 60,
		Ledger: streamload.LedgerLimits{MaxRows: 7, MaxAge: -1},
	}, conf.client)
	require.Equal(t, []string{"fe1:8030", "fe2:8030", "fe3"}, conf.frontends)
	require.Equal(t, "shop.${! this.kind }", conf.target)
	require.NotNil(t, conf.label)
	require.Equal(t, 2, conf.maxInFlight)
	require.Equal(t, 5, conf.batching.Count)
}

// The client's defaults are for Go programs, the fields' for pipelines; somebody who knows one must not be surprised by the other.
func TestDefaultsAreThoseOfTheClient(t *testing.T) {
	t.Parallel()
	conf, err := parse(t, "url: fe\n"+target)
	require.NoError(t, err)
	want := streamload.DefaultConfig()
	want.FEs, want.Username, want.RedirectMap = []string{"fe"}, "root", map[string]string{}
	want.Observer, want.Grace, want.BackendAge = nil, 0, 0 // no fields
	conf.client.Options.Columns, conf.client.Options.Partitions = nil, nil
	conf.client.Options.Unique.HiddenColumns = nil
	conf.client.Options.TemporaryPartitions, conf.client.Options.Headers = nil, nil
	require.Equal(t, want, conf.client)
	require.Nil(t, conf.label)
	require.Empty(t, conf.remarks)
}

func TestNoBoundOfALoad(t *testing.T) {
	t.Parallel()
	conf, err := parse(t, "url: fe\nmax_load_bytes: 0\n"+target)
	require.NoError(t, err)
	require.EqualValues(t, -1, conf.client.MaxLoadBytes)
}

func TestNoRetriesIsSaidTwoWays(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"0", "-1"} {
		conf, err := parse(t, "url: fe\nmax_retries: "+value+"\n"+target)
		require.NoError(t, err)
		require.Equal(t, -1, conf.client.MaxRetries, value)
	}
}

func TestRemarks(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	b := build(t, "url: "+e.FEURL()+"\nlabel: fixed\nbatching: { count: 7 }\ntls: { enabled: true }\n"+target)
	for _, want := range []string{
		"tls is enabled, but no FE address begins with https",
		"label is the same for every batch",
		"batching has no period",
	} {
		require.Len(t, b.logs.lines("level=WARN", want), 1)
	}
}
