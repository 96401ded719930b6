package transport

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// received is a connection that gives what was received before, and then an error.
type received struct {
	net.Conn
	r io.Reader
}

func (c received) Read(p []byte) (int, error) { return c.r.Read(p) }

// through reads a whole connection.
func through(r io.Reader, armed bool) (*withholdConn, []byte, error) {
	c := &withholdConn{Conn: received{r: r}}
	c.armed.Store(armed)
	b, err := io.ReadAll(c)
	return c, b, err
}

const redirect307 = "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://be/\r\nContent-Length: 0\r\n\r\n"

func TestWithhold(t *testing.T) {
	t.Parallel()
	closing := func(s string) string { return strings.Replace(s, "\n", "\nConnection: close\r\n", 1) }
	interim := "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
	for _, test := range []struct {
		name, in, want string
		stillArmed     bool
	}{
		{"a redirect", redirect307, closing(redirect307), false},
		{"an answer with a body", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", closing("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), false},
		{"an answer that keeps the connection", "HTTP/1.1 307 T\r\nConnection: keep-alive\r\n\r\n", closing("HTTP/1.1 307 T\r\nConnection: keep-alive\r\n\r\n"), false},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\nx", closing("HTTP/1.0 200 OK\r\n\r\nx"), false},
		{"bare line feeds", "HTTP/1.1 307 T\nA: b\n\n", "HTTP/1.1 307 T\nConnection: close\r\nA: b\n\n", false},
		{"no reason", "HTTP/1.1 307\r\n\r\n", closing("HTTP/1.1 307\r\n\r\n"), false},
		{"two spaces", "HTTP/1.1  307 T\r\n\r\n", closing("HTTP/1.1  307 T\r\n\r\n"), false},
		{"a version that there is not", "HTTP/2.0 307 T\r\n\r\n", closing("HTTP/2.0 307 T\r\n\r\n"), false},
		{"switching protocols", "HTTP/1.1 101 S\r\n\r\n", closing("HTTP/1.1 101 S\r\n\r\n"), false},
		{"the server wants the body", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n", false},
		{"the server wants the body, and answers", "HTTP/1.1 100 Continue\r\n\r\n" + redirect307, "HTTP/1.1 100 Continue\r\n\r\n" + redirect307, false},
		{"the server wants the body, two spaces", "HTTP/1.1  100 Continue\r\n\r\n" + redirect307, "HTTP/1.1  100 Continue\r\n\r\n" + redirect307, false},
		{"an interim answer", interim, interim, true},
		{"an interim answer before a redirect", interim + redirect307, interim + closing(redirect307), false},
		{"interim answers before a redirect", interim + "HTTP/1.1 102 P\r\n\r\n" + interim + redirect307, interim + "HTTP/1.1 102 P\r\n\r\n" + interim + closing(redirect307), false},
		{"an interim answer before 100", interim + "HTTP/1.1 100 Continue\r\n\r\n" + redirect307, interim + "HTTP/1.1 100 Continue\r\n\r\n" + redirect307, false},
		{"an interim answer with bare line feeds", "HTTP/1.1 103 E\nA: b\n\n" + redirect307, "HTTP/1.1 103 E\nA: b\n\n" + closing(redirect307), false},
		{"garbage", "SSH-2.0-OpenSSH_9.6\r\n", "SSH-2.0-OpenSSH_9.6\r\n", false},
		{"garbage without a line end", "\x15\x03\x03\x00\x02", "\x15\x03\x03\x00\x02", false},
		{"garbage after HTTP/", "HTTP/1.1 abc OK\r\n" + redirect307, "HTTP/1.1 abc OK\r\n" + redirect307, false},
		{"a code of two digits", "HTTP/1.1 30\r\n\r\n", "HTTP/1.1 30\r\n\r\n", false},
		{"no code", "HTTP/1.1\r\n\r\n", "HTTP/1.1\r\n\r\n", false},
		{"a first header that continues nothing", "HTTP/1.1 307 T\r\n x\r\n\r\n", "HTTP/1.1 307 T\r\n x\r\n\r\n", false},
		{"nothing but a status line", "HTTP/1.1 307 T\r\n", "HTTP/1.1 307 T\r\n", false},
		{"an empty line", "\r\n" + redirect307, "\r\n" + redirect307, false},
		{"nothing", "", "", true},
		{"a line without an end", "HTTP/1.1 307 " + strings.Repeat("x", 2*maxHeld), "HTTP/1.1 307 " + strings.Repeat("x", 2*maxHeld), false},
		{"an interim head without an end", "HTTP/1.1 103 E\r\n" + strings.Repeat("A: b\r\n", maxHeld), "HTTP/1.1 103 E\r\n" + strings.Repeat("A: b\r\n", maxHeld), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, got, err := through(strings.NewReader(test.in), true)
			require.NoError(t, err)
			require.Equal(t, test.want, string(got))
			require.Equal(t, test.stillArmed, c.armed.Load(), "armed")

			_, got, err = through(strings.NewReader(test.in), false)
			require.NoError(t, err)
			require.Equal(t, test.in, string(got), "not armed")

			if len(test.in) > maxHeld {
				return
			}
			for at := range len(test.in) {
				two := io.MultiReader(strings.NewReader(test.in[:at]), strings.NewReader(test.in[at:]))
				_, got, err := through(two, true)
				require.NoError(t, err)
				require.Equal(t, test.want, string(got), "split at %d", at)

				// The connection breaks at this byte: what came before is not lost, nor is the reason.
				broken := errors.New("broken")
				_, got, err = through(io.MultiReader(strings.NewReader(test.in[:at]), iotest.ErrReader(broken)), true)
				require.ErrorIs(t, err, broken)
				require.Equal(t, test.in[:at], strings.Replace(string(got), string(closeHeader), "", 1), "broken at %d", at)
			}
			for name, r := range map[string]io.Reader{
				"byte by byte":               iotest.OneByteReader(strings.NewReader(test.in)),
				"the end with the last byte": iotest.DataErrReader(strings.NewReader(test.in)),
			} {
				_, got, err := through(r, true)
				require.NoError(t, err)
				require.Equal(t, test.want, string(got), name)
			}
		})
	}
}

// A held answer comes out in pieces as small as they are asked for.
func TestWithholdSmallReads(t *testing.T) {
	t.Parallel()
	c := &withholdConn{Conn: received{r: strings.NewReader(redirect307)}}
	c.armed.Store(true)
	got, err := io.ReadAll(iotest.OneByteReader(c))
	require.NoError(t, err)
	require.Contains(t, string(got), "Redirect\r\nConnection: close\r\nLocation")
}

// What can be told already is not held back: a server may be silent after it.
func TestWithholdDoesNotWait(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"HTTP/1.1 307 T\r\nA":           "HTTP/1.1 307 T\r\nConnection: close\r\nA",
		"HTTP/1.1 100 C\r\n":            "HTTP/1.1 100 C\r\n",
		"HTTP/1.1 103 E\r\n\r\nHTTP/1.": "HTTP/1.1 103 E\r\n\r\n",
		"SSH":                           "SSH",
		"\x15":                          "\x15",
	} {
		r, w := io.Pipe()
		c := &withholdConn{Conn: received{r: r}}
		c.armed.Store(true)
		go func() { _, _ = io.WriteString(w, in) }()
		got := make([]byte, len(want))
		_, err := io.ReadFull(c, got)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
		require.NoError(t, r.Close())
	}
}

// A kept connection is armed again for the next request.
func TestWithholdAgain(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	c := &withholdConn{Conn: received{r: r}}
	br := bufio.NewReader(c)
	for range 3 {
		c.armed.Store(true)
		go func() {
			_, _ = io.WriteString(w, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
		}()
		for _, want := range []int{100, 200} {
			resp, err := http.ReadResponse(br, nil)
			require.NoError(t, err)
			require.Equal(t, want, resp.StatusCode)
			require.False(t, resp.Close)
			_, err = io.ReadAll(resp.Body)
			require.NoError(t, err)
		}
	}
	c.armed.Store(true)
	go func() { _, _ = io.WriteString(w, redirect307) }()
	resp, err := http.ReadResponse(br, nil)
	require.NoError(t, err)
	require.True(t, resp.Close)
	require.NoError(t, resp.Body.Close())
}

func FuzzWithhold(f *testing.F) {
	for _, s := range []string{
		redirect307, "HTTP/1.1 100 Continue\r\n\r\n" + redirect307, "HTTP/1.1 103 E\r\n\r\n" + redirect307,
		"HTTP/1.1 103 E\nA: b\n\nHTTP/1.1 100\n\n", "HTTP/1.1 101 S\r\nUpgrade: x\r\n\r\n", "SSH-2.0\r\n", "HTTP/1.0 200\r\n\r\nx", "",
	} {
		f.Add([]byte(s), uint16(3))
	}
	f.Add([]byte("HTTP/1.1 200\n x\n\n"), uint16(3))
	f.Fuzz(func(t *testing.T, in []byte, seed uint16) {
		c, got, err := through(bytes.NewReader(in), true)
		require.NoError(t, err)
		_, same, err := through(&pieces{left: in, seed: seed}, true)
		require.NoError(t, err)
		if len(in) < maxHeld {
			require.Equal(t, string(got), string(same), "the pieces in which bytes come make a difference")
		}
		// All bytes are delivered as they came, but for one header after one line.
		if at := bytes.Index(got, closeHeader); !bytes.Equal(in, got) {
			found := false
			for ; at >= 0 && !found; at = next(got, at) {
				rest := append(bytes.Clone(got[:at]), got[at+len(closeHeader):]...)
				found = bytes.Equal(in, rest) && at > 0 && got[at-1] == '\n'
			}
			require.True(t, found, "%q became %q", in, got)
			require.False(t, c.armed.Load())
		}
		checkFinal(t, got)
	})
}

func next(b []byte, at int) int {
	n := bytes.Index(b[at+1:], closeHeader)
	if n < 0 {
		return -1
	}
	return at + 1 + n
}

// checkFinal reads answers as net/http does: the first final one must close the connection, unless 100 came before it.
func checkFinal(t *testing.T, b []byte) {
	t.Helper()
	br := bufio.NewReader(bytes.NewReader(b))
	for {
		resp, err := http.ReadResponse(br, nil)
		if err != nil || resp.StatusCode == 100 {
			return
		}
		if resp.StatusCode > 199 || resp.StatusCode == 101 {
			require.True(t, resp.Close, "%q", b)
			return
		}
		if resp.StatusCode < 100 {
			return
		}
	}
}

// pieces gives bytes in pieces of odd sizes.
type pieces struct {
	left []byte
	seed uint16
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	p.seed = p.seed*25173 + 13849
	n := copy(b[:min(len(b), 1+int(p.seed>>8)%17)], p.left)
	p.left = p.left[n:]
	return n, nil
}
