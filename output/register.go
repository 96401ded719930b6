package output

import (
	"github.com/redpanda-data/benthos/v4/public/service"
)

// Name is what the output is called in a config. Under StarRocksName it is the same, but its dialect is that of StarRocks unless the config says
// otherwise.
const (
	Name          = "doris_stream_load"
	StarRocksName = "starrocks_stream_load"
)

func init() {
	for _, name := range []string{Name, StarRocksName} {
		if err := Register(service.GlobalEnvironment(), name); err != nil {
			panic(err) // the spec of this package itself is broken
		}
	}
}

// Register adds the output to an environment under a name: lower case letters, digits and single underscores. An output that
// has the name already is replaced without a word.
func Register(env *service.Environment, name string) error {
	return env.RegisterBatchOutput(name, SpecFor(name), New)
}

// SpecFor is StarRocksSpec for StarRocksName, and Spec for any other name.
func SpecFor(name string) *service.ConfigSpec {
	if name == StarRocksName {
		return StarRocksSpec()
	}
	return Spec()
}

// New makes the output from a config that was parsed with Spec; it is what Register gives to Benthos. It returns how to batch, and how many
// batches may be written at a time. The error names every problem of the config at once. It opens no connection and starts no goroutine: a
// config may be constructed only to be checked.
func New(parsed *service.ParsedConfig, mgr *service.Resources) (service.BatchOutput, service.BatchPolicy, int, error) {
	conf, err := parseConfig(parsed)
	if err != nil {
		return nil, service.BatchPolicy{}, 0, err
	}
	out, err := newOutput(conf, mgr)
	if err != nil {
		return nil, service.BatchPolicy{}, 0, err
	}
	return out, conf.batching, conf.parallel(), nil
}
