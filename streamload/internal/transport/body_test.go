package transport

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBodyCounts(t *testing.T) {
	t.Parallel()
	five := make([]byte, 5)
	for name, test := range map[string]struct {
		before, after int // bytes taken before the answer begins, and after it
		some, whole   bool
	}{
		"nothing":              {0, 0, false, false},
		"all":                  {8, 0, true, true},
		"a part":               {5, 0, true, false},
		"a part, then all":     {5, 3, true, false},
		"nothing, then all":    {0, 8, true, false},
		"nothing, then a part": {0, 1, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := openBody(rows("12345678"))
			_, err := io.CopyN(io.Discard, b, int64(test.before))
			require.NoError(t, err)
			b.answered()
			_, err = io.CopyN(io.Discard, b, int64(test.after))
			require.NoError(t, err)
			some, whole := b.shutdown()
			require.Equal(t, test.some, some)
			require.Equal(t, test.whole, whole)

			// What was said is the last word: nothing more is taken. But the end of a whole body is still found.
			n, err := b.Read(five)
			require.Zero(t, n)
			if test.before+test.after == 8 {
				require.ErrorIs(t, err, io.EOF)
			} else {
				require.ErrorIs(t, err, errBodyShut)
			}
			require.NoError(t, b.Close())
			require.NoError(t, b.Close())
			_, err = b.Read(five)
			require.ErrorIs(t, err, errBodyShut)
		})
	}
	some, whole := openBody(rows("")).shutdown()
	require.True(t, some, "a body without bytes has left with the head")
	require.False(t, whole)
}
