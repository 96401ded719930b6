package chaos

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"

	_ "github.com/redpanda-data/benthos/v4/public/components/io"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure"
	"go.uber.org/goleak"

	_ "github.com/dorisload/benthos-doris/output"
)

var (
	seeds     = flag.Int("chaos.seeds", 25, "how many seeds to run")
	firstSeed = flag.Uint64("chaos.first", 1, "the first of them")
	oneSeed   = flag.Uint64("chaos.seed", 0, "run this seed only, and print its trace")
	traces    = flag.String("chaos.traces", "", "a folder for the whole trace and log of each run that fails")
	kills     = flag.Int("chaos.kills", 2, "how many runs in which a process is killed, with a label and without")
	mutants   = flag.Bool("chaos.mutants", false, "check the suite with every broken client, not only with the two that matter most")
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Runs wait most of the time, so there may be more of them at a time than there are processors.
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set(strconv.Itoa(max(16, runtime.GOMAXPROCS(0))))
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if programDir != "" {
			_ = os.RemoveAll(programDir)
		}
		os.Exit(code)
	}))
}
