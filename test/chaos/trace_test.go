package chaos

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// trace is what happened in a run, in the order in which it was seen.
type trace struct {
	began time.Time

	mu    sync.Mutex
	lines []line
	names map[string]string
}

type line struct {
	at    time.Duration
	label string
	text  string
}

func newTrace() *trace { return &trace{began: time.Now(), names: map[string]string{}} }

// add notes something about a label; "" is about all of them.
func (t *trace) add(label, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line{time.Since(t.began), label, fmt.Sprintf(format, args...)})
}

// name shortens a label: what is before the number of the attempt becomes L1, L2, ... in the order of appearance.
func (t *trace) name(label string) string {
	base, number := label, ""
	if i := strings.LastIndexByte(label, '_'); i > 0 && len(label)-i <= 3 {
		base, number = label[:i], label[i:]
	}
	if t.names[base] == "" {
		t.names[base] = fmt.Sprintf("L%d", len(t.names)+1)
	}
	return t.names[base] + number
}

// about is the part of the trace that is about some labels, or all of it.
func (t *trace) about(labels []string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	base := func(label string) string {
		if i := strings.LastIndexByte(label, '_'); i > 0 && len(label)-i <= 3 {
			return label[:i]
		}
		return label
	}
	var bases []string
	for _, l := range labels {
		bases = append(bases, base(l))
	}
	var b strings.Builder
	for _, l := range t.lines {
		name := ""
		if l.label != "" {
			name = t.name(l.label)
			if labels != nil && !slices.Contains(bases, base(l.label)) {
				continue
			}
		}
		fmt.Fprintf(&b, "%8.1fms %-6s %s\n", float64(l.at.Microseconds())/1000, name, l.text)
	}
	return b.String()
}
