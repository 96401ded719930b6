package preflight

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

func versionFindings(r Report) (found []Finding) {
	for _, f := range r.Findings {
		if f.Check == "version" {
			found = append(found, f)
		}
	}
	return found
}

// Each row of the table, over every version: it is told of before it came, and not after.
func TestOptionsThatAVersionDoesNotHave(t *testing.T) {
	t.Parallel()
	csv := func(set func(*streamload.Options)) func(*streamload.Options) {
		return func(o *streamload.Options) { o.Format = "csv"; set(o) }
	}
	rows := []struct {
		option string
		set    func(*streamload.Options)
		since  string // the first of the emulator's versions that has it
		status Status
	}{
		{"group_commit", func(o *streamload.Options) { o.GroupCommit = "async_mode" }, "2.1", Warning},
		{"compression: lz4", csv(func(o *streamload.Options) { o.Compression = "lz4" }), "2.0", Failed},
		{"compression of JSON", func(o *streamload.Options) { o.Compression = "gzip" }, "3.0", Failed},
		{"enclose", csv(func(o *streamload.Options) { o.Enclose, o.TrimDoubleQuotes = `"`, true }), "2.0", Warning},
		{"escape", csv(func(o *streamload.Options) { o.Escape = `\` }), "2.0", Warning},
		{"trim_double_quotes", csv(func(o *streamload.Options) { o.TrimDoubleQuotes = true }), "2.0", Warning},
		{"skip_lines", csv(func(o *streamload.Options) { o.SkipLines = 1 }), "2.0", Warning},
		{"empty_field_as_null", csv(func(o *streamload.Options) { o.EmptyFieldAsNull = true }), "3.0", Warning},
		{"partial_columns", func(o *streamload.Options) { o.Unique.PartialColumns, o.Columns = true, []string{"id", "a"} }, "2.0", Warning},
		{"unique_key_update_mode", func(o *streamload.Options) { o.Unique.UpdateMode = "UPDATE_FLEXIBLE_COLUMNS" }, "3.1", Warning},
		{"partial_update_new_key_behavior", func(o *streamload.Options) {
			o.Unique.PartialColumns, o.Columns, o.Unique.NewKeyBehavior = true, []string{"id", "a"}, "ERROR"
		}, "3.1", Warning},
		{"redirect_policy", func(o *streamload.Options) { o.RedirectPolicy = "random-be" }, "3.0", Warning},
		{"redirect_policy", func(o *streamload.Options) { o.RedirectPolicy = "direct" }, "3.1", Warning},
		{"", func(o *streamload.Options) { o.Unique.UpdateMode = "UPSERT" }, "1.2", OK},
		{"", csv(func(o *streamload.Options) { o.Compression, o.MaxFilterRatio, o.StrictMode = "gzip", new(0.5), true }), "1.2", OK},
		{"", func(o *streamload.Options) { o.TwoPhaseCommit, o.Unique.SequenceColumn = true, "a" }, "1.2", OK},
	}
	for i, y := range youngerOptions {
		require.Equal(t, y.option, rows[i].option, "every row has its test, in the same order")
	}
	for _, version := range emulator.Versions(emulator.Doris) {
		e := emulator.New(t, emulator.Options{Version: version, Tables: tables, Users: users})
		for _, row := range rows {
			o := streamload.DefaultOptions()
			row.set(&o)
			found := versionFindings(look(t, e.FEURLs(), func(s *Subject, c *streamload.Config) { s.Table, c.Options = "u", o }))
			told := false
			for _, f := range found {
				if row.option != "" && strings.HasPrefix(f.Text, row.option+" is ") {
					told = true
					require.Equal(t, row.status, f.Status, f.Text)
				}
			}
			require.Equal(t, row.option != "" && version < row.since, told, "%s %+v: %+v", version, row.option, found)
			if !told && row.option != "partial_update_new_key_behavior" {
				require.Len(t, found, 1)
				require.Equal(t, OK, found[0].Status, "%s: %+v", version, found)
			}
		}
	}
}

func TestAPatchLevelCounts(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]Status{"3.0.4": Failed, "3.0.5": OK, "2.1.9": Failed} {
		e := emulator.New(t, emulator.Options{Version: version, Tables: tables, Users: users})
		r := look(t, e.FEURLs(), func(_ *Subject, c *streamload.Config) { c.Options.Compression = "gzip" })
		found := versionFindings(r)
		require.Len(t, found, 1)
		require.Equal(t, want, found[0].Status, fmt.Sprint(version, found))
		require.Contains(t, found[0].Text, "Doris "+version)
	}
}

func TestAVersionThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		`{"msg":"Error","code":1,"data":"Failed to execute sql: no","count":0}`,
		`{"msg":"success","code":0,"data":{"meta":[{"name":"Variable_name"},{"name":"Value"}],"data":[["version_comment","something of ours"]]},"count":0}`,
		`{"msg":"success","code":0,"data":{"meta":[{"name":"Variable_name"},{"name":"Value"}],"data":[]},"count":0}`,
		`<html>`,
	} {
		fe := fake(t, map[string]http.HandlerFunc{"/api/query/internal/information_schema": says(answer), "/api/bootstrap": says(`{"msg":"success","code":0}`)})
		found := versionFindings(look(t, []string{fe}, nil))
		require.Len(t, found, 1)
		require.Equal(t, Skipped, found[0].Status)
	}
}
