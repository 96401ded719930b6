package chaos

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// event is something that happens to the cluster, not to one exchange: when the n-th exchange comes by a point.
type event struct {
	at    emulator.Point
	n     int
	what  string        // outage, deaf or moved
	lasts time.Duration // of an outage
	heir  heir
}

// heir is who lives at the old address of a BE that has moved.
type heir int

const (
	nobody    heir = iota
	website        // it knows no such page
	helpful        // it says yes to everything
	guarded        // it wants another password
	elsewhere      // it redirects to a page of its own
	greedy         // it takes all that is sent, and then says something
	rude           // it hangs up
	heirs          // the number of them
)

// events plans what happens to the cluster of a run.
func events(d *rand.Rand) (all []event) {
	for range oneOf(d, 0, 1, 1, 2, 3) {
		all = append(all, event{
			at: oneOf(d, emulator.BEHeaders, emulator.BEBegin, emulator.BEBody, emulator.BEBeforeCommit, emulator.BEAfterCommit, emulator.BEAnswer, emulator.StateQuery),
			n:  2 + d.IntN(40), what: oneOf(d, outage, deaf, moved, moved), lasts: ms(d, 20, 400), heir: heir(d.IntN(int(heirs))),
		})
	}
	return all
}

// happen lets happen what is planned for the n-th exchange at a point. What comes of it for that exchange is the fault.
func (w *weather) happen(e emulator.Exchange, n int) (f emulator.Fault, struck bool) {
	for _, ev := range w.events {
		if ev.at != e.Point || ev.n != n {
			continue
		}
		w.places.event(ev.what)
		if ev.what != moved {
			w.outage(ev)
			continue
		}
		i, here := n%len(w.emu.BEAddrs()), strings.HasPrefix(e.Server, "be")
		if here {
			i = int(e.Server[2] - '1')
		}
		w.move(i, ev.heir)
		if here {
			f, struck = emulator.Fault{Do: emulator.BERestart}, true // whoever was in it is gone
		}
	}
	return f, struck
}

// outage takes all FEs off the network for a while. Loads may go on: BEs are there, and those that are known are not asked for.
func (w *weather) outage(ev event) {
	w.trace.add("", "%s, for %s", ev.what, ev.lasts.Round(time.Millisecond))
	w.dark.Add(1)
	w.gap.Store(false)
	if ev.what == deaf {
		w.deaf.Add(1)
	}
	for i := range w.emu.FEURLs() {
		w.emu.StopFE(i)
	}
	w.behind.Go(func() {
		time.Sleep(ev.lasts) // it is what the world does, nothing waits for it
		if ev.what == deaf {
			w.deaf.Add(-1)
		}
		if w.dark.Add(-1) > 0 {
			return // there is another one
		}
		for i := range w.emu.FEURLs() {
			_ = w.emu.StartFE(i)
		}
		w.trace.add("", "the FEs are back")
	})
}

// cutOff is what becomes of a load whose BE reaches no FE.
func (w *weather) cutOff(e emulator.Exchange) (emulator.Fault, bool) {
	if w.deaf.Load() == 0 {
		return emulator.Fault{}, false
	}
	switch e.Point {
	case emulator.BEBegin, emulator.BEBeforeCommit, emulator.TwoPhase: // a transaction that was begun is left as it is
		return emulator.Fault{Do: emulator.Fail, Keep: true, Message: "[THRIFT_RPC_ERROR]failed to call frontend service, reason: Connection refused"}, true
	default:
		return emulator.Fault{}, false
	}
}

// move brings a BE up at another address, and somebody else at its old one.
func (w *weather) move(i int, h heir) {
	w.moving.Lock()
	defer w.moving.Unlock()
	old := w.emu.BEAddrs()[i]
	if err := w.emu.MoveBE(i); err != nil {
		return // the cluster is being closed
	}
	w.trace.add("", "be%d was at %s and is at %s now", i+1, old, w.emu.BEAddrs()[i])
	if h == nobody {
		return
	}
	l, err := net.Listen("tcp", old)
	if err != nil {
		return
	}
	s := httptest.NewUnstartedServer(h)
	_ = s.Listener.Close()
	s.Listener = l
	s.Start()
	w.heirs = append(w.heirs, s)
}

// ServeHTTP is what somebody else says to a load.
func (h heir) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch h {
	case website:
		http.NotFound(w, r)
	case helpful:
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"status":"OK","msg":"Success","code":0}`)
	case guarded:
		w.Header().Set("WWW-Authenticate", `Basic realm="somebody else"`)
		w.WriteHeader(http.StatusUnauthorized)
	case greedy:
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprint(w, "<html>Success! Your upload is complete.</html>")
	case elsewhere:
		if strings.HasSuffix(r.URL.Path, "/login") {
			_, _ = fmt.Fprint(w, "<html>Success! Please log in.</html>")
			return
		}
		http.Redirect(w, r, "/login", http.StatusTemporaryRedirect)
	default:
		cut(w)
	}
}

// end waits for what goes on behind the client's back, and ends those who live where BEs were.
func (w *weather) end() {
	w.behind.Wait()
	w.moving.Lock()
	defer w.moving.Unlock()
	for _, s := range w.heirs {
		s.CloseClientConnections()
		s.Close()
	}
	w.heirs = nil
}
