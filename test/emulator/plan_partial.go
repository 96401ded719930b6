package emulator

import (
	"fmt"
	"slices"
	"strings"
)

// Partial updates of Doris, in tables with merge-on-write: be stream_load.cpp,
// NereidsStreamLoadPlanner.java, partial_update_info.cpp.

// updates reads the headers about partial updates. Those that the version does
// not know are passed over.
func (p *plan) updates(s *loadSpec) error {
	h, prof := s.h, p.profile
	mode := strings.ToUpper(h.Get("unique_key_update_mode"))
	if !prof.updateModes() {
		mode = ""
	}
	switch mode {
	case "":
		p.partial = prof.partialColumns() && s.flag("partial_columns")
	case "UPSERT":
	case "UPDATE_FIXED_COLUMNS":
		p.partial = true
	case "UPDATE_FLEXIBLE_COLUMNS":
		if err := flexibleConflicts(s); err != nil {
			return err
		}
		p.partial, p.flexible = true, true
	default:
		return &beError{"INVALID_ARGUMENT", "Invalid unique_key_partial_mode " + h.Get("unique_key_update_mode") +
			", must be one of 'UPSERT', 'UPDATE_FIXED_COLUMNS' or 'UPDATE_FLEXIBLE_COLUMNS'"}
	}
	if !prof.updateModes() {
		return nil
	}
	switch word := strings.ToUpper(h.Get("partial_update_new_key_behavior")); word {
	case "", "APPEND":
	case "ERROR":
		p.noNewKeys = true
	default:
		return &beError{"INVALID_ARGUMENT", "Invalid partial_update_new_key_behavior " + word + ", must be one of {'APPEND', 'ERROR'}"}
	}
	return nil
}

// flexibleConflicts names what a flexible partial update cannot have besides.
func flexibleConflicts(s *loadSpec) error {
	if s.format != "json" {
		return &beError{"INVALID_ARGUMENT", "flexible partial update only support json format as input file currently"}
	}
	if s.flag("fuzzy_parse") {
		return &beError{"INVALID_ARGUMENT", "Don't support flexible partial update when 'fuzzy_parse' is enabled"}
	}
	for _, name := range []string{"columns", "jsonpaths", "hidden_columns", "function_column.sequence_col", "merge_type", "where"} {
		if s.h.Get(name) != "" {
			return &beError{"INVALID_ARGUMENT", "Don't support flexible partial update when '" + name + "' is specified"}
		}
	}
	return nil
}

// partialTable checks a partial update against the table. A fixed one that names
// no columns, or all of them, is an upsert; versions before 3.1 refuse the first.
func (p *plan) partialTable() error {
	name := p.sch.Name
	switch {
	case !p.partial:
		return nil
	case p.sch.Model != Unique, !p.sch.mergeOnWrite(p.profile):
		return analysis("Only unique key merge on write support partial update")
	case p.flexible && !p.sch.FlexibleUpdate:
		return analysis("Flexible partial update can only support table with skip bitmap hidden column. But table %s doesn't have it. "+
			"You can use `ALTER TABLE %s ENABLE FEATURE \"UPDATE_FLEXIBLE_COLUMNS\";` to add it to the table.", name, name)
	case p.flexible:
		return nil
	case p.items == nil && p.profile.updateModes():
		p.partial = false
		return nil
	}
	missing := p.items == nil
	for i, c := range p.sch.cols {
		if i < p.sch.keys && (p.items == nil || p.target[i].none()) {
			return analysis("Partial update should include all key columns, missing: %s", c.Name)
		}
		missing = missing || p.target[i].none()
	}
	if slices.ContainsFunc(p.source, func(s string) bool { return strings.EqualFold(s, sequenceCol) }) {
		return analysis("Partial update should not include invisible column except delete sign column: %s", sequenceCol)
	}
	p.partial = missing
	return nil
}

// omitted says what is wrong with a row of a flexible update: it must have its
// keys.
func (p *plan) omitted(w write) string {
	for i, c := range p.sch.cols[:p.sch.keys] {
		if p.flexible && !w.set[i] {
			return "The key columns can not be ommited in flexible partial update, missing key column: " + c.Name
		}
	}
	return ""
}

// newKeys judges the rows of a partial update whose keys are not in the table: they
// are refused, they cannot be completed, or, before 3.1 and in strict mode, they are
// filtered. The table is looked at as it is now; what is committed but not visible
// does not count.
func (l *load) newKeys(p *plan, staged *batch) error {
	c, t := l.x.e.cat, l.tab
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweep(l.db)
	drop := map[int]bool{}
	for _, i := range t.newKeys(staged.rows) {
		w := staged.rows[i]
		switch {
		case w.del:
			continue
		case p.noNewKeys:
			return &beError{"INTERNAL_ERROR", fmt.Sprintf("tablet error: [E-7003]Can't append new rows in partial update when partial_update_new_key_behavior is ERROR. Row with key=[%s] is not in table.", keyText(w.vals[:t.keys]))}
		case p.strict && !p.profile.starrocks() && !p.profile.updateModes():
			drop[i] = true
			continue
		}
		for n, col := range t.cols {
			if !w.set[n] && col.NotNull && col.Default == nil {
				mode := "partial update"
				if p.flexible {
					mode = "flexible partial update"
				}
				return &beError{"INTERNAL_ERROR", fmt.Sprintf("tablet error: the unmentioned column `%s` should have default value or be nullable for newly inserted rows in non-strict mode %s", col.Name, mode)}
			}
		}
	}
	if len(drop) > 0 {
		var kept []write
		for i, w := range staged.rows {
			if !drop[i] {
				kept = append(kept, w)
			}
		}
		staged.rows = kept
		l.rec.Filtered += int64(len(drop))
	}
	return nil
}

func keyText(vals []any) string {
	texts := make([]string, len(vals))
	for i, v := range vals {
		texts[i] = valueText(v)
	}
	return strings.Join(texts, ", ")
}
