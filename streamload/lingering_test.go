package streamload_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
	"github.com/dorisload/benthos-doris/test/rawload"
)

// random is the random part of a label.
const random = "abcdefghijklmnopqrstuvwx27"

// leave makes a load in two phases that nobody commits, as a process does that dies between them.
func leave(t *testing.T, emu *emulator.Emulator, label string) {
	t.Helper()
	put(t, emu, label, true)
	require.Equal(t, emulator.Precommitted, emu.LabelState("d", label))
}

func put(t *testing.T, emu *emulator.Emulator, label string, twoPhases bool) {
	t.Helper()
	rawload.Put(t, rawload.Row{BE: emu.BEAddr(), Path: "/api/d/t/_stream_load", Label: label, JSON: `{"id":1}`, TwoPhases: twoPhases})
}

func inTwoPhases(c *streamload.Config) { c.Options.TwoPhaseCommit, c.LabelPrefix = true, "shop" }

func TestLingeringTransactionsAreAborted(t *testing.T) {
	t.Parallel()
	for _, version := range emulator.Versions(emulator.Doris) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			emu := emulator.New(t, emulator.Options{AutoCreate: true, Version: version, FEs: 2})
			c := fastClient(t, emu, inTwoPhases)
			ours := []string{"shop_" + random, "shop_" + random + "_3"}
			others := []string{
				"other_" + random, "shop_x_" + random, "shopx_" + random, "Shop_" + random, "shop_" + random[1:], "shop_" + random + "a", "shop_" + random + "_x", "shop_" + random + "_12345",
				"shop_" + strings.Repeat("1", 26), "xshop_" + random, "shop_topic-1_0123456789abcdef0123456789abcdef", "shop_" + random + "_0123456789abcdef0123456789abcdef",
			}
			for _, label := range append(ours, others...) {
				leave(t, emu, label)
			}
			put(t, emu, "shop_"+random+"_9", false)

			found, err := c.AbortLingering(t.Context(), "d")
			require.NoError(t, err)
			var labels []string
			for _, l := range found {
				require.NoError(t, l.Err)
				require.Equal(t, "PRECOMMITTED", l.State)
				require.Positive(t, l.TxnID)
				labels = append(labels, l.Label)
			}
			require.ElementsMatch(t, ours, labels)
			for _, label := range ours {
				require.Equal(t, emulator.Aborted, emu.LabelState("d", label), label)
			}
			for _, label := range others {
				require.Equal(t, emulator.Precommitted, emu.LabelState("d", label), label)
			}
			require.Equal(t, emulator.Visible, emu.LabelState("d", "shop_"+random+"_9"), "what is committed stays so")
			found, err = c.AbortLingering(t.Context(), "d")
			require.NoError(t, err)
			require.Empty(t, found)
			r, e := load(t, c, 7)
			require.Nil(t, e)
			require.Equal(t, "commit", r.Evidence)
		})
	}
}

// What is in the ledger is not touched: its fate is learned when its rows come again.
func TestLingeringKeepsWhatIsInTheLedger(t *testing.T) {
	t.Parallel()
	emu := emulator.New(t, emulator.Options{AutoCreate: true})
	c := fastClient(t, emu, inTwoPhases)
	emu.Inject(emulator.Fault{At: emulator.TwoPhase, Do: emulator.HTTP, Status: 502})
	emu.Inject(emulator.Fault{At: emulator.CancelCall, Do: emulator.HTTP, Status: 502})
	emu.Inject(emulator.Fault{At: emulator.StateQuery, Do: emulator.HTTP, Status: 502})
	_, e := load(t, c, 1)
	require.NotNil(t, e)
	require.True(t, e.Unresolved)
	emu.ClearFaults()
	require.Equal(t, emulator.Precommitted, emu.LabelState("d", e.Label))
	found, err := c.Lingering(t.Context(), "d")
	require.NoError(t, err)
	require.Len(t, found, 1)
	found, err = c.AbortLingering(t.Context(), "d")
	require.NoError(t, err)
	require.Empty(t, found)
	require.Equal(t, emulator.Precommitted, emu.LabelState("d", e.Label))
}

func TestLingeringThatCannotBeLookedUp(t *testing.T) {
	t.Parallel()
	emu := emulator.New(t, emulator.Options{
		Tables: []emulator.Table{{Database: "d", Name: "t", Columns: []emulator.Column{{Name: "id", Type: "INT"}}}},
		Users:  []emulator.User{{Name: "root", Load: []string{"*"}}, {Name: "guest"}},
	})
	c := fastClient(t, emu, inTwoPhases)
	_, err := c.AbortLingering(t.Context(), "nowhere")
	require.ErrorIs(t, err, streamload.ErrNotThere)
	c = fastClient(t, emu, func(c *streamload.Config) { inTwoPhases(c); c.Password = "wrong" })
	_, err = c.AbortLingering(t.Context(), "d")
	require.ErrorIs(t, err, streamload.ErrDenied)
	c = fastClient(t, emu, func(c *streamload.Config) { inTwoPhases(c); c.Username = "guest" })
	_, err = c.AbortLingering(t.Context(), "d")
	require.ErrorIs(t, err, streamload.ErrDenied)
	emu.StopFE(0)
	_, err = fastClient(t, emu, inTwoPhases).AbortLingering(t.Context(), "d")
	require.Error(t, err)
}

// A transaction that cannot be aborted is told of, and does not keep the others.
func TestLingeringThatIsNotAborted(t *testing.T) {
	t.Parallel()
	emu := emulator.New(t, emulator.Options{AutoCreate: true})
	c := fastClient(t, emu, inTwoPhases)
	for i := range 2 {
		leave(t, emu, fmt.Sprintf("shop_%s_%d", random, i))
	}
	emu.Inject(emulator.Fault{At: emulator.TwoPhase, Do: emulator.Fail, Message: "not today", Times: 1})
	found, err := c.AbortLingering(t.Context(), "d")
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.ErrorContains(t, found[0].Err, "not today")
	require.NoError(t, found[1].Err)
}
