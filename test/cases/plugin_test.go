package cases

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redpanda-data/benthos/v4/public/service"

	"github.com/dorisload/benthos-doris/output"
	"github.com/dorisload/benthos-doris/test/cases/internal/verdict"
	"github.com/dorisload/benthos-doris/test/cases/internal/wire"
)

// pluginBench plays cases against the output of this project.
func pluginBench(t *testing.T) bench {
	t.Helper()
	env := service.NewEnvironment()
	require.NoError(t, output.Register(env, outputName))
	return bench{env: env, output: outputName, dir: t.TempDir(), patience: patience}
}

// TestCases plays all cases; -run 'TestCases/KIND/ID' picks some.
func TestCases(t *testing.T) {
	t.Parallel()
	cases, err := readCases(caseFile)
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, c := range cases {
		t.Run(c.Kind+"/"+c.ID, func(t *testing.T) {
			t.Parallel()
			if reason, ok := skipped[c.ID]; ok {
				t.Skip(reason)
			}
			for range 10 {
				var o verdict.Observation
				steadily(t, func() string {
					var err error
					o, err = pluginBench(t).run(c)
					if errors.Is(err, wire.ErrNoIPv6) {
						t.Skip(err)
					}
					require.NoError(t, err)
					if wrong := verdict.Judge(c, o); len(wrong) > 0 {
						return explain(c, wrong, o)
					}
					return ""
				})
				if t.Failed() || !beganElsewhere(o) {
					return
				}
			}
		})
	}
}

// beganElsewhere tells whether the first load went to the second frontend. An
// output may begin with any, but the trouble is scripted for the first, so the
// case is played again then.
func beganElsewhere(o verdict.Observation) bool {
	for _, r := range o.Traffic.Requests {
		if r.ToFrontend() {
			return r.Server == wire.FE2
		}
	}
	return false
}

func TestSkippedCases(t *testing.T) {
	t.Parallel()
	cases := allCases(t)
	fields, err := spec(pluginBench(t).env, outputName)
	require.NoError(t, err)
	for id, reason := range skipped {
		t.Logf("skipped: %s: %s", id, reason)
		c, ok := cases[id]
		if !ok {
			t.Errorf("the table of skipped cases names %q, which is no case", id)
			continue
		}
		if slices.Contains(mandatory, c.Kind) {
			t.Errorf("%s is of the kind %s, of which every case has to run", id, c.Kind)
		}
		needed, ok := strings.CutPrefix(reason, "needs ")
		if !ok {
			t.Errorf("%s: the reason %q does not say what it needs", id, reason)
			continue
		}
		missing := false
		for name := range strings.FieldsFuncSeq(needed, func(r rune) bool { return r == ',' || r == ' ' }) {
			missing = missing || name != "and" && !fields[name]
		}
		if !missing {
			t.Errorf("%s needs %s, which the output has: take the case off the table", id, needed)
		}
	}
}
