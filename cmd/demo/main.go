// Command demo loads a real event stream into the emulator and counts it on both sides: the output of `go test -json`
// over packages of this project is written to a file, config/go-test-events.yaml carries it through a Benthos pipeline, and
// the rows in the table must be as many as the events in the file. `make demo` runs it.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/dorisload/benthos-doris/test/emulator"
)

const (
	database = "ci"
	table    = "go_test_events"
)

type settings struct {
	binary, config, tables, packages, events string
	repeat                                   int
	keep                                     bool
}

func main() {
	var s settings
	flag.StringVar(&s.binary, "binary", "bin/benthos-doris", "the built benthos-doris")
	flag.StringVar(&s.config, "config", "config/go-test-events.yaml", "the pipeline to run")
	flag.StringVar(&s.tables, "tables", "resources/go_test_events.tables.yaml", "the tables of the emulator")
	flag.StringVar(&s.packages, "packages", "./streamload/decide ./streamload/encode ./streamload/internal/answer", "the packages whose tests make the events")
	flag.StringVar(&s.events, "events", "", "a file of `go test -json` events to load instead of running the tests")
	flag.IntVar(&s.repeat, "repeat", 1, "how often the tests are run; more of it makes more events")
	flag.BoolVar(&s.keep, "keep", false, "leave the emulator running at the end until Ctrl-C, so that its page can be looked at")
	flag.Parse()
	if err := interruptible(s); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func interruptible(s settings) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return run(ctx, s)
}

func run(ctx context.Context, s settings) error {
	dir, err := os.MkdirTemp("", "benthos-doris-demo")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if s.events == "" {
		s.events = filepath.Join(dir, "events.jsonl")
		fmt.Printf("1. Events: go test -json %s\n", s.packages)
		if err := makeEvents(ctx, s); err != nil {
			return err
		}
	} else {
		fmt.Printf("1. Events: %s\n", s.events)
	}
	sent, err := countLines(s.events)
	if err != nil {
		return err
	}
	fmt.Printf("   %d events, one JSON object a line\n", sent)

	emu, err := startEmulator(s.tables)
	if err != nil {
		return err
	}
	defer func() { _ = emu.Close() }()
	fmt.Printf("2. A small Doris: FE at %s, table %s.%s\n", emu.FEURL(), database, table)
	if s.keep {
		fmt.Printf("   Watch it in a browser: %s/\n", emu.FEURL())
		defer func() {
			fmt.Printf("\nThe emulator goes on at %s/ until Ctrl-C.\n", emu.FEURL())
			<-ctx.Done()
		}()
	}

	fmt.Printf("3. Pipeline: %s run %s\n", s.binary, s.config)
	began := time.Now()
	if err := runPipeline(ctx, s, emu.FEURL()); err != nil {
		return err
	}
	took := time.Since(began)

	stored := emu.Count(database, table)
	loads := len(emu.Loads())
	fmt.Printf("4. Loaded in %s with %d loads\n\n", took.Round(time.Millisecond), loads)
	fmt.Printf("   events in the file:  %d\n   rows in the table:   %d\n", sent, stored)
	if rows := emu.Rows(database, table); len(rows) > 0 {
		if last, err := json.Marshal(rows[len(rows)-1]); err == nil {
			fmt.Printf("   the last row:        %s\n", last)
		}
	}
	if sent != stored {
		return fmt.Errorf("%d events went in and the table holds %d rows", sent, stored)
	}
	fmt.Println("\nEvery event is in the table, once.")
	return nil
}

// makeEvents writes what the tests of some packages say to the events file. Tests that fail are events like any others.
func makeEvents(ctx context.Context, s settings) error {
	out, err := os.Create(s.events)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }() // after an error; otherwise it is closed at the end
	args := append([]string{"test", "-json", fmt.Sprintf("-count=%d", s.repeat)}, strings.Fields(s.packages)...)
	cmd := exec.CommandContext(ctx, "go", args...)
	var complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &complaints
	err = cmd.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	if info, statErr := out.Stat(); statErr != nil || info.Size() == 0 {
		return fmt.Errorf("go %s made no events: %w %s", strings.Join(args, " "), err, complaints.String())
	}
	return out.Close()
}

func countLines(file string) (n int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if !json.Valid(lines.Bytes()) {
			return 0, fmt.Errorf("%s: line %d is no JSON: %.200s", file, n+1, lines.Text())
		}
		n++
	}
	return n, lines.Err()
}

func startEmulator(tables string) (*emulator.Emulator, error) {
	declared, err := emulator.ReadTables(tables)
	if err != nil {
		return nil, err
	}
	return emulator.Start(emulator.Options{Tables: declared})
}

func runPipeline(ctx context.Context, s settings, fe string) error {
	cmd := exec.CommandContext(ctx, s.binary, "run", s.config)
	cmd.Env = append(os.Environ(), "DORIS_FE="+fe, "EVENTS="+s.events)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", s.binary, err)
	}
	return nil
}
