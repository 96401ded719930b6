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
