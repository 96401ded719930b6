package emulator

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dorisload/benthos-doris/test/emulator/internal/coltype"
	"github.com/dorisload/benthos-doris/test/emulator/internal/reader"
	"github.com/dorisload/benthos-doris/test/emulator/internal/sqlexpr"
)

// tableSide begins the reasons that come from the writer of the table, not from
// the reader of the body.
const tableSide = "column_name["

// convert reads the body and gives the rows to write; it counts all rows in
// the record and collects the bad ones in page.
func (l *load) convert(p *plan, body []byte, page *errorPage) []write {
	var rows []write
	take := func(row reader.Row) bool {
		l.rec.Total++
		var w write
		selected, reason := true, row.Bad
		switch {
		case reason != "":
		case p.sch == nil: // an object without keys, and no table to have columns
			reason = "There is no column matching jsonpaths in the json file, columns:[], please check columns and jsonpaths:"
		default:
			w, selected, reason = p.row(row.Cells)
		}
		switch {
		case reason != "":
			if strings.HasPrefix(reason, tableSide) {
				row.Src = "" // the writer of the table does not see the source
			}
			page.add(reason, row.Src)
			l.rec.Filtered++
			// With no tolerance the scan ends when the log is full.
			return p.ratio > 0 || page.rows <= maxErrorRows || page.starrocks
		case !selected:
			l.rec.Unselected++
		default:
			rows = append(rows, w)
		}
		return true
	}
	if l.spec.format == "json" {
		p.json.Read(body, take)
	} else {
		p.csv.Read(body, take)
	}
	return rows
}

// row makes one row of the table. selected is false when where says no; reason
// is not empty when the row is bad.
func (p *plan) row(cells []reader.Cell) (w write, selected bool, reason string) {
	w.vals = make([]any, len(p.sch.cols))
	if p.partial {
		w.set = make([]bool, len(p.sch.cols))
	}
	source := func(name string) (sqlexpr.Value, bool) {
		f := p.field(name)
		if f < 0 {
			return sqlexpr.Value{}, false
		}
		return cellValue(cells[f]), true
	}
	for i := range p.sch.cols {
		c := &p.sch.cols[i]
		if p.partial {
			if w.set[i] = p.given(i, cells); !w.set[i] {
				w.vals[i] = c.def
				continue
			}
		}
		v, why := p.value(c, p.target[i], cells, source)
		if why != "" {
			return w, true, why
		}
		w.vals[i] = v
	}
	if why := p.omitted(w); why != "" {
		return w, true, why
	}
	final := func(name string) (sqlexpr.Value, bool) {
		if i, ok := p.sch.lookup(name); ok {
			return columnValue(&p.sch.cols[i], w.vals[i]), true
		}
		return source(name)
	}
	if p.where != nil && !p.where.True(final) {
		return w, false, ""
	}
	w.del = p.delAll || p.merge != nil && p.merge.True(final)
	if !p.del.none() {
		if w.del, reason = p.deletes(cells, source); reason != "" {
			return w, true, reason
		}
	}
	switch {
	case p.hasSeq:
		v, why := p.value(&p.sch.hiddenSeq, p.seq, cells, source)
		if why != "" {
			return w, true, why
		}
		w.seq = v
	case p.sch.seq >= 0 && w.gives(p.sch.seq):
		w.seq = w.vals[p.sch.seq]
	}
	return w, true, ""
}

// given says whether the row has a value for column i.
func (p *plan) given(i int, cells []reader.Cell) bool {
	t := p.target[i]
	return t.expr != nil || t.field >= 0 && !(p.flexible && cells[t.field].Missing)
}

// deletes reads the pseudo column about deletes.
func (p *plan) deletes(cells []reader.Cell, source sqlexpr.Env) (del bool, why string) {
	var text string
	if p.del.expr != nil {
		v := p.del.expr.Eval(source)
		if v.Null || !p.profile.starrocks() {
			return v.Truth() == sqlexpr.Yes, ""
		}
		text = v.String()
	} else {
		cell := cells[p.del.field]
		if cell.Missing || cell.Null {
			return false, ""
		}
		text = cell.Text
	}
	if p.profile.starrocks() {
		switch strings.ToLower(text) {
		case "0", "upsert":
			return false, ""
		case "1", "delete":
			return true, ""
		}
		return false, incorrect(opColumn, p.strict, text)
	}
	v, err := coltype.Type{Kind: coltype.TinyInt}.Convert(text, nil)
	if err != nil {
		return false, incorrect(deleteSign, p.strict, text)
	}
	return v != int64(0), ""
}

// value makes the value of one column; why is not empty when the row is bad.
func (p *plan) value(c *column, t target, cells []reader.Cell, env sqlexpr.Env) (v any, why string) {
	var cell reader.Cell
	switch {
	case t.expr != nil:
		got := t.expr.Eval(env)
		cell = reader.Cell{Null: got.Null, Text: got.String()}
	case t.field >= 0 && !cells[t.field].Missing:
		cell = cells[t.field]
	case c.Default != nil:
		return c.def, ""
	default:
		cell.Null = true
	}
	if !cell.Null && cell.Text == "" && !c.kind.IsText() && !c.NotNull {
		return nil, "" // an empty field that is no text
	}
	if !cell.Null {
		v, err := c.kind.Convert(cell.Text, p.zone)
		var long *coltype.LengthError
		switch {
		case err == nil:
			return v, ""
		case errors.As(err, &long):
			return nil, fmt.Sprintf(tableSide+"%s], %s", c.Name, long)
		case p.strict || c.NotNull:
			return nil, incorrect(c.Name, p.strict, cell.Text)
		}
		return nil, ""
	}
	if c.NotNull {
		return nil, fmt.Sprintf("column(%s) values is null while columns is not nullable", c.Name)
	}
	return nil, ""
}

func incorrect(name string, strict bool, text string) string {
	return fmt.Sprintf("column(%s) value is incorrect while strict mode is %t, src value is %s", name, strict, text)
}

func cellValue(c reader.Cell) sqlexpr.Value {
	if c.Null || c.Missing {
		return sqlexpr.Null()
	}
	return sqlexpr.Text(c.Text)
}

// columnValue is a stored value as an expression sees it.
func columnValue(c *column, v any) sqlexpr.Value {
	if v == nil {
		return sqlexpr.Null()
	}
	if c.kind.IsNumber() || c.kind.Kind == coltype.Boolean {
		return sqlexpr.Number(valueText(v))
	}
	if c.kind.Kind == coltype.Date || c.kind.Kind == coltype.DateTime {
		return sqlexpr.Time(valueText(v))
	}
	return sqlexpr.Text(valueText(v))
}

// bind gives the plan its table when the load had to wait for its first row:
// with AutoCreate the table is created here.
func (l *load) bind(p *plan, body []byte) error {
	if p.sch != nil {
		return nil
	}
	c := l.x.e.cat
	c.mu.Lock()
	l.tab = l.db.tables[l.x.table] // somebody else may have been faster
	c.mu.Unlock()
	if l.tab == nil {
		cols, err := p.infer(l, body)
		if err != nil || cols == nil {
			return err
		}
		s, err := newSchema(Table{Database: l.x.db, Name: l.x.table, Columns: cols})
		if err != nil {
			return analysis("cannot create the table from the first row: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
		}
		c.mu.Lock()
		l.tab, _ = c.add(s)
		c.mu.Unlock()
	}
	p.sch = l.tab.schema
	return p.resolve(l.spec)
}

// infer reads the columns of a new table off the load; nil without an error
// means that the body has no readable row.
func (p *plan) infer(l *load, body []byte) ([]Column, error) {
	var cols []Column
	add := func(name, kind string) { cols = append(cols, Column{Name: name, Type: kind}) }
	switch {
	case len(p.items) > 0:
		seen := map[string]bool{}
		for _, item := range p.items {
			if low := strings.ToLower(item.Name); !seen[low] && !strings.HasPrefix(low, "__doris_") {
				seen[low] = true
				add(item.Name, "STRING")
			}
		}
	case len(p.json.Paths) > 0:
		return nil, analysis("unknown table, tableName=%s (it cannot be created from a load with jsonpaths and without columns)", l.x.table)
	case l.spec.format == "json":
		kinds := map[byte]string{'s': "STRING", 'n': "STRING", 'i': "BIGINT", 'f': "DOUBLE", 'b': "BOOLEAN", 'j': "JSON"}
		for _, f := range p.json.FirstFields(body) {
			if !strings.HasPrefix(strings.ToLower(f.Name), "__doris_") {
				add(f.Name, kinds[f.Kind])
			}
		}
	default:
		for i, name := range p.csv.FirstLine(body, max(0, p.csv.Skip-l.spec.withHeader)) {
			if l.spec.withHeader == 0 {
				name = fmt.Sprintf("c%d", i+1)
			}
			add(name, "STRING")
		}
	}
	return cols, nil
}
