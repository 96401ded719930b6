package encode

import (
	"io"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSelectKeepsRowsAndPositions(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // test data
	for range 300 {
		var input [][]byte
		for i := range rng.IntN(20) {
			row := `{"i":` + strconv.Itoa(i) + `}`
			if rng.IntN(4) == 0 {
				row = "bad"
			}
			input = append(input, []byte(row))
		}
		whole, _ := Encode(input, Options{StripOuterArray: rng.IntN(2) == 0})
		keep := make([]bool, whole.Rows())
		var want []int
		for i := range keep {
			if keep[i] = rng.IntN(2) == 0; keep[i] {
				want = append(want, whole.Index(i))
			}
		}
		part := whole.Select(func(i int) bool { return keep[i] })
		require.Equal(t, len(want), part.Rows())
		for i, at := range want {
			require.Equal(t, at, part.Index(i))
			require.Equal(t, string(input[at]), string(part.Row(i)))
		}
		text, err := io.ReadAll(part.Open())
		require.NoError(t, err)
		require.Len(t, text, int(part.Len()))
	}
}
