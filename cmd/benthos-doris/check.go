package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/dorisload/benthos-doris/preflight"
)

// What check exits with.
const (
	exitReady   = 0 // nothing stands in the way of loads, though there may be warnings
	exitBlocked = 1 // something does
	exitUnread  = 2 // a config cannot be read, or has no such output
)

// maxCheck bounds the check of one output, unless --timeout says otherwise.
const maxCheck = time.Minute

func checkCommand(out, errs io.Writer) *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "Look whether the loads of a config would run: servers, account, table, columns, the way to the BEs",
		ArgsUsage: "CONFIG...",
		Description: `
Finds every doris_stream_load in the configs, also inside of fallback, broker,
switch and resources, and looks at all that its loads need. Nothing is stored.

  benthos-doris check ./config.yaml
  benthos-doris check --load ./config.yaml
  benthos-doris check --json -r "./resources/*.yaml" ./config.yaml

Exits with 0 when nothing stands in the way of loads, with 1 when something
does, and with 2 when a config cannot be read or has no such output.`[1:],
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print one JSON document"},
			&cli.BoolFlag{Name: "load", Usage: "also load no rows into each table: a transaction is begun that holds nothing"},
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print only what needs somebody: warnings and failures"},
			&cli.DurationFlag{Name: "timeout", Value: maxCheck, Usage: "how long the check of one output may take"},
			&cli.StringSliceFlag{Name: "resources", Aliases: []string{"r"}, Usage: "a file with resources that the configs use, or a pattern in quotes"},
			&cli.StringSliceFlag{Name: "env-file", Aliases: []string{"e"}, Usage: "a file with environment variables, such as .env"},
		},
		OnUsageError: func(_ *cli.Context, err error, _ bool) error {
			return cli.Exit(err.Error()+"; see benthos-doris check --help", exitUnread)
		},
		Action: func(c *cli.Context) error {
			code, err := check(c.Context, checkOptions{
				configs: c.Args().Slice(), resources: c.StringSlice("resources"), envFiles: c.StringSlice("env-file"),
				json: c.Bool("json"), quiet: c.Bool("quiet"), load: c.Bool("load"), timeout: c.Duration("timeout"),
			}, out)
			if err != nil {
				fmt.Fprintln(errs, err)
			}
			if code != exitReady {
				return cli.Exit("", code)
			}
			return nil
		},
	}
}

type checkOptions struct {
	configs, resources, envFiles []string
	json, quiet, load            bool
	timeout                      time.Duration
}

// checked is an output and what was found.
type checked struct {
	found
	preflight.Report
}

// check does the work of the command. The error is for people, and comes with exitUnread.
func check(ctx context.Context, o checkOptions, out io.Writer) (code int, err error) {
	if len(o.configs) == 0 {
		return exitUnread, errors.New("which config? For instance: benthos-doris check ./config.yaml")
	}
	for _, arg := range o.configs {
		if strings.HasPrefix(arg, "-") {
			return exitUnread, fmt.Errorf("%s must stand before the config: benthos-doris check %s %s", arg, arg, o.configs[0])
		}
	}
	if o.timeout <= 0 {
		return exitUnread, fmt.Errorf("--timeout is %s; it must be more than 0", o.timeout)
	}
	outputs, err := findOutputs(o)
	if err != nil {
		return exitUnread, err
	}
	// A person who has seen enough gets what there is.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	results := make([]checked, 0, len(outputs))
	for _, f := range outputs {
		results = append(results, checked{f, checkOutput(ctx, f, o)})
	}
	for _, r := range results {
		if r.Worst() == preflight.Failed {
			code = exitBlocked
		}
	}
	if o.json {
		return code, printJSON(out, results)
	}
	printText(out, results, o.quiet)
	return code, nil
}

func checkOutput(ctx context.Context, f found, o checkOptions) preflight.Report {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	f.subject.Load = o.load
	defer f.subject.Client.Close()
	return preflight.Run(ctx, f.subject)
}
