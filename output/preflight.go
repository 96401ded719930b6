package output

import (
	"context"

	"github.com/redpanda-data/benthos/v4/public/service"

	"github.com/dorisload/benthos-doris/preflight"
	"github.com/dorisload/benthos-doris/streamload"
)

// Preflight makes the subject of a preflight from a config that was parsed with Spec. The error names every problem of the config at once. Close
// its Client after use.
func Preflight(parsed *service.ParsedConfig) (preflight.Subject, error) {
	conf, err := parseConfig(parsed)
	if err != nil {
		return preflight.Subject{}, err
	}
	client, err := streamload.New(conf.client)
	if err != nil {
		return preflight.Subject{}, err
	}
	return conf.subject(client), nil
}

func (c config) subject(client *streamload.Client) preflight.Subject {
	s := preflight.Subject{Client: client, MaxInFlight: c.maxInFlight, Identity: c.label != nil}
	s.Database, _ = c.database.Static()
	s.Table, _ = c.table.Static()
	return s
}

// ConnectionTest is the preflight of the output: it fails for what keeps loads from running. It stores nothing.
func (o *output) ConnectionTest(ctx context.Context) service.ConnectionTestResults {
	if err := preflight.Run(ctx, o.conf.subject(o.client)).Err(); err != nil {
		return service.ConnectionTestFailed(err).AsList()
	}
	return service.ConnectionTestSucceeded().AsList()
}
