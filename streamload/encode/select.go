package encode

// Row returns the i-th row of the body as it is sent. It panics if i is not in [0, Rows()).
func (b *Body) Row(i int) []byte { return b.rows[i] }

// Select makes a body of some rows of this one, in their order; keep is asked for each row of the body, from 0. The rows are not copied, and
// Index goes on to give their positions in the input of [Encode].
func (b *Body) Select(keep func(i int) bool) Body {
	var rows [][]byte
	var skipped []int
	next := 0 // position in the input of Encode that follows the rows looked at
	for i, row := range b.rows {
		at := b.Index(i)
		for ; next < at; next++ {
			skipped = append(skipped, next)
		}
		next = at + 1
		if keep(i) {
			rows = append(rows, row)
		} else {
			skipped = append(skipped, at)
		}
	}
	return newBody(rows, skipped, b.layout)
}

// Fit returns the end of the longest run of rows that begins with the from-th and makes a body of at most maxRows rows and maxBytes bytes;
// 0 sets no bound. It returns from when that row alone is too long. It panics if from is not in [0, Rows()).
func (b *Body) Fit(from, maxRows int, maxBytes int64) (to int) {
	rows := b.rows[from:]
	if maxRows > 0 {
		rows = rows[:min(len(rows), maxRows)]
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

// Part makes a body of the rows from one up to another of this one, the second excluded. The rows are not copied, and Index goes on to give their
// positions in the input of [Encode]. It panics if the bounds are not in order and in [0, Rows()].
func (b *Body) Part(from, to int) Body {
	part := newBody(b.rows[from:to:to], b.skipped, b.layout)
	part.from = b.from + from
	if part.readers != nil {
		part.readers = b.readers // they look at the same slice
	}
	return part
}
