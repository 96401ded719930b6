package exporter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redpanda-data/benthos/v4/public/service"
)

// exporter keeps the metrics of a process and hands them to Prometheus.
type exporter struct {
	conf     config
	help     map[string]string // by the name that Benthos knows
	log      *service.Logger
	registry *prometheus.Registry
	pusher   *pusher // nil when nothing is pushed

	mu sync.Mutex
	// kinds are what the metrics of each name are: a name that is a counter cannot be a gauge too.
	kinds map[string]string
	// families are the metrics, by name and names of labels: components that export the same name with other labels each have their own.
	families map[string]family
}

var (
	_ service.MetricsExporter              = (*exporter)(nil)
	_ service.MetricsExporterSeriesDeleter = (*exporter)(nil)
)

// family is all metrics of one name and the same labels.
type family interface {
	prometheus.Collector
	DeletePartialMatch(prometheus.Labels) int
}

// newExporter makes the exporter. The error names every problem of the config at once.
func newExporter(parsed *service.ParsedConfig, log *service.Logger, help map[string]string) (*exporter, error) {
	conf, err := parseConfig(parsed)
	if err != nil {
		return nil, err
	}
	e := &exporter{
		conf:     conf,
		help:     help,
		log:      log,
		registry: prometheus.NewRegistry(),
		kinds:    map[string]string{},
		families: map[string]family{},
	}
	if conf.process {
		e.registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	if conf.goRuntime {
		e.registry.MustRegister(collectors.NewGoCollector())
	}
	if conf.push != nil {
		e.pusher = newPusher(*conf.push, e.registry, log)
	}
	return e, nil
}

// HandlerFunc answers a scrape; Benthos serves it under /metrics and /stats.
func (e *exporter) HandlerFunc() http.HandlerFunc {
	return promhttp.HandlerFor(e.registry, promhttp.HandlerOpts{
		// One metric that cannot be had takes nothing away from the others.
		ErrorHandling: promhttp.ContinueOnError,
		ErrorLog:      scrapeLog{e.log},
	}).ServeHTTP
}

// scrapeLog is where a scrape says what went wrong.
type scrapeLog struct{ log *service.Logger }

// Println logs an error of a scrape.
func (l scrapeLog) Println(v ...any) {
	l.log.Errorf("Some metrics cannot be shown to Prometheus: %s", strings.TrimSpace(fmt.Sprintln(v...)))
}

// Close pushes the metrics and writes them to the file, where that is asked for.
func (e *exporter) Close(ctx context.Context) error {
	var problems []error
	if e.pusher != nil {
		problems = append(problems, e.pusher.close(ctx))
	}
	if e.conf.file != "" {
		if err := prometheus.WriteToTextfile(e.conf.file, e.registry); err != nil {
			problems = append(problems, fmt.Errorf("writing the metrics to %s: %w", fieldFile, err))
		}
	}
	err := errors.Join(problems...)
	if err != nil {
		// Benthos throws the error of the last Close away.
		e.log.Error(err.Error())
	}
	return err
}

// DeleteSeriesPartialMatch forgets all metrics that have these labels. Benthos calls it when a stream is removed.
func (e *exporter) DeleteSeriesPartialMatch(labels map[string]string) {
	match := prometheus.Labels{}
	for name, value := range labels {
		match[labelName(name)] = labelValue(value)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range e.families {
		f.DeletePartialMatch(match)
	}
}

// NewCounterCtor makes a counter; its name stays as it is, without _total at its end.
func (e *exporter) NewCounterCtor(name string, labels ...string) service.MetricsExporterCounterCtor {
	vec := register(e, kindCounter, name, labels, func(name, help string, labels []string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	})
	if vec == nil {
		return func(...string) service.MetricsExporterCounter { return nothing{} }
	}
	return func(values ...string) service.MetricsExporterCounter {
		if c := metric(e, name, vec.GetMetricWithLabelValues, values); c != nil {
			return counter{c}
		}
		return nothing{}
	}
}

// NewGaugeCtor makes a gauge.
func (e *exporter) NewGaugeCtor(name string, labels ...string) service.MetricsExporterGaugeCtor {
	vec := register(e, kindGauge, name, labels, func(name, help string, labels []string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	})
	if vec == nil {
		return func(...string) service.MetricsExporterGauge { return nothing{} }
	}
	return func(values ...string) service.MetricsExporterGauge {
		if g := metric(e, name, vec.GetMetricWithLabelValues, values); g != nil {
			return gauge{g}
		}
		return nothing{}
	}
}

// NewTimerCtor makes a timer: a summary in nanoseconds, or a histogram in seconds.
func (e *exporter) NewTimerCtor(name string, labels ...string) service.MetricsExporterTimerCtor {
	if e.conf.histogram {
		vec := register(e, kindTimer, name, labels, func(name, help string, labels []string) *prometheus.HistogramVec {
			return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help + inSeconds, Buckets: e.conf.buckets}, labels)
		})
		if vec == nil {
			return func(...string) service.MetricsExporterTimer { return nothing{} }
		}
		return e.timers(name, vec.GetMetricWithLabelValues, time.Second)
	}
	vec := register(e, kindTimer, name, labels, func(name, help string, labels []string) *prometheus.SummaryVec {
		return prometheus.NewSummaryVec(prometheus.SummaryOpts{Name: name, Help: help + inNanoseconds, Objectives: e.conf.objectives}, labels)
	})
	if vec == nil {
		return func(...string) service.MetricsExporterTimer { return nothing{} }
	}
	return e.timers(name, vec.GetMetricWithLabelValues, time.Nanosecond)
}

func (e *exporter) timers(name string, get func(...string) (prometheus.Observer, error), unit time.Duration) service.MetricsExporterTimerCtor {
	return func(values ...string) service.MetricsExporterTimer {
		if o := metric(e, name, get, values); o != nil {
			return timer{o, float64(unit)}
		}
		return nothing{}
	}
}

// register finds or makes the metrics of a name and labels. It is nil, and the log says why, when there can be none; a pipeline runs on
// without a metric.
func register[V any, P interface {
	*V
	family
}](e *exporter, kind, name string, labels []string, build func(name, help string, labels []string) P,
) P {
	shown, labels := metricName(name), labelNames(labels)
	id := shown + "{" + strings.Join(labels, ",") + "}"
	e.mu.Lock()
	defer e.mu.Unlock()
	if known, ok := e.families[id].(P); ok {
		return known
	}
	if was := e.kinds[shown]; was != "" && was != kind {
		e.log.Errorf("The metric %s is not exported as a %s: there is a %s of this name", shown, kind, was)
		return nil
	}
	if twice := repeated(labels); twice != "" {
		e.log.Errorf("The metric %s is not exported: it has the label %s twice", shown, twice)
		return nil
	}
	help := e.help[name]
	if help == "" {
		help = "A " + kind + " of Benthos."
	}
	made := build(shown, help, labels)
	if err := e.registry.Register(anyLabels{made}); err != nil {
		e.log.Errorf("The metric %s is not exported: %v", shown, err)
		return nil
	}
	e.kinds[shown], e.families[id] = kind, made
	return made
}

// anyLabels hides what a family looks like from the registry, which would otherwise refuse a second one of the same name with other labels:
// Benthos has such, and Prometheus reads them well.
type anyLabels struct{ prometheus.Collector }

// Describe says nothing.
func (anyLabels) Describe(chan<- *prometheus.Desc) {}

// metric finds or makes the metric with these values of its labels, nil when there can be none.
func metric[M any](e *exporter, name string, get func(...string) (M, error), values []string) M {
	clean := values
	for i, value := range values {
		if valid := labelValue(value); valid != value {
			if &clean[0] == &values[0] {
				clean = append([]string(nil), values...)
			}
			clean[i] = valid
		}
	}
	m, err := get(clean...)
	if err != nil {
		e.log.Errorf("The metric %s is not counted: %v", metricName(name), err)
		var none M
		return none
	}
	return m
}
