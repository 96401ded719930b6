//go:build linux

package bench

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// roleVariable makes this test binary play another part: the sink, or a
// measurement of memory that wants a process of its own.
const roleVariable = "BENCH_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "sink":
		runSink()
	case "memory":
		runMemory()
	default:
		os.Exit(m.Run())
	}
}

// self is this binary in another role, with pipes to its input and output.
func self(tb testing.TB, role string, env ...string) (cmd *exec.Cmd, in, out *os.File) {
	tb.Helper()
	name, err := os.Executable()
	require.NoError(tb, err)
	childIn, in, err := os.Pipe()
	require.NoError(tb, err)
	out, childOut, err := os.Pipe()
	require.NoError(tb, err)
	cmd = exec.CommandContext(context.Background(), name) //nolint:usetesting // it ends with its input, after the test's own context
	cmd.Env = append(append(os.Environ(), roleVariable+"="+role), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, os.Stderr
	tb.Cleanup(func() {
		for _, f := range []*os.File{childIn, in, out, childOut} {
			_ = f.Close()
		}
	})
	return cmd, in, out
}
