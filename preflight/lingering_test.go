package preflight

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
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
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+e.BEAddr()+"/api/d/t/_stream_load", strings.NewReader(`{"id":1,"a":1,"b":1}`))
	require.NoError(t, err)
	r.SetBasicAuth("loader", "pw-of-loader")
	for name, value := range map[string]string{"Expect": "100-continue", "format": "json", "read_json_by_line": "true", "label": label, "two_phase_commit": "true"} {
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	found := of(phases)
	require.Len(t, found, 1)
	require.Equal(t, Note, found[0].Status)
	require.Contains(t, found[0].Text, `1 transaction(s) of label_prefix "benthos" in d have not ended`)
	require.Contains(t, found[0].Text, label)
	require.Equal(t, emulator.Precommitted, e.LabelState("d", label), "looking changes nothing")
}
