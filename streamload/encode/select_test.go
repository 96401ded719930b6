package encode

import (
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
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

// Cutting a body into parts that fit loses no row, and no part is longer than it has to be or could be.
func TestPartsThatFit(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // test data
	for range 300 {
		var input [][]byte
		for i := range 1 + rng.IntN(20) {
			row := `{"i":` + strconv.Itoa(i) + `,"x":"` + strings.Repeat("x", rng.IntN(30)) + `"}`
			if rng.IntN(5) == 0 {
				row = "bad"
			}
			input = append(input, []byte(row))
		}
		whole, _ := Encode(input, Options{StripOuterArray: rng.IntN(2) == 0})
		maxRows, maxBytes := rng.IntN(6), int64(rng.IntN(120))
		var rows []int
		for from := 0; from < whole.Rows(); {
			to := whole.Fit(from, maxRows, maxBytes)
			if to == from {
				part := whole.Part(from, from+1)
				require.Positive(t, maxBytes)
				require.Greater(t, part.Len(), maxBytes)
				to++
			} else {
				part := whole.Part(from, to)
				require.True(t, maxRows == 0 || part.Rows() <= maxRows)
				require.True(t, maxBytes == 0 || part.Len() <= maxBytes)
				if to < whole.Rows() {
					more := whole.Part(from, to+1)
					require.True(t, maxRows > 0 && more.Rows() > maxRows || maxBytes > 0 && more.Len() > maxBytes)
				}
			}
			part := whole.Part(from, to)
			middle := part.Part(part.Rows()/2, part.Rows())
			for i := range part.Rows() {
				rows = append(rows, part.Index(i))
				require.Equal(t, string(input[part.Index(i)]), string(part.Row(i)))
				if i >= part.Rows()/2 {
					require.Equal(t, part.Index(i), middle.Index(i-part.Rows()/2))
				}
			}
			chosen := part.Select(func(i int) bool { return i%2 == 1 })
			for i := range chosen.Rows() {
				require.Equal(t, part.Index(2*i+1), chosen.Index(i))
			}
			from = to
		}
		require.Len(t, rows, whole.Rows())
		for i, at := range rows {
			require.Equal(t, whole.Index(i), at)
		}
	}
}
