package streamload

import (
	"bytes"
	"context"
	"fmt"
	"math/bits"

	"github.com/dorisload/benthos-doris/streamload/decide"
)

// A server that refuses some rows of a load stores none of it. With Config.IsolateBadRows the bad rows are found, the others are stored, and each bad
// row fails with what the server says about it.
//
// First by the error page, where it shows rows that we have sent: they fail, and the rest is loaded. Then by loading. The server's count of
// the rows that it filtered out says how dense they are, and so how many rows to try at a time; in a group that is refused the first bad row is found
// by halving, which stores every row before it. With k bad rows of n this takes about k*log2(n/k) + 2k loads.
//
// Under a stable label only the halving is used, from the rows alone: another process that gets the same batch must make the same parts, or
// it would store rows again. An error page can be gone by then.

// maxIsolationLoads bounds the loads that a batch may take until its bad rows are found. The rows left then fail as they are.
const maxIsolationLoads = 300

// rowRefused is why a single bad row is not sent again.
const rowRefused = "the row is refused"

// search looks for the bad rows of a batch.
type search struct {
	*parts
	loads int
	left  int    // how many bad rows are expected in what was not looked at yet; 0: none
	last  *Error // the last refusal
}

// tried is what became of a group of rows.
type tried uint8

const (
	groupStored tried = iota
	groupRefused
	groupElse // each of its rows has its result
)

// isolate loads the rows of the body from one up to another, of which the server refuses some.
func (p *parts) isolate(ctx, alive context.Context, from, to int, refusal *Error) {
	s := &search{parts: p, last: refusal, left: 1}
	if p.batch.Identity != "" {
		s.look(ctx, alive, from, to, true)
		return
	}
	s.left = max(int(refusal.filtered), 1)
	named := s.named(from, to)
	if len(named) == 0 {
		s.look(ctx, alive, from, to, true)
		return
	}
	whole := p.whole
	rest := whole.Select(func(i int) bool { return i >= from && i < to && named[i] == nil })
	for i := from; i < to; i++ {
		if named[i] != nil {
			p.fail(i, i+1, named[i])
		}
	}
	s.left = max(s.left-len(named), 0)
	p.whole = &rest
	s.look(ctx, alive, 0, rest.Rows(), false)
	p.whole = whole
}

// look loads rows of which it is not known, or refused says, whether some of them are bad.
func (s *search) look(ctx, alive context.Context, from, to int, refused bool) {
	for from < to {
		end := min(from+s.group(to-from), to)
		switch whole := refused && end == to; {
		case whole:
			from = s.first(ctx, alive, from, end)
		default:
			switch s.try(ctx, alive, from, end) {
			case groupRefused:
				s.left = max(s.left, int(s.last.filtered), 1)
				from = s.first(ctx, alive, from, end)
			default:
				from = end
			}
		}
		refused = false
	}
}

// group is how many of so many rows to try at once.
func (s *search) group(rows int) int {
	if s.left <= 1 {
		return rows
	}
	return 1 << (bits.Len(uint(max(rows/s.left, 1))) - 1) //nolint:gosec // positive
}

// first finds the first bad row of some of which at least one is, stores those before it, and returns the index behind it.
func (s *search) first(ctx, alive context.Context, from, to int) int {
	for to-from > 1 {
		middle := from + (to-from)/2
		switch s.try(ctx, alive, from, middle) {
		case groupStored:
			from = middle
		case groupRefused:
			to = middle
		case groupElse:
			return middle // one of these was it, or nobody knows
		}
	}
	if s.blocked != nil {
		s.fail(from, to, s.blocked)
		return to
	}
	s.left = max(s.left-1, 0)
	s.fail(from, to, s.last.ofOneRow())
	return to
}

// try loads some rows.
func (s *search) try(ctx, alive context.Context, from, to int) tried {
	if s.blocked == nil && s.loads >= maxIsolationLoads {
		s.blocked = s.last.notSearched()
	}
	if s.blocked != nil {
		s.fail(from, to, s.blocked)
		return groupElse
	}
	s.loads++
	b, body := s.part(from, to)
	report, failure := s.loadOnce(ctx, alive, b, &body)
	switch {
	case failure == nil:
		s.count(report)
		return groupStored
	case failure.Class == decide.DataQuality && failure.refused:
		s.tried(report)
		s.last = failure
		return groupRefused
	case failure.divide:
		s.tried(report)
		s.halve(ctx, alive, from, to)
	default:
		s.count(report)
		s.fail(from, to, failure)
		if ctx.Err() != nil || failure.NoFE {
			s.blocked = failure.notSent()
		}
	}
	return groupElse
}

// named are the rows that the error page shows, each with the error that it is to have.
func (s *search) named(from, to int) map[int]*Error {
	page := pageRows(s.last.page)
	if len(page) == 0 {
		return nil
	}
	named := map[int]*Error{}
	for i := from; i < to; i++ {
		if reason, ok := page[string(bytes.TrimSpace(s.whole.Row(i)))]; ok {
			e := s.last.ofOneRow()
			e.ErrorLines = []string{s.secrets.Text(reason, maxErrorLine)}
			named[i] = e
		}
	}
	if len(named) == to-from {
		return nil // all of them: rather see for each
	}
	return named
}

// pageRows reads an error page: rows by their text, with the line that tells the reason (Doris: be runtime_state.cpp "Reason: ... src line [...]";
// StarRocks: "Error: ... Row: ...").
func pageRows(page []byte) map[string]string {
	rows := map[string]string{}
	for line := range bytes.SplitSeq(page, []byte("\n")) {
		line = bytes.TrimRight(line, "; \r")
		row := []byte(nil)
		if i := bytes.Index(line, []byte("src line [")); i >= 0 && bytes.HasSuffix(line, []byte("]")) {
			row = line[i+len("src line [") : len(line)-1]
		} else if i := bytes.LastIndex(line, []byte(". Row: ")); i >= 0 {
			row = line[i+len(". Row: "):]
		}
		if row = bytes.TrimSpace(row); len(row) > 0 {
			rows[string(row)] = string(line)
		}
	}
	return rows
}

// ofOneRow is what the server said of some rows, as the error of one of them.
func (e *Error) ofOneRow() *Error {
	one := *e
	one.Rejected, one.Held, one.Failed, one.stored, one.Partial, one.page = nil, nil, nil, nil, false, nil
	one.Reason = rowRefused
	return &one
}

// notSearched is the failure of rows among which no more bad ones are looked for.
func (e *Error) notSearched() *Error {
	then := e.ofOneRow()
	then.Attempts, then.Label, then.LabelState = 0, "", ""
	then.Message = fmt.Sprintf("not sent again, because %d loads did not find all bad rows of the batch, the last: %s", maxIsolationLoads, e.Message)
	then.Reason = "too many bad rows"
	return then
}
