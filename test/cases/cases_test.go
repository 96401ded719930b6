package cases

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/dorisload/benthos-doris/test/cases/internal/script"

	_ "github.com/redpanda-data/benthos/v4/public/components/pure" // Bloblang in the configurations
)

const (
	outputName = "doris_stream_load"
	caseFile   = "testdata/cases.jsonl"
)

// The cases mostly wait, so many of them run at once; -parallel has the last
// word.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

func allCases(t *testing.T) map[string]script.Case {
	t.Helper()
	cases, err := readCases(caseFile)
	require.NoError(t, err)
	byID := map[string]script.Case{}
	for _, c := range cases {
		byID[c.ID] = c
	}
	return byID
}
