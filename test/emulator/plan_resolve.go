package emulator

import (
	"slices"
	"strings"

	"github.com/dorisload/benthos-doris/test/emulator/internal/sqlexpr"
)

// resolve joins the plan with the columns of the table.
func (p *plan) resolve(s *loadSpec) error {
	if err := p.partitions(s); err != nil {
		return err
	}
	p.sources(s)
	if err := p.targets(); err != nil {
		return err
	}
	for _, cond := range []*sqlexpr.Expr{p.where, p.merge} {
		if cond == nil {
			continue
		}
		if err := p.known(cond, true); err != nil {
			return err
		}
	}
	check := p.dorisTable
	if p.profile.starrocks() {
		check = p.starrocksTable
	}
	if err := check(s); err != nil {
		return err
	}
	for i, c := range p.sch.cols {
		if p.target[i].none() && c.NotNull && c.Default == nil && !p.partial {
			return analysis("Column has no default value. column: %s", c.Name)
		}
	}
	p.csv.Width = len(p.source)
	p.json.Columns = p.source
	p.json.NotNull = make([]bool, len(p.source))
	for i, c := range p.sch.cols {
		if f := p.target[i].field; f >= 0 {
			p.json.NotNull[f] = c.NotNull
		}
	}
	return nil
}

// targets says where the value of each column comes from.
func (p *plan) targets() error {
	p.target = make([]target, len(p.sch.cols))
	for i, c := range p.sch.cols {
		p.target[i] = noTarget
		if f := p.field(c.Name); f >= 0 {
			p.target[i].field = f
		}
	}
	p.del.field = p.field(p.profile.deleteColumn())
	if !p.profile.starrocks() {
		p.seq.field = p.field(sequenceCol)
	}
	for _, item := range p.items {
		if item.Expr == nil {
			continue
		}
		if err := p.known(item.Expr, false); err != nil {
			return err
		}
		to := target{field: -1, expr: item.Expr}
		switch i, ok := p.sch.lookup(item.Name); {
		case ok:
			p.target[i] = to
		case strings.EqualFold(item.Name, p.profile.deleteColumn()):
			p.del = to
		case strings.EqualFold(item.Name, sequenceCol) && !p.profile.starrocks():
			p.seq = to
		default:
			return analysis("Unknown column '%s' in '%s'", item.Name, p.sch.Name)
		}
	}
	return nil
}

// dorisTable checks what only tables of some models can do.
func (p *plan) dorisTable(s *loadSpec) error {
	if p.sch.Model != Unique && (p.delAll || p.merge != nil) {
		return analysis("load by MERGE or DELETE is only supported in unique tables.")
	}
	if p.sch.Model != Unique && !p.del.none() {
		return analysis("Unknown column '%s' in '%s'", deleteSign, p.sch.Name)
	}
	if err := p.partialTable(); err != nil {
		return err
	}
	return p.sequence(s)
}

func (p *plan) partitions(s *loadSpec) error {
	for _, header := range []string{"partitions", "temporary_partitions"} {
		for name := range strings.SplitSeq(s.h.Get(header), ",") {
			if name = strings.Trim(strings.TrimSpace(name), "`"); name != "" && !slices.Contains(p.sch.Partitions, name) {
				return analysis("unknown partition, partition=%s", name)
			}
		}
	}
	return nil
}

// sources lists the fields of a source row: the plain names of the header
// columns, or every column of the table and the hidden ones asked for.
func (p *plan) sources(s *loadSpec) {
	if p.items == nil {
		for _, c := range p.sch.cols {
			p.source = append(p.source, c.Name)
		}
		if p.profile.starrocks() && p.sch.Model == Primary && s.format == "json" {
			p.source = append(p.source, opColumn)
		}
		if p.flexible {
			p.source = append(p.source, deleteSign)
			if p.sch.SequenceType != "" {
				p.source = append(p.source, sequenceCol)
			}
		}
		p.source = append(p.source, p.hidden...)
		return
	}
	for _, item := range p.items {
		if item.Expr != nil {
			continue
		}
		name := item.Name
		if i, ok := p.sch.lookup(name); ok {
			name = p.sch.cols[i].Name // the planner takes the spelling of the table
		}
		p.source = append(p.source, name)
	}
}

// field finds a source field by name without regard to case, -1 for none.
func (p *plan) field(name string) int {
	return slices.IndexFunc(p.source, func(s string) bool { return strings.EqualFold(s, name) })
}

// known says whether every name in the expression means something: a source
// field or, where columns is true, a column of the table.
func (p *plan) known(e *sqlexpr.Expr, columns bool) error {
	for _, name := range e.Names() {
		_, col := p.sch.lookup(name)
		if p.field(name) < 0 && (!columns || !col) {
			return analysis("Unknown column '%s' in 'table list'", name)
		}
	}
	return nil
}

// sequence settles where the value that decides between rows with the same key
// comes from: the mapped column of the table, whatever the header says, or else what
// function_column.sequence_col names (NereidsStreamLoadPlanner.java).
func (p *plan) sequence(s *loadSpec) error {
	name := s.h.Get("function_column.sequence_col")
	hidden := !p.seq.none()
	switch {
	case !p.sch.sequenced() && (name != "" || hidden):
		return analysis("There is no sequence column in the table %s", p.sch.Name)
	case !p.sch.sequenced():
		return nil
	case hidden:
		p.hasSeq = true
		return nil
	case p.sch.seq >= 0 && (p.partial || !p.target[p.sch.seq].none()), p.flexible:
		return nil
	case p.sch.seq >= 0, name == "":
		return analysis("Table %s has sequence column, need to specify the sequence column", p.sch.Name)
	}
	p.seq, p.hasSeq = target{field: p.field(name)}, true
	for _, item := range p.items {
		if item.Expr != nil && strings.EqualFold(item.Name, name) {
			p.seq = target{field: -1, expr: item.Expr}
		}
	}
	if p.seq.none() {
		return analysis("There is no sequence column %s in the columns of the load", name)
	}
	return nil
}
