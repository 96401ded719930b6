package output

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// Where a message is a whole file, each one is a load: with a result, and a label, of its own.
func TestWholeFilesAreNotJoined(t *testing.T) {
	t.Parallel()
	const parquet = "PAR1 some pages PAR1"
	s := newServer(t, func(s *server) {
		s.answer = func(r loadRequest) string {
			if strings.Contains(r.rows[0], "refused") {
				return failed(r, "[ANALYSIS_ERROR]unknown column")
			}
			return success(r, 1234, 0)
		}
	})
	out := build(t, fields(s.fe.URL, "database: d\ntable: t\nformat: parquet\nmax_retries: -1\nlabel: ${! content().length() }\nmax_in_flight: 4\n"))
	reasons, err := write(t.Context(), t, out, batchOf(parquet+"1PAR1", `{"a":1}`, parquet+"two refusedPAR1", "", parquet+"threePAR1"))
	require.Error(t, err)
	require.Len(t, reasons, 3)
	require.Contains(t, reasons[1], "data_quality: the message cannot be loaded into d.t: the message is no parquet file: it does not begin with PAR1")
	require.Contains(t, reasons[2], "schema: load into d.t failed")
	require.Contains(t, reasons[3], "data_quality: the message cannot be loaded into d.t: the message is empty")
	loads := s.seen()
	require.Len(t, loads, 3)
	labels := map[string]bool{}
	for _, l := range loads {
		require.Equal(t, "parquet", l.header.Get("format"))
		require.Len(t, l.rows, 1)
		require.Empty(t, l.header.Get("column_separator"))
		labels[l.header.Get("label")] = true
	}
	require.Len(t, labels, 3)
	require.NotContains(t, out.logs.String(), "its count of rows does not match")
}

// The metrics tell the rows from what was sent of them.
func TestMetricsOfCompressedLoads(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{KeepBodies: true})
	row := `{"a":"` + strings.Repeat("x", 1000) + `"}`
	p := run(t, fields(e.FEURL(), target+"compression: gzip\ncompression_level: 9\n"), batchOf(row, row))
	require.Equal(t, []string{""}, p.results)
	var body []byte
	sent := int64(0)
	for _, q := range e.Requests() {
		if strings.HasPrefix(q.Server, "be") && q.Method == "PUT" {
			body, sent = q.Body, sent+q.BodyBytes
		}
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	require.Equal(t, row+"\n"+row, string(text))
	require.Less(t, sent, int64(len(row)))
	require.Equal(t, map[string]int64{
		"doris_bytes{table=d.t}":              int64(2*len(row) + 1),
		"doris_bytes_sent{table=d.t}":         sent,
		"doris_rows{table=d.t,result=loaded}": 2,
	}, p.metrics.snapshot(metricBytes, metricBytesSent, metricRows))
}
