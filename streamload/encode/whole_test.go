package encode

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWholeBodies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		format Format
		in     string
		why    string // "": it is taken
	}{
		{"names", CSVWithNames, "id,name\n1,a\n2,b\n", ""},
		{"names and types", CSVWithNamesAndTypes, "id,name\nint,string\n1,a\n\n", ""},
		{"empty", CSVWithNames, "", "the message is empty"},
		{"parquet", Parquet, "PAR1\x00\xff\nPAR1", ""},
		{"no parquet", Parquet, `{"a":1}`, "the message is no parquet file: it does not begin with PAR1: `{\"a\":1}`"},
		{"cut parquet", Parquet, "PAR1\x00", "the message is no whole parquet file: it does not end with PAR1"},
		{"four bytes of parquet", Parquet, "PAR1", "the message is no whole parquet file: it does not end with PAR1"},
		{"orc", ORC, "ORC\x00\x01", ""},
		{"no orc", ORC, "PAR1PAR1", "the message is no orc file: it does not begin with ORC: `PAR1PAR1`"},
		{"arrow stream", Arrow, "\xff\xff\xff\xff\x10\x00", ""},
		{"arrow file", Arrow, "ARROW1\x00\x00", "the message is a file of Arrow, and Doris reads the streaming format of Arrow (IPC stream)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.True(t, c.format.Whole())
			b, rejected := Encode(rowsOf(c.in), Options{Format: c.format, Columns: 7})
			checkConserved(t, 1, &b, rejected)
			if c.why != "" {
				require.Len(t, rejected, 1)
				require.EqualError(t, rejected[0].Err, c.why)
				return
			}
			require.Empty(t, rejected)
			require.Equal(t, c.in, bodyText(t, &b))
		})
	}
}

func TestWholeBodiesAreNotJoined(t *testing.T) {
	t.Parallel()
	b, rejected := Encode(rowsOf("", "a\n1", "a\n2", "a\n3"), Options{Format: CSVWithNames})
	checkConserved(t, 4, &b, rejected)
	require.Equal(t, "a\n1", bodyText(t, &b))
	require.Len(t, rejected, 3)
	require.EqualError(t, rejected[1].Err, "a message of format csv_with_names is a whole load, and cannot be in one with others")
}

func TestFormatNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"json", "csv", "csv_with_names", "csv_with_names_and_types", "parquet", "orc", "arrow"} {
		f, ok := ParseFormat(name)
		require.True(t, ok)
		require.Equal(t, name, f.String())
	}
	_, ok := ParseFormat("avro")
	require.False(t, ok)
	require.False(t, JSON.Whole())
	require.False(t, CSV.Whole())
	require.True(t, CSVWithNames.Delimited())
	require.False(t, Parquet.Delimited())
}
