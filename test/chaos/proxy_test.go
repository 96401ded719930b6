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
	"time"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// proxies stand before every FE and BE and do what things between a client and a server do: they take a whole request before they pass it
// on, answer for a server that is slow, send a request again when its answer does not come, and lose answers.
type proxies struct {
	*weather
	fes []string
	// ghosts lets a copy of a request land after another copy was answered with a failure.
	ghosts bool

	servers []*httptest.Server
	public  map[string]string // host:port of a server -> host:port of the proxy before it
	behind  sync.WaitGroup    // what goes on behind the client's back
	mu      sync.Mutex
	count   map[string]int
}

func newProxies(w *weather, e *emulator.Emulator) *proxies {
	p := &proxies{weather: w, public: map[string]string{}, count: map[string]int{}}
	add := func(name, target string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, name, target) }))
		p.servers = append(p.servers, s)
		p.public[target] = s.Listener.Addr().String()
		return s.URL
	}
	for i, addr := range e.BEAddrs() {
		add(fmt.Sprintf("proxy-be%d", i+1), addr)
	}
	for i, url := range e.FEURLs() {
		p.fes = append(p.fes, add(fmt.Sprintf("proxy-fe%d", i+1), strings.TrimPrefix(url, "http://")))
	}
	return p
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
	if p.calm.Load() || d.Float64() >= p.rate*2 {
		p.give(w, send())
		return
	}
	say := func(format string, args ...any) {
		text, _, _ := strings.Cut(format, "%")
		p.hit("proxy " + what + " " + strings.TrimRight(text, " :"))
		p.trace.add(label, "%s %s #%d: %s", name, what, n, fmt.Sprintf(format, args...))
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
		for server, proxy := range p.public {
			to = strings.Replace(to, server, proxy, 1)
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
