package encode

import (
	"io"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rowsOf makes rows of strings.
func rowsOf(s ...string) [][]byte {
	rows := make([][]byte, len(s))
	for i := range s {
		rows[i] = []byte(s[i])
	}
	return rows
}

// bodyText reads a whole body.
func bodyText(tb testing.TB, b *Body) string {
	tb.Helper()
	r := b.Open()
	text, err := io.ReadAll(r)
	require.NoError(tb, err)
	require.NoError(tb, r.Close())
	require.Equal(tb, b.Len(), int64(len(text)))
	return string(text)
}

// requireSameText is require.Equal without printing megabytes.
func requireSameText(tb testing.TB, want, got string) {
	tb.Helper()
	if want != got {
		tb.Fatalf("another text: %d bytes, want %d", len(got), len(want))
	}
}

// checkConserved requires that every row of the input is in the body or among
// the rejected ones, once, and in order.
func checkConserved(tb testing.TB, n int, b *Body, rejected []RowError) {
	tb.Helper()
	require.Equal(tb, n, b.Rows()+len(rejected))
	loaded, failed := 0, 0
	for i := range n {
		switch {
		case loaded < b.Rows() && b.Index(loaded) == i:
			loaded++
		case failed < len(rejected) && rejected[failed].Index == i:
			failed++
		default:
			tb.Fatalf("row %d is neither in the body nor rejected", i)
		}
	}
	require.Equal(tb, b.Rows(), loaded)
	require.Len(tb, rejected, failed)
}

// checkReason requires of an error text what its readers rely on.
func checkReason(tb testing.TB, err error) {
	tb.Helper()
	text := err.Error()
	require.NotEmpty(tb, text)
	require.LessOrEqual(tb, len(text), 400)
	require.True(tb, utf8.ValidString(text), "%q", text)
	require.NotContains(tb, text, "\n")
}
