package encode

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	plainCells  = Options{Format: CSV}
	quotedCells = Options{Format: CSV, Enclose: '"', Escape: '\\', TrimDoubleQuotes: true}
)

func TestCellsBecomeRows(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.FixedZone("", 3600))
	huge, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	for _, c := range []struct {
		name  string
		o     Options
		cells []any
		row   string
	}{
		{"null, empty and the word", plainCells, []any{nil, "", "null"}, `\N,,null`},
		{"booleans", plainCells, []any{true, false}, `true,false`},
		{"integers", plainCells, []any{int64(math.MinInt64), uint64(math.MaxUint64), 0, int8(-1)}, `-9223372036854775808,18446744073709551615,0,-1`},
		{
			"numbers as they are written",
			plainCells,
			[]any{json.Number("12345678901234567890"), json.Number("1e-7"), json.Number("0.1"), json.Number("1.10"), json.Number("-0"), json.Number("1E400")},
			`12345678901234567890,1e-7,0.1,1.10,-0,1E400`,
		},
		{"floats", plainCells, []any{0.1, 1e-7, 1e20, 1e21, -0.5, 3.0, math.MaxFloat64, float32(0.1)}, `0.1,1e-07,100000000000000000000,1e+21,-0.5,3,1.7976931348623157e+308,0.1`},
		{"big numbers", plainCells, []any{huge, big.NewFloat(0.5)}, `123456789012345678901234567890,0.5`},
		{"times", plainCells, []any{day}, `2026-01-02T03:04:05.6+01:00`},
		{"bytes", plainCells, []any{[]byte("ab"), []byte{}}, `ab,`},
		{"a nested value without a separator", plainCells, []any{map[string]any{}, []any{}, []any{json.Number("1.50")}}, `{},[],[1.50]`},
		{
			"a nested value", quotedCells,
			[]any{map[string]any{"b": []any{json.Number("12345678901234567890"), nil, true}, "a": "x\"\n<&>\u2028"}},
			`"{\"a\":\"x\\\"\\n<&>` + "\u2028" + `\",\"b\":[12345678901234567890,null,true]}"`,
		},
		{"unicode", plainCells, []any{"ключ", "😀"}, `ключ,😀`},
		{"quotes are letters without enclose", plainCells, []any{`"a`, `b"`, `"c"`}, `"a,b","c"`},

		{"separator", quotedCells, []any{"a,b", "c"}, `"a,b",c`},
		{"line feed", quotedCells, []any{"a\nb", "c"}, "\"a\nb\",c"},
		{"quotes", quotedCells, []any{`he said "hi"`, `"`, `x"`}, `"he said \"hi\"","\"","x\""`},
		{"escapes", quotedCells, []any{`C:\dir`, `\`, `a\,b`}, `C:\\dir,\\,"a\\,b"`},
		{"the text of null", quotedCells, []any{`\N`, nil, `\n`, `\NN`}, `\\N,\N,\\n,\\NN`},
		{"the text of null with another escape", Options{Format: CSV, Enclose: '"', Escape: '^'}, []any{`\N`, `^`, `a^b`}, `^\N,^^,a^^b`},
		{"an empty row", quotedCells, []any{""}, `""`},
		{"a row of null", plainCells, []any{nil}, `\N`},
		{"carriage return at the end of the line", quotedCells, []any{"a\r", "b\r"}, "a\r,\"b\r\""},
		{"byte order mark at the beginning of the line", quotedCells, []any{"\ufeffa", "\ufeffb"}, "\"\ufeffa\",\ufeffb"},
		{"single quotes, which 2.1 trims", quotedCells, []any{`'a'`, `'a,b'`, `'`, `'a`}, `\'a',"\'a,b'",',` + `'a`},
		{"quotes that are no enclose", Options{Format: CSV, Enclose: '\'', Escape: '\\'}, []any{`"a"`, `'b'`}, `"a",'\'b\''`},
		{"NUL", quotedCells, []any{"a\x00", "\x00,"}, "a\x00,\"\x00,\""},
		{"NULs without enclose", Options{Format: CSV, Escape: '\\'}, []any{"\x00\x00"}, "\\\x00\\\x00"},
		{"enclose without escape", Options{Format: CSV, Enclose: '"'}, []any{"a,b", `a"b`, `C:\`}, `"a,b",a"b,C:\`},

		{"control characters", Options{Format: CSV, ColumnSeparator: "\x01", LineDelimiter: "\x02"}, []any{"a,b\nc", nil, ""}, "a,b\nc\x01\\N\x01"},
		{"several bytes", Options{Format: CSV, ColumnSeparator: "||", LineDelimiter: "<>"}, []any{"a|b", "|c", ">"}, "a|b|||c||>"},
		{
			"ends like a separator",
			Options{Format: CSV, ColumnSeparator: "||", LineDelimiter: "<>", Enclose: '"'},
			[]any{"a|", "b|"},
			`"a|"||b|`,
		},
		{
			"ends like a delimiter",
			Options{Format: CSV, ColumnSeparator: ",", LineDelimiter: "||", Enclose: '"'},
			[]any{"a|", "b|"},
			`a|,"b|"`,
		},
		{
			"a delimiter comes about between cells",
			Options{Format: CSV, ColumnSeparator: "||", LineDelimiter: "|\n", Enclose: '"'},
			[]any{"a", "\nb"},
			"\"a\"||\"\nb\"",
		},

		{"StarRocks: null behind an escape", starRocksCells, []any{nil, "null"}, `\\N,null`},
		{"StarRocks: quotes", starRocksCells, []any{`a"b`, `\x`, `"`}, `"a\"b",\\x,"\""`},
		{"StarRocks: no escape", Options{Format: CSV, Dialect: StarRocks, Enclose: '"'}, []any{nil, "a,b", `\`}, `\N,"a,b",\`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, err := NewCellWriter(c.o)
			require.NoError(t, err)
			row, err := w.Append([]byte("before"), c.cells)
			require.NoError(t, err)
			require.Equal(t, "before"+c.row, string(row))
			c.o.Columns = len(c.cells)
			_, rejected := Encode([][]byte{[]byte(c.row)}, c.o)
			require.Empty(t, rejected, "a row that was made must pass the checks of ready ones")
		})
	}
}

var starRocksCells = Options{Format: CSV, Dialect: StarRocks, Enclose: '"', Escape: '\\'}

func TestCellsThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	deep := any("x")
	for range maxDepth + 2 {
		deep = []any{deep}
	}
	enclosed := Options{Format: CSV, Enclose: '"'}
	for _, c := range []struct {
		name  string
		o     Options
		cells []any
		why   string
	}{
		{"no cells", plainCells, nil, "a row needs at least one cell"},
		{"too few", Options{Format: CSV, Columns: 3}, []any{1, 2}, "the row has 2 cell(s) and columns names 3, so the server would refuse it"},
		{"too many", Options{Format: CSV, Columns: 1}, []any{1, 2}, "the row has 2 cell(s) and columns names 1, so the server would refuse it"},
		{"separator", plainCells, []any{1, "a,b"}, "cell 2 contains the column_separator `,`, which it cannot without quotes; set enclose and escape: `a,b`"},
		{"delimiter", plainCells, []any{"a\nb"}, "cell 1 contains the line_delimiter `\\n`, which it cannot without quotes; set enclose and escape: `a\\nb`"},
		{"carriage return", plainCells, []any{1, "a\r"}, "cell 2 ends its line with a carriage return, which it cannot without quotes; set enclose and escape: `a\\r`"},
		{"byte order mark", plainCells, []any{"\ufeffa"}, "cell 1 begins its line with a byte order mark, which it cannot without quotes; set enclose and escape: `\\ufeffa`"},
		{"an empty line", plainCells, []any{""}, "cell 1 is empty and the only one, so that its line would be skipped, which it cannot without quotes; set enclose and escape: ``"},
		{"the text of null", plainCells, []any{`\N`}, "cell 1 is the text `\\N`, which would be read as NULL; set escape, or make it null"},
		{"the text of null in quotes", enclosed, []any{`\N`}, "cell 1 is the text `\\N`, which would be read as NULL; set escape, or make it null"},
		{"the text of null, StarRocks", starRocksCells, []any{`\N`}, "cell 1 is the text `\\N`, which StarRocks reads as NULL; load it as JSON, or make it null"},
		{"enclose inside quotes", enclosed, []any{`a,"b`}, "cell 1 needs quotes and contains the enclose byte `\"`; set escape: `a,\"b`"},
		{"enclose at the beginning", enclosed, []any{`"b`}, "cell 1 needs quotes and contains the enclose byte `\"`; set escape: `\"b`"},
		{"NUL in quotes", enclosed, []any{"a,\x00"}, "cell 1 needs quotes and contains a NUL; set escape: `a,\\x00`"},
		{"no UTF-8", plainCells, []any{"caf\xe9"}, "cell 1 is not valid UTF-8 at byte 3: `caf\\xe9`"},
		{"no UTF-8 inside", plainCells, []any{[]any{"caf\xe9"}}, "cell 1 holds a text that is not valid UTF-8: `caf\\xe9`"},
		{"NaN", plainCells, []any{math.NaN()}, "cell 1 is NaN, which is no number of SQL; make it null or a text"},
		{"infinity inside", plainCells, []any{map[string]any{"a": math.Inf(-1)}}, "cell 1 is -Inf, which is no number of SQL; make it null or a text"},
		{"too deep", plainCells, []any{deep}, "cell 1 is nested more than 1024 levels"},
		{"something else", plainCells, []any{struct{}{}}, "cell 1 is of the type struct {}, which has no form in CSV; make it a text, a number, a boolean, an object, an array or null"},
		{
			"where cells meet",
			Options{Format: CSV, ColumnSeparator: "||", LineDelimiter: "|\n"},
			[]any{"a", "\nb"},
			"two cells that meet would be read as a separator; set enclose, or choose other separators",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, err := NewCellWriter(c.o)
			require.NoError(t, err)
			row, err := w.Append([]byte("before"), c.cells)
			require.EqualError(t, err, c.why)
			checkReason(t, err)
			require.Equal(t, "before", string(row))
		})
	}
}

func TestSettingsThatCannotWriteCells(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		o    Options
		why  string
	}{
		{"enclose in the separator", Options{ColumnSeparator: `","`, Enclose: '"'}, "the enclose byte `\"` is part of a separator"},
		{"escape in the delimiter", Options{LineDelimiter: `\`, Escape: '\\'}, "the escape byte `\\` is part of a separator"},
		{"the same byte", Options{Enclose: '"', Escape: '"'}, "escape and enclose are the same byte"},
		{"separators in each other", Options{ColumnSeparator: "|", LineDelimiter: "||"}, "column_separator and line_delimiter contain each other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := NewCellWriter(c.o)
			require.EqualError(t, err, c.why)
		})
	}
}

// cellSettings are settings under which every text can be written.
var cellSettings = []Options{
	{Enclose: '"', Escape: '\\', TrimDoubleQuotes: true},
	{Enclose: '\'', Escape: '\\'},
	{Enclose: '"', Escape: '^', TrimDoubleQuotes: true},
	{Enclose: '"', Escape: '\\', ColumnSeparator: "\x01", LineDelimiter: "\x02", TrimDoubleQuotes: true},
	{Enclose: '"', Escape: '\\', ColumnSeparator: "||", LineDelimiter: "|\n", TrimDoubleQuotes: true},
	{Enclose: '"', Escape: '\\', ColumnSeparator: "aba", LineDelimiter: "\r\n", TrimDoubleQuotes: true},
	{Enclose: '"', Escape: '\\', Dialect: StarRocks},
	{Enclose: '\'', Escape: '^', ColumnSeparator: "||", LineDelimiter: "|\n", Dialect: StarRocks},
}

// randomText is a text of the bytes that mean something.
func randomText(rnd *rand.Rand) string {
	const letters = "ab,\n\r\"'\\^|N\x00\x01\x02 é"
	if rnd.IntN(8) == 0 {
		return []string{`\N`, "", "null", "\ufeff", `""`, `''`, `"'`, `\\N`, `'a'`, `"a"`}[rnd.IntN(10)]
	}
	var b strings.Builder
	all := []rune(letters)
	for range rnd.IntN(8) {
		b.WriteRune(all[rnd.IntN(len(all))])
	}
	return b.String()
}

// What is written is what the server reads. The readers here are written from
// the servers' code and share nothing with the writer.
func TestCellsAreReadBack(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, o := range cellSettings {
		o.Format = CSV
		w, err := NewCellWriter(o)
		require.NoError(t, err)
		for range 3000 {
			rows := make([][]byte, 1+rnd.IntN(3))
			want := make([][]any, len(rows))
			for r := range rows {
				for range 1 + rnd.IntN(4) {
					var cell any
					if rnd.IntN(6) > 0 {
						cell = randomText(rnd)
						if cell == `\N` && o.Dialect == StarRocks {
							cell = "N"
						}
					}
					want[r] = append(want[r], cell)
				}
				rows[r], err = w.Append(nil, want[r])
				require.NoError(t, err, "%q", want[r])
			}
			checkReadBack(t, o, rows, want)
		}
	}
}

func checkReadBack(t require.TestingT, o Options, rows [][]byte, want [][]any) {
	b, rejected := Encode(rows, o)
	require.Empty(t, rejected, "%q", want)
	body := make([]byte, b.Len())
	r := rowReader{rows: b.rows, layout: b.layout}
	r.fill(body)
	if o.Dialect == StarRocks {
		require.Equal(t, want, starRocksRead(body, o), "%q from %q", body, want)
		return
	}
	for _, v := range dorisVersions {
		require.Equal(t, want, dorisRead(body, o, v), "%s: %q from %q", v.name, body, want)
	}
}

func FuzzCells(f *testing.F) {
	f.Add("a", "b", uint8(0))
	f.Add(`\N`, "", uint8(1))
	f.Add("a|", "\nb", uint8(4))
	f.Add("ab", "a", uint8(5))
	f.Add(`"`, "\x00", uint8(6))
	f.Fuzz(func(t *testing.T, a, b string, setting uint8) {
		o := cellSettings[int(setting)%len(cellSettings)]
		o.Format = CSV
		w, err := NewCellWriter(o)
		require.NoError(t, err)
		cells := []any{a, nil, b}
		row, err := w.Append(nil, cells)
		if err != nil {
			checkReason(t, err)
			return
		}
		one, err := w.Append(nil, []any{b})
		require.NoError(t, err)
		checkReadBack(t, o, [][]byte{row, one, row}, [][]any{cells, {b}, cells})
	})
}
