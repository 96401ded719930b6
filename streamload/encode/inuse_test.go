package encode

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// The slice of rows is free as soon as nobody can look at it any more, and not
// before.
func TestInUse(t *testing.T) {
	t.Parallel()
	large := func() Body { return newBody(benchRows(1000, 200, JSON), nil, jsonLines) }

	t.Run("a part", func(t *testing.T) {
		t.Parallel()
		b := large()
		part := b.Part(100, 900)
		r := part.Open()
		require.True(t, b.InUse(), "they share the slice")
		_, err := io.Copy(io.Discard, onlyReader{r})
		require.NoError(t, err)
		require.False(t, b.InUse())
		small := b.Part(0, 3)
		_ = small.Open()
		require.False(t, b.InUse(), "it is a copy")
	})
	t.Run("a small body", func(t *testing.T) {
		t.Parallel()
		b := newBody(rowsOf(`{"a":1}`), nil, jsonLines)
		r := b.Open()
		require.False(t, b.InUse(), "it is a copy")
		_, err := r.Read(make([]byte, 3))
		require.NoError(t, err)
		require.False(t, b.InUse())
	})
	t.Run("read to the end", func(t *testing.T) {
		t.Parallel()
		b := large()
		require.False(t, b.InUse())
		r, other := b.Open(), b.Open()
		require.True(t, b.InUse())
		_, err := io.Copy(io.Discard, onlyReader{r})
		require.NoError(t, err)
		require.True(t, b.InUse(), "by the other")
		_, err = other.(io.WriterTo).WriteTo(io.Discard)
		require.NoError(t, err)
		require.False(t, b.InUse(), "both are at their end")
		n, err := r.Read(make([]byte, 1))
		require.Zero(t, n)
		require.Equal(t, io.EOF, err, "the end stays the end")
		require.NoError(t, r.Close())
		require.NoError(t, r.Close())
		require.False(t, b.InUse())
		c := b
		require.NoError(t, c.Open().Close())
		require.False(t, b.InUse())
	})
	t.Run("closed before it was read", func(t *testing.T) {
		t.Parallel()
		b := large()
		r := b.Open()
		c := b
		require.True(t, c.InUse(), "copies are of the same rows")
		require.NoError(t, r.Close())
		require.False(t, b.InUse())
		_, err := r.Read(make([]byte, 10))
		require.ErrorIs(t, err, errClosed)
		_, err = r.(io.WriterTo).WriteTo(io.Discard)
		require.ErrorIs(t, err, errClosed)
	})
	t.Run("closed on its way", func(t *testing.T) {
		t.Parallel()
		b := large()
		r := b.Open()
		_, err := r.Read(make([]byte, 10))
		require.NoError(t, err)
		require.NoError(t, r.Close())
		require.True(t, b.InUse(), "a read may go on")
	})
	t.Run("written as it ends", func(t *testing.T) {
		t.Parallel()
		b := large()
		last := false
		w := writerFunc(func(p []byte) (int, error) {
			last = !b.InUse()
			return len(p), nil
		})
		_, err := b.Open().(io.WriterTo).WriteTo(w)
		require.NoError(t, err)
		require.True(t, last, "whoever gets the last bytes finds the slice free")
	})
	t.Run("some of its rows", func(t *testing.T) {
		t.Parallel()
		b := large()
		some := b.Select(func(i int) bool { return i < 900 })
		_ = some.Open()
		require.True(t, some.InUse())
		require.False(t, b.InUse(), "they have a slice of their own")
	})
}
