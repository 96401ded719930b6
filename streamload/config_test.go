package streamload

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestConfigDefaults(t *testing.T) {
	t.Parallel()
	d := DefaultConfig()
	d.FEs = []string{"fe:8030"}
	zero := Config{FEs: []string{"fe:8030"}}
	zero.setDefaults()
	require.Equal(t, d, zero, "a zero field takes the default")
	again := zero
	again.setDefaults()
	require.Equal(t, zero, again)

	c := Config{MaxRetries: -1, Backoff: Backoff{Initial: time.Minute, MaxElapsed: -1}, LabelPoll: Backoff{Max: time.Hour}}
	c.setDefaults()
	require.Zero(t, c.MaxRetries, "-1 means never")
	require.Equal(t, Backoff{Initial: time.Minute, Max: time.Minute}, c.Backoff, "-1 means no bound, and the longest wait is never shorter than the first")
	require.Equal(t, Backoff{200 * time.Millisecond, time.Hour, 5 * time.Minute}, c.LabelPoll)
}

// All problems are reported at once, each with the name of its field, and always in the same order.
func TestConfigReportsAllProblems(t *testing.T) {
	t.Parallel()
	c := Config{
		FEs:            []string{"fe:8030", "ftp://fe", "http://root:hunter22@fe"},
		Timeout:        100 * time.Hour,
		ConnectTimeout: -1,
		Grace:          -1,
		Backoff:        Backoff{Initial: 1, Max: time.Second, MaxElapsed: -5},
		LabelPoll:      Backoff{Initial: time.Second, Max: time.Millisecond},
		Options: Options{
			Format: "xml", GroupCommit: "yes", MaxFilterRatio: new(2.0), SkipLines: -1,
			Partitions: []string{"a\n"}, TemporaryPartitions: []string{"b\n"},
			Columns: []string{"\n"}, Where: "\n", JSONPaths: "\n", JSONRoot: "\n",
			ColumnSeparator: `\x`, LineDelimiter: `\x`,
			Headers: map[string]string{"label": "x", "a b": "c", "z": "\n"},
		},
	}
	want := []string{
		"fe_urls [1] ", "fe_urls [2] ", "backoff has an initial_interval of 1ns", "backoff has a negative max_elapsed_time",
		"label_poll has a max_interval of 1ms, which is shorter than its initial_interval of 1s",
		"timeout is 100h0m0s", "connect_timeout is negative", "grace is negative",
		"format ", "group_commit ", "max_filter_ratio ", "skip_lines ", "partitions and temporary_partitions", "column_separator ", "line_delimiter ",
		"columns ", "where ", "jsonpaths ", "json_root ", "partitions contains", "temporary_partitions contains",
		`headers contains the name "a b"`, `headers contains "label"`, `headers contains a line break or another control character in the value of "z"`,
	}
	for range 20 { // maps have no order
		client, err := New(c)
		require.Nil(t, client)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "hunter22")
		got := strings.Split(err.Error(), "\n")
		require.Len(t, got, len(want), "%s", err)
		for i := range want {
			require.True(t, strings.HasPrefix(got[i], want[i]), "%q is not %q", got[i], want[i])
		}
	}
	_, err := New(Config{})
	require.ErrorContains(t, err, "fe_urls is empty")
	_, err = New(Config{FEs: []string{"fe"}, Timeout: -1})
	require.ErrorContains(t, err, "timeout is -1ns")
}

func TestConfigThatIsGood(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Config{
		"the least":            {FEs: []string{"fe"}},
		"the defaults":         func() Config { c := DefaultConfig(); c.FEs = []string{"https://fe:8030/gate"}; return c }(),
		"the longest timeout":  {FEs: []string{"fe"}, Timeout: 72 * time.Hour},
		"the shortest timeout": {FEs: []string{"fe"}, Timeout: 1},
		"the shortest waits":   {FEs: []string{"fe"}, Backoff: Backoff{Initial: time.Millisecond, Max: time.Millisecond}},
	} {
		client, err := New(c)
		require.NoError(t, err, name)
		client.Close()
	}
}
