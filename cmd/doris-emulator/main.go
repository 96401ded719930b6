// Command doris-emulator runs a small Doris, or StarRocks, in memory: a frontend
// and a backend that take Stream Loads over HTTP. It is for trying a pipeline where
// no cluster is at hand. See the package test/emulator for what it does and does not do.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	_ "time/tzdata" // the header timezone works on machines without zone files

	"github.com/dorisload/benthos-doris/test/emulator"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run starts the cluster and serves until ctx is done. It returns the exit
// code: 0 for an orderly end, 1 for a failure, 2 for wrong arguments.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cfg, err := parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		say(stderr, "doris-emulator: %v\n", err)
		return 2
	case cfg.version:
		say(stdout, "doris-emulator %s\n", version())
		return 0
	}
	if !cfg.quiet {
		cfg.opt.OnLoad = logTo(stdout)
	}
	emu, err := emulator.Start(cfg.opt)
	if err != nil {
		say(stderr, "doris-emulator: %v\n", err)
		if errors.Is(err, syscall.EADDRINUSE) {
			say(stderr, "Another program listens there. Choose other addresses with -fe and -be.\n")
		}
		return 1
	}
	say(stdout, "doris-emulator %s is ready: FE %s, BE %s\n", version(), strings.Join(emu.FEURLs(), " "), strings.Join(emu.BEAddrs(), " "))
	say(stdout, "watch it in a browser: %s/\n", emu.FEURL())
	<-ctx.Done()
	if err := emu.Close(); err != nil {
		say(stderr, "doris-emulator: %v\n", err)
		return 1
	}
	say(stdout, "doris-emulator stopped\n")
	return 0
}

// say prints; who does not listen is not told that.
func say(out io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(out, format, args...)
}

// logTo prints one line for each load.
func logTo(out io.Writer) func(emulator.Load) {
	lines := make(chan string, 1)
	lines <- "" // a token: one writer at a time
	return func(l emulator.Load) {
		status := l.Status
		if status == "" {
			status = "no answer"
		}
		line := fmt.Sprintf("%s %s load %s.%s label=%s txn=%d status=%q rows=%d loaded=%d filtered=%d unselected=%d bytes=%d took=%s",
			l.End.Format(time.TimeOnly), l.BE, l.DB, l.Table, l.Label, l.TxnID, status, l.Total, l.Loaded, l.Filtered, l.Unselected, l.Bytes, l.End.Sub(l.Start).Round(time.Millisecond))
		if l.Message != "OK" && l.Message != "" {
			line += fmt.Sprintf(" message=%q", l.Message)
		}
		<-lines
		say(out, "%s\n", line)
		lines <- ""
	}
}
