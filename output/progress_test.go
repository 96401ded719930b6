package output

import (
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/test/emulator"
)

// slowly is a progress whose clock the test sets.
func slowly(every time.Duration) (p *progress, logs *logBuffer, sleep func(time.Duration)) {
	logs = &logBuffer{}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p = newProgress(every, service.NewLoggerFromSlog(logs.slog()))
	p.now = func() time.Time { return now }
	return p, logs, func(d time.Duration) { now = now.Add(d) }
}

func TestProgress(t *testing.T) {
	t.Parallel()
	p, logs, sleep := slowly(30 * time.Second)
	load := func(took time.Duration, r streamload.Report, failed bool) {
		p.started()
		sleep(took)
		p.finished(r, failed)
	}
	load(20*time.Second, streamload.Report{Rows: 600_000, Bytes: 90e6, Attempts: 1}, false)
	sleep(time.Hour) // nothing to do: no line, and no part of the rate
	require.Empty(t, logs.lines(""))
	load(10*time.Second, streamload.Report{Rows: 700_000, HasCounts: true, Loaded: 600_000, Filtered: 100_000, Bytes: 60e6, Attempts: 3}, false)
	require.Len(t, logs.lines("level=INFO", "1,200,000 rows (150 MB) loaded in 30s: 40,000 rows/s, 5.0 MB/s, 2 loads, 2 sent again"), 1)
	require.Len(t, logs.lines(""), 1)

	// Two at a time: the time counts once, and loads that go on belong to the next line too.
	p.started()
	sleep(10 * time.Second)
	p.started()
	sleep(20 * time.Second)
	p.finished(streamload.Report{Rows: 300, Bytes: 3000, Attempts: 1}, false)
	require.Len(t, logs.lines("300 rows (3.0 kB) loaded in 30s: 10 rows/s, 100 B/s, 1 load"), 1)
	sleep(30 * time.Second)
	p.finished(streamload.Report{Rows: 5, Bytes: 50, Attempts: 4}, true)
	require.Len(t, logs.lines("0 rows (0 B) loaded in 30s: 0 rows/s, 0 B/s, 1 load, 3 sent again, 1 failed"), 1)

	p.close()
	require.Len(t, logs.lines("In total: 1,200,300 rows (150 MB) loaded in 1m30s: 13,336 rows/s, 1.7 MB/s, 4 loads, 5 sent again, 1 failed"), 1)
	require.Len(t, logs.lines(""), 4)
}

func TestProgressThatIsOff(t *testing.T) {
	t.Parallel()
	p, logs, sleep := slowly(0)
	p.started()
	sleep(time.Hour)
	p.finished(streamload.Report{Rows: 1}, false)
	p.close()
	require.Empty(t, logs.lines(""))
}

func TestNoProgressNoWord(t *testing.T) {
	t.Parallel()
	p, logs, _ := slowly(time.Second)
	p.close()
	require.Empty(t, logs.lines(""))
}

func TestProgressOfAnOutput(t *testing.T) {
	t.Parallel()
	e := cluster(t, emulator.Options{})
	for _, c := range []struct {
		more  string
		lines int
	}{{"progress_interval: 1ns\n", 2}, {"", 0}, {"progress_interval: 0s\n", 0}} {
		p := run(t, fields(e.FEURL(), target+c.more), batchOf(`{"id":1}`, `{"id":2}`), batchOf(`{"id":3}`))
		require.Equal(t, []string{"", ""}, p.results)
		require.Len(t, p.logs.lines("level=INFO", "rows/s", " loaded in "), c.lines+len(p.logs.lines("In total")), c.more)
		want := 1
		if c.more == "progress_interval: 0s\n" {
			want = 0
		}
		require.Len(t, p.logs.lines("level=INFO", "In total: 3 rows (25 B) loaded in "), want)
	}
	_, err := tryBuild(fields(e.FEURL(), target+"progress_interval: soon\n"))
	require.ErrorContains(t, err, "progress_interval")
	_, err = tryBuild(fields(e.FEURL(), target+"progress_interval: -1s\n"))
	require.ErrorContains(t, err, "progress_interval")
}
