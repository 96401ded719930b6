//go:build linux

package bench

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/redpanda-data/benthos/v4/public/service"
)

// workload is what is loaded, and how.
type workload struct {
	name     string
	format   string // json or csv
	rows     int    // of a batch
	size     int    // of a row, about, in bytes
	inFlight int
	batches  int // of one run of one peer
	gzip     bool
}

// The workloads. W3 is about latency, the others about throughput.
var (
	w1 = workload{name: "W1", format: "json", rows: 100_000, size: 200, inFlight: 1, batches: 4}
	w2 = workload{name: "W2", format: "json", rows: 1_000, size: 200, inFlight: 4, batches: 300}
	w3 = workload{name: "W3", format: "json", rows: 10, size: 200, inFlight: 8, batches: 4000}
	w4 = workload{name: "W4", format: "json", rows: 2_000, size: 10_000, inFlight: 1, batches: 6}
	w5 = workload{name: "W5", format: "csv", rows: 100_000, size: 180, inFlight: 1, batches: 4}
	w6 = workload{name: "W6", format: "json", rows: 100_000, size: 200, inFlight: 1, batches: 2, gzip: true}
)

// oneAtATime is the workload with one batch in flight.
func (w workload) oneAtATime() workload {
	w.inFlight = 1
	return w
}

// content makes the rows of a batch: events with numbers, text, time and a
// little nesting. It is the same each time.
func (w workload) content() [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november")
	word := func() string { return words[r.IntN(len(words))] }
	rows := make([][]byte, w.rows)
	var b bytes.Buffer
	for i := range rows {
		b.Reset()
		at := fmt.Sprintf("2026-11-%02d %02d:%02d:%02d.%03d", 1+i%28, i%24, i%60, i*7%60, i%1000)
		if w.format == "csv" {
			fmt.Fprintf(&b, "%d,user_%07d,%s,%d.%02d,%s", i, r.IntN(1e7), at, r.IntN(1000), r.IntN(100), word())
			for b.Len() < w.size-8 {
				fmt.Fprintf(&b, ",%s", word())
			}
		} else {
			fmt.Fprintf(&b, `{"id":%d,"user":"user_%07d","at":"%s","amount":%d.%02d,"ok":%t,"tags":["%s","%s"]`,
				i, r.IntN(1e7), at, r.IntN(1000), r.IntN(100), i%3 == 0, word(), word())
			for n := 0; b.Len() < w.size-30; n++ {
				fmt.Fprintf(&b, `,"f%d":"%s %s"`, n, word(), word())
			}
			fmt.Fprintf(&b, `,"geo":{"x":%d.%d}}`, r.IntN(90), r.IntN(1e4))
		}
		rows[i] = bytes.Clone(b.Bytes())
	}
	return rows
}

// batch makes fresh messages of rows, as an input would.
func batch(rows [][]byte) service.MessageBatch {
	b := make(service.MessageBatch, len(rows))
	for i, row := range rows {
		b[i] = service.NewMessage(row)
	}
	return b
}
