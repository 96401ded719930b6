package exporter

import (
	"github.com/redpanda-data/benthos/v4/public/service"
)

// Name is what the exporter is called in a config.
const Name = "prometheus"

// The fields of the config.
const (
	fieldHistogram  = "use_histogram_timing"
	fieldBuckets    = "histogram_buckets"
	fieldObjectives = "summary_quantiles_objectives"
	fieldQuantile   = "quantile"
	fieldError      = "error"
	fieldProcess    = "add_process_metrics"
	fieldGo         = "add_go_metrics"
	fieldPushURL    = "push_url"
	fieldPushEvery  = "push_interval"
	fieldPushJob    = "push_job_name"
	fieldPushAuth   = "push_basic_auth"
	fieldUsername   = "username"
	fieldPassword   = "password"
	fieldFile       = "file_output_path"
)

// Spec describes the config of the exporter.
func Spec() *service.ConfigSpec {
	return service.NewConfigSpec().
		Beta().
		Summary("Serves metrics for Prometheus under `/metrics` and `/stats` of the HTTP server of Benthos.").
		Description("Names and fields are those of the exporter in Redpanda Connect. A timer is a summary in nanoseconds, as its name says (`_ns`), or with `use_histogram_timing` a histogram in seconds.").
		Fields(
			service.NewBoolField(fieldHistogram).
				Description("Export timers as histograms, in seconds, and not as summaries, in nanoseconds. The former can be added up over several processes.").
				Advanced().Default(false),
			service.NewFloatListField(fieldBuckets).
				Description("The upper bounds of the buckets of histograms in seconds, in rising order; none are those of the Prometheus client, 5 ms to 10 s.").
				Advanced().Default([]any{}),
			service.NewObjectListField(fieldObjectives,
				service.NewFloatField(fieldQuantile).Description("The quantile, between 0 and 1.").Default(0.0),
				service.NewFloatField(fieldError).Description("How far off the answer may be, as a quantile.").Default(0.0),
			).
				Description("The quantiles that summaries have, over the last ten minutes.").
				Advanced().Default([]any{
				map[string]any{fieldQuantile: 0.5, fieldError: 0.05},
				map[string]any{fieldQuantile: 0.9, fieldError: 0.01},
				map[string]any{fieldQuantile: 0.99, fieldError: 0.001},
			}),
			service.NewBoolField(fieldProcess).
				Description("Add metrics of the process, such as its CPU time, memory and open files.").
				Advanced().Default(false),
			service.NewBoolField(fieldGo).
				Description("Add metrics of the Go runtime, such as its garbage collections and goroutines.").
				Advanced().Default(false),
			service.NewURLField(fieldPushURL).
				Description("A Pushgateway to send the metrics to, besides serving them: at the end and, with `push_interval`, before.").
				Advanced().Optional(),
			service.NewDurationField(fieldPushEvery).
				Description("How often to push; without it once, when the process ends.").
				Advanced().Optional().Example("15s"),
			service.NewStringField(fieldPushJob).
				Description("The job that the Pushgateway files the metrics under.").
				Advanced().Default("benthos_push"),
			service.NewObjectField(fieldPushAuth,
				service.NewStringField(fieldUsername).Description("The user; empty for none.").Default(""),
				service.NewStringField(fieldPassword).Description("The password.").Secret().Default(""),
			).
				Description("The account at the Pushgateway.").
				Advanced(),
			service.NewStringField(fieldFile).
				Description("A file to write the metrics to when the process ends.").
				Advanced().Default(""),
		)
}

// Register adds the exporter to an environment under a name; one that has the name already is replaced without a word. The help texts are
// shown with the metrics of these names, Benthos itself gives none.
func Register(env *service.Environment, name string, help map[string]string) error {
	return env.RegisterMetricsExporter(name, Spec(), func(parsed *service.ParsedConfig, log *service.Logger) (service.MetricsExporter, error) {
		return newExporter(parsed, log, help)
	})
}
