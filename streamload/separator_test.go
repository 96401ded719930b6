package streamload

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSeparator(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, written, bytes, header string
	}{
		{"as it is", ",", ",", ","},
		{"several", "||", "||", "||"},
		{"letters", "表", "表", "表"},
		{"a real tab", "\t", "\t", `\t`},
		{"a real line feed", "\n", "\n", `\n`},
		{"a real control character", "\x01", "\x01", `\x01`},
		{"an escaped tab", `\t`, "\t", `\t`},
		{"an escaped line feed", `\n`, "\n", `\n`},
		{"an escaped carriage return and line feed", `\r\n`, "\r\n", `\r\n`},
		{"hex", `\x01`, "\x01", `\x01`},
		{"hex, upper case", `\X0A`, "\n", `\n`},
		{"hex that is no control character", `\x2c`, ",", ","},
		{"several in hex", `\x01\x02`, "\x01\x02", `\x01\x02`},
		{"several in hex behind one \\x, as an FE reads it", `\x0102`, "\x01\x02", `\x01\x02`},
		{"hex before others", `\x01,`, "\x01,", `\x01\x2c`},
		{"hex between others", `a\x01b`, "a\x01b", `\x61\x01\x62`},
		{"a tab before a control character", "\t\x01", "\t\x01", `\x09\x01`},
		{"delete", "\x7f", "\x7f", `\x7f`},
		{"NUL", `\x00`, "\x00", `\x00`},
		{"a backslash", `\`, `\`, `\\`},
		{"an escaped backslash", `\\`, `\`, `\\`},
		{"a backslash and an n", `\\n`, `\n`, `\\n`},
		{"a backslash and an x", `\\x01`, `\x01`, `\\x01`},
		{"a backslash before something else", `\|`, `\|`, `\\|`},
		{"a backslash at the end", `|\`, `|\`, `|\\`},
		{"escaped quotes", `\'\"`, `'"`, `'"`},
		{"a space, which HTTP would strip", " ", " ", `\x20`},
		{"spaces at the ends", " | ", " | ", `\x20\x7c\x20`},
		{"a space inside", "| |", "| |", "| |"},
		{"nothing", "", "", ""},
		{"as long as it may be", strings.Repeat("x", 64), strings.Repeat("x", 64), strings.Repeat("x", 64)},
		{"as long as it may be, in hex", strings.Repeat(`\x01`, 64), strings.Repeat("\x01", 64), strings.Repeat(`\x01`, 64)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := readSeparator(test.written)
			require.NoError(t, err)
			require.Equal(t, test.bytes, got)
			require.Equal(t, test.header, writeSeparator(got))
			require.Equal(t, test.bytes, readLikeAnFE(t, writeSeparator(got)), "an FE reads something else")
		})
	}
	for written, want := range map[string]string{
		`\x`:                       `has \x without two hex digits`,
		`\x1`:                      `has \x without two hex digits`,
		`\xzz`:                     `has \x without two hex digits`,
		`a\X0`:                     `has \X without two hex digits`,
		"表\x01":                    "beyond ASCII",
		" 表":                       "beyond ASCII",
		`\x01\xe8`:                 "beyond ASCII",
		strings.Repeat("x", 65):    "longer than 64 bytes",
		strings.Repeat("x", 1<<20): "longer than 64 bytes",
	} {
		_, err := readSeparator(written)
		require.ErrorContains(t, err, want, "%.20q", written)
	}
}

// readLikeAnFE reads a separator as Separator.java does: all hex if it begins with \x, and else a few escapes.
func readLikeAnFE(t *testing.T, s string) string {
	t.Helper()
	if strings.HasPrefix(strings.ToUpper(s), `\X`) {
		digits := strings.ReplaceAll(strings.ReplaceAll(s, `\x`, ""), `\X`, "")
		b, err := hex.DecodeString(digits)
		require.NoError(t, err, "an FE would refuse %q", s)
		for _, c := range b {
			require.Less(t, c, byte(0x80), "an FE makes another character of %q", s)
		}
		return string(b)
	}
	return strings.NewReplacer(`\\`, `\`, `\'`, "'", `\"`, `"`, `\r`, "\r", `\t`, "\t", `\n`, "\n").Replace(s)
}

func FuzzSeparator(f *testing.F) {
	for _, s := range []string{`\x01`, ",", `\\n`, `\`, " ", "表", `\x0102`, "\x00", `a\x01`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, written string) {
		got, err := readSeparator(written)
		if err != nil {
			require.Less(t, len(err.Error()), 300)
			return
		}
		header := writeSeparator(got)
		require.False(t, strings.ContainsFunc(header, func(r rune) bool { return r < ' ' || r == 0x7f }), "%q cannot be a header", header)
		require.Equal(t, strings.Trim(header, " "), header, "HTTP would strip it")
		require.Equal(t, got, readLikeAnFE(t, header), "%q", header)
		again, err := readSeparator(header)
		require.NoError(t, err)
		require.Equal(t, got, again)
	})
}
