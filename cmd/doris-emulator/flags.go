package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/dorisload/benthos-doris/test/emulator"
)

// stamp is the version; the linker sets it.
var stamp string

func version() string {
	if stamp != "" {
		return stamp
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// versionFlag is -version: alone it asks for the version of the program, with a
// value it chooses the version of Doris.
type versionFlag struct{ c *config }

func (f versionFlag) String() string { return "" }

// IsBoolFlag lets -version stand alone.
func (f versionFlag) IsBoolFlag() bool { return true }

func (f versionFlag) Set(value string) error {
	if value == "true" {
		f.c.version = true
		return nil
	}
	f.c.opt.Version = value
	return nil
}

// joined writes -version 2.1 as -version=2.1: the flag package takes no value
// from the next argument for a flag that can stand alone.
func joined(args []string) []string {
	out := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		if (args[i] == "-version" || args[i] == "--version") && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			out = append(out, args[i]+"="+args[i+1])
			i++
			continue
		}
		out = append(out, args[i])
	}
	return out
}

type config struct {
	opt     emulator.Options
	quiet   bool
	version bool
}

const usage = `doris-emulator is a small Doris, or StarRocks, in memory: a frontend (FE) and a
backend (BE) that take Stream Loads over HTTP. Nothing is kept when it ends.

Usage:
  doris-emulator [flags]

Examples:
  doris-emulator
      Listen on the ports of Doris; create each table on its first load. Open
      http://127.0.0.1:8030/ in a browser to watch, and to switch faults on.
  curl --location-trusted -u root: -H "Expect:100-continue" -H "format:json" \
       -H "read_json_by_line:true" -T events.ndjson -XPUT \
       http://127.0.0.1:8030/api/demo/events/_stream_load
      Load a file of JSON lines.
  curl 'http://127.0.0.1:8030/emulator/demo/events/rows?limit=10'
      Read rows back. Also: /emulator/tables, /emulator/loads.
  doris-emulator -tables tables.yaml -auto-create=false
      Only the tables of a file, with real column types.
  doris-emulator -fault 'be.before-commit:times=3,do=reset'
      Break the connection of the first three loads before they commit.
  curl -d 'be.answer:do=http,status=503,times=1' http://127.0.0.1:8030/emulator/faults
      Inject a fault later. GET lists the faults, DELETE removes them.
  doris-emulator -version 2.1
      Be an older Doris.
  doris-emulator -dialect starrocks
      Be a StarRocks.

Flags:
`

func parse(args []string, stdout io.Writer) (config, error) {
	var c config
	set := flag.NewFlagSet("doris-emulator", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	fe := set.String("fe", "127.0.0.1:8030", "listen `addresses` of the frontends, with commas between them; the first is the master")
	be := set.String("be", "127.0.0.1:8040", "listen `addresses` of the backends, with commas between them")
	tables := set.String("tables", "", "YAML or JSON `file` that declares tables")
	set.StringVar(&c.opt.Advertise, "advertise", "", "`host` that redirects and error URLs name (default: the listen host)")
	set.BoolVar(&c.opt.AutoCreate, "auto-create", true, "create a database and table on the first load into them")
	set.BoolVar(&c.opt.PlainLocation, "plain-location", false, "leave user and password out of redirects")
	set.BoolVar(&c.quiet, "quiet", false, "print no line for each load")
	set.Func("dialect", "whose servers to be: `doris` or starrocks (default doris)", func(text string) error {
		c.opt.Dialect = emulator.Dialect(text)
		return emulator.Options{Dialect: c.opt.Dialect}.CheckServer()
	})
	set.Var(versionFlag{&c}, "version", "`version` of the servers to be, also with a patch level, as 3.0.4; alone: print the version of\nthis program and exit\n"+
		versionsOf(emulator.Doris)+"\n"+versionsOf(emulator.StarRocks))
	set.Uint64Var(&c.opt.Seed, "seed", 1, "seed of the random numbers for faults with a probability")
	set.DurationVar(&c.opt.LabelKeepMax, "label-keep", 0, "how long a finished label is remembered (default 12h, StarRocks 72h)")
	set.IntVar(&c.opt.LabelKeepCount, "label-keep-count", 0, "how many finished transactions of a database are remembered (default 2000, StarRocks 1000)")
	set.IntVar(&c.opt.MaxRunningTxns, "max-running-txns", 1000, "how many transactions of a database may run at a time")
	set.Func("fault", "`fault` to inject: point:do=action,key=value,... (can be repeated)\n"+faultHelp(), func(text string) error {
		f, err := emulator.ParseFault(text)
		c.opt.Faults = append(c.opt.Faults, f)
		return err
	})
	set.Func("user", "account as `name:password:databases`, databases with commas or * (can be repeated;\nwithout it: root with any password)", func(text string) error {
		u, err := account(text)
		c.opt.Users = append(c.opt.Users, u)
		return err
	})
	if err := set.Parse(joined(args)); err != nil {
		if err == flag.ErrHelp { //nolint:errorlint // the flag package returns it bare
			say(stdout, "%s", usage)
			set.SetOutput(stdout)
			set.PrintDefaults()
			return c, err
		}
		return c, fmt.Errorf("%w (-h shows the flags)", err)
	}
	if set.NArg() > 0 {
		return c, fmt.Errorf("unexpected argument %q (-h shows the flags)", set.Arg(0))
	}
	if err := c.opt.CheckServer(); err != nil {
		return c, fmt.Errorf("-version: %w", err)
	}
	c.opt.KeepRecords = 10_000 // it may run for a long time
	c.opt.FEAddrs, c.opt.BEAddrs = list(*fe), list(*be)
	if len(c.opt.FEAddrs) == 0 || len(c.opt.BEAddrs) == 0 {
		return c, errors.New("-fe and -be need an address each")
	}
	low := c.opt.MaxRunningTxns <= 0
	set.Visit(func(f *flag.Flag) {
		low = low || f.Name == "label-keep" && c.opt.LabelKeepMax <= 0 || f.Name == "label-keep-count" && c.opt.LabelKeepCount <= 0
	})
	if low {
		return c, errors.New("-label-keep, -label-keep-count and -max-running-txns must be above 0")
	}
	if *tables != "" && !c.version {
		var err error
		if c.opt.Tables, err = emulator.ReadTables(*tables); err != nil {
			return c, err
		}
	}
	return c, nil
}

func versionsOf(d emulator.Dialect) string {
	return fmt.Sprintf("%s: %s (default %s)", d, strings.Join(emulator.Versions(d), ", "), emulator.DefaultVersion(d))
}

func list(text string) []string {
	var out []string
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one != "" {
			out = append(out, one)
		}
	}
	return out
}

func account(text string) (emulator.User, error) {
	name, rest, ok := strings.Cut(text, ":")
	// A password may hold colons, a list of databases may not.
	i := strings.LastIndex(rest, ":")
	if !ok || i < 0 || name == "" {
		return emulator.User{}, errors.New("want name:password:databases")
	}
	return emulator.User{Name: name, Password: rest[:i], Load: list(rest[i+1:])}, nil
}

func faultHelp() string {
	return "points: fe.before-answer fe.redirect be.headers be.begin be.body be.before-commit\n" +
		"be.after-commit be.answer be.2pc be.2pc-answer state cancel\n" +
		"actions everywhere: reset close hang delay http evict master-switch fe-down be-down be-restart\n" +
		"at some points: fail truncate publish-timeout too-many-versions txn-limit dead-be\n" +
		"no-backend set-state\n" +
		"keys: do times skip db table label op p keep commit-after for bytes status body\n" +
		"content-type location message\n" +
		"publish-timeout without for= keeps the rows of the load invisible for good;\n" +
		"with for=10s they become visible after that time"
}
