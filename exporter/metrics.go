package exporter

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// What a metric is.
const (
	kindCounter = "counter"
	kindGauge   = "gauge"
	kindTimer   = "timer"
)

// The ends of the help texts of timers, whose names say _ns either way.
const (
	inSeconds     = " In seconds."
	inNanoseconds = " In nanoseconds."
)

type counter struct{ prometheus.Counter }

// Incr adds to the counter. One that went down would be taken for a restart, so what is negative adds nothing.
func (c counter) Incr(n int64) { c.IncrFloat64(float64(n)) }

// IncrFloat64 adds to the counter.
func (c counter) IncrFloat64(n float64) {
	if n > 0 {
		c.Add(n)
	}
}

type gauge struct{ prometheus.Gauge }

// Set sets the gauge.
func (g gauge) Set(n int64) { g.Gauge.Set(float64(n)) }

// SetFloat64 sets the gauge.
func (g gauge) SetFloat64(n float64) { g.Gauge.Set(n) }

type timer struct {
	prometheus.Observer

	unit float64 // in nanoseconds
}

// Timing observes nanoseconds.
func (t timer) Timing(ns int64) { t.Observe(float64(ns) / t.unit) }

// nothing is a metric that cannot be exported.
type nothing struct{}

// Incr does nothing.
func (nothing) Incr(int64) {}

// Set does nothing.
func (nothing) Set(int64) {}

// Timing does nothing.
func (nothing) Timing(int64) {}

// metricName is a name as Prometheus takes it in every version: letters, digits, "_" and ":", no digit first.
func metricName(name string) string { return legal(name, true) }

// labelName is the same for a label, which has no ":". Two names that Prometheus uses itself are changed, as it changes them.
func labelName(name string) string {
	name = legal(name, false)
	if name == "quantile" || name == "le" || strings.HasPrefix(name, "__") {
		return "exported_" + name
	}
	return name
}

func labelNames(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = labelName(name)
	}
	return out
}

// labelValue is a value as Prometheus takes it. Values come from messages, for instance names of tables.
func labelValue(value string) string { return strings.ToValidUTF8(value, "\uFFFD") }

func legal(name string, colon bool) string {
	out := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', colon && r == ':':
			return r
		default:
			return '_'
		}
	}, name)
	if out == "" || '0' <= out[0] && out[0] <= '9' {
		return "_" + out
	}
	return out
}

// repeated is a name that is there twice, "" when there is none.
func repeated(names []string) string {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return name
		}
	}
	return ""
}
