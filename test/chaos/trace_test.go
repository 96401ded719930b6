package chaos

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// calm is the line that says that there are no more faults.
const calm = "no more faults"

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
	ids   []int // the messages it is about, if it is about no label
	text  string
}

func newTrace() *trace { return &trace{began: time.Now(), names: map[string]string{}} }

// add notes something about a label; "" is about all of them.
func (t *trace) add(label, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line{at: time.Since(t.began), label: label, text: fmt.Sprintf(format, args...)})
}

// nack notes that messages were not acknowledged.
func (t *trace) nack(ids []int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line{at: time.Since(t.began), ids: ids, text: fmt.Sprintf("nack of %v: %.300s", ids, err)})
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

// about is the part of the trace that is about some labels and messages; nil is all of it.
func (t *trace) about(labels []string, ids []int) string {
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
			name = t.name(l.label) // also of those that are left out, so that a label has the same name everywhere
		}
		concerns := slices.Contains(bases, base(l.label)) || slices.ContainsFunc(l.ids, func(id int) bool { return slices.Contains(ids, id) })
		if (labels != nil || ids != nil) && !concerns && l.text != calm {
			continue
		}
		fmt.Fprintf(&b, "%8.1fms %-6s %s\n", float64(l.at.Microseconds())/1000, name, l.text)
	}
	return b.String()
}
