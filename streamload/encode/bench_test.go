package encode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// benchRows are n rows of about size bytes each, events with text, numbers and
// nesting.
func benchRows(n, size int, format Format) [][]byte {
	rows := make([][]byte, n)
	for i := range rows {
		var s strings.Builder
		if format == CSV {
			fmt.Fprintf(&s, "%d,user%07d,2026-11-30T12:%02d:%02d.000Z,%d.%02d", i, i*7919%1e7, i%60, i*7%60, i%1000, i%100)
			for s.Len() < size {
				fmt.Fprintf(&s, ",%x,text é", i*s.Len())
			}
		} else {
			fmt.Fprintf(&s, `{"id":%d,"user":"user%07d","ts":"2026-11-30T12:%02d:%02d.000Z","amount":%d.%02d,"ok":true`,
				i, i*7919%1e7, i%60, i*7%60, i%1000, i%100)
			for s.Len() < size-24 {
				fmt.Fprintf(&s, `,"k%d":{"v":"%x","t":"some text é"}`, s.Len(), i*s.Len())
			}
			s.WriteString("}")
		}
		rows[i] = []byte(s.String())
	}
	return rows
}

// onlyReader hides WriteTo.
type onlyReader struct{ io.Reader }

func BenchmarkEncode(b *testing.B) {
	for _, shape := range []struct {
		name    string
		n, size int
	}{{"100000x200B", 100_000, 200}, {"2000x10KB", 2_000, 10_000}, {"10x200B", 10, 200}} {
		for _, c := range []struct {
			name string
			o    Options
		}{
			{"json", Options{}},
			{"json,array", Options{StripOuterArray: true}},
			{"json,hashed", Options{Hash: true}},
			{"json,unvalidated", Options{SkipValidation: true}},
			{"json,unvalidated,hashed", Options{SkipValidation: true, Hash: true}},
			{"csv", Options{Format: CSV}},
			{"csv,enclose", Options{Format: CSV, Enclose: '"', Escape: '\\'}},
			{"json,many", Options{ManyRows: true}},
			{"json,many,unvalidated", Options{ManyRows: true, SkipValidation: true}},
			{"csv,many", Options{Format: CSV, ManyRows: true}},
			{"csv,enclose,many", Options{Format: CSV, ManyRows: true, Enclose: '"', Escape: '\\'}},
		} {
			rows := benchRows(shape.n, shape.size, c.o.Format)
			if c.o.ManyRows { // a few messages of the same lines
				var few [][]byte
				for some := range slices.Chunk(rows, 1+len(rows)/10) {
					few = append(few, bytes.Join(some, []byte("\n")))
				}
				rows = few
			}
			b.Run(shape.name+"/"+c.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					body, rejected := Encode(rows, c.o)
					if len(rejected) > 0 {
						b.Fatal(rejected[0])
					}
					b.SetBytes(body.Len())
				}
			})
		}
	}
}

func BenchmarkBody(b *testing.B) {
	for _, shape := range []struct {
		name    string
		n, size int
	}{{"100000x200B", 100_000, 200}, {"2000x10KB", 2_000, 10_000}, {"10x200B", 10, 200}} {
		body, rejected := Encode(benchRows(shape.n, shape.size, JSON), Options{})
		if len(rejected) > 0 {
			b.Fatal(rejected[0])
		}
		b.Run(shape.name+"/read 32KiB", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(body.Len())
			buf := make([]byte, 32<<10)
			for b.Loop() {
				r := body.Open()
				if n, err := io.CopyBuffer(onlyWriter{io.Discard}, onlyReader{r}, buf); err != nil || n != body.Len() {
					b.Fatal(n, err)
				}
			}
		})
		b.Run(shape.name+"/write to", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(body.Len())
			for b.Loop() {
				if n, err := io.Copy(io.Discard, body.Open()); err != nil || n != body.Len() {
					b.Fatal(n, err)
				}
			}
		})
		b.Run(shape.name+"/digest", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(body.Len())
			for b.Loop() {
				body.Digest("db", "table")
			}
		})
	}
}

func BenchmarkCompress(b *testing.B) {
	for _, shape := range []struct {
		name    string
		n, size int
		format  Format
	}{{"100000x200B", 100_000, 200, JSON}, {"100000x200B,csv", 100_000, 200, CSV}, {"10x200B", 10, 200, JSON}} {
		body, rejected := Encode(benchRows(shape.n, shape.size, shape.format), Options{Format: shape.format})
		if len(rejected) > 0 {
			b.Fatal(rejected[0])
		}
		for _, c := range compressions {
			b.Run(shape.name+"/"+c.String(), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(body.Len())
				p, err := NewCompressor(c, 0)
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					packed, err := p.Compress(&body, nil)
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(float64(body.Len())/float64(packed.Len()), "ratio")
					packed.Release()
				}
			})
		}
	}
}

// onlyWriter hides ReadFrom.
type onlyWriter struct{ io.Writer }

func BenchmarkCells(b *testing.B) {
	w, err := NewCellWriter(Options{Format: CSV, Enclose: '"', Escape: '\\'})
	if err != nil {
		b.Fatal(err)
	}
	cells := []any{
		json.Number("12345678901"), "user0000007", "2026-11-30T12:00:00.000Z", 12.5, true, nil,
		`some "text", with quotes`, "plain text é",
		[]any{"a", json.Number("1")},
		"",
	}
	var row []byte
	b.ReportAllocs()
	for b.Loop() {
		if row, err = w.Append(row[:0], cells); err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(row)))
	}
}
