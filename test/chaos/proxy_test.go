package chaos

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// proxies stand before every FE and BE and do what things between a client and a server do: they take a whole request before they pass it
// on, answer for a server that is slow, send a request again when its answer does not come, and lose answers.
type proxies struct {
	*weather
	fes []string
	// ghosts lets a copy of a request land after another copy was answered with a failure.
	ghosts bool
	// tight lets a load that was taken, and may still land, be too large when it comes again.
	tight bool

	servers []*httptest.Server
	bes     []string       // host:port of the proxies before the BEs
	behind  sync.WaitGroup // what goes on behind the client's back
	mu      sync.Mutex
	count   map[string]int
}

func newProxies(t *testing.T, w *weather) *proxies {
	t.Helper()
	p := &proxies{weather: w, count: map[string]int{}}
	host, _, err := net.SplitHostPort(w.emu.BEAddr())
	require.NoError(t, err)
	add := func(name string, target func() string) *httptest.Server {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, name, target()) }))
		_ = s.Listener.Close()
		l, err := net.Listen("tcp", host+":0")
		require.NoError(t, err)
		s.Listener = &door{Listener: l, p: p, name: name}
		s.Start()
		p.servers = append(p.servers, s)
		return s
	}
	for i := range w.emu.BEAddrs() {
		s := add(fmt.Sprintf("proxy-be%d", i+1), func() string { return w.emu.BEAddrs()[i] }) // a BE may move
		p.bes = append(p.bes, s.Listener.Addr().String())
	}
	for i, url := range w.emu.FEURLs() {
		s := add(fmt.Sprintf("proxy-fe%d", i+1), func() string { return strings.TrimPrefix(url, "http://") })
		p.fes = append(p.fes, s.URL)
	}
	t.Cleanup(p.close)
	return p
}

// door is where connections come in. Some are cut before anybody has read from them.
type door struct {
	net.Listener
	p    *proxies
	name string
}

func (d *door) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		d.p.places.pass(connection)
		d.p.mu.Lock()
		d.p.count[d.name]++
		n := d.p.count[d.name]
		d.p.mu.Unlock()
		if d.p.calm.Load() || dice(d.p.seed, d.name, n).Float64() >= d.p.rate/3 {
			return c, nil
		}
		d.p.hit("proxy connection cut")
		d.p.places.strike(connection, emulator.Exchange{}, emulator.Fault{})
		d.p.trace.add("", "%s cuts connection #%d before it reads from it", d.name, n)
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
}

// settle waits until nothing goes on behind the client's back.
func (p *proxies) settle() { p.behind.Wait() }

func (p *proxies) close() {
	p.behind.Wait()
	for _, s := range p.servers {
		s.CloseClientConnections()
		s.Close()
	}
}

// answer is what a server said.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error
}

// stored is true when nothing that a server does with a copy of the request can matter any more.
func (a answer) stored() bool {
	return a.err == nil && (bytes.Contains(a.body, []byte(`"Success"`)) || bytes.Contains(a.body, []byte(`"Publish Timeout"`)))
}

func (p *proxies) serve(w http.ResponseWriter, r *http.Request, name, target string) {
	load := r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/_stream_load")
	var body []byte
	if strings.Contains(name, "-be") {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return // the client is gone, and no server has seen anything
		}
	}
	what := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	p.mu.Lock()
	p.count[name+what]++
	n := p.count[name+what]
	p.mu.Unlock()
	d := dice(p.seed, name+what, n)
	label := r.Header.Get("label")
	if label == "" {
		label = r.URL.Query().Get("label")
	}
	send := func() answer { return forward(r, target, body) }
	say := func(format string, args ...any) {
		text, _, _ := strings.Cut(format, "%")
		p.hit("proxy " + what + " " + strings.TrimRight(text, " :"))
		p.trace.add(label, "%s %s #%d: %s", name, what, n, fmt.Sprintf(format, args...))
	}
	switch {
	case p.calm.Load():
		p.give(w, send())
		return
	case load && p.tight && len(body) > 0 && p.narrows(w, label, n, send, say):
		return
	case d.Float64() >= p.rate*2:
		p.give(w, send())
		return
	}
	if load && body != nil {
		p.disturbLoad(w, d, send, say)
		return
	}
	switch d.IntN(3) {
	case 0:
		say("answered with 502")
		p.give(w, answer{status: http.StatusBadGateway, body: []byte(html)})
	case 1:
		a := send()
		say("answer lost: %d %.60s", a.status, a.body)
		cut(w)
	default:
		a := send()
		if body != nil || r.Method != http.MethodPut {
			after := ms(d, 1, int(longest.Milliseconds()))
			say("sent again after %s", after)
			p.later(after, func() { send() })
		}
		p.give(w, a)
	}
}

// narrows lets a load land after it was answered for, and finds it too large when it comes again. It is true when that was done.
func (p *proxies) narrows(w http.ResponseWriter, label string, n int, send func() answer, say func(string, ...any)) bool {
	p.mu.Lock()
	p.count["load "+label]++
	again := p.count["load "+label] > 1
	p.mu.Unlock()
	d := dice(p.seed, "narrows", n)
	switch {
	case again && d.IntN(3) > 0:
		say("answered with 413")
		p.give(w, answer{status: http.StatusRequestEntityTooLarge, body: []byte(html)})
	case !again && d.IntN(4) == 0:
		after := ms(d, 30, int(longest.Milliseconds()))
		say("answered with 504, landing %s later", after)
		p.later(after, func() { send() })
		p.give(w, answer{status: http.StatusGatewayTimeout, body: []byte(html)})
	default:
		return false
	}
	return true
}

func (p *proxies) disturbLoad(w http.ResponseWriter, d *rand.Rand, send func() answer, say func(string, ...any)) {
	after := ms(d, 1, int(longest.Milliseconds()))
	// harmless is an answer that the client may have while a copy of its request may still begin.
	harmless := func(a answer) answer {
		if a.stored() || p.ghosts {
			return a
		}
		return answer{status: http.StatusGatewayTimeout, body: []byte(html)}
	}
	switch d.IntN(6) {
	case 0:
		a := send()
		say("answer lost: %d %.80q", a.status, a.body)
		cut(w)
	case 1:
		say("answered with 504, landing %s later", after)
		p.later(after, func() { send() })
		p.give(w, answer{status: http.StatusGatewayTimeout, body: []byte(html)})
	case 2:
		say("connection lost, landing %s later", after)
		p.later(after, func() { send() })
		cut(w)
	case 3:
		a := send()
		say("sent again, as its answer does not count: %d %.80q", a.status, a.body)
		if a.err != nil { // the first copy may still be on its way
			p.give(w, harmless(send()))
			return
		}
		p.give(w, send())
	case 4:
		say("sent twice, the first landing %s later", after)
		p.later(after, func() { send() })
		p.give(w, harmless(send()))
	default:
		a := send()
		say("sent again after its answer, %s later", after)
		p.later(after, func() { send() })
		p.give(w, harmless(a))
	}
}

// later does something behind the client's back.
func (p *proxies) later(after time.Duration, do func()) {
	p.behind.Go(func() {
		time.Sleep(after) // it is what the world does, nothing waits for it
		do()
	})
}

// give answers the client.
func (p *proxies) give(w http.ResponseWriter, a answer) {
	if a.err != nil {
		cut(w)
		return
	}
	maps.Copy(w.Header(), a.header)
	if to := a.header.Get("Location"); to != "" {
		for i, server := range p.emu.BEAddrs() {
			to = strings.Replace(to, server, p.bes[i], 1)
		}
		for i, server := range p.emu.FEURLs() { // a follower sends questions to the master
			to = strings.Replace(to, strings.TrimPrefix(server, "http://"), strings.TrimPrefix(p.fes[i], "http://"), 1)
		}
		w.Header().Set("Location", to)
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

// cut ends the client's connection with a reset.
func cut(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// forward sends a request to a server, on a connection of its own that does not end with the client's. An FE answers a load from its header
// alone, so it is sent no body.
func forward(r *http.Request, target string, body []byte) (a answer) {
	var d net.Dialer
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 5*time.Second)
	defer cancel()
	c, err := d.DialContext(ctx, "tcp", target)
	if err != nil {
		return answer{err: err}
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	var head bytes.Buffer
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.Method, r.URL.RequestURI(), target)
	header := r.Header.Clone()
	header.Del("Accept-Encoding")
	if body == nil && r.Method == http.MethodPut {
		header.Set("Content-Length", strconv.FormatInt(max(r.ContentLength, 0), 10))
		header.Set("Expect", "100-continue")
	} else {
		header.Set("Content-Length", strconv.Itoa(len(body)))
		header.Del("Expect")
	}
	_ = header.Write(&head)
	head.WriteString("\r\n")
	head.Write(body)
	_, _ = c.Write(head.Bytes()) // a server may answer before it has read everything
	in := bufio.NewReader(c)
	resp, err := http.ReadResponse(in, r)
	for err == nil && resp.StatusCode == http.StatusContinue {
		resp, err = http.ReadResponse(in, r)
	}
	if err != nil {
		return answer{err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	a = answer{status: resp.StatusCode, header: resp.Header}
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		return answer{err: err}
	}
	return a
}
