package streamload

import (
	"errors"
	"slices"
	"sort"

	"github.com/dorisload/benthos-doris/streamload/decide"
)

// Slice is the error of the rows of a batch from one up to another, the second excluded, as if they had been a batch of their own: its indexes
// begin with the first of them. It is nil when they are all committed. It is for callers who load the rows of others in one batch.
func (e *Error) Slice(from, to int) *Error {
	s := *e
	s.Rejected, s.Held, s.Failed = sliceRows(e.Rejected, from, to), sliceRows(e.Held, from, to), sliceRows(e.Failed, from, to)
	s.stored = sliceIndexes(e.stored, from, to)
	others := to - from - len(s.Rejected) - len(s.Held) - len(s.Failed)
	if !e.Partial && e.Stage != StageEncode && others > len(s.stored) {
		return &s // the rows themselves could not be stored
	}
	switch {
	case len(s.Failed) > 0:
		s = s.as(s.Failed[0].Err)
	case len(s.Held) > 0:
		s = s.as(s.Held[0].Err)
	case len(s.Rejected) == 0:
		return nil
	default:
		s.Class, s.Stage, s.Unresolved, s.NoFE = decide.DataQuality, StageEncode, false, false
	}
	s.stored, s.Partial = nil, len(s.Rejected) < to-from
	if len(s.Failed) > 0 && len(s.Failed) == to-from-len(s.Rejected) && allOf(s.Failed) {
		s.Failed, s.Partial = nil, false // as if there had been one load
	}
	return &s
}

// as is the error with the reason of one of its rows.
func (e *Error) as(reason error) Error {
	of, ok := errors.AsType[*Error](reason)
	if !ok {
		return *e
	}
	s := *of
	s.Rejected, s.Held, s.Failed = e.Rejected, e.Held, e.Failed
	return s
}

// allOf is true when all rows failed for the very same reason.
func allOf(rows []RowError) bool {
	first, ok := rows[0].Err.(*Error)                                                               //nolint:errorlint // the very same, not one like it
	return ok && !slices.ContainsFunc(rows, func(r RowError) bool { return r.Err != error(first) }) //nolint:errorlint // as above
}

func sliceRows(rows []RowError, from, to int) []RowError {
	at := func(i int) int { return sort.Search(len(rows), func(k int) bool { return rows[k].Index >= i }) }
	rows = slices.Clone(rows[at(from):at(to)])
	for k := range rows {
		rows[k].Index -= from
	}
	return rows
}

func sliceIndexes(indexes []int, from, to int) []int {
	indexes = slices.Clone(indexes[sort.SearchInts(indexes, from):sort.SearchInts(indexes, to)])
	for k := range indexes {
		indexes[k] -= from
	}
	return indexes
}
