// Command docsgen writes the parts of the docs that are told by the code: the
// reference page of the output, the tables between markers in README.md and
// docs/, and the JSON Schema for editors. With -check it writes nothing and fails if a page is out of date.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"sync"

	// What benthos-doris has in it.
	_ "github.com/redpanda-data/benthos/v4/public/components/io"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure"
	"github.com/redpanda-data/benthos/v4/public/service"

	"github.com/dorisload/benthos-doris/exporter"
	"github.com/dorisload/benthos-doris/output"
)

func main() {
	root := flag.String("root", ".", "folder of the repository")
	check := flag.Bool("check", false, "write nothing, fail if a page is out of date")
	flag.Parse()

	if err := run(*root, *check, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "docsgen:", err)
		os.Exit(1)
	}
}

// run brings the pages below root up to date, or with check shows on out what
// that would change and fails if it is anything.
func run(root string, check bool, out io.Writer) error {
	src, err := describe()
	if err != nil {
		return err
	}
	pages, err := plan(root, src)
	if err != nil {
		return err
	}

	stale := 0
	for _, p := range pages {
		if p.have == p.new {
			continue
		}
		stale++
		if check {
			if _, err := io.WriteString(out, diff(p.path, p.have, p.new)); err != nil {
				return err
			}
			continue
		}
		if err := write(root, p.path, p.new); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, "wrote", p.path); err != nil {
			return err
		}
	}
	if check && stale > 0 {
		return fmt.Errorf("pages out of date: %d; run `make docs`", stale)
	}
	return nil
}

// registerExporter puts the exporter where Benthos finds it: of metrics it knows only what is in the global environment. Once, because it is
// looked up there without a lock.
var registerExporter = sync.OnceValue(func() error {
	return exporter.Register(service.GlobalEnvironment(), exporter.Name, nil)
})

// describe asks the code for everything that the docs say of it.
func describe() (source, error) {
	env := service.NewEmptyEnvironment()
	if err := output.Register(env, output.Name); err != nil {
		return source{}, err
	}
	described, err := readOutput(env, output.Name)
	if err != nil {
		return source{}, err
	}
	if err := registerExporter(); err != nil {
		return source{}, err
	}
	view, ok := service.GlobalEnvironment().GetMetricsConfig(exporter.Name)
	if !ok {
		return source{}, fmt.Errorf("no metrics %q are registered", exporter.Name)
	}
	metricsExporter, err := readView(exporter.Name, view)
	if err != nil {
		return source{}, err
	}
	schema, err := jsonSchema(service.GlobalEnvironment(), output.Name, output.StarRocksName, exporter.Name)
	if err != nil {
		return source{}, err
	}
	return source{
		schema: schema,
		output: described,
		tables: []namedTable{
			{name: "options", text: optionTable(described)},
			classes(), metrics(),
			{name: "exporter", text: flatTable(metricsExporter)},
		},
	}, nil
}
