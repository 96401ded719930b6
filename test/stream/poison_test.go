package stream

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// deadLetters runs config/dead-letter.yaml over a file and returns what it wrote to its dead letters, and how long it took.
func deadLetters(t *testing.T, c *cluster, orders string) (letters []map[string]string, took time.Duration) {
	t.Helper()
	config, err := filepath.Abs("../../config/dead-letter.yaml")
	require.NoError(t, err)
	dead := filepath.Join(t.TempDir(), "dead-letters.jsonl")
	began := time.Now()
	p := startWith(t, []string{"ORDERS=" + orders, "DEAD_LETTERS=" + dead, "DORIS_FE=" + c.FEURL(), "DORIS_USER=" + c.user}, "benthos-doris", "run", config)
	p.wait()
	took = time.Since(began)
	text, err := os.ReadFile(dead)
	if os.IsNotExist(err) {
		return nil, took
	}
	require.NoError(t, err)
	requireNoSecrets(t, string(text))
	for line := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
		var letter map[string]string
		require.NoError(t, json.Unmarshal([]byte(line), &letter), line)
		letters = append(letters, letter)
	}
	return letters, took
}

// One bad message in 100,000 reaches the dead letters with its reason, and the others are loaded as if it were not there.
func TestOneBadMessageDoesNotHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	const n, at = 100_000, 54_321
	const bad = `{"id":54321,"note":"cut off he`
	var good, poisoned strings.Builder
	for _, id := range ids(n) {
		line := `{"id":` + strconv.Itoa(id) + `,"note":"order ` + strconv.Itoa(id) + `"}` + "\n"
		good.WriteString(line)
		if id == at {
			line = bad + "\n"
		}
		poisoned.WriteString(line)
	}
	run := func(text string) (*cluster, []map[string]string, time.Duration) {
		path := filepath.Join(t.TempDir(), "orders.jsonl")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		c := with(t)
		letters, took := deadLetters(t, c, path)
		return c, letters, took
	}
	c, letters, clean := run(good.String())
	require.Empty(t, letters)
	require.Equal(t, n, c.Count(db, "orders"))
	c, letters, withBad := run(poisoned.String())
	require.Len(t, letters, 1)
	require.Equal(t, bad, letters[0]["message"])
	// fallback tells for a batch of one message what the log tells, which quotes no messages.
	require.True(t, strings.HasPrefix(letters[0]["reason"], "data_quality: 1 of 1 messages were not loaded: "), letters[0]["reason"])
	require.Contains(t, letters[0]["reason"], "the JSON object is cut off, it ends at byte 30 of the message")
	stored := c.stored("orders")
	require.Len(t, stored, n-1)
	require.Equal(t, append(ids(n)[:at-1], ids(n)[at:]...), stored, "each of the others once")
	for _, l := range c.Loads() {
		require.Equal(t, "Success", l.Status, "no load failed because of it")
	}
	t.Logf("%d messages in %s, with a bad one among them in %s: %.2f times as long", n, clean.Round(time.Millisecond), withBad.Round(time.Millisecond), withBad.Seconds()/clean.Seconds())
}

func TestTheDeadLetterExampleRunsAsItIs(t *testing.T) {
	t.Parallel()
	c := with(t)
	orders, err := filepath.Abs("../../config/data/orders.jsonl")
	require.NoError(t, err)
	letters, _ := deadLetters(t, c, orders)
	require.Len(t, letters, 1)
	require.Equal(t, []int{1, 2, 4}, c.stored("orders"))
}
