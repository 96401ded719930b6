package encode

// Row returns the i-th row of the body as it is sent. It panics if i is not in [0, Rows()).
func (b *Body) Row(i int) []byte { return b.rows[i] }

// Select makes a body of some rows of this one, in their order; keep is asked for each row of the body, from 0. The rows are not copied, and
// Index goes on to give their positions in the input of [Encode].
func (b *Body) Select(keep func(i int) bool) Body {
	var rows [][]byte
	var lines, skipped []int
	next := 0 // position in the input of Encode that follows the rows looked at
	for i, row := range b.rows {
		at := b.Index(i)
		for ; next < at; next++ {
			skipped = append(skipped, next)
		}
		next = at + 1
		if keep(i) {
			rows = append(rows, row)
			if b.lines != nil {
				lines = append(lines, b.lines[i])
			}
		} else {
			skipped = append(skipped, at)
		}
	}
	part := newBody(rows, skipped, b.layout)
	part.lines = lines
	return part
}

// Fit returns the end of the longest run of rows that begins with the from-th and makes a body of at most maxLines lines (see Lines) and maxBytes
// bytes; 0 sets no bound. It returns from when that row alone is too long in bytes; a row alone may have any number of lines. It panics if
// from is not in [0, Rows()).
func (b *Body) Fit(from, maxLines int, maxBytes int64) (to int) {
	rows := b.rows[from:]
	if maxLines > 0 {
		rows = rows[:b.fitLines(from, maxLines)]
	}
	if maxBytes <= 0 {
		return from + len(rows)
	}
	size := int64(len(b.layout.before) + len(b.layout.after))
	for i, row := range rows {
		if i > 0 {
			size += int64(len(b.layout.between))
		}
		if size += int64(len(row)); size > maxBytes {
			return from + i
		}
	}
	return from + len(rows)
}

// fitLines is how many rows from the from-th on have at most so many lines, but at least one.
func (b *Body) fitLines(from, maxLines int) int {
	if b.lines == nil {
		return min(len(b.rows)-from, maxLines)
	}
	n, sum := 0, 0
	for _, lines := range b.lines[from:] {
		if sum += lines; sum > maxLines && n > 0 {
			break
		}
		n++
	}
	return n
}

// Part makes a body of the rows from one up to another of this one, the second excluded. The rows are not copied, and Index goes on to give their
// positions in the input of [Encode]. It panics if the bounds are not in order and in [0, Rows()].
func (b *Body) Part(from, to int) Body {
	part := newBody(b.rows[from:to:to], b.skipped, b.layout)
	part.from = b.from + from
	if part.readers != nil {
		part.readers = b.readers // they look at the same slice
	}
	if b.lines != nil {
		part.lines = b.lines[from:to:to]
	}
	return part
}
