package streamload_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// Found by chaos. All batches with rows of an open label wait for its fence; one that met a silent BE was waited for longer than any load.
func TestAFenceIsNotWaitedForLongerThanALoad(t *testing.T) {
	t.Parallel()
	emu := emulator.New(t, emulator.Options{AutoCreate: true})
	c := fastClient(t, emu, nil)
	_, e := load(t, c, 0)
	require.Nil(t, e)
	emu.Inject(emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Reset, Times: 1})
	emu.Inject(emulator.Fault{At: emulator.StateQuery, Do: emulator.HTTP, Status: 503, Times: 8})
	_, e = load(t, c, 1)
	require.NotNil(t, e)
	require.True(t, e.Unresolved, e.Error())
	emu.ClearFaults()

	silent := emu.Inject(emulator.Fault{At: emulator.BEBeforeCommit, Do: emulator.Hang, Keep: true, Times: 1})
	began := time.Now()
	_, e = load(t, c, 1) // the server is given 1 s, and the client waits for 2 s more
	require.Less(t, time.Since(began), 15*time.Second)
	require.Equal(t, 1, silent.Hits())
	if e != nil {
		require.True(t, e.Unresolved, e.Error())
		_, e = load(t, c, 1)
		require.Nil(t, e)
	}
	require.Equal(t, map[string]int{"0": 1, "1": 1}, storedIDs(emu))
}
