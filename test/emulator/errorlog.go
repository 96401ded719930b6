package emulator

import (
	"fmt"
	"strings"
	"sync"
)

const (
	maxErrorRows = 50
	maxErrorLogs = 1000
)

// errorLogs holds the pages behind ErrorURL, the newest maxErrorLogs of them.
type errorLogs struct {
	mu    sync.Mutex
	next  int
	files []string
	texts map[string]string
}

func newErrorLogs() *errorLogs { return &errorLogs{texts: map[string]string{}} }

// put stores the page of one load and returns the name of its file.
func (l *errorLogs) put(loadID string, page *errorPage) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := page.text.String()
	name := fmt.Sprintf("__shard_%d/error_log_insert_stmt_%s", l.next%1024, loadID)
	if page.starrocks {
		name = "error_log_" + strings.ReplaceAll(loadID, "-", "_")
	}
	l.next++
	l.files = append(l.files, name)
	l.texts[name] = text
	if len(l.files) > maxErrorLogs {
		delete(l.texts, l.files[0])
		l.files = l.files[1:]
	}
	return name
}

func (l *errorLogs) get(name string) (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, ok := l.texts[name]
	return text, ok
}

// errorPage collects the bad rows of one load.
type errorPage struct {
	first     string // the first reason
	starrocks bool
	rows      int
	text      strings.Builder
}

func (p *errorPage) add(reason, src string) {
	if p.rows == 0 {
		p.first = reason
	}
	switch p.rows++; {
	case p.rows <= maxErrorRows:
		if len(src) > 64<<10 { // the server caps the file, not the row
			src = src[:64<<10]
		}
		if p.starrocks {
			fmt.Fprintf(&p.text, "Error: %s. Row: %s\n", starrocksReasons.Replace(reason), src)
			return
		}
		fmt.Fprintf(&p.text, "Reason: %s. src line [%s]; \n", reason, src)
	case p.rows == maxErrorRows+1 && !p.starrocks:
		p.text.WriteString("TOO MUCH ERROR! already reach 50. show no more next error.\n")
	}
}
