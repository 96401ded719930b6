package emulator

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/dorisload/benthos-doris/test/emulator/internal/coltype"
)

// Model is the data model of a table.
type Model string

// The data models. In an AGGREGATE table only REPLACE and SUM are known. PRIMARY
// is of StarRocks.
const (
	Duplicate Model = "DUPLICATE"
	Unique    Model = "UNIQUE"
	Aggregate Model = "AGGREGATE"
	Primary   Model = "PRIMARY"
)

// Table declares a table.
type Table struct {
	Database string `json:"database"`
	Name     string `json:"name"`
	// Model: default DUPLICATE.
	Model Model `json:"model"`
	// Keys are the key columns of UNIQUE, PRIMARY and AGGREGATE tables, the first
	// columns of the table in order.
	Keys    []string `json:"keys"`
	Columns []Column `json:"columns"`
	// SequenceColumn decides which of two rows with the same key stays in a
	// UNIQUE table: the one with the larger value, or the later one when equal.
	// It is the property function_column.sequence_col.
	SequenceColumn string `json:"sequence_column"`
	// SequenceType is for the same, the property function_column.sequence_type: the
	// type of a hidden column, which each load has to fill with the field that its
	// header function_column.sequence_col names.
	SequenceType string `json:"sequence_type"`
	// MergeOnWrite is a property of UNIQUE tables, which partial updates need. The
	// default is that of the server: true since Doris 2.1.
	MergeOnWrite *bool `json:"merge_on_write"`
	// FlexibleUpdate is the property enable_unique_key_skip_bitmap_column, which
	// flexible partial updates need.
	FlexibleUpdate bool `json:"flexible_update"`
	// GroupCommit is the mode, sync_mode or async_mode, of loads that say nothing
	// about group commit. Only versions that have such a property look at it.
	GroupCommit string `json:"group_commit"`
	// Partitions are the names that the header partitions may use. Rows are
	// not checked against partitions.
	Partitions []string `json:"partitions"`
}

// Column declares a column.
type Column struct {
	Name string `json:"name"`
	// Type as in CREATE TABLE, for example BIGINT, DECIMAL(10,2), VARCHAR(32),
	// ARRAY<INT>.
	Type string `json:"type"`
	// NotNull refuses NULL. Columns are nullable by default.
	NotNull bool `json:"not_null"`
	// Default is the text of the default value; nil means none.
	Default *string `json:"default"`
	// Aggregation of a value column of an AGGREGATE table: REPLACE or SUM.
	Aggregation string `json:"aggregation"`
}

// column is a checked Column.
type column struct {
	Column
	kind coltype.Type
	def  any
	sum  bool
}

// schema is a checked Table; it never changes.
type schema struct {
	Table
	cols  []column
	index map[string]int // by lower-case name
	keys  int
	seq   int // index of the sequence column, -1 for none
	// hiddenSeq is the hidden column behind a sequence column, when there is one.
	hiddenSeq column
}

// sequenced says whether rows with the same key are compared.
func (s *schema) sequenced() bool { return s.hiddenSeq.Name != "" }

func (s *schema) mergeOnWrite(p *profile) bool {
	if s.MergeOnWrite != nil {
		return *s.MergeOnWrite
	}
	return p.since(2, 1, 0)
}

var namePattern = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_\-]{0,63}$`)

func newSchema(t Table) (*schema, error) {
	s := &schema{Table: t, index: map[string]int{}, seq: -1}
	if s.Model = Model(strings.ToUpper(string(t.Model))); s.Model == "" {
		s.Model = Duplicate
	}
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !namePattern.MatchString(t.Database) || !namePattern.MatchString(t.Name) {
		fail("bad database or table name")
	}
	if s.Model != Duplicate && s.Model != Unique && s.Model != Aggregate && s.Model != Primary {
		fail("unknown model %q", t.Model)
	}
	if len(t.Columns) == 0 {
		fail("no columns")
	}
	for i, c := range t.Columns {
		kind, err := coltype.Parse(c.Type)
		if err != nil {
			fail("column %q: %w", c.Name, err)
			continue
		}
		col := column{Column: c, kind: kind}
		low := strings.ToLower(c.Name)
		if _, twice := s.index[low]; c.Name == "" || strings.HasPrefix(low, "__doris_") || twice {
			fail("column %q: bad or repeated name", c.Name)
		}
		s.index[low] = i
		if c.Default != nil {
			if col.def, err = kind.Convert(*c.Default, nil); err != nil {
				fail("column %q: default %q: %w", c.Name, *c.Default, err)
			}
		}
		switch agg := strings.ToUpper(c.Aggregation); {
		case agg == "" && (s.Model != Aggregate || i < len(t.Keys)):
		case s.Model != Aggregate || i < len(t.Keys):
			fail("column %q: aggregation is for value columns of AGGREGATE tables", c.Name)
		case agg == "SUM" && kind.IsNumber():
			col.sum = true
		case agg != "REPLACE":
			fail("column %q: aggregation %q is not supported by the emulator (REPLACE, and SUM of numbers, are)", c.Name, c.Aggregation)
		}
		s.cols = append(s.cols, col)
	}
	if len(errs) == 0 {
		for i, k := range t.Keys {
			if i >= len(t.Columns) || t.Columns[i].Name != k {
				fail("keys must be the first columns in order: %q", k)
			}
		}
		if s.keys = len(t.Keys); s.keys == 0 && s.Model != Duplicate {
			fail("a %s table needs keys", s.Model)
		}
		if t.SequenceColumn != "" {
			i, ok := s.index[strings.ToLower(t.SequenceColumn)]
			if s.seq = i; !ok || s.Model != Unique {
				fail("sequence_column %q: no such column, or no UNIQUE table", t.SequenceColumn)
			} else {
				s.hiddenSeq = column{Column: Column{Name: sequenceCol}, kind: s.cols[i].kind}
			}
		}
		if t.SequenceType != "" {
			kind, err := coltype.Parse(t.SequenceType)
			switch {
			case err != nil:
				fail("sequence_type: %w", err)
			case s.Model != Unique || t.SequenceColumn != "":
				fail("sequence_type is for UNIQUE tables without a sequence_column")
			}
			s.hiddenSeq = column{Column: Column{Name: sequenceCol}, kind: kind}
		}
		if t.GroupCommit != "" && t.GroupCommit != syncMode && t.GroupCommit != asyncMode {
			fail("group_commit %q: want %s or %s", t.GroupCommit, syncMode, asyncMode)
		}
		if s.Model != Unique && (t.FlexibleUpdate || t.MergeOnWrite != nil) {
			fail("merge_on_write and flexible_update are for UNIQUE tables")
		}
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("table %s.%s: %w", t.Database, t.Name, errors.Join(errs...))
	}
	return s, nil
}

// lookup finds a column by name without regard to case.
func (s *schema) lookup(name string) (int, bool) {
	i, ok := s.index[strings.ToLower(name)]
	return i, ok
}
