package encode

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Checking rows takes longer than sending them, and a load cannot begin before the length of its body is known. So the rows of a large batch are looked at
// ahead of the rest, piece by piece, on several cores: pieces in which every row can go into the body as it is are not looked at again. It makes no difference
// to the result, and costs no more in all; but a pipeline that sends one batch after the other waits less.

const (
	aheadFrom  = 128 << 10 // length of the rows in bytes from which it is worth to wake other cores
	aheadPiece = 64 << 10  // about the length of a piece
	aheadCores = 4         // at most, as other batches want some too
)

// ahead is what is known of rows before they are taken.
type ahead struct {
	rows  int    // of a piece, the last one may be shorter
	clean []bool // of each piece
}

// lookAhead looks at rows; the zero ahead knows nothing of any.
func lookAhead(rows [][]byte, c jsonChecker) (a ahead) {
	cores := min(runtime.GOMAXPROCS(0), aheadCores)
	if cores < 2 || len(rows) < 2 {
		return a
	}
	size := 0
	for _, row := range rows {
		size += len(row)
	}
	if size < aheadFrom {
		return a
	}
	return lookAt(rows, max(len(rows)*aheadPiece/size, 1), cores, c.clean)
}

// lookAt looks at rows, in pieces of so many, on so many cores.
func lookAt(rows [][]byte, inPiece, cores int, clean func(row []byte) bool) ahead {
	a := ahead{rows: inPiece, clean: make([]bool, (len(rows)+inPiece-1)/inPiece)}
	var next atomic.Int64
	look := func() {
		for {
			piece := int(next.Add(1)) - 1
			if piece >= len(a.clean) {
				return
			}
			ok := true
			for _, row := range rows[piece*a.rows : min((piece+1)*a.rows, len(rows))] {
				if ok = clean(row); !ok {
					break
				}
			}
			a.clean[piece] = ok
		}
	}
	var others sync.WaitGroup
	for range min(cores, len(a.clean)) - 1 {
		others.Go(look)
	}
	look()
	others.Wait()
	return a
}

// until is the end of the rows from i on that are known to be good as they are; i if none are.
func (a ahead) until(i, rows int) int {
	if a.rows == 0 || !a.clean[i/a.rows] {
		return i
	}
	return min((i/a.rows+1)*a.rows, rows)
}

// clean says whether check would give the row itself.
func (c jsonChecker) clean(row []byte) bool {
	if !framed(row) {
		return false
	}
	if c.skipValidation {
		return !hasBreaks(row)
	}
	ok, broken := validJSON(row)
	return ok && !broken
}
