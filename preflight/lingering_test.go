package preflight

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
	"github.com/dorisload/benthos-doris/test/rawload"
)

func TestLingering(t *testing.T) {
	t.Parallel()
	e := emulator.New(t, emulator.Options{Tables: tables, Users: users})
	phases := func(_ *Subject, c *streamload.Config) { c.Options.TwoPhaseCommit = true }
	of := func(change func(*Subject, *streamload.Config)) (found []Finding) {
		for _, f := range look(t, e.FEURLs(), change).Findings {
			if f.Check == "lingering" {
				found = append(found, f)
			}
		}
		return found
	}
	require.Empty(t, of(nil), "in one phase nothing waits")
	require.Equal(t, []Finding{{Check: "lingering", Status: OK, Text: `no transaction of label_prefix "benthos" in d is left`}}, of(phases))

	const label = "benthos_abcdefghijklmnopqrstuvwx27"
	rawload.Put(t, rawload.Row{
		BE: e.BEAddr(), Path: "/api/d/t/_stream_load", User: "loader", Password: "pw-of-loader", Label: label, JSON: `{"id":1,"a":1,"b":1}`, TwoPhases: true,
	})
	found := of(phases)
	require.Len(t, found, 1)
	require.Equal(t, Note, found[0].Status)
	require.Contains(t, found[0].Text, `1 transaction(s) of label_prefix "benthos" in d have not ended`)
	require.Contains(t, found[0].Text, label)
	require.Equal(t, emulator.Precommitted, e.LabelState("d", label), "looking changes nothing")
}
