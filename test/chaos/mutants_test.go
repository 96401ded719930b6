package chaos

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// mutant is a client with one mistake in it, which the suite has to find.
type mutant struct {
	mistake  string
	file     string // in the module
	old, new string
	shows    string // what the suite must report
	always   bool   // also where time is short
	test     string // that finds it
}

var broken = []mutant{
	{
		"a fresh label after UNKNOWN", "streamload/decide/step.go",
		"Only the same label is safe.\n\t\ts.unasked = false\n\t\treturn s.resend(ev.Now, false)", "\n\t\ts.unasked = false\n\t\treturn s.resend(ev.Now, true)",
		"twice", false, "TestChaos",
	},
	{
		"an answer that cannot be read counts as success", "streamload/decide/step.go",
		"default:\n\t\treturn s.unclear(ev.Now)", "default:\n\t\treturn s.commit(BySuccess)",
		"lost", true, "TestChaos",
	},
	{
		"a fresh label after ABORTED while a request may still begin", "streamload/decide/step.go",
		"return s.resend(ev.Now, s.unanswered == 0)", "return s.resend(ev.Now, true)",
		"twice", false, "TestChaos",
	},
	{
		"Fail proves that nothing is stored", "streamload/decide/step.go",
		"return s.startPoll(ev.Now, 0)\n\tdefault:", "return s.resend(ev.Now, true)\n\tdefault:",
		"twice", false, "TestChaos",
	},
	{
		"no ledger", "streamload/ledger.go",
		"bool { return l.count.Load() == 0 }", "bool { return l != nil }",
		"twice", false, "TestChaos",
	},
	{
		"an unknown label in the ledger counts as closed", "streamload/decide/debt.go",
		"case answer.StateUnknown:\n\t\treturn s.fence()", "case answer.StateUnknown:\n\t\treturn s.end(SettledClosed)",
		"twice", false, "TestChaos",
	},
	{
		"an aborted label in the ledger counts as closed while a request may still begin", "streamload/decide/debt.go",
		"if !s.debt.Unanswered {", "if s.debt.Unanswered || !s.debt.Unanswered {",
		"twice", false, "TestChaos",
	},
	{
		"a running label in the ledger counts as closed", "streamload/decide/debt.go",
		"return s.cancel() // the delivery", "return s.end(SettledClosed) // the delivery",
		"twice", false, "TestChaos",
	},
	{
		"rows are sent in other loads before the label is settled", "streamload/client.go",
		"if !c.settleOwn(ctx, alive, e) {", "if c.ledger.set(e, decide.SettledClosed); false {",
		"twice", true, "TestBadRows",
	},
	{
		"a label of StarRocks counts as closed when a fence would close it", "streamload/decide/debt.go",
		"if s.debt.Stable || s.debt.NoFence || s.fences", "if s.debt.NoFence {\n\t\treturn s.end(SettledClosed)\n\t}\n\tif s.debt.Stable || s.fences",
		"twice", false, "TestStarRocks",
	},
	{
		"failures of rows are looked up in any order", "streamload/parts.go",
		"return a.Index - b.Index", "return 0 * (a.Index - b.Index)",
		"lost", false, "TestBadRows",
	},
	{
		"stored rows are sent again with a bad one", "streamload/known.go",
		"failure.refused = false", "_ = failure.refused",
		"twice", false, "TestBadRows",
	},
}

// mostSeeds is how many seeds a mistake may need to show.
const mostSeeds = 200

// The suite is run with clients that are broken on purpose: it must find every one of them.
func TestTheSuiteFindsBrokenClients(t *testing.T) {
	t.Parallel()
	if os.Getenv("CHAOS_MUTANT") != "" {
		t.Skip("this is one of them")
	}
	for _, m := range broken {
		if !m.always && !*mutants {
			continue
		}
		t.Run(m.mistake, func(t *testing.T) {
			t.Parallel()
			suite := m.build(t)
			want := regexp.MustCompile(m.shows + ` \[\d`)
			const step = 10
			for first := 1; first <= mostSeeds; first += step {
				out, failed := runSuite(t, suite, m.test, first, step)
				if failed && want.MatchString(out) {
					t.Logf("found within the first %d seeds: %s", first+step-1, verdict(out))
					return
				}
			}
			require.Fail(t, "not found", "%d seeds show nothing of it", mostSeeds)
		})
	}
}

// Each of them can still be made: the code they change is there.
func TestMistakesCanBeMade(t *testing.T) {
	t.Parallel()
	for _, m := range broken {
		m.source(t)
	}
}

// source is the changed file, and the path of the one that it stands for.
func (m mutant) source(t *testing.T) (changed, path string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	path = filepath.Join(root, filepath.FromSlash(m.file))
	source, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(source), m.old), "%s: %s does not have %q any more: say how to make this mistake now", m.mistake, m.file, m.old)
	return strings.Replace(string(source), m.old, m.new, 1), path
}

// build builds this suite with the mutant in place of the client.
func (m mutant) build(t *testing.T) string {
	t.Helper()
	source, path := m.source(t)
	dir := t.TempDir()
	changed := filepath.Join(dir, "changed.go")
	require.NoError(t, os.WriteFile(changed, []byte(source), 0o600))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	require.NoError(t, err)
	overlayPath := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlayPath, overlay, 0o600))
	suite := filepath.Join(dir, "suite.test")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-overlay", overlayPath, "-o", suite, ".")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return suite
}

func runSuite(t *testing.T, suite, test string, first, count int) (out string, failed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, suite, "-test.run", "^"+test+"$", "-test.parallel", "4",
		"-chaos.first", strconv.Itoa(first), "-chaos.seeds", strconv.Itoa(count))
	cmd.Env = append(os.Environ(), "CHAOS_MUTANT=1")
	text, err := cmd.CombinedOutput()
	require.NoError(t, ctx.Err())
	return string(text), err != nil
}

// verdict is the first line that says what went wrong.
func verdict(out string) string {
	at := strings.Index(out, "seed ")
	if at < 0 {
		return "?"
	}
	line, _, _ := strings.Cut(out[at:], "\n")
	return line[:min(len(line), 200)]
}
