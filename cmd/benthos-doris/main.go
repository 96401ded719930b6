// Command benthos-doris is Benthos with the output doris_stream_load, also
// called starrocks_stream_load, in it, beside the generic components of Benthos (inputs and outputs for HTTP, files,
// sockets and subprocesses, all processors) and metrics for Prometheus. Run it
// without arguments to see its commands.
package main

import (
	"context"
	"fmt"
	"os"

	_ "github.com/redpanda-data/benthos/v4/public/components/io"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure"
	"github.com/redpanda-data/benthos/v4/public/service"

	"github.com/dorisload/benthos-doris/exporter"
	"github.com/dorisload/benthos-doris/output"
)

// outputNames are the names under which the output is registered.
var outputNames = []string{output.Name, output.StarRocksName}

const documentationURL = "https://github.com/dorisload/benthos-doris"

func main() {
	// Here and not in an init: of two components of one name the last to
	// register wins, and the order of inits depends on import paths.
	for _, name := range outputNames {
		if err := output.Register(service.GlobalEnvironment(), name); err != nil {
			fmt.Fprintf(os.Stderr, "registering %s: %v\n", name, err)
			os.Exit(1)
		}
	}

	// With it in there Benthos makes it the default: a config without metrics
	// has metrics for Prometheus, as in Redpanda Connect.
	if err := exporter.Register(service.GlobalEnvironment(), exporter.Name, helpOfMetrics()); err != nil {
		fmt.Fprintf(os.Stderr, "registering %s: %v\n", exporter.Name, err)
		os.Exit(1)
	}

	stamp := stampOf(version, date)
	service.RunCLI(
		context.Background(),
		service.CLIOptSetBinaryName("benthos-doris"),
		service.CLIOptSetProductName("benthos-doris"),
		service.CLIOptSetDocumentationURL(documentationURL),
		service.CLIOptSetVersion(stamp.String(), stamp.date),
		service.CLIOptAddCommand(checkCommand(os.Stdout, os.Stderr)),
		service.CLIOptSetDefaultConfigPaths(
			"/benthos-doris.yaml",
			"/etc/benthos-doris/config.yaml",
			"/etc/benthos-doris.yaml",
			"/benthos.yaml",
			"/etc/benthos/config.yaml",
			"/etc/benthos.yaml",
		),
	)
}

// helpOfMetrics is what the output says of its metrics, by name.
func helpOfMetrics() map[string]string {
	help := map[string]string{}
	for _, metric := range output.MetricsTable() {
		help[metric.Name] = metric.Help
	}
	return help
}
