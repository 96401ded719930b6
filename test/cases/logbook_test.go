package cases

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/dorisload/benthos-doris/test/cases/internal/verdict"
)

// logbook keeps all that is logged, at every level.
type logbook struct {
	mu    sync.Mutex
	lines []verdict.LogLine
}

func (l *logbook) all() []verdict.LogLine {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]verdict.LogLine(nil), l.lines...)
}

func (l *logbook) handler() slog.Handler { return logHandler{book: l} }

// logHandler writes the message and the attributes of a record as one text.
type logHandler struct {
	book  *logbook
	attrs string
	group string
}

func (logHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h logHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(r.Message))
	b.WriteString(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		b.WriteString(h.text(a))
		return true
	})
	h.book.mu.Lock()
	defer h.book.mu.Unlock()
	h.book.lines = append(h.book.lines, verdict.LogLine{Level: r.Level, Text: b.String()})
	return nil
}

func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		h.attrs += h.text(a)
	}
	return h
}

func (h logHandler) WithGroup(name string) slog.Handler {
	h.group += name + "."
	return h
}

func (h logHandler) text(a slog.Attr) string {
	return fmt.Sprintf(" %s%s=%v", h.group, a.Key, a.Value.Resolve())
}
