package answer

import "testing"

func BenchmarkParseLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if ParseLoad([]byte(beAnswer)).Word != Success {
			b.Fatal("not understood")
		}
	}
}
