package encode

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCSVCellsAreCounted(t *testing.T) {
	t.Parallel()
	quoted := Options{Enclose: '"', Escape: '\\'}
	starRocks := Options{Enclose: '"', Escape: '\\', Dialect: StarRocks}
	for _, c := range []struct {
		name  string
		o     Options
		line  string
		cells int
	}{
		{"one", Options{}, "a", 1},
		{"empty ones", Options{}, ",,", 3},
		{"a separator at the end", Options{}, "a,b,", 3},
		{"quotes without enclose", Options{}, `"a,b"`, 2},
		{"long separators do not overlap", Options{ColumnSeparator: "||"}, "a|||b||", 3},
		{"quoted", quoted, `"a,b",c`, 2},
		{"quote in a cell", quoted, `x"a,b",c`, 3},
		{"doubled and escaped quotes", quoted, `"a"",b","\",",c`, 3},
		{"after a closing quote", quoted, `"a"b,c`, 2},
		{"escape outside of quotes is a letter", quoted, `a\,b`, 2},
		{"line feed in quotes", quoted, "\"a\n,b\",c", 2},
		{"StarRocks: quoted", starRocks, `"a,b",c`, 2},
		{"StarRocks: escape outside of quotes", starRocks, `a\,b`, 1},
		{"StarRocks: quote in a cell hides a separator", starRocks, `x",b,c`, 2},
		{"StarRocks: empty quotes", starRocks, `"",""`, 2},
		{"StarRocks: nothing set", Options{Dialect: StarRocks}, `x",\,c`, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.o.Format, c.o.Columns = CSV, c.cells
			_, rejected := Encode(rowsOf(c.line), c.o)
			require.Empty(t, rejected)
			c.o.Columns++
			_, rejected = Encode(rowsOf(c.line, c.line), c.o)
			require.Len(t, rejected, 2)
			checkReason(t, rejected[1].Err)
			require.Regexp(t, `^the row has \d cell\(s\) and columns names \d, so the server would refuse it$`, rejected[1].Err.Error())
		})
	}
}

func TestStarRocksLinesThatDoNotEnd(t *testing.T) {
	t.Parallel()
	o := Options{Format: CSV, Enclose: '"', Escape: '\\', Dialect: StarRocks}
	for _, c := range []struct{ name, line, why string }{
		{
			"open quote", `1,"a`,
			"the message has a cell that the enclose byte `\"` opens at byte 2 and nothing closes; it would swallow the line_delimiter and the rows that follow: `1,\"a`",
		},
		{"escape at the end", `1,a\`, "the end of the message would swallow the line_delimiter and the rows that follow: `1,a\\`"},
		{"quote at the end", `1,a"`, "the end of the message would swallow the line_delimiter and the rows that follow: `1,a\"`"},
		{
			"line feed", "1,a\nb",
			"the message contains the line_delimiter `\\n` at byte 3 outside a quoted cell and would be cut there; " +
				"quote the cell with the enclose byte, or choose a line_delimiter that does not occur: `1,a\\nb`",
		},
		{
			"an escape ends the quotes", `"a\b,c"`,
			"the end of the message would swallow the line_delimiter and the rows that follow: `\"a\\b,c\"`",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, rejected := Encode(rowsOf("0,a", c.line, "2,c"), o)
			checkConserved(t, 3, &b, rejected)
			require.Len(t, rejected, 1)
			require.EqualError(t, rejected[0].Err, c.why)
			require.Equal(t, [][]any{{"0", "a"}, {"2", "c"}}, starRocksRead([]byte(bodyText(t, &b)), o))
		})
	}
}
