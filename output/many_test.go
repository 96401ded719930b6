package output

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

func TestMessagesOfManyRows(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	b := build(t, fields(e.FEURL(), target+"message_rows: many\n"))
	messages := []string{"{\"id\":1}\n{\"id\":2}\n", "{\"id\":3}", "", "{\"id\":4}\n\n{\"id\":\n{\"id\":6}\n{\"id\":7}", "{\"id\":8}\r\n{\"id\":9}\r\n\r\n"}
	got, err := write(within(t), t, b, batchOf(messages...))
	require.Len(t, got, 1)
	require.Equal(t, "data_quality: the message cannot be loaded into d.t: line 3 of the message: the JSON object is cut off, it ends at byte 6 of the line with `{\"id\":`", got[3])
	require.ErrorContains(t, err, "data_quality: 1 of 5 messages were not loaded: 1 message(s) of many rows of d.t cannot be loaded and were not sent, the first: line 3 of the message: ")
	require.Equal(t, 5, e.Count("d", "t"))

	p := run(t, fields(e.FEURL(), target+"message_rows: many\n"), batchOf(messages...))
	require.Equal(t, map[string]int64{
		"doris_rows{table=d.t,result=loaded}":   5,
		"doris_rows{table=d.t,result=rejected}": 4,
	}, p.metrics.snapshot(metricRows))
}

func TestMessagesOfManyRowsThatCannotBe(t *testing.T) {
	t.Parallel()
	for yaml, want := range map[string]string{
		"message_rows: some":                                                 `message_rows is "some"; it must be one or many`,
		"message_rows: many\nstrip_outer_array: true":                        "message_rows is many, which is for json by line",
		"message_rows: many\nformat: arrow":                                  "message_rows is many, which is for json by line",
		"message_rows: many\nformat: csv\ncsv_mapping: 'root = [ this.id ]'": "csv_mapping cannot be used: message_rows is many, and the cells of a message make one row",
	} {
		_, err := tryBuild(fields("http://fe:8030", target+yaml))
		require.ErrorContains(t, err, want)
		require.Equal(t, 1, strings.Count(err.Error(), "message_rows"), err)
	}
}
