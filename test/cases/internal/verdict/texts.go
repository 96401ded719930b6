package verdict

import (
	"slices"
	"strings"

	"github.com/dorisload/benthos-doris/test/cases/internal/script"
)

const labelToken = "{{LABEL}}"

// plain is a text as it is compared: without case, and an underscore is a space.
func plain(text string) string { return strings.ReplaceAll(strings.ToLower(text), "_", " ") }

// contains tells whether one of the texts holds what is wanted. {{LABEL}}
// stands for any label that was sent.
func (o Observation) contains(texts []string, wanted string) bool {
	forms := []string{wanted}
	if strings.Contains(wanted, labelToken) {
		forms = nil
		for _, label := range o.labels() {
			forms = append(forms, strings.ReplaceAll(wanted, labelToken, label))
		}
	}
	for _, form := range forms {
		if expanded, err := o.Expand(form); err == nil {
			form = expanded
		}
		if form == "" {
			continue // an empty password is in every text
		}
		if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(plain(text), plain(form)) }) {
			return true
		}
	}
	return false
}

func (o Observation) missing(texts, wanted []string) []string {
	var found []string
	for _, w := range wanted {
		if !o.contains(texts, w) {
			found = append(found, w)
		}
	}
	return found
}

func compareTexts(e script.Expectation, o Observation, miss func(string, ...any)) {
	texts, alarms := o.texts(), o.alarms()

	if missing := o.missing(texts, e.MessageContains); len(missing) > 0 || len(e.MessageContains) == 0 && len(e.MessageAnyOf) > 0 {
		if !slices.ContainsFunc(e.MessageAnyOf, func(set []string) bool { return len(o.missing(texts, set)) == 0 }) {
			miss("message_contains: no error says %q", missing)
		}
	}
	for _, text := range e.MessageExcludes {
		if o.contains(texts, text) {
			miss("message_excludes: an error says %q", text)
		}
	}
	for _, text := range texts {
		if e.MaxErrorBytes != nil && len(text) > *e.MaxErrorBytes {
			miss("max_error_bytes: an error has %d bytes, not %d", len(text), *e.MaxErrorBytes)
		}
	}
	if missing := o.missing(alarms, e.LogContains); len(missing) > 0 {
		miss("log_contains: no warning or error in the log says %q", missing)
	}
	for _, text := range e.LogExcludes {
		if o.contains(alarms, text) {
			miss("log_excludes: the log says %q", text)
		}
	}
}
