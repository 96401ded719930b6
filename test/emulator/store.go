package emulator

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// write is one row on its way into a table.
type write struct {
	vals []any
	// set marks the columns that the row gives, in a partial update; the others
	// keep the stored value, and vals has the value for a new key. nil: all.
	set []bool
	seq any  // value of the sequence column, nil for none
	del bool // the row deletes its key
}

// batch is what a load leaves for its commit.
type batch struct {
	rows []write
	// cond is the column that decides whether a row may replace the stored one
	// (merge_condition of StarRocks); -1 for none.
	cond int
}

// stored is a row of a table.
type stored struct {
	vals []any
	seq  any
	gone bool
}

// table holds the visible rows. It is guarded by the lock of the catalog.
type table struct {
	*schema
	rows    []stored
	byKey   map[string]int
	dead    int    // rows with gone set
	pending []*txn // committed, not yet visible, in the order of commit
}

func newTable(s *schema) *table {
	t := &table{schema: s}
	if s.Model != Duplicate {
		t.byKey = map[string]int{}
	}
	return t
}

func (t *table) count() int { return len(t.rows) - t.dead }

// apply makes the rows of a load visible; b may be nil.
func (t *table) apply(b *batch) {
	if b == nil {
		return
	}
	for _, w := range b.rows {
		if t.Model == Duplicate {
			t.rows = append(t.rows, stored{vals: w.vals})
			continue
		}
		key := keyOf(w.vals[:t.keys])
		i, ok := t.byKey[key]
		switch {
		case !ok:
			t.byKey[key] = len(t.rows)
			t.rows = append(t.rows, stored{vals: w.vals, seq: w.seq, gone: w.del})
			if w.del {
				t.dead++
			}
		case t.Model == Aggregate:
			t.aggregate(&t.rows[i], w)
		default:
			t.upsert(&t.rows[i], w, b.cond)
		}
	}
}

func (t *table) aggregate(old *stored, w write) {
	vals := append([]any(nil), old.vals...)
	for i := t.keys; i < len(vals); i++ {
		switch {
		case !t.cols[i].sum || vals[i] == nil:
			vals[i] = w.vals[i]
		case w.vals[i] != nil:
			vals[i] = sum(vals[i], w.vals[i], t.cols[i].kind.Scale)
		}
	}
	old.vals = vals
}

// keyOf writes key values so that different keys differ.
func keyOf(vals []any) string {
	var b strings.Builder
	for _, v := range vals {
		text := valueText(v)
		if v == nil {
			b.WriteString("n;")
			continue
		}
		b.WriteString(strconv.Itoa(len(text)))
		b.WriteByte(':')
		b.WriteString(text)
	}
	return b.String()
}

// valueText writes a stored value as the server shows it.
func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case bool:
		if v {
			return "1"
		}
		return "0"
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case json.Number:
		return string(v)
	case json.RawMessage:
		return string(v)
	case string:
		return v
	}
	return fmt.Sprint(v)
}

// ratOf gives a number as a fraction; false when v is none.
func ratOf(v any) (*big.Rat, bool) {
	switch v := v.(type) {
	case int64:
		return new(big.Rat).SetInt64(v), true
	case json.Number:
		return new(big.Rat).SetString(string(v))
	case float64:
		r := new(big.Rat).SetFloat64(v)
		return r, r != nil
	}
	return nil, false
}

func sum(a, b any, scale int) any {
	if x, ok := a.(int64); ok {
		return x + b.(int64)
	}
	if x, ok := a.(float64); ok {
		return x + b.(float64)
	}
	x, _ := ratOf(a)
	y, _ := ratOf(b)
	return json.Number(x.Add(x, y).FloatString(scale))
}

// compare orders two values of one column.
func compare(a, b any) int {
	if x, ok := ratOf(a); ok {
		if y, ok := ratOf(b); ok {
			return x.Cmp(y)
		}
	}
	return strings.Compare(valueText(a), valueText(b))
}

// page copies visible rows as maps.
func (t *table) page(limit, offset int) []map[string]any {
	out := []map[string]any{}
	for _, r := range t.rows {
		if r.gone {
			continue
		}
		if offset > 0 {
			offset--
			continue
		}
		if limit >= 0 && len(out) >= limit {
			break
		}
		m := make(map[string]any, len(t.cols))
		for i, c := range t.cols {
			m[c.Name] = r.vals[i]
		}
		out = append(out, m)
	}
	return out
}
