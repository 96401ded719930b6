package contract

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/test/emulator"
)

// compressed makes loads of a format compressed.
func compressed(format, compression string) func(*streamload.Config) {
	return func(c *streamload.Config) {
		c.Options.Format, c.Options.Compression = format, compression
		switch format {
		case "csv":
			c.Options.Enclose, c.Options.Escape, c.Options.TrimDoubleQuotes = `"`, `\`, true
		case "csv_with_names":
			c.Options.Columns = []string{"id", "note"}
		}
	}
}

// ofFormat are n orders as rows of a format, ids 1 to n.
func ofFormat(format string, n int) [][]byte {
	switch format {
	case "json":
		return rows(1, n)
	case "csv":
		out := make([][]byte, n)
		for i := range out {
			out[i] = fmt.Appendf(nil, `%d,"order, %d"`, i+1, i+1)
		}
		return out
	default:
		file := []byte("id,note\n")
		for i := range n {
			file = fmt.Appendf(file, "%d,order %d\n", i+1, i+1)
		}
		return [][]byte{file}
	}
}

// Each compression with each format that can be compressed, from one row to several megabytes.
func TestCompressedLoads(t *testing.T) {
	t.Parallel()
	words := map[string]string{"none": "", "gzip": "gz", "lz4": "lz4", "deflate": "deflate", "bzip2": "bz2"}
	for compression, word := range words {
		for _, format := range []string{"json", "csv", "csv_with_names"} {
			t.Run(compression+" "+format, func(t *testing.T) {
				t.Parallel()
				c := newCluster(t, emulator.Options{})
				client, j := c.client(compressed(format, compression), askFEs)
				many := 80_000
				if compression == "bzip2" { // which is slow
					many = 8_000
				}
				for _, n := range []int{1, many} {
					c.Truncate(db, table)
					b := streamload.Batch{Database: db, Table: table, Rows: ofFormat(format, n)}
					raw := int64(len(b.Rows) - 1)
					for _, row := range b.Rows {
						raw += int64(len(row))
					}
					report, err := client.Load(within(t, ended), b)
					require.NoError(t, err)
					require.Equal(t, n, report.Rows)
					require.Equal(t, raw, report.Bytes, "bytes of the rows, not of what was sent")
					require.Equal(t, ids(n), c.stored(table))

					puts := c.puts("be")
					last := puts[len(puts)-1]
					require.Equal(t, word, last.Header.Get("compress_type"))
					require.Empty(t, last.Header.Get("Content-Encoding"))
					require.Empty(t, last.Header.Get("Transfer-Encoding"))
					require.Equal(t, last.ContentLength, last.BodyBytes, "the length was known before")
					require.Equal(t, last.BodyBytes, j.attempts[len(j.attempts)-1].Bytes)
					if compression != "none" && n > 1 {
						require.Less(t, last.BodyBytes, raw*2/3)
					}
				}
				require.Zero(t, c.FEBodyBytes())
			})
		}
	}
}

// A resend carries the same bytes under the same label, whatever became of the request before it.
func TestCompressedBodiesAreSentAgain(t *testing.T) {
	t.Parallel()
	const n = 20_000
	for _, fault := range []emulator.Fault{
		{At: emulator.BEHeaders, Do: emulator.Reset, Times: 2},
		{At: emulator.BEBody, Do: emulator.Reset, Bytes: 30_000, Times: 2},
		{At: emulator.BEBody, Do: emulator.Reset, Bytes: 30_000, Times: 1, Keep: true},
		{At: emulator.BEBeforeCommit, Do: emulator.Reset, Times: 2},
		{At: emulator.BEBeforeCommit, Do: emulator.Fail, Message: "[INTERNAL_ERROR]cancelled: closed", Times: 2},
		{At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 1},
	} {
		for _, compression := range []string{"gzip", "lz4", "bzip2"} {
			t.Run(fmt.Sprintf("%s %s %d %s", fault.At, fault.Do, fault.Times, compression), func(t *testing.T) {
				t.Parallel()
				c := with(t, fault)
				client, _ := c.client(compressed("json", compression), askFEs)
				_, err := client.Load(within(t, ended), batch(n))
				require.NoError(t, err)
				require.Equal(t, ids(n), c.stored(table))
				whole := slices.DeleteFunc(c.puts("be"), func(r emulator.Request) bool { return r.BodyBytes < r.ContentLength })
				require.NotEmpty(t, whole)
				for _, r := range c.puts("be") {
					require.Equal(t, whole[0].ContentLength, r.ContentLength)
				}
				for _, r := range whole {
					require.True(t, bytes.Equal(whole[0].Body, r.Body), "the same bytes each time")
				}
			})
		}
	}
}

// Rows that hardly compress, so that megabytes are sent, and several loads at a time share the memory for them.
func TestLargeCompressedBodies(t *testing.T) {
	t.Parallel()
	const n, loads = 3000, 4
	c := newCluster(t, emulator.Options{Tables: []emulator.Table{{Database: db, Name: table, Columns: []emulator.Column{
		{Name: "id", Type: "BIGINT", NotNull: true}, {Name: "note", Type: "STRING"},
	}}}})
	rnd := rand.New(rand.NewPCG(7, 8))
	want := map[string]string{}
	batches := make([][][]byte, loads)
	for b := range batches {
		for i := range n {
			note := make([]byte, 700)
			for k := range note {
				note[k] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[rnd.IntN(64)]
			}
			id := b*n + i
			batches[b] = append(batches[b], fmt.Appendf(nil, `{"id":%d,"note":"%s"}`, id, note))
			want[strconv.Itoa(id)] = string(note)
		}
	}
	client, j := c.client(compressed("json", "gzip"))
	var all sync.WaitGroup
	for _, rows := range batches {
		all.Go(func() {
			_, err := client.Load(within(t, ended), streamload.Batch{Database: db, Table: table, Rows: rows})
			assert.NoError(t, err)
		})
	}
	all.Wait()
	for _, a := range j.attempts {
		require.Greater(t, a.Bytes, int64(1<<20))
	}
	stored := c.Rows(db, table)
	require.Len(t, stored, n*loads)
	for _, row := range stored {
		require.Equal(t, want[fmt.Sprint(row["id"])], row["note"])
	}
}

// The label is made of the rows. So a pipeline whose compression is changed between two deliveries does not store them twice.
func TestCompressionDoesNotChangeALabel(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{})
	b := batch(100)
	b.Identity = "orders-0-100"
	for i, compression := range []string{"none", "gzip", "lz4"} {
		client, _ := c.client(compressed("json", compression), askFEs)
		report, err := client.Load(within(t, ended), b)
		require.NoError(t, err)
		require.Equal(t, i > 0, report.Evidence == "label_finished", report.Evidence)
	}
	same(t, c.labels(), 3)
	require.Equal(t, ids(100), c.stored(table))
}

// Rows of a compressed load whose outcome is unknown are known again when they come back, by themselves.
func TestLedgerKnowsRowsOfCompressedLoads(t *testing.T) {
	t.Parallel()
	c := with(t,
		emulator.Fault{At: emulator.BEAfterCommit, Do: emulator.Reset, Times: 1},
		emulator.Fault{At: emulator.StateQuery, Do: emulator.Fail, Message: "busy", Times: 3},
	)
	client, _ := c.client(compressed("json", "gzip"), askFEs, retries(-1), func(conf *streamload.Config) {
		conf.LabelPoll.MaxElapsed = 1 // the first question is the last
	})
	_, err := client.Load(within(t, ended), batch(100))
	_ = unresolved(t, err)
	report, err := client.Load(within(t, ended), streamload.Batch{Database: db, Table: table, Rows: rows(50, 100)})
	require.NoError(t, err)
	require.Equal(t, 51, report.AlreadyStored)
	require.Equal(t, ids(149), c.stored(table))
}

// Versions before 3.0.5 say that they read no compressed JSON, and the error says what to do.
func TestCompressedJSONOnOldVersions(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2.1", "3.0.4"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, emulator.Options{Version: version})
			client, _ := c.client(compressed("json", "gzip"), retries(-1))
			_, err := client.Load(within(t, ended), batch(3))
			e := failed(t, err)
			require.Equal(t, decide.Protocol, e.Class)
			require.Contains(t, e.Message, "compress data of JSON format is not supported")
			require.Empty(t, c.stored(table))

			client, _ = c.client(compressed("csv", "gzip"))
			_, err = client.Load(within(t, ended), streamload.Batch{Database: db, Table: table, Rows: ofFormat("csv", 3)})
			require.NoError(t, err)
			require.Equal(t, ids(3), c.stored(table))
		})
	}
}

// A file is a load of its own, with what the server counts of it.
func TestWholeFiles(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{})
	client, _ := c.client(func(conf *streamload.Config) {
		conf.Options.Format, conf.Options.Columns = "csv_with_names_and_types", []string{"note", "id"}
		conf.MaxLoadBytes, conf.MaxLoadRows = 10, 1
	})
	file := []byte("note,id\nstring,int\na,1\nb,2\n\nc,3\n")
	report, err := client.Load(within(t, ended), streamload.Batch{Database: db, Table: table, Rows: [][]byte{file}})
	require.NoError(t, err)
	require.Equal(t, 3, report.Rows)
	require.Zero(t, report.Unaccounted())
	require.Equal(t, ids(3), c.stored(table))
	require.Equal(t, file, c.puts("be")[0].Body)
	require.Equal(t, "csv_with_names_and_types", c.puts("be")[0].Header.Get("format"))

	// It is not divided, whatever a load of rows may have, and does not take others in.
	_, err = client.Load(within(t, ended), streamload.Batch{Database: db, Table: table, Rows: [][]byte{[]byte("note,id\nx,x\nd,4\n"), file}})
	e := failed(t, err)
	require.True(t, e.Partial)
	require.Len(t, e.Rejected, 1)
	require.Equal(t, 1, e.Rejected[0].Index)
	require.Equal(t, ids(4), c.stored(table))
}

// Who cancels does not wait for a body to be compressed, and nothing is sent.
func TestCancelWhileCompressing(t *testing.T) {
	t.Parallel()
	c := newCluster(t, emulator.Options{})
	client, _ := c.client(compressed("json", "bzip2"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := client.Load(ctx, batch(100))
	_ = stopped(t, err)
	require.Empty(t, c.puts("be"))
	require.Empty(t, c.puts("fe"))
	_, err = client.Load(within(t, ended), batch(100))
	require.NoError(t, err)
	require.Equal(t, ids(100), c.stored(table))
}
