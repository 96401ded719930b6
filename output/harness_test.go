package output

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/test/emulator"
	"github.com/dorisload/benthos-doris/test/transcript"
)

// cluster is an emulated Doris with tables made on the first load.
func cluster(t *testing.T, opt emulator.Options) *emulator.Emulator {
	t.Helper()
	if len(opt.Tables) == 0 {
		opt.AutoCreate = true
	}
	return emulator.New(t, opt)
}

// logBuffer keeps log lines of all levels.
type logBuffer struct{ transcript.Text }

// lines are the lines that contain every one of the texts.
func (l *logBuffer) lines(texts ...string) (found []string) {
	for line := range strings.SplitSeq(l.String(), "\n") {
		all := line != ""
		for _, text := range texts {
			all = all && strings.Contains(line, text)
		}
		if all {
			found = append(found, line)
		}
	}
	return found
}

func (l *logBuffer) slog() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// built is an output made from YAML as Benthos would, without a pipeline around it.
type built struct {
	service.BatchOutput
	logs        *logBuffer
	policy      service.BatchPolicy
	maxInFlight int
}

// build makes the output from the fields in YAML.
func build(t *testing.T, yaml string) *built {
	t.Helper()
	b, err := tryBuild(yaml)
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) }) //nolint:usetesting // the test's own context has ended then
	return b
}

func tryBuild(yaml string) (*built, error) {
	env := service.NewEnvironment()
	parsed, err := Spec().ParseYAML(yaml, env)
	if err != nil {
		return nil, err
	}
	b := &built{logs: &logBuffer{}}
	mgr := service.MockResources(service.MockResourcesOptUseLogger(service.NewLoggerFromSlog(b.logs.slog())))
	b.BatchOutput, b.policy, b.maxInFlight, err = New(parsed, mgr)
	return b, err
}

// fast are the fields that make retries quick and few.
const fast = `
backoff: { initial_interval: 1ms, max_interval: 5ms, max_elapsed_time: 20s }
label_poll: { initial_interval: 1ms, max_interval: 5ms, max_elapsed_time: 300ms }
max_retries: 1
linger: 0s
timeout: 10s
`

// fields adds the address and, where more does not set them, the fields of fast.
func fields(fe, more string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "fe_urls: [ %q ]\n%s\n", fe, more)
	for line := range strings.Lines(fast) {
		if key, _, found := strings.Cut(line, ":"); found && !strings.Contains(more, key+":") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// asked are the requests that a cluster got, without the questions whether it is there.
func asked(e *emulator.Emulator) []emulator.Request {
	return slices.DeleteFunc(e.Requests(), func(r emulator.Request) bool { return r.Path == "/api/bootstrap" })
}

func batchOf(rows ...string) service.MessageBatch {
	batch := make(service.MessageBatch, len(rows))
	for i, row := range rows {
		batch[i] = service.NewMessage([]byte(row))
	}
	return batch
}

// write writes a batch and returns the errors of single messages by their index.
func write(ctx context.Context, t *testing.T, b service.BatchOutput, batch service.MessageBatch) (map[int]string, error) {
	t.Helper()
	index := batch.Index()
	err := b.WriteBatch(ctx, batch)
	return reasons(t, index, batch, err), err
}

// reasons finds the errors of single messages as Benthos does: it marks its messages before the write (Index), so an error over any
// other batch is not found.
func reasons(t *testing.T, index *service.Indexer, batch service.MessageBatch, err error) map[int]string {
	t.Helper()
	if err == nil {
		return nil
	}
	var batchErr *service.BatchError
	require.ErrorAs(t, err, &batchErr)
	reasons, walked := map[int]string{}, map[int]bool{}
	batchErr.WalkMessagesIndexedBy(index, func(i int, _ *service.Message, err error) bool {
		walked[i] = true
		if err != nil {
			reasons[i] = err.Error()
		}
		return true
	})
	require.Len(t, walked, len(batch), "every message is in the error")
	require.NotContains(t, walked, -1, "no other message is")
	require.Len(t, reasons, batchErr.IndexedErrors(), "no failure is left to be guessed")
	return reasons
}

// patience bounds everything that a test waits for.
const patience = 20 * time.Second

// within ends with the test, or when patience does.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// indent moves YAML so many levels to the right, so that it can stand under a key.
func indent(levels int, yaml string) string {
	pad := strings.Repeat("  ", levels)
	return pad + strings.ReplaceAll(strings.TrimSpace(yaml), "\n", "\n"+pad) + "\n"
}

// anFE is the address of an FE in an example.
var anFE = regexp.MustCompile(`http://[a-z0-9.]+:8030`)

// runOutput constructs the `output:` of a config as Benthos does for an output inside of another component, starts it and stops it. It
// finds an FE at every address, since an output without one is not stopped this way: it waits for one.
func runOutput(t *testing.T, yaml string) {
	t.Helper()
	yaml = anFE.ReplaceAllString(yaml, cluster(t, emulator.Options{}).FEURL())
	env := service.NewEnvironment()
	spec := service.NewConfigSpec().Fields(service.NewAnyField("input").Optional(), service.NewOutputField("output"))
	parsed, err := spec.ParseYAML(yaml, env)
	require.NoError(t, err)
	out, err := parsed.FieldOutput("output")
	require.NoError(t, err)
	require.NoError(t, out.Prime())
	require.NoError(t, out.Close(within(t)))
}
