package page

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// waitFor bounds every wait for something to appear on a page.
const waitFor = 60 * time.Second

// browser is a Chromium with one page, which understands JSON on two pipes (--remote-debugging-pipe): a message, a zero byte, and so on. The
// protocol is at https://chromedevtools.github.io/devtools-protocol/.
type browser struct {
	t       *testing.T
	cmd     *exec.Cmd
	out     *os.File
	session string // of the page; empty before there is one

	mu       sync.Mutex
	next     int
	waiting  map[int]chan answer
	gone     error // why nothing can be asked any more
	problems []problem
}

type answer struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// problem is what the console of the page shows as an error or a warning; source is network for a request that failed.
type problem struct{ source, text string }

// findChromium is the program, or the end of the test.
func findChromium(t *testing.T) string {
	t.Helper()
	names := []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"}
	if named := os.Getenv("CHROMIUM"); named != "" {
		names = []string{named}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("REQUIRE_CHROMIUM") != "" {
		t.Fatalf("REQUIRE_CHROMIUM is set and none of %q was found", names)
	}
	t.Skipf("SKIPPED: none of %q was found; install chromium to run this test, or name it in CHROMIUM", names)
	return ""
}

// startBrowser opens a browser with an empty page of that size and closes it at the end of the test.
func startBrowser(t *testing.T, width, height int) *browser {
	t.Helper()
	path := findChromium(t)
	profile, err := os.MkdirTemp("", "chromium") //nolint:usetesting // the last process of the browser may still write there when the test ends, which would fail it
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(profile) })
	theirIn, ourOut, err := os.Pipe()
	require.NoError(t, err)
	ourIn, theirOut, err := os.Pipe()
	require.NoError(t, err)
	var complaints bytes.Buffer
	cmd := exec.Command(path, //nolint:noctx // it is closed by a call, and killed when that does not help
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--no-proxy-server", "--hide-scrollbars", "--remote-debugging-pipe",
		"--user-data-dir="+profile, fmt.Sprintf("--window-size=%d,%d", width, height), "about:blank")
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // 3 and 4, where it expects them
	cmd.Stderr = &complaints
	cmd.WaitDelay = 5 * time.Second
	require.NoError(t, cmd.Start())
	_, _ = theirIn.Close(), theirOut.Close()
	b := &browser{t: t, cmd: cmd, out: ourOut, waiting: map[int]chan answer{}}
	listening := make(chan struct{})
	go func() {
		defer close(listening)
		b.listen(ourIn)
	}()
	t.Cleanup(func() {
		b.session = ""
		_, _ = b.try("Browser.close", nil)
		ended := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		ended.Stop()
		_ = ourOut.Close()
		_ = ourIn.Close()
		<-listening
		if t.Failed() {
			t.Logf("the browser said: %.2000s", complaints.String())
		}
	})

	var target struct{ TargetID, SessionID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &target)
	b.session = target.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// listen hands answers to those who wait for them, and keeps what the console shows.
func (b *browser) listen(in *os.File) {
	lines := bufio.NewReader(in)
	for {
		text, err := lines.ReadBytes(0)
		if err != nil {
			b.mu.Lock()
			b.gone = fmt.Errorf("the browser has ended: %w", err)
			for id, ch := range b.waiting {
				close(ch)
				delete(b.waiting, id)
			}
			b.mu.Unlock()
			return
		}
		var a answer
		if json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &a) != nil {
			continue
		}
		b.mu.Lock()
		if ch := b.waiting[a.ID]; a.ID != 0 && ch != nil {
			ch <- a
			delete(b.waiting, a.ID)
		} else if p, ok := problemOf(a); ok {
			b.problems = append(b.problems, p)
		}
		b.mu.Unlock()
	}
}

func problemOf(a answer) (problem, bool) {
	var p struct {
		Type  string
		Entry struct{ Source, Level, Text, URL string }
	}
	if a.Method == "" || json.Unmarshal(a.Params, &p) != nil {
		return problem{}, false
	}
	switch {
	case a.Method == "Runtime.exceptionThrown":
		return problem{"exception", string(a.Params)}, true
	case a.Method == "Runtime.consoleAPICalled" && (p.Type == "error" || p.Type == "warning" || p.Type == "assert"):
		return problem{"console", string(a.Params)}, true
	case a.Method == "Log.entryAdded" && (p.Entry.Level == "error" || p.Entry.Level == "warning"):
		return problem{p.Entry.Source, p.Entry.Text + " " + p.Entry.URL}, true
	}
	return problem{}, false
}

// try asks the browser for something.
func (b *browser) try(method string, params any) (json.RawMessage, error) {
	ch := make(chan answer, 1)
	b.mu.Lock()
	if b.gone != nil {
		b.mu.Unlock()
		return nil, b.gone
	}
	b.next++
	message := map[string]any{"id": b.next, "method": method}
	if params != nil {
		message["params"] = params
	}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	b.waiting[b.next] = ch
	text, err := json.Marshal(message)
	if err == nil {
		_, err = b.out.Write(append(text, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case a, ok := <-ch:
		if !ok {
			return nil, errors.New(method + ": the browser has ended")
		}
		if a.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, a.Error.Message)
		}
		return a.Result, nil
	case <-time.After(waitFor):
		return nil, errors.New(method + ": no answer")
	}
}

func (b *browser) call(method string, params, into any) {
	b.t.Helper()
	result, err := b.try(method, params)
	require.NoError(b.t, err)
	if into != nil {
		require.NoError(b.t, json.Unmarshal(result, into))
	}
}

// tryEval gives the value of an expression on the page.
func (b *browser) tryEval(expression string, into any) error {
	result, err := b.try("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true})
	if err != nil {
		return err
	}
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Exception struct{ Description string }
		}
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return err
	}
	if r.ExceptionDetails != nil {
		return fmt.Errorf("%s: %s", expression, r.ExceptionDetails.Exception.Description)
	}
	return json.Unmarshal(r.Result.Value, into)
}

func (b *browser) eval(expression string, into any) {
	b.t.Helper()
	require.NoError(b.t, b.tryEval(expression, into))
}

// until waits for an expression to be true. On a page that is just being opened it may fail for a while.
func (b *browser) until(expression string) {
	b.t.Helper()
	end := time.After(waitFor)
	for {
		var ok bool
		err := b.tryEval("!!("+expression+")", &ok)
		if err == nil && ok {
			return
		}
		select {
		case <-time.After(30 * time.Millisecond):
		case <-end:
			var shows string
			_ = b.tryEval("document.body.innerText.slice(0, 2000)", &shows)
			b.t.Fatalf("never true (%v): %s\nthe console shows %v\nthe page shows\n%s", err, expression, b.shown(), shows)
		}
	}
}

func (b *browser) open(url string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	b.until(`location.href.startsWith("http") && document.readyState === "complete"`)
}

// click presses and releases the mouse in the middle of an element, as a person would.
func (b *browser) click(selector string) {
	b.t.Helper()
	var at struct{ X, Y float64 }
	b.eval(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: "center"}); const r = e.getBoundingClientRect(); return {X: r.x + r.width / 2, Y: r.y + r.height / 2}; })()`, selector), &at)
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1}, nil)
	}
}

// press presses and releases the space bar.
func (b *browser) pressSpace() {
	b.t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		b.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": " ", "code": "Space", "text": " ", "windowsVirtualKeyCode": 32}, nil)
	}
}

// shown are the problems of the console so far, less those of these sources.
func (b *browser) shown(except ...string) []problem {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []problem
next:
	for _, p := range b.problems {
		for _, source := range except {
			if p.source == source {
				continue next
			}
		}
		out = append(out, p)
	}
	return out
}

// screenshot is a PNG of the whole page.
func (b *browser) screenshot() []byte {
	b.t.Helper()
	var size struct{ Width, Height float64 }
	b.eval(`({Width: document.documentElement.clientWidth, Height: document.body.getBoundingClientRect().height})`, &size)
	var r struct{ Data []byte }
	b.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true, "clip": map[string]any{
		"x": 0, "y": 0, "width": size.Width, "height": size.Height, "scale": 1,
	}}, &r)
	return r.Data
}
