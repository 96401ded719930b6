package emulator_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// redirected is where the first FE sends a load.
func redirected(t *testing.T, emu *emulator.Emulator) string {
	t.Helper()
	r := do(t, http.MethodPut, emu.FEURL()+"/api/db/t/_stream_load", oneRow, "Expect: 100-continue")
	if r.http != http.StatusTemporaryRedirect {
		return r.Msg
	}
	return r.header.Get("Location")
}

func TestABEMoves(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{Faults: []emulator.Fault{{At: emulator.BEBeforeCommit, Do: emulator.Reset, Keep: true, Times: 1}}})
	old := emu.BEAddr()
	_, err := tryJSON(t, emu, oneRow, "label: open")
	require.Error(t, err)
	require.Equal(t, "PREPARE", state(t, emu, "open"))

	require.NoError(t, emu.MoveBE(0))
	require.NotEqual(t, old, emu.BEAddr())
	require.Equal(t, "ABORTED", state(t, emu, "open"), "the BE that ran it is gone")
	_, err = try(t.Context(), t, http.MethodGet, "http://"+old+"/api/health", "")
	require.ErrorContains(t, err, "refused")
	require.Contains(t, redirected(t, emu), emu.BEAddr())
	require.Equal(t, "Success", putJSON(t, emu, oneRow).Status)

	emu.StopBE(0)
	require.Contains(t, redirected(t, emu), "No backend")
	require.NoError(t, emu.MoveBE(0), "one that is down comes up elsewhere")
	require.Equal(t, "Success", putJSON(t, emu, oneRow).Status)
	require.NoError(t, emu.StartBE(0))
	require.NoError(t, emu.Close())
	require.Error(t, emu.MoveBE(0))
}

func TestFaultBEDown(t *testing.T) {
	t.Parallel()
	emu := start(t, emulator.Options{})
	emu.Inject(emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.BEDown, For: time.Millisecond, Times: 1})
	_, err := tryJSON(t, emu, oneRow, "label: a")
	require.Error(t, err)
	require.Equal(t, "ABORTED", state(t, emu, "a"))
	require.Eventually(t, func() bool { return strings.Contains(redirected(t, emu), emu.BEAddr()) }, 10*time.Second, time.Millisecond)
	require.Equal(t, "Success", putJSON(t, emu, oneRow, "label: a").Status)

	// At an FE it is the first BE, and the exchange goes on.
	emu.Inject(emulator.Fault{At: emulator.StateQuery, Do: emulator.BEDown, Times: 1})
	require.Equal(t, "VISIBLE", state(t, emu, "a"))
	require.Contains(t, redirected(t, emu), "No backend")
	require.NoError(t, emu.StartBE(0))
	require.Equal(t, "Success", putJSON(t, emu, oneRow).Status)
}

// An injector can tell loads in two phases from others, and empty ones.
func TestInjectorKnowsTheLoad(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]emulator.Exchange{}
	emu := start(t, emulator.Options{Injector: emulator.InjectorFunc(func(_ context.Context, e emulator.Exchange) (emulator.Fault, bool) {
		mu.Lock()
		defer mu.Unlock()
		if e.Point == emulator.BEBegin {
			seen[e.Label] = e
		}
		return emulator.Fault{}, false
	})})
	putJSON(t, emu, oneRow, "label: rows")
	putJSON(t, emu, "", "label: none", "two_phase_commit: true")
	require.Equal(t, int64(len(oneRow)), seen["rows"].Length)
	require.False(t, seen["rows"].TwoPhase)
	require.Zero(t, seen["none"].Length)
	require.True(t, seen["none"].TwoPhase)
}
