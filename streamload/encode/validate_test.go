package encode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// anyJSON writes a random document: of any length around the eight bytes that are
// looked at together, of any depth, with white space where it may be.
func anyJSON(r *rand.Rand, s *strings.Builder, depth int) {
	space := func() {
		for r.IntN(6) == 0 {
			s.WriteByte(" \t\r\n"[r.IntN(4)])
		}
	}
	text := func() {
		s.WriteByte('"')
		for range r.IntN(20) {
			switch r.IntN(12) {
			case 0:
				s.WriteString([]string{`\"`, `\\`, `\/`, `\b`, `\f`, `\n`, `\r`, `\t`, `\u00e9`, `\uD83D\uDE00`, `\ud7ff`, `\uE000`}[r.IntN(12)])
			case 1:
				s.WriteString([]string{"é", "語", "😀", "\u007f", "\u2028"}[r.IntN(5)])
			default:
				s.WriteByte(byte('#' + r.IntN(50)))
			}
		}
		s.WriteByte('"')
	}
	// list writes a few members, whatever they are.
	list := func(opens, closes byte, member func()) {
		s.WriteByte(opens)
		space()
		for i := range r.IntN(4) {
			if i > 0 {
				s.WriteByte(',')
			}
			member()
		}
		s.WriteByte(closes)
	}
	space()
	defer space()
	switch kind := r.IntN(8); {
	case kind < 2 && depth > 0:
		list('{', '}', func() {
			space()
			text()
			space()
			s.WriteByte(':')
			anyJSON(r, s, depth-1)
		})
	case kind < 4 && depth > 0:
		list('[', ']', func() { anyJSON(r, s, depth-1) })
	case kind < 6:
		text()
	case kind == 6:
		s.WriteString([]string{"true", "false", "null"}[r.IntN(3)])
	default:
		s.WriteString([]string{"0", "-0", "12", "-1.5", "1e9", "1.25E-3", "123456789012345678901234567890", "0.1e+10"}[r.IntN(8)])
	}
}

// TestValidJSONAgainstStdlib breaks documents in one place and holds the verdict
// against that of encoding/json.
func TestValidJSONAgainstStdlib(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7)) //nolint:gosec // the same documents each time
	good := 0
	for range 60_000 {
		var s strings.Builder
		anyJSON(r, &s, 6)
		doc := []byte(s.String())
		if at := r.IntN(len(doc) + 1); r.IntN(4) > 0 && at < len(doc) {
			switch r.IntN(4) {
			case 0:
				doc[at] = "{}[]\",:\\0-eE.u \n\x00\x1f\x80\xff"[r.IntN(20)]
			case 1:
				doc = append(doc[:at:at], doc[at+1:]...)
			case 2:
				doc = append(doc[:at:at], append([]byte{doc[at]}, doc[at:]...)...)
			default:
				doc = doc[:at]
			}
		}
		want := json.Valid(doc) && utf8.Valid(doc) && loneSurrogate(doc) < 0
		ok, broken := validJSON(doc)
		require.Equal(t, want, ok, "%q", doc)
		if ok {
			good++
			require.Equal(t, bytes.ContainsAny(doc, "\r\n"), broken, "%q", doc)
		}
	}
	require.Greater(t, good, 10_000)
}

// Every byte in every place of a string, up to two words long, with every end.
func TestValidJSONEveryByte(t *testing.T) {
	t.Parallel()
	for length := range 18 {
		for at := range length {
			for c := range 256 {
				text := []byte(strings.Repeat("a", length))
				text[at] = byte(c)
				for _, form := range []string{`"%s"`, `{"%s":1}`, `{"k":"%s"}`, `["%s","%[1]s" , 1]`} {
					doc := fmt.Appendf(nil, form, text)
					ok, broken := validJSON(doc)
					require.Equal(t, json.Valid(doc) && utf8.Valid(doc), ok, "%q", doc)
					require.False(t, ok && broken)
				}
			}
		}
	}
}

func TestValidJSONDepth(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{1, shallow - 1, shallow, shallow + 1, maxDepth, maxDepth + 1} {
		for name, doc := range map[string]string{
			"arrays":  strings.Repeat("[", depth) + strings.Repeat("]", depth),
			"objects": strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth),
			"mixed":   strings.Repeat(`{"a":[`, depth/2) + strings.Repeat("]}", depth/2),
			"broken":  strings.Repeat("[\n", depth) + strings.Repeat("]", depth),
		} {
			ok, broken := validJSON([]byte(doc))
			want := json.Valid([]byte(doc)) && strings.Count(doc, "[")+strings.Count(doc, "{") <= maxDepth
			require.Equal(t, want, ok, "%s %d", name, depth)
			require.Equal(t, ok && name == "broken", ok && broken, "%s %d", name, depth)
		}
		// What is closed by the wrong bracket, at every level.
		for level := range min(depth, 70) {
			doc := []byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))
			doc[depth+level] = '}'
			ok, _ := validJSON(doc)
			require.False(t, ok, "%d %d", depth, level)
		}
	}
}
