package output

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
	"github.com/dorisload/benthos-doris/test/rawload"
)

func TestAbortLingering(t *testing.T) {
	t.Parallel()
	const label = "shop_abcdefghijklmnopqrstuvwx27"
	left := func(t *testing.T, opt emulator.Options) *emulator.Emulator {
		t.Helper()
		e := cluster(t, opt)
		rawload.Put(t, rawload.Row{BE: e.BEAddr(), Path: "/api/d/t/_stream_load", Label: label, JSON: `{"id":1}`, TwoPhases: true})
		require.Equal(t, emulator.Precommitted, e.LabelState("d", label))
		return e
	}
	const phases = target + "label_prefix: shop\ntwo_phase_commit: true\n"
	t.Run("asked for", func(t *testing.T) {
		t.Parallel()
		e := left(t, emulator.Options{})
		b := build(t, fields(e.FEURL(), phases+"abort_lingering: true\n"))
		require.Equal(t, emulator.Aborted, e.LabelState("d", label))
		require.Len(t, b.logs.lines("level=WARN", label, "PRECOMMITTED", "is aborted (abort_lingering)"), 1)
		require.NoError(t, b.WriteBatch(within(t), batchOf(`{"id":2}`)))
		require.Equal(t, 1, e.Count("d", "t"))
		require.NoError(t, b.Connect(within(t)))
		queries := 0
		for _, r := range e.Requests() {
			if strings.Contains(r.Path, "/api/query/") {
				queries++
			}
		}
		require.Equal(t, 2, queries, "once, for each of two states")
	})
	t.Run("not asked for", func(t *testing.T) {
		t.Parallel()
		e := left(t, emulator.Options{})
		build(t, fields(e.FEURL(), phases))
		require.Equal(t, emulator.Precommitted, e.LabelState("d", label))
	})
	t.Run("it cannot be looked up", func(t *testing.T) {
		t.Parallel()
		e := cluster(t, emulator.Options{Tables: []emulator.Table{{Database: "e", Name: "t", Columns: []emulator.Column{{Name: "id", Type: "INT"}}}}})
		b := build(t, fields(e.FEURL(), phases+"abort_lingering: true\n"))
		require.Len(t, b.logs.lines("level=WARN", "abort_lingering", "cannot be looked up"), 1)
	})
}
