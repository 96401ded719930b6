package contract

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

// quoting are ways to write CSV under which every text can be written.
var quoting = []streamload.Options{
	{Enclose: `"`, Escape: `\`},
	{Enclose: `'`, Escape: `^`},
	{Enclose: `"`, Escape: `\`, ColumnSeparator: `\x01`, LineDelimiter: `\x02`},
	{Enclose: `"`, Escape: `\`, ColumnSeparator: `||`, LineDelimiter: `\r\n`},
	{Enclose: `'`, Escape: `\`, ColumnSeparator: `aba`, LineDelimiter: `|\n`},
}

// cellTable is a table of four texts that may be NULL.
func cellTable() emulator.Table {
	return emulator.Table{Database: db, Name: "cells", Columns: []emulator.Column{
		{Name: "n", Type: "BIGINT", NotNull: true}, {Name: "a", Type: "STRING"}, {Name: "b", Type: "STRING"}, {Name: "c", Type: "STRING"},
	}}
}

// cellLoader loads rows of cells in one way of quoting.
type cellLoader struct {
	*cluster
	client *streamload.Client
	writer interface {
		Append(dst []byte, cells []any) ([]byte, error)
	}
}

func newCellLoader(t *testing.T, c *cluster, o streamload.Options) *cellLoader {
	t.Helper()
	o.Format, o.Columns = "csv", []string{"n", "a", "b", "c"}
	o, writer, err := o.Cells()
	require.NoError(t, err)
	client, _ := c.client(func(conf *streamload.Config) { conf.Options = o })
	return &cellLoader{c, client, writer}
}

// readBack loads rows, each of three cells, and requires that the table has just these.
func (l *cellLoader) readBack(t *testing.T, want [][]any) {
	t.Helper()
	l.Truncate(db, "cells")
	b := streamload.Batch{Database: db, Table: "cells"}
	for n, cells := range want {
		row, err := l.writer.Append(nil, append([]any{n}, cells...))
		require.NoError(t, err)
		b.Rows = append(b.Rows, row)
	}
	report, err := l.client.Load(within(t, ended), b)
	require.NoError(t, err, "%q", b.Rows)
	require.EqualValues(t, len(want), report.Loaded)
	stored := l.Rows(db, "cells")
	require.Len(t, stored, len(want))
	for _, row := range stored {
		var n int
		_, err := fmt.Sscan(fmt.Sprint(row["n"]), &n)
		require.NoError(t, err)
		got := []any{row["a"], row["b"], row["c"]}
		require.Equal(t, want[n], got, "%q", b.Rows[n])
	}
}

// Texts of the bytes that mean something arrive as they were, through a server.
func TestCellsArriveAsTheyWere(t *testing.T) {
	t.Parallel()
	for _, server := range []struct{ dialect, version string }{{"doris", "2.1"}, {"doris", "3.1"}, {"doris", "4.0"}, {"starrocks", "3.5"}} {
		t.Run(server.dialect+" "+server.version, func(t *testing.T) {
			t.Parallel()
			cellsArrive(t, emulator.Dialect(server.dialect), server.version)
		})
	}
}

func cellsArrive(t *testing.T, dialect emulator.Dialect, version string) {
	t.Helper()
	c := newCluster(t, emulator.Options{Dialect: dialect, Version: version, Tables: []emulator.Table{cellTable()}})
	rnd := rand.New(rand.NewPCG(5, 6))
	letters := []rune("ab,\n\r\"'\\^|N\x01\x02 é")
	for _, o := range quoting {
		o.Dialect = string(dialect)
		l := newCellLoader(t, c, o)
		var rows [][]any
		for range 500 {
			var cells []any
			for range 3 {
				switch rnd.IntN(8) {
				case 0:
					cells = append(cells, nil)
				case 1:
					cells = append(cells, []string{`\N`, "", "null", `""`, `''`, `\\N`, `'a'`, `"a"`, "\ufeff"}[rnd.IntN(9)])
				default:
					var s strings.Builder
					for range rnd.IntN(8) {
						s.WriteRune(letters[rnd.IntN(len(letters))])
					}
					cells = append(cells, s.String())
				}
			}
			if dialect == emulator.StarRocks && slices.Contains(cells, any(`\N`)) {
				continue // it reads this text as NULL however it is written, so it is refused
			}
			rows = append(rows, cells)
		}
		l.readBack(t, rows)
	}
}

func FuzzCellsThroughAServer(f *testing.F) {
	f.Add("a", "b,c", "", uint8(0))
	f.Add(`\N`, "null", `"`, uint8(1))
	f.Add("a|", "\nb", "|", uint8(3))
	f.Add("ab", "a", "\r", uint8(4))
	f.Fuzz(func(t *testing.T, a, b, c string, way uint8) {
		for _, s := range []string{a, b, c} {
			if !isText(s) {
				t.Skip("no text")
			}
		}
		cl := newCluster(t, emulator.Options{Tables: []emulator.Table{cellTable()}})
		newCellLoader(t, cl, quoting[int(way)%len(quoting)]).readBack(t, [][]any{{a, b, c}, {nil, a, nil}, {c, c, ""}})
	})
}

// isText is true for what a cell can hold: UTF-8.
func isText(s string) bool { return strings.ToValidUTF8(s, "") == s }
