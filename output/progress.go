package output

import (
	"fmt"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/redpanda-data/benthos/v4/public/service"

	"github.com/dorisload/benthos-doris/streamload"
)

func progressField() *service.ConfigField {
	return service.NewDurationField(fieldProgressInterval).
		Description("How often a line in the log (level INFO) says how many rows were loaded, and how fast, while there are loads. One more sums up at the end. 0s turns both off.").
		Default("30s").
		LintRule(boundLint(fieldProgressInterval)).
		Advanced()
}

// progress says from time to time how loading goes. It does so when a load ends, so nothing runs by itself, and an idle pipeline is quiet.
type progress struct {
	every time.Duration // 0 is off
	log   *service.Logger
	now   func() time.Time

	mu    sync.Mutex
	part  tally // since the last line
	whole tally
}

// tally is what came of the loads of a time. Times in which no load ran are not part of it.
type tally struct {
	rows, bytes             int64
	loads, failed, attempts int
	running                 int
	since                   time.Time // when the loads that run now began
	busy                    time.Duration
}

func newProgress(every time.Duration, log *service.Logger) *progress {
	return &progress{every: max(every, 0), log: log, now: time.Now}
}

// started is told of a load that begins.
func (p *progress) started() {
	if p == nil || p.every == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	p.part.start(now)
	p.whole.start(now)
}

// finished is told of a load that has ended; failed is true when its rows are not known to be stored.
func (p *progress) finished(r streamload.Report, failed bool) {
	if p == nil || p.every == 0 {
		return
	}
	p.mu.Lock()
	now := p.now()
	p.part.finish(now, r, failed)
	p.whole.finish(now, r, failed)
	line := ""
	if busy := p.part.busyUntil(now); busy >= p.every {
		line = p.part.text(busy)
		p.part = tally{running: p.part.running, since: now}
	}
	p.mu.Unlock()
	if line != "" {
		p.log.Info(line)
	}
}

// close sums up.
func (p *progress) close() {
	if p == nil || p.every == 0 {
		return
	}
	p.mu.Lock()
	line := ""
	if p.whole.loads > 0 {
		line = "In total: " + p.whole.text(p.whole.busyUntil(p.now()))
	}
	p.mu.Unlock()
	if line != "" {
		p.log.Info(line)
	}
}

func (t *tally) start(now time.Time) {
	if t.running == 0 {
		t.since = now
	}
	t.running++
}

func (t *tally) finish(now time.Time, r streamload.Report, failed bool) {
	t.loads++
	t.attempts += r.Attempts
	if failed {
		t.failed++
	} else {
		t.rows += stored(r)
		t.bytes += r.Bytes
	}
	if t.running--; t.running == 0 {
		t.busy += now.Sub(t.since)
	}
}

// stored is how many rows of a load that was committed are in the table.
func stored(r streamload.Report) int64 {
	if r.HasCounts {
		return r.Loaded
	}
	return int64(r.Rows)
}

// busyUntil is for how long loads ran.
func (t *tally) busyUntil(now time.Time) time.Duration {
	if t.running > 0 {
		return t.busy + now.Sub(t.since)
	}
	return t.busy
}

func (t *tally) text(busy time.Duration) string {
	seconds := max(busy.Seconds(), 1e-3)
	loads := "1 load"
	if t.loads != 1 {
		loads = humanize.Comma(int64(t.loads)) + " loads"
	}
	text := fmt.Sprintf("%s rows (%s) loaded in %s: %s rows/s, %s/s, %s",
		humanize.Comma(t.rows), size(float64(t.bytes)), roughly(busy), humanize.Comma(int64(float64(t.rows)/seconds)), size(float64(t.bytes)/seconds), loads)
	if again := t.attempts - t.loads; again > 0 {
		text += fmt.Sprintf(", %s sent again", humanize.Comma(int64(again)))
	}
	if t.failed > 0 {
		text += fmt.Sprintf(", %s failed", humanize.Comma(int64(t.failed)))
	}
	return text
}

func size(bytes float64) string { return humanize.Bytes(uint64(max(bytes, 0))) }

// roughly rounds for people.
func roughly(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}
