package preflight

import (
	"encoding/json"
	"errors"
)

// Status is how a finding came out.
type Status int

// The status, from good to bad.
const (
	// OK: looked at, and good.
	OK Status = iota
	// Skipped: could not be looked at, which by itself is no fault.
	Skipped
	// Note: good, and worth knowing.
	Note
	// Warning: loads will run, but something will go wrong at times.
	Warning
	// Failed: loads will fail, all of them or those that meet it.
	Failed
)

var statusWords = [...]string{OK: "ok", Skipped: "skipped", Note: "note", Warning: "warning", Failed: "failed"}

// String is the status in one lower-case word.
func (s Status) String() string { return statusWords[s] }

// MarshalJSON writes the word.
func (s Status) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// Finding is one thing that was looked at.
type Finding struct {
	// Check is what kind of thing, a stable token: fe, tls, clock, user, version, database, table, columns, key, way, be, labels, lingering or load.
	Check  string `json:"check"`
	Status Status `json:"status"`
	// Text is what was found, in one line without secrets.
	Text string `json:"text"`
	// Advice is what to do about it, "" for nothing.
	Advice string `json:"advice,omitempty"`
}

// Report is everything that was found, in the order in which it was looked at.
type Report struct {
	Findings []Finding `json:"findings"`
}

func (r *Report) add(check string, status Status, text, advice string) {
	r.Findings = append(r.Findings, Finding{check, status, text, advice})
}

// Worst is the worst status in the report.
func (r Report) Worst() Status {
	worst := OK
	for _, f := range r.Findings {
		worst = max(worst, f.Status)
	}
	return worst
}

// Count is how many findings have a status.
func (r Report) Count(s Status) int {
	n := 0
	for _, f := range r.Findings {
		if f.Status == s {
			n++
		}
	}
	return n
}

// Err joins what failed, one a line; nil when nothing did.
func (r Report) Err() error {
	var problems []error
	for _, f := range r.Findings {
		if f.Status != Failed {
			continue
		}
		text := f.Text
		if f.Advice != "" {
			text += " (" + f.Advice + ")"
		}
		problems = append(problems, errors.New(text))
	}
	return errors.Join(problems...)
}
