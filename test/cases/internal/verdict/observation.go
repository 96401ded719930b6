// Package verdict compares what an output did with what a case expects of it.
package verdict

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/dorisload/benthos-doris/test/cases/internal/rows"
	"github.com/dorisload/benthos-doris/test/cases/internal/wire"
)

// Observation is everything that could be seen of one run of a case.
type Observation struct {
	// Refused is the error with which the configuration was refused.
	Refused string
	// Outputs holds, for each output, the error of each message; nil is an
	// acknowledgement.
	Outputs [][]error
	// Errors are the texts of all errors that writes returned, the headline of
	// a batch included.
	Errors []string
	// Elapsed is the time from the first write to the end of the last.
	Elapsed time.Duration
	Logs    []LogLine
	Traffic wire.Traffic
	// Problems are violations of the contract between Benthos and an output.
	Problems []string

	Layout   rows.Layout
	Messages []string // as they were written
	// Expand replaces the tokens of a text by what they stood for in this run.
	Expand         func(text string) (string, error)
	User, Password string
}

// LogLine is one line that the output or Benthos logged.
type LogLine struct {
	Level slog.Level
	Text  string
}

// texts are all error texts that a user gets to see.
func (o Observation) texts() []string {
	if o.Refused == "" {
		return o.Errors
	}
	return append([]string{o.Refused}, o.Errors...)
}

// alarms are the log lines of warnings and errors.
func (o Observation) alarms() []string {
	var found []string
	for _, l := range o.Logs {
		if l.Level >= slog.LevelWarn {
			found = append(found, l.Text)
		}
	}
	return found
}

// loads are the loads that reached a backend.
func (o Observation) loads() []wire.Request {
	return o.requests(func(r wire.Request) bool { return r.ToBackend() && r.Method == "PUT" })
}

func (o Observation) requests(which func(wire.Request) bool) []wire.Request {
	var found []wire.Request
	for _, r := range o.Traffic.Requests {
		if which(r) {
			found = append(found, r)
		}
	}
	return found
}

// labels are the labels that were sent with loads, each once.
func (o Observation) labels() []string {
	var found []string
	seen := map[string]bool{}
	for _, r := range o.Traffic.Requests {
		if r.Load() && r.Label != "" && !seen[r.Label] {
			seen[r.Label] = true
			found = append(found, r.Label)
		}
	}
	return found
}

// bodies are the bodies of loads that were read to their end.
func (o Observation) bodies() []string {
	var found []string
	for _, r := range o.Traffic.Requests {
		if r.Load() && r.BodyComplete && r.Length != 0 {
			found = append(found, string(r.Body))
		}
	}
	return found
}

// secrets are the forms in which the password could show.
func (o Observation) secrets() []string {
	if o.Password == "" {
		return nil
	}
	return []string{
		o.Password,
		url.QueryEscape(o.Password),
		url.PathEscape(o.Password),
		base64.StdEncoding.EncodeToString([]byte(o.User + ":" + o.Password)),
	}
}

// String tells what happened, for the report of a case that failed.
func (o Observation) String() string {
	var b strings.Builder
	if o.Refused != "" {
		fmt.Fprintf(&b, "refused: %s\n", shorten(o.Refused))
	}
	for i, messages := range o.Outputs {
		for j, err := range messages {
			if err != nil {
				fmt.Fprintf(&b, "output %d, message %d failed: %s\n", i, j, shorten(err.Error()))
			}
		}
	}
	fmt.Fprintf(&b, "after %v\n", o.Elapsed.Round(time.Millisecond))
	for _, r := range o.Traffic.Requests {
		fmt.Fprintf(&b, "%s\n", r.String())
	}
	for _, s := range o.Traffic.Durable {
		fmt.Fprintf(&b, "durable under %q: %s\n", s.Label, shorten(string(s.Body)))
	}
	for _, l := range o.Logs {
		fmt.Fprintf(&b, "log %s: %s\n", l.Level, shorten(l.Text))
	}
	return b.String()
}

func shorten(text string) string {
	const most = 600
	if len(text) > most {
		return fmt.Sprintf("%s… (%d bytes)", text[:most], len(text))
	}
	return text
}
