package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/dorisload/benthos-doris/preflight"
)

// words stand before a finding, so that the eye finds those in capitals.
var words = map[preflight.Status]string{
	preflight.OK:      "ok",
	preflight.Skipped: "skipped",
	preflight.Note:    "note",
	preflight.Warning: "WARNING",
	preflight.Failed:  "FAILED",
}

// printText prints what a person reads: a block for each output, and a line that sums up.
func printText(out io.Writer, results []checked, quiet bool) {
	failed, warnings := 0, 0
	for i, r := range results {
		if i > 0 {
			fmt.Fprintln(out)
		}
		name := r.path
		if r.label != "" {
			name = r.label + " (" + r.path + ")"
		}
		fmt.Fprintf(out, "%s(%d): %s, into %s.%s\n", r.config, r.line, name, r.database, r.table)
		for _, f := range r.Findings {
			if quiet && f.Status < preflight.Warning {
				continue
			}
			fmt.Fprintf(out, "  %-8s%-9s%s\n", words[f.Status], f.Check, f.Text)
			if f.Advice != "" {
				fmt.Fprintf(out, "  %-17s-> %s\n", "", f.Advice)
			}
		}
		failed += r.Count(preflight.Failed)
		warnings += r.Count(preflight.Warning)
	}
	fmt.Fprintf(out, "\n%s looked at: %s\n", count(len(results), "output"), verdict(failed, warnings))
}

func verdict(failed, warnings int) string {
	switch {
	case failed > 0 && warnings > 0:
		return fmt.Sprintf("%s, and %s", count(failed, "failure"), count(warnings, "warning"))
	case failed > 0:
		return count(failed, "failure")
	case warnings > 0:
		return "loads would run, with " + count(warnings, "warning")
	default:
		return "ready for loads"
	}
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// checkedJSON is an output as --json prints it.
type checkedJSON struct {
	Config   string              `json:"config"`
	Line     int                 `json:"line"`
	Path     string              `json:"path"`
	Label    string              `json:"label,omitempty"`
	Database string              `json:"database"`
	Table    string              `json:"table"`
	Status   preflight.Status    `json:"status"`
	Findings []preflight.Finding `json:"findings"`
}

// printJSON prints {"status", "outputs"}; a status is the worst of what is in it: ok, skipped, note, warning or failed.
func printJSON(out io.Writer, results []checked) error {
	doc := struct {
		Status  preflight.Status `json:"status"`
		Outputs []checkedJSON    `json:"outputs"`
	}{Outputs: []checkedJSON{}}
	for _, r := range results {
		doc.Status = max(doc.Status, r.Worst())
		doc.Outputs = append(doc.Outputs, checkedJSON{r.config, r.line, r.path, r.label, r.database, r.table, r.Worst(), r.Findings})
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(doc)
}
