package encode

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whether rows are looked at ahead makes no difference: with rows of every kind at
// every place, and pieces of every size.
func TestLookingAheadMakesNoDifference(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // the same rows each time
	for range 60 {
		rows := make([][]byte, 2+r.IntN(3000))
		bad := r.IntN(4) * r.IntN(20) // in a thousand
		size := 20 + r.IntN(400)
		for i := range rows {
			rows[i] = fmt.Appendf(nil, `{"i":%d,"t":%q}`, i, bytes.Repeat([]byte("x"), size))
			if r.IntN(1000) >= bad {
				continue
			}
			switch r.IntN(6) {
			case 0:
				rows[i] = append(rows[i], "\r\n "...)
			case 1:
				rows[i] = []byte("{\n \"i\":1}")
			case 2:
				rows[i] = nil
			case 3:
				rows[i] = rows[i][:len(rows[i])-3]
			case 4:
				rows[i] = []byte(`{"i":1}{"i":2}`)
			default:
				rows[i] = []byte(`[{"i":1}]`)
			}
		}
		for _, o := range []Options{{}, {SkipValidation: true}, {StripOuterArray: true}} {
			got, rejected := Encode(rows, o)
			o.Hash = true // then no row is looked at ahead
			want, rejectedThen := Encode(rows, o)
			require.Len(t, rejected, len(rejectedThen))
			for i := range rejected {
				require.Equal(t, rejectedThen[i].Error(), rejected[i].Error())
			}
			require.Equal(t, bodyText(t, &want), bodyText(t, &got))
			for i := range got.Rows() {
				require.Equal(t, want.Index(i), got.Index(i))
			}
		}
	}
}

func TestLookAtEveryRowOnce(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 3, 7, 100} {
		for piece := 1; piece <= n+1; piece++ {
			rows := make([][]byte, n)
			for i := range rows {
				rows[i] = []byte{byte(i)}
			}
			dirty := n / 2
			seen := make([]bool, n) // of different rows, so nothing is written twice
			a := lookAt(rows, piece, 4, func(row []byte) bool {
				seen[row[0]] = true
				return int(row[0]) != dirty
			})
			good := 0
			for i := range rows {
				if good = max(good, a.until(i, n)); i < good {
					require.True(t, seen[i])
					require.NotEqual(t, dirty/piece, i/piece)
				} else {
					require.Equal(t, dirty/piece, i/piece, "%d rows, %d in a piece, row %d", n, piece, i)
				}
			}
			if last := (dirty/piece + 1) * piece; last >= n {
				continue
			}
			require.False(t, slices.Contains(seen[(dirty/piece+1)*piece:], false))
		}
	}
}
