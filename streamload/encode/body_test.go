package encode

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// bodies of every kind a reader meets, with their text.
func bodies(tb testing.TB) map[string]struct {
	body Body
	text string
} {
	tb.Helper()
	object := func(n int) string { return `{"a":"` + strings.Repeat("x", n-8) + `"}` }
	out := map[string]struct {
		body Body
		text string
	}{}
	for name, c := range map[string]struct {
		n, size int
		o       Options
	}{
		"none":           {0, 0, Options{}},
		"one":            {1, 10, Options{}},
		"few":            {10, 100, Options{}},
		"small array":    {10, 100, Options{StripOuterArray: true}},
		"exactly small":  {1, smallBody, Options{}},
		"just not small": {1, smallBody + 1, Options{}},
		"many small":     {3000, 97, Options{}},
		"many, array":    {3000, 97, Options{StripOuterArray: true}},
		"CSV":            {3000, 97, Options{Format: CSV, LineDelimiter: "<-->"}},
		"direct rows":    {5, directRow, Options{}},
		"below direct":   {9, directRow - 1, Options{}},
		"chunk sized":    {4, chunkSize, Options{StripOuterArray: true}},
	} {
		text := make([]string, c.n)
		for i := range text {
			text[i] = object(c.size)
		}
		b, rejected := Encode(rowsOf(text...), c.o)
		require.Empty(tb, rejected)
		e := out[name]
		e.body, e.text = b, strings.Join(text, "\n")
		switch {
		case c.o.LineDelimiter != "":
			e.text = strings.Join(text, c.o.LineDelimiter)
		case c.o.StripOuterArray:
			e.text = "[" + strings.Join(text, ",") + "]"
		}
		out[name] = e
	}
	// Small and large rows in turn, some of them changed and some left out.
	rnd := rand.New(rand.NewPCG(1, 2))
	var rows [][]byte
	var text []string
	for range 200 {
		row := object(8 + rnd.IntN(1<<rnd.IntN(18)))
		switch rnd.IntN(4) {
		case 0:
			rows = append(rows, nil)
			continue
		case 1:
			rows = append(rows, []byte(" "+row))
		default:
			rows = append(rows, []byte(row))
		}
		text = append(text, row)
	}
	b, _ := Encode(rows, Options{})
	e := out["mixed"]
	e.body, e.text = b, strings.Join(text, "\n")
	out["mixed"] = e
	return out
}

func TestBodyReaders(t *testing.T) {
	t.Parallel()
	for name, c := range bodies(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := c.body
			require.Equal(t, int64(len(c.text)), b.Len())
			requireSameText(t, c.text, bodyText(t, &b))
			require.NoError(t, iotest.TestReader(b.Open(), []byte(c.text)))

			for _, size := range []int{1, 7, 4096, 32 << 10, 1 << 20} {
				if size == 1 && len(c.text) > 1<<17 {
					continue
				}
				r, got := b.Open(), []byte(nil)
				p := make([]byte, size)
				for {
					n, err := r.Read(p)
					got = append(got, p[:n]...)
					if errors.Is(err, io.EOF) {
						break
					}
					require.NoError(t, err)
					if len(got) < len(c.text) {
						require.Equal(t, size, n, "a Read that is not the last fills its buffer")
					}
				}
				requireSameText(t, c.text, string(got))
				n, err := r.Read(p)
				require.Zero(t, n)
				require.ErrorIs(t, err, io.EOF)
			}
		})
	}
}

// writes notes the sizes of the writes it gets.
type writes struct {
	bytes.Buffer
	sizes []int
}

func (w *writes) Write(p []byte) (int, error) {
	w.sizes = append(w.sizes, len(p))
	return w.Buffer.Write(p)
}

func TestBodyWriteTo(t *testing.T) {
	t.Parallel()
	for name, c := range bodies(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := c.body
			for _, before := range []int{0, 1, 5, 98, 1000, len(c.text)} {
				r := b.Open()
				head := make([]byte, min(before, len(c.text)))
				_, err := io.ReadFull(r, head)
				require.NoError(t, err)

				var w writes
				n, err := r.(io.WriterTo).WriteTo(&w)
				require.NoError(t, err)
				require.Equal(t, int64(len(c.text)-len(head)), n)
				requireSameText(t, c.text, string(head)+w.String())
				if before == 0 && len(c.text) > smallBody {
					require.LessOrEqual(t, len(w.sizes), 2*len(c.text)/directRow+2, "small rows are written in chunks")
				}

				// Nothing is left, as for a client that checks that the body
				// has ended.
				n, err = io.Copy(io.Discard, r)
				require.NoError(t, err)
				require.Zero(t, n)
				require.NoError(t, r.Close())
			}
			// What is left of a body of which only a part was wanted.
			r := b.Open()
			part, err := io.Copy(io.Discard, io.LimitReader(r, b.Len()/3))
			require.NoError(t, err)
			rest, err := io.Copy(io.Discard, r)
			require.NoError(t, err)
			require.Equal(t, b.Len(), part+rest)
		})
	}
}

// A large row goes out as it is, the small ones around it in chunks.
func TestBodyWriteToPassesLargeRowsOn(t *testing.T) {
	t.Parallel()
	small, large := `{"a":1}`, `{"a":"`+strings.Repeat("x", directRow)+`"}`
	rows := rowsOf(small, small, large, large, small)
	b, rejected := Encode(rows, Options{StripOuterArray: true})
	require.Empty(t, rejected)
	var seen [][]byte
	n, err := io.Copy(writerFunc(func(p []byte) (int, error) {
		seen = append(seen, p)
		return len(p), nil
	}), b.Open())
	require.NoError(t, err)
	require.Equal(t, b.Len(), n)
	require.Len(t, seen, 5)
	require.Same(t, &rows[2][0], &seen[1][0])
	require.Same(t, &rows[3][0], &seen[3][0])
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// failAfter takes n bytes and then fails, or takes less without an error.
type failAfter struct {
	n     int
	short bool
}

var errWriter = errors.New("the writer failed")

func (w *failAfter) Write(p []byte) (int, error) {
	if len(p) <= w.n {
		w.n -= len(p)
		return len(p), nil
	}
	n := w.n
	w.n = 0
	if w.short {
		return n, nil
	}
	return n, errWriter
}

func TestBodyWriteToReportsErrors(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"many small", "direct rows", "mixed", "below direct"} {
		c := bodies(t)[name]
		for _, at := range []int{0, 1, directRow, chunkSize - 1, chunkSize, chunkSize + 1, len(c.text) - 1} {
			r := c.body.Open()
			n, err := r.(io.WriterTo).WriteTo(&failAfter{n: at})
			require.ErrorIs(t, err, errWriter)
			require.Equal(t, int64(at), n)
			require.NoError(t, r.Close())

			r = c.body.Open()
			n, err = r.(io.WriterTo).WriteTo(&failAfter{n: at, short: true})
			require.ErrorIs(t, err, io.ErrShortWrite)
			require.Equal(t, int64(at), n)
			require.NoError(t, r.Close())
		}
	}
}

// net/http writes header and body at once only for the readers that it knows.
func TestSmallBodyIsABytesReader(t *testing.T) {
	t.Parallel()
	all := bodies(t)
	known := reflect.TypeOf(io.NopCloser(bytes.NewReader(nil)))
	for name, want := range map[string]bool{"few": true, "exactly small": true, "none": true, "just not small": false, "many small": false} {
		b := all[name].body
		require.Equal(t, want, reflect.TypeOf(b.Open()) == known, name)
	}
}

func TestBodyClose(t *testing.T) {
	t.Parallel()
	for name, c := range bodies(t) {
		b := c.body
		r, other := b.Open(), b.Open()
		require.NoError(t, r.Close(), name)
		require.NoError(t, r.Close(), name)
		text, err := io.ReadAll(other)
		require.NoError(t, err)
		requireSameText(t, c.text, string(text))
		if b.Len() > smallBody {
			_, err = r.Read(make([]byte, 1))
			require.ErrorIs(t, err, errClosed)
			_, err = io.Copy(io.Discard, r)
			require.ErrorIs(t, err, errClosed)
		}
	}
}

// Readers outlive the variable that the body was in.
func TestReaderKeepsItsBody(t *testing.T) {
	t.Parallel()
	c := bodies(t)["many small"]
	b := c.body
	r := b.Open()
	b, _ = Encode(rowsOf(`{"other":1}`), Options{})
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	requireSameText(t, c.text, string(text))
	require.Equal(t, `{"other":1}`, bodyText(t, &b))
}

func TestBodyConcurrentUse(t *testing.T) {
	t.Parallel()
	for name, c := range bodies(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := c.body
			digest := b.Digest("x")
			errs := make(chan error, 16)
			var wg sync.WaitGroup
			for g := range cap(errs) {
				wg.Go(func() {
					r := b.Open()
					var w bytes.Buffer
					var err error
					if g%2 == 0 {
						_, err = r.(io.WriterTo).WriteTo(&w)
					} else {
						_, err = w.ReadFrom(r)
					}
					if err == nil && w.String() != c.text {
						err = fmt.Errorf("reader %d got another text", g)
					}
					if err == nil && b.Digest("x") != digest {
						err = fmt.Errorf("reader %d got another digest", g)
					}
					errs <- errors.Join(err, r.Close(), r.Close())
				})
			}
			wg.Wait()
			close(errs)
			for err := range errs {
				require.NoError(t, err)
			}
		})
	}
}

// An HTTP client may close a body that it is still reading.
func TestCloseWhileReading(t *testing.T) {
	t.Parallel()
	c := bodies(t)["mixed"]
	for g := range 20 {
		r := c.body.Open()
		var wg sync.WaitGroup
		wg.Go(func() {
			var err error
			if g%2 == 0 {
				_, err = io.Copy(io.Discard, r)
			} else {
				_, err = io.Copy(io.Discard, io.LimitReader(r, c.body.Len()))
			}
			if err != nil && !errors.Is(err, errClosed) {
				t.Errorf("reading: %v", err)
			}
		})
		require.NoError(t, r.Close())
		wg.Wait()
	}
}
