//go:build linux

package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redpanda-data/benthos/v4/public/service"

	_ "github.com/redpanda-data/benthos/v4/public/components/io"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure"

	"github.com/dorisload/benthos-doris/output"
)

// outputName is the name of the output that is measured.
const outputName = "doris_stream_load"

// peer is one way to load a batch.
type peer struct {
	name string
	// load loads the i-th prepared batch.
	load func(ctx context.Context, b service.MessageBatch) error
}

// env has all outputs of Benthos, and ours.
func env(tb testing.TB) *service.Environment {
	tb.Helper()
	e := service.NewEnvironment()
	require.NoError(tb, output.Register(e, outputName))
	require.NoError(tb, registerDrop(e))
	return e
}

// hasField tells whether our output has a field.
func hasField(name string) bool {
	e := service.NewEnvironment()
	if err := output.Register(e, outputName); err != nil {
		return false
	}
	found := false
	e.WalkOutputs(func(n string, v *service.ConfigView) {
		if n != outputName {
			return
		}
		text, err := v.FormatJSON()
		var spec struct {
			Config struct {
				Children []struct {
					Name string `json:"name"`
				} `json:"children"`
			} `json:"config"`
		}
		if err == nil && json.Unmarshal(text, &spec) == nil {
			for _, c := range spec.Config.Children {
				found = found || c.Name == name
			}
		}
	})
	return found
}

type fields map[string]any

// plugin is any output of Benthos, run as Benthos runs it.
func plugin(tb testing.TB, name string, config fields) peer {
	tb.Helper()
	builder := env(tb).NewResourceBuilder()
	builder.SetLogger(slog.New(slog.DiscardHandler))
	config["label"] = "it"
	text, err := json.Marshal(config) // JSON is YAML too
	require.NoError(tb, err)
	require.NoError(tb, builder.AddOutputYAML(string(text)))
	resources, stop, err := builder.Build()
	require.NoError(tb, err)
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) //nolint:usetesting // the test's own context has ended then
		defer cancel()
		require.NoError(tb, stop(ctx))
	})
	var out *service.ResourceOutput
	require.NoError(tb, resources.AccessOutput(tb.Context(), "it", func(o *service.ResourceOutput) { out = o }))
	return peer{name: name, load: out.WriteBatch}
}

// ours is the output that is measured.
func ours(tb testing.TB, w workload, fe string, more fields) peer {
	tb.Helper()
	return plugin(tb, "ours", fields{outputName: config(w, fe, more)})
}

// config is that of the output that is measured.
func config(w workload, fe string, more fields) fields {
	config := fields{
		"fe_urls": []string{"http://" + fe}, "database": "db", "table": "t", "format": w.format, "max_in_flight": w.inFlight,
		"linger":  "0s", // batches are measured as they come
		"headers": fields{"x-rows": strconv.Itoa(w.rows)},
	}
	if w.gzip {
		config["compression"] = "gzip"
	}
	maps.Copy(config, more)
	return config
}

// alone is the output that is measured without the pipeline around it, which
// copies and traces every message.
func alone(tb testing.TB, w workload, fe string, more fields) peer {
	tb.Helper()
	text, err := json.Marshal(config(w, fe, more))
	require.NoError(tb, err)
	parsed, err := output.Spec().ParseYAML(string(text), env(tb))
	require.NoError(tb, err)
	builder := env(tb).NewResourceBuilder()
	builder.SetLogger(slog.New(slog.DiscardHandler))
	resources, stop, err := builder.Build()
	require.NoError(tb, err)
	out, _, _, err := output.New(parsed, resources)
	require.NoError(tb, err)
	require.NoError(tb, out.Connect(tb.Context()))
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) //nolint:usetesting // the test's own context has ended then
		defer cancel()
		require.NoError(tb, out.Close(ctx))
		require.NoError(tb, stop(ctx))
	})
	return peer{name: "alone", load: out.WriteBatch}
}

// httpClient is what a user would take without this output.
func httpClient(tb testing.TB, w workload, fe string) peer {
	tb.Helper()
	headers := fields{
		"Expect": "100-continue", "label": "bench_${! uuid_v4() }", "format": w.format, "x-rows": strconv.Itoa(w.rows), "timeout": "300",
	}
	processors := []fields{{"archive": fields{"format": "lines"}}}
	if w.format == "json" {
		headers["read_json_by_line"], headers["strip_outer_array"] = "true", "false"
	}
	if w.gzip {
		headers["compress_type"] = "gz"
		processors = append(processors, fields{"compress": fields{"algorithm": "gzip"}})
	}
	return plugin(tb, "http_client", fields{
		"http_client": fields{
			"url": "http://" + fe + "/api/db/t/_stream_load", "verb": "PUT", "headers": headers, "max_in_flight": w.inFlight,
			"basic_auth": fields{"enabled": true, "username": "root", "password": ""},
		},
		"processors": processors,
	})
}

// dropped is the output of Benthos that does nothing.
func dropped(tb testing.TB) peer {
	tb.Helper()
	return plugin(tb, "drop", fields{"drop": fields{}})
}

// droppedByPlugin is a plugin that does nothing. Benthos makes other messages of
// all messages before a plugin sees them, which is not for us to answer for.
func droppedByPlugin(tb testing.TB) peer {
	tb.Helper()
	return plugin(tb, "drop_plugin", fields{dropName: fields{}})
}

const dropName = "bench_drop"

type dropper struct{}

func (dropper) Connect(context.Context) error                          { return nil }
func (dropper) WriteBatch(context.Context, service.MessageBatch) error { return nil }
func (dropper) Close(context.Context) error                            { return nil }

func registerDrop(e *service.Environment) error {
	return e.RegisterBatchOutput(dropName, service.NewConfigSpec(),
		func(*service.ParsedConfig, *service.Resources) (service.BatchOutput, service.BatchPolicy, int, error) {
			return dropper{}, service.BatchPolicy{}, 64, nil
		})
}

// rawPut is a PUT of one ready buffer with net/http, straight to the BE.
func rawPut(tb testing.TB, w workload, be string, rows [][]byte) peer {
	tb.Helper()
	body := bytes.Join(rows, []byte("\n"))
	transport := &http.Transport{MaxIdleConnsPerHost: w.inFlight}
	tb.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	return peer{"raw_put", func(ctx context.Context, _ service.MessageBatch) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://"+be+"/api/db/t/_stream_load", bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header["label"] = []string{"raw"}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		return succeeded(io.ReadAll(resp.Body))
	}}
}

// tcp writes head and body to a connection, and reads the answer.
func tcp(tb testing.TB, w workload, be string, rows [][]byte) peer {
	tb.Helper()
	body := bytes.Join(rows, []byte("\n"))
	head := []byte(fmt.Sprintf("PUT /api/db/t/_stream_load HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\nlabel: tcp\r\n\r\n", be, len(body)))
	free := make(chan net.Conn, w.inFlight)
	for range w.inFlight {
		c, err := (&net.Dialer{}).DialContext(tb.Context(), "tcp", be)
		require.NoError(tb, err)
		tb.Cleanup(func() { _ = c.Close() })
		free <- c
	}
	return peer{"tcp", func(context.Context, service.MessageBatch) error {
		c := <-free
		defer func() { free <- c }()
		if _, err := (&net.Buffers{head, body}).WriteTo(c); err != nil {
			return err
		}
		answer := make([]byte, 1024)
		n, err := c.Read(answer)
		return succeeded(answer[:n], err)
	}}
}

func succeeded(answer []byte, err error) error {
	if err == nil && !strings.Contains(string(answer), `"Success"`) {
		err = fmt.Errorf("the answer is %q", answer)
	}
	return err
}
