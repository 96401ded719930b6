package emulator

// upsert puts w over the row with the same key, unless that one is newer.
//
// A row that was deleted stays as a mark. In Doris it keeps the value of its
// sequence column, and an older row cannot come back; in a PRIMARY KEY table of
// StarRocks nothing of it counts.
func (t *table) upsert(old *stored, w write, cond int) {
	switch {
	case cond >= 0:
		if !w.del && !old.gone && w.gives(cond) && compareNull(w.vals[cond], old.vals[cond]) < 0 {
			return
		}
	case w.seq != nil && old.seq != nil && compare(w.seq, old.seq) < 0:
		return
	}
	next := stored{vals: w.vals, seq: w.seq, gone: w.del}
	if w.set != nil {
		if !old.gone {
			next.vals = make([]any, len(w.vals))
			for i := range w.vals {
				if next.vals[i] = old.vals[i]; w.set[i] {
					next.vals[i] = w.vals[i]
				}
			}
		}
		if next.seq == nil {
			next.seq = old.seq
		}
	}
	if old.gone != next.gone {
		if next.gone {
			t.dead++
		} else {
			t.dead--
		}
	}
	*old = next
}

// gives says whether the row has a value of its own for the column.
func (w write) gives(column int) bool { return len(w.set) == 0 || w.set[column] }

// compareNull orders two values of one column; NULL is the smallest.
func compareNull(a, b any) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return compare(a, b)
}

// newKeys gives the indexes of the rows of a partial update whose keys are
// neither visible in the table nor in an earlier row of the load.
func (t *table) newKeys(rows []write) []int {
	var out []int
	exists := map[string]bool{}
	for i, w := range rows {
		key := keyOf(w.vals[:t.keys])
		there, known := exists[key]
		if !known {
			at, ok := t.byKey[key]
			there = ok && !t.rows[at].gone
		}
		if !there {
			out = append(out, i)
		}
		exists[key] = !w.del
	}
	return out
}
