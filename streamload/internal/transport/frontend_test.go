package transport

import (
	"bytes"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// Not one byte of a body goes to an FE that redirects, however it goes about it, and its answer is never lost.
func TestFrontendGetsNoBody(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]func(p *peer, be string){
		"keeps the connection":           func(p *peer, be string) { p.redirect(be); p.rest() },
		"says that it keeps it":          func(p *peer, be string) { p.redirect(be, "Connection: keep-alive", ""); p.rest() },
		"closes the connection":          func(p *peer, be string) { p.redirect(be, "Connection: close", "") },
		"resets with the body unread":    func(p *peer, be string) { p.redirect(be); p.reset() },
		"sends an interim answer before": func(p *peer, be string) { p.say("HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n"); p.redirect(be); p.rest() },
		"speaks HTTP/1.0": func(p *peer, be string) {
			p.say("HTTP/1.0 307 T\r\nLocation: http://%s/api/db/t/_stream_load\r\n\r\n", be)
			p.rest()
		},
		"sends a page with it": func(p *peer, be string) {
			p.say("HTTP/1.1 307 T\r\nLocation: http://%s/api/db/t/_stream_load\r\nContent-Length: 4\r\n\r\nmore", be)
			p.rest()
		},
		"sends a page that does not end": func(p *peer, be string) {
			p.say("HTTP/1.1 307 T\r\nLocation: http://%s/api/db/t/_stream_load\r\nContent-Length: 400\r\n\r\nmore", be)
			p.rest()
		},
		"sends its answer in pieces": func(p *peer, be string) {
			for _, part := range []string{"HTT", "P/1.1 30", "7 T\r", "\nLocation: http://" + be, "/api/db/t/_stream_load\r\nContent-Length: 0\r", "\n\r\n"} {
				p.say("%s", part)
				p.pause(time.Millisecond)
			}
			p.rest()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The BE refuses at once, so that most of 200 times 20 MB need not travel.
			be := serve(t, func(p *peer) {
				for p.head() != nil {
					p.sayJSON(200, failJSON)
				}
				p.rest()
			})
			fe := serve(t, func(p *peer) {
				if p.head() != nil {
					script(p, be.addr)
				}
			})
			tr := client(t, func(c *Config) { c.ContinueWait = 10 * time.Second })
			for n := range tries() {
				a := load(t, tr, fe.addr, body20MB)
				require.NoError(t, a.Err, "try %d", n)
				require.True(t, a.HasAnswer)
				require.Equal(t, decide.NotSent, a.Sent)
				require.Equal(t, answer.Failure, a.Load.Word)
				require.Equal(t, 1, a.Hops)
				require.Equal(t, be.addr, a.Server)
			}
			tr.Close()
			require.Zero(t, fe.strayBytes(t), "body bytes at the FE")
			require.Zero(t, be.strayBytes(t), "body bytes at the BE that refused")
			require.Len(t, fe.seen(), tries())
		})
	}
}

func TestLoad20MB(t *testing.T) {
	t.Parallel()
	sums := make(chan [32]byte, 1)
	be := backend(t, func(body string) { sums <- sha256.Sum256([]byte(body)) })
	fe := frontend(t, be.addr)
	a := load(t, client(t), fe.addr, body20MB)
	require.NoError(t, a.Err)
	require.Equal(t, decide.Attempt{
		Sent: decide.Answered, WholeBody: true, HasAnswer: true, HTTPStatus: 200, Load: answer.ParseLoad([]byte(successJSON)),
	}, a.Attempt)
	require.Equal(t, sha256.Sum256(body20MB), <-sums)
	require.Zero(t, fe.strayBytes(t))
}

// An FE may take its time: the body is not sent before it answers.
func TestFrontendIsSlow(t *testing.T) {
	t.Parallel()
	be := backend(t, nobody)
	fe := serve(t, func(p *peer) {
		if p.head() != nil && p.pause(150*time.Millisecond) {
			p.redirect(be.addr)
			p.rest()
		}
	})
	a := load(t, client(t), fe.addr, body4MB) // waits 50 ms for 100 Continue at a BE
	require.NoError(t, a.Err)
	require.Equal(t, answer.Success, a.Load.Word)
	require.Zero(t, fe.strayBytes(t))
}

func TestFrontendDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]func(*peer){
		"nothing":                   func(p *peer) { p.rest() },
		"an interim answer":         func(p *peer) { p.say("HTTP/1.1 103 Early Hints\r\n\r\n"); p.rest() },
		"half of a status line":     func(p *peer) { p.say("HTTP/1.1 3"); p.rest() },
		"half of a head":            func(p *peer) { p.say("HTTP/1.1 307 T\r\nLocation: http://x/"); p.rest() },
		"half of an answer":         func(p *peer) { p.say("HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n{"); p.rest() },
		"half of a chunked answer":  func(p *peer) { p.say("HTTP/1.1 503 U\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{"); p.rest() },
		"half of a 100 Continue":    func(p *peer) { p.say("HTTP/1.1 100 Con"); p.rest() },
		"a 100 Continue, no end":    func(p *peer) { p.say("HTTP/1.1 100 Continue\r\n"); p.rest() },
		"bytes of something else":   func(p *peer) { p.say("HTTP"); p.rest() },
		"interim answers, no other": func(p *peer) { p.say("HTTP/1.1 102 P\r\n\r\nHTTP/1.1 103 E\r\n\r\n"); p.rest() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fe := serve(t, func(p *peer) {
				if p.head() != nil {
					script(p)
				}
			})
			tr := client(t, func(c *Config) { c.FEWait = 200 * time.Millisecond })
			began := time.Now()
			a := load(t, tr, fe.addr, body20MB)
			require.ErrorIs(t, a.Err, errNoFEAnswer)
			require.GreaterOrEqual(t, time.Since(began), 200*time.Millisecond)
			require.Less(t, time.Since(began), 20*time.Second)
			require.Equal(t, decide.NotSent, a.Sent)
			require.Equal(t, decide.TimedOut, a.Trouble)
			require.False(t, a.HasAnswer)
			require.False(t, a.Stale)
			require.Zero(t, fe.strayBytes(t))
		})
	}
}

// What is configured as an FE may be a BE, or a proxy that answers by itself.
func TestFrontendIsABackend(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]time.Duration{
		"asks for the body":         0,
		"asks for the body, slowly": 150 * time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bodies := make(chan string, 1)
			fe := serve(t, func(p *peer) {
				r := p.head()
				if r == nil || !p.pause(wait) {
					return
				}
				p.say("HTTP/1.1 100 Continue\r\n\r\n")
				bodies <- p.body(r)
				p.sayJSON(200, successJSON)
			})
			a := load(t, client(t), fe.addr, rows(smallBody))
			require.NoError(t, a.Err)
			require.Equal(t, smallBody, <-bodies)
			require.Equal(t, decide.Answered, a.Sent)
			require.True(t, a.WholeBody)
			require.Equal(t, answer.Success, a.Load.Word)
			require.Zero(t, a.Hops)
		})
	}
	t.Run("takes its time with the body", func(t *testing.T) {
		t.Parallel()
		// After 100 Continue it is no FE that has to answer at once.
		fe := serve(t, func(p *peer) {
			if r := p.head(); r != nil {
				p.say("HTTP/1.1 100 Continue\r\n\r\n")
				p.body(r)
				if p.pause(300 * time.Millisecond) {
					p.sayJSON(200, successJSON)
				}
			}
		})
		a := load(t, client(t, func(c *Config) { c.FEWait = 100 * time.Millisecond }), fe.addr, rows(smallBody))
		require.NoError(t, a.Err)
		require.Equal(t, answer.Success, a.Load.Word)
	})
}

// Success without a body is reported as what it is: an answer about rows that were not sent.
func TestFrontendTakesNoBody(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]bool{"keeps the connection": true, "closes the connection": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fe := serve(t, func(p *peer) {
				if p.head() == nil {
					return
				}
				p.sayJSON(200, successJSON)
				if keep {
					p.rest()
				}
			})
			for _, body := range []rows{rows(smallBody), body20MB} {
				a := load(t, client(t), fe.addr, body)
				require.NoError(t, a.Err)
				require.True(t, a.HasAnswer)
				require.Equal(t, answer.Success, a.Load.Word)
				require.Equal(t, decide.NotSent, a.Sent)
				require.False(t, a.WholeBody)
			}
			require.Zero(t, fe.strayBytes(t))
			_, act := decide.Step(firstStep(load(t, client(t), fe.addr, rows(smallBody))))
			require.False(t, act.Outcome.Committed)
		})
	}
}

// firstStep is what decide is told of the first attempt of a delivery.
func firstStep(a Attempt) (decide.State, decide.Event) {
	s, _ := decide.Start(decide.Policy{})
	return s, decide.Event{Kind: decide.Attempted, Attempt: a.Attempt}
}

func TestFrontendRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		say    string
		status int
		want   string
	}{
		"no Expect":     {"HTTP/1.1 200 OK\r\nContent-Length: 55\r\n\r\n" + `{"status":"FAILED","msg":"no 100-continue header here"}`, 200, "no 100-continue header here"},
		"not allowed":   {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1f\r\n" + `{"code":401,"msg":"no","data":1}` + "\r\n0\r\n\r\n", 200, ""},
		"a proxy":       {"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\n\r\n<html>", 502, ""},
		"an empty page": {"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 404, ""},
		"no content":    {"HTTP/1.1 204 No Content\r\n\r\n", 204, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fe := serve(t, func(p *peer) {
				if p.head() != nil {
					p.say("%s", test.say)
					p.rest()
				}
			})
			a := load(t, client(t), fe.addr, body20MB)
			if name == "not allowed" { // the length of its chunk is wrong
				require.Error(t, a.Err)
				require.Equal(t, decide.NotSent, a.Sent)
				require.Equal(t, 200, a.HTTPStatus)
				return
			}
			require.NoError(t, a.Err)
			require.True(t, a.HasAnswer)
			require.Equal(t, test.status, a.HTTPStatus)
			require.Equal(t, decide.NotSent, a.Sent)
			require.Equal(t, test.want, a.Load.Message)
			require.Zero(t, fe.strayBytes(t))
		})
	}
}

// A follower may send us to its master, and a second FE gets no body either: at the first contact, on a connection that was used before, and if it keeps the connection.
func TestSecondFrontendGetsNoBody(t *testing.T) {
	t.Parallel()
	be := backend(t, nobody)
	master := serve(t, func(p *peer) {
		// The first request of a connection is stored, as by a BE; the second is sent on.
		r := p.head()
		if r == nil {
			return
		}
		if p.nth == 1 {
			p.say("HTTP/1.1 100 Continue\r\n\r\n")
			p.body(r)
			p.sayJSON(200, successJSON)
			if p.head() == nil {
				return
			}
		}
		p.redirect(be.addr)
		p.rest()
	})
	fe := frontend(t, master.addr)
	tr := client(t)

	a := load(t, tr, fe.addr, body4MB)
	require.NoError(t, a.Err)
	require.Equal(t, 1, a.Hops)
	require.Equal(t, answer.Success, a.Load.Word)
	for range 3 {
		a = load(t, tr, fe.addr, body4MB)
		require.NoError(t, a.Err)
		require.Equal(t, 2, a.Hops)
		require.Equal(t, answer.Success, a.Load.Word)
		require.Equal(t, be.addr, a.Server)
	}
	require.EqualValues(t, 3, master.conns.Load(), "the first two loads use one connection to it")
	require.Zero(t, master.strayBytes(t)+fe.strayBytes(t))
	require.EqualValues(t, 1, be.conns.Load())
}

// A body that was taken before a redirect has left, whatever becomes of the request behind it.
func TestBodyLeftBeforeARedirect(t *testing.T) {
	t.Parallel()
	gone := serve(t, func(*peer) {})
	deny := serve(t, func(p *peer) {
		if p.head() != nil {
			p.sayJSON(200, failJSON)
			p.rest()
		}
	})
	for name, test := range map[string]struct {
		to   string
		sent decide.Sent
	}{
		"then nobody":  {gone.addr, decide.MaybeReceived},
		"then refusal": {deny.addr, decide.Answered},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fe := serve(t, func(p *peer) {
				if r := p.head(); r != nil {
					p.say("HTTP/1.1 100 Continue\r\n\r\n")
					p.body(r)
					p.redirect(test.to)
				}
			})
			a := load(t, client(t), fe.addr, rows(bytes.Repeat([]byte("x"), 1000)))
			require.Equal(t, test.sent, a.Sent)
			require.False(t, a.WholeBody)
			require.False(t, a.Stale)
		})
	}
}
