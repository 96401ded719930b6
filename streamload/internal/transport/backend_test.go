package transport

import (
	"bytes"
	"compress/gzip"
	"context"
	"maps"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// behind sends a load through an FE to a BE that plays the script with the first request of each connection.
func behind(t *testing.T, body Body, script func(*peer, *http.Request), set ...func(*Config)) (Attempt, *wire) {
	t.Helper()
	be := serve(t, func(p *peer) {
		if r := p.head(); r != nil {
			script(p, r)
		}
	})
	return load(t, client(t, set...), frontend(t, be.addr).addr, body), be
}

func TestRequestAtBothHops(t *testing.T) {
	t.Parallel()
	be := backend(t, nobody)
	fe := frontend(t, be.addr)
	tr := client(t)
	header := http.Header{"label": {"b_1"}, "format": {"json"}, "columns": {"a,größe"}, "user-agent": {"mine"}}
	before := maps.Clone(header)
	a := tr.Load(within(t, time.Minute), at(t, fe.addr), Load{Database: "db", Table: "t", Header: header, Body: rows(smallBody)})
	require.NoError(t, a.Err)
	for name, w := range map[string]*wire{"FE": fe, "BE": be} {
		require.Len(t, w.seen(), 1, name)
		r := w.seen()[0]
		require.Equal(t, http.MethodPut, r.Method, name)
		require.Equal(t, "/api/db/t/_stream_load", r.URL.Path, name)
		require.Equal(t, w.addr, r.Host, name)
		require.EqualValues(t, len(smallBody), r.ContentLength, name)
		require.Empty(t, r.TransferEncoding, name)
		user, password, ok := r.BasicAuth()
		require.True(t, ok && user == "root" && password == "hunter22", name)
		require.Equal(t, []string{"100-continue"}, r.Header["Expect"], name)
		require.Equal(t, []string{"b_1"}, r.Header["Label"], name)
		require.Equal(t, []string{"a,größe"}, r.Header["Columns"], name)
		require.Equal(t, []string{"mine"}, r.Header["User-Agent"], name)
		require.Equal(t, []string{"gzip"}, r.Header["Accept-Encoding"], name)
	}
	require.Equal(t, before, header, "the caller's header is as it was")
}

func TestBackendWithoutContinue(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]func(*peer, *http.Request){
		"never sends 100": func(p *peer, r *http.Request) {
			p.body(r)
			p.sayJSON(200, successJSON)
		},
		"sends 100 too late": func(p *peer, r *http.Request) {
			p.pause(150 * time.Millisecond)
			p.say("HTTP/1.1 100 Continue\r\n\r\n")
			p.body(r)
			p.sayJSON(200, successJSON)
		},
		"sends 100 twice": func(p *peer, r *http.Request) {
			p.say("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n")
			p.body(r)
			p.sayJSON(200, successJSON)
		},
		"sends 103 and 100": func(p *peer, r *http.Request) {
			p.say("HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n")
			p.body(r)
			p.sayJSON(200, successJSON)
		},
		"sends 100 with the answer": func(p *peer, r *http.Request) {
			p.body(r)
			p.say("HTTP/1.1 100 Continue\r\n\r\n")
			p.sayJSON(200, successJSON)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, _ := behind(t, body4MB, script)
			require.NoError(t, a.Err)
			require.Equal(t, answer.Success, a.Load.Word)
			require.Equal(t, decide.Answered, a.Sent)
			require.True(t, a.WholeBody)
		})
	}
}

// A BE that refuses before it has the body is understood, every time, and gets none of it.
func TestBackendRefusesEarly(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]func(*peer){
		"and keeps the connection": func(p *peer) { p.sayJSON(200, failJSON); p.rest() },
		"and closes it": func(p *peer) {
			p.say("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(failJSON), failJSON)
		},
		"and resets it": func(p *peer) { p.sayJSON(200, failJSON); p.reset() },
		"after an interim answer": func(p *peer) {
			p.say("HTTP/1.1 102 Processing\r\n\r\n")
			p.sayJSON(200, failJSON)
			p.rest()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			be := serve(t, func(p *peer) {
				if p.head() != nil {
					script(p)
				}
			})
			tr, fe := client(t, func(c *Config) { c.ContinueWait = 10 * time.Second }), frontend(t, be.addr)
			for range tries() {
				a := load(t, tr, fe.addr, body20MB)
				require.NoError(t, a.Err)
				require.Equal(t, answer.Failure, a.Load.Word)
				require.Equal(t, decide.NotSent, a.Sent)
			}
			require.Zero(t, be.strayBytes(t))
			require.EqualValues(t, tries(), be.conns.Load(), "a connection whose body was not sent is not used again")
		})
	}
}

// A BE may refuse in the middle of the body. Then some of it has left, whatever the answer says.
func TestBackendRefusesInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, word := range []string{failJSON, successJSON} {
		a, _ := behind(t, body20MB, func(p *peer, _ *http.Request) {
			p.say("HTTP/1.1 100 Continue\r\n\r\n")
			_, _ = p.br.Discard(1 << 20)
			p.sayJSON(200, word)
			p.rest()
		})
		require.NotEqual(t, decide.NotSent, a.Sent)
		require.False(t, a.WholeBody)
		if a.HasAnswer {
			require.Equal(t, decide.Answered, a.Sent)
		}
		_, act := decide.Step(firstStep(a))
		require.False(t, act.Outcome.Committed)
	}
}

func TestBackendAnswers(t *testing.T) {
	t.Parallel()
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	_, err := zip.Write([]byte(successJSON))
	require.NoError(t, err)
	require.NoError(t, zip.Close())

	for _, test := range []struct {
		name, say string
		// want is the word of a whole answer; Unclear with a trouble when it is none.
		want    answer.Word
		trouble decide.Trouble
		status  int
	}{
		{"with a length", "HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n" + successJSON, answer.Success, 0, 200},
		{"without a length", "HTTP/1.1 200 OK\r\n\r\n" + successJSON, answer.Success, 0, 200},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\n" + successJSON, answer.Success, 0, 200},
		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4d\r\n" + successJSON + "\r\n0\r\n\r\n", answer.Success, 0, 200},
		{"gzip", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + zipped.String(), answer.Success, 0, 200},
		{"a server error with a success in it", "HTTP/1.1 500 E\r\n\r\n" + successJSON, answer.Success, 0, 500},
		{"HTML", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>", answer.Unclear, 0, 200},
		{"an empty page", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", answer.Unclear, 0, 200},
		{"JSON that is cut", "HTTP/1.1 200 OK\r\n\r\n" + successJSON[:40], answer.Unclear, 0, 200},

		{"less than its length", "HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n" + successJSON, answer.Unclear, decide.ConnectionLost, 200},
		{"a chunk that is cut", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4d\r\n" + successJSON[:40], answer.Unclear, decide.ConnectionLost, 200},
		{"chunks without an end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4d\r\n" + successJSON + "\r\n", answer.Unclear, decide.ConnectionLost, 200},
		{"chunks that are none", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", answer.Unclear, decide.ConnectionLost, 200},
		{"gzip that is none", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + successJSON, answer.Unclear, decide.ConnectionLost, 200},
		{"gzip that is cut", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + zipped.String()[:zipped.Len()-9], answer.Unclear, decide.ConnectionLost, 200},
		{"a head that is cut", "HTTP/1.1 200 OK\r\nContent-Len", answer.Unclear, decide.Garbled, 0},
		{"a status line that is cut", "HTTP/1.1 20", answer.Unclear, decide.Garbled, 0},
		{"nothing", "", answer.Unclear, decide.ConnectionLost, 0},
		{"garbage", "SSH-2.0-OpenSSH_9.6\r\n", answer.Unclear, decide.Garbled, 0},
		{"a header that is none", "HTTP/1.1 200 OK\r\nnonsense\r\n\r\n" + successJSON, answer.Unclear, decide.Garbled, 0},
		{"another protocol", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n" + successJSON, answer.Unclear, decide.Garbled, 101},
		{"a head of megabytes", "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", 2<<20) + "\r\n\r\n" + successJSON, answer.Unclear, decide.Garbled, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a, be := behind(t, rows(smallBody), func(p *peer, r *http.Request) {
				p.say("HTTP/1.1 100 Continue\r\n\r\n")
				p.body(r)
				p.say("%s", test.say)
			})
			require.Equal(t, test.trouble, a.Trouble, "%v", a.Err)
			require.Equal(t, test.want, a.Load.Word)
			require.Equal(t, test.status, a.HTTPStatus)
			require.True(t, a.WholeBody)
			require.Equal(t, be.addr, a.Server)
			if test.trouble == decide.NoTrouble {
				require.NoError(t, a.Err)
				require.True(t, a.HasAnswer)
				require.Equal(t, decide.Answered, a.Sent)
				return
			}
			require.ErrorContains(t, a.Err, be.addr)
			require.False(t, a.HasAnswer)
			require.False(t, a.Stale)
			require.Equal(t, decide.MaybeReceived, a.Sent)
		})
	}
}

// An answer without an end, or one that a few bytes blow up to gigabytes, does not fill the memory. Not parallel, because it
// looks at the memory.
func TestHugeAnswers(t *testing.T) {
	var member bytes.Buffer
	zip := gzip.NewWriter(&member)
	_, err := zip.Write(make([]byte, 1<<20))
	require.NoError(t, err)
	require.NoError(t, zip.Close())
	bomb := bytes.Repeat(member.Bytes(), 1<<10) // a gigabyte
	for name, script := range map[string]func(*peer){
		"without an end": func(p *peer) {
			p.say("HTTP/1.1 200 OK\r\n\r\n")
			page := bytes.Repeat([]byte(`{"Status":"Success"}`), 1<<15)
			for {
				if _, err := p.Write(page); err != nil {
					return
				}
			}
		},
		"a success, and white space without an end": func(p *peer) {
			p.say("HTTP/1.1 200 OK\r\n\r\n%s", successJSON)
			page := bytes.Repeat([]byte(" \n"), 1<<15)
			for {
				if _, err := p.Write(page); err != nil {
					return
				}
			}
		},
		"a success, and one byte too many": func(p *peer) {
			p.sayJSON(200, successJSON+strings.Repeat("\n", 1<<20-len(successJSON)+1))
		},
		"a gigabyte in gzip": func(p *peer) {
			p.say("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n")
			_, _ = p.Write(bomb)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			a, _ := behind(t, rows(smallBody), func(p *peer, r *http.Request) {
				p.say("HTTP/1.1 100 Continue\r\n\r\n")
				p.body(r)
				script(p)
			}, func(c *Config) { c.MaxAnswer = 1 << 20 })
			runtime.ReadMemStats(&after)
			require.NoError(t, a.Err)
			require.Equal(t, answer.Unclear, a.Load.Word)
			require.False(t, a.Load.Readable)
			require.Contains(t, a.Load.Excerpt, "an answer of more than 1048576 bytes: ")
			require.Less(t, len(a.Load.Excerpt), 400)
			require.Equal(t, decide.Answered, a.Sent)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20))
		})
	}
}

// A long answer is read as far as anything of it may matter: an old BE puts a stack trace of 2 MB into it.
func TestLongAnswer(t *testing.T) {
	t.Parallel()
	trace := strings.Repeat("0x7f doris::StackTrace ", 2_000_000/23)
	for name, text := range map[string]string{
		"a long message":                      `{"TxnId":7,"Status":"Fail","Message":"[INTERNAL_ERROR]tablet writer write failed ` + trace + `"}`,
		"white space to the end of the limit": failJSON + strings.Repeat(" ", 4<<20-len(failJSON)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, _ := behind(t, rows(smallBody), func(p *peer, r *http.Request) {
				p.say("HTTP/1.1 100 Continue\r\n\r\n")
				p.body(r)
				p.sayJSON(200, text)
			})
			require.NoError(t, a.Err)
			require.True(t, a.Load.Readable)
			require.Equal(t, answer.Failure, a.Load.Word)
		})
	}
}

func TestBackendHangs(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]func(*peer, *http.Request){
		"before the body": func(*peer, *http.Request) {},
		"in the body":     func(p *peer, _ *http.Request) { p.say("HTTP/1.1 100 Continue\r\n\r\n"); _, _ = p.br.Discard(1 << 20) },
		"after the body":  func(p *peer, r *http.Request) { p.say("HTTP/1.1 100 Continue\r\n\r\n"); p.body(r) },
		"in its answer": func(p *peer, r *http.Request) {
			p.say("HTTP/1.1 100 Continue\r\n\r\n")
			p.body(r)
			p.say("HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n{")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hang := func(p *peer) {
				if r := p.head(); r != nil {
					script(p, r)
					<-p.quit
				}
			}
			be := serve(t, hang)
			fe, tr := frontend(t, be.addr), client(t)

			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			began := time.Now()
			a := tr.Load(ctx, at(t, fe.addr), Load{Database: "db", Table: "t", Body: body20MB})
			require.Less(t, time.Since(began), 10*time.Second)
			require.ErrorIs(t, a.Err, context.DeadlineExceeded)
			require.Equal(t, decide.TimedOut, a.Trouble)
			require.Equal(t, decide.MaybeReceived, a.Sent)
			require.False(t, a.HasAnswer)
			require.False(t, a.Stale)
		})
	}
}

// The caller gives up in the middle of the body: it gets its goroutine back at once, and nothing is left behind (see TestMain).
func TestCancelInTheMiddle(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	be := serve(t, func(p *peer) {
		if p.head() != nil {
			p.say("HTTP/1.1 100 Continue\r\n\r\n")
			_, _ = p.br.Discard(1 << 20)
			cancel()
			<-p.quit
		}
	})
	began := time.Now()
	a := client(t).Load(ctx, at(t, frontend(t, be.addr).addr), Load{Database: "db", Table: "t", Body: body20MB})
	require.Less(t, time.Since(began), 10*time.Second)
	require.ErrorIs(t, a.Err, context.Canceled)
	require.Equal(t, decide.MaybeReceived, a.Sent)
	require.False(t, a.WholeBody)

	// Before anything is sent.
	a = client(t).Load(ctx, at(t, frontend(t, be.addr).addr), Load{Database: "db", Table: "t", Body: body20MB})
	require.ErrorIs(t, a.Err, context.Canceled)
	require.Equal(t, decide.NotSent, a.Sent)
	require.False(t, a.Stale, "it was the caller, not the connection")
}

func TestConnectionIsUsedAgain(t *testing.T) {
	t.Parallel()
	be := backend(t, nobody)
	fe, tr := frontend(t, be.addr), client(t)
	for range 20 {
		a := load(t, tr, fe.addr, rows(smallBody))
		require.NoError(t, a.Err)
		require.Equal(t, answer.Success, a.Load.Word)
	}
	require.EqualValues(t, 1, be.conns.Load())
	require.Zero(t, fe.strayBytes(t))
}

// A BE that closes a kept connection as a request comes has got nothing of it, and a new connection will do.
func TestStaleConnection(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*peer){
		"closed": func(*peer) {},
		"reset":  func(p *peer) { p.reset() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			be := serve(t, func(p *peer) {
				for n := 0; ; n++ {
					r := p.head()
					switch {
					case r == nil:
						return
					case n == 1:
						end(p)
						return
					}
					p.say("HTTP/1.1 100 Continue\r\n\r\n")
					p.body(r)
					p.sayJSON(200, successJSON)
				}
			})
			fe, tr := frontend(t, be.addr), client(t, func(c *Config) { c.ContinueWait = 10 * time.Second })
			require.False(t, load(t, tr, fe.addr, rows(smallBody)).Stale)
			a := load(t, tr, fe.addr, rows(smallBody))
			require.True(t, a.Stale, "%v", a.Err)
			require.Equal(t, decide.NotSent, a.Sent)
			require.Equal(t, decide.ConnectionLost, a.Trouble)
			a = load(t, tr, fe.addr, rows(smallBody))
			require.NoError(t, a.Err)
			require.Equal(t, answer.Success, a.Load.Word)
			require.EqualValues(t, 2, be.conns.Load())
		})
	}
	t.Run("a new connection is not stale", func(t *testing.T) {
		t.Parallel()
		a, _ := behind(t, rows(smallBody), func(*peer, *http.Request) {}, func(c *Config) { c.ContinueWait = 10 * time.Second })
		require.Equal(t, decide.ConnectionLost, a.Trouble)
		require.Equal(t, decide.NotSent, a.Sent)
		require.False(t, a.Stale)
	})
	t.Run("nor is one whose caller gave up", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		be := serve(t, func(p *peer) {
			r := p.head()
			p.say("HTTP/1.1 100 Continue\r\n\r\n")
			p.body(r)
			p.sayJSON(200, successJSON)
			p.head()
			cancel()
			<-p.quit
		})
		fe, tr := frontend(t, be.addr), client(t, func(c *Config) { c.ContinueWait = 10 * time.Second })
		require.NoError(t, load(t, tr, fe.addr, rows(smallBody)).Err)
		a := tr.Load(ctx, at(t, fe.addr), Load{Database: "db", Table: "t", Body: rows(smallBody)})
		require.ErrorIs(t, a.Err, context.Canceled)
		require.EqualValues(t, 1, be.conns.Load())
		require.Equal(t, decide.NotSent, a.Sent)
		require.False(t, a.Stale)
	})
	t.Run("nor is one that said something", func(t *testing.T) {
		t.Parallel()
		var answers atomic.Int32
		be := serve(t, func(p *peer) {
			for r := p.head(); r != nil; r = p.head() {
				if answers.Add(1) == 2 {
					p.say("HTTP/1.1 20")
					return
				}
				p.say("HTTP/1.1 100 Continue\r\n\r\n")
				p.body(r)
				p.sayJSON(200, successJSON)
			}
		})
		fe, tr := frontend(t, be.addr), client(t, func(c *Config) { c.ContinueWait = 10 * time.Second })
		require.NoError(t, load(t, tr, fe.addr, rows(smallBody)).Err)
		a := load(t, tr, fe.addr, rows(smallBody))
		require.Equal(t, decide.Garbled, a.Trouble)
		require.Equal(t, decide.NotSent, a.Sent)
		require.False(t, a.Stale)
	})
}

// net/http sends some requests again by itself; never a load.
func TestLoadIsNotSentAgainByItself(t *testing.T) {
	t.Parallel()
	be := serve(t, func(p *peer) {
		for n := 0; ; n++ {
			r := p.head()
			if r == nil || n == 1 {
				return
			}
			p.say("HTTP/1.1 100 Continue\r\n\r\n")
			p.body(r)
			p.sayJSON(200, successJSON)
		}
	})
	fe, tr := frontend(t, be.addr), client(t)
	for range 10 {
		load(t, tr, fe.addr, rows(smallBody))
	}
	require.Len(t, be.seen(), 10)
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for s, want := range map[string]time.Duration{
		"": 0, "0": 0, " 7 ": 7 * time.Second, "-5": 0, "x": 0, "1.5": 0, "99999999999999999999": 0,
		"9223372036854775807": 24 * time.Hour, "-9223372036854775808": 0, "86401": 24 * time.Hour,
		"Fri, 02 Jan 2026 03:04:15 GMT": 10 * time.Second,
		"Fri, 02 Jan 2026 03:04:00 GMT": 0,
		"Fri, 02 Jan 2099 03:04:00 GMT": 24 * time.Hour,
	} {
		require.Equal(t, want, retryAfter(s, now), "%q", s)
	}
	fe := serve(t, func(p *peer) {
		if p.head() != nil {
			p.say("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n")
		}
	})
	require.Equal(t, 7*time.Second, load(t, client(t), fe.addr, rows(smallBody)).RetryAfter)
}

func TestBodyIsClosed(t *testing.T) {
	t.Parallel()
	for name, fe := range map[string]string{
		"a load":         frontend(t, backend(t, nobody).addr).addr,
		"a refusal":      serve(t, func(p *peer) { p.head(); p.sayJSON(200, failJSON) }).addr,
		"a lost request": serve(t, func(p *peer) { p.head() }).addr,
		"nobody there":   "127.0.0.1:1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := &watchedBody{rows: rows(smallBody)}
			load(t, client(t), fe, body)
			require.Positive(t, body.opened.Load())
			require.Eventually(t, func() bool { return body.opened.Load() == body.closed.Load() }, 10*time.Second, time.Millisecond)
		})
	}
}
