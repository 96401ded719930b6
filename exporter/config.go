package exporter

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
)

// config is what the fields say.
type config struct {
	histogram  bool
	buckets    []float64           // seconds; empty for the defaults
	objectives map[float64]float64 // quantile to error
	process    bool
	goRuntime  bool
	push       *pushConfig // nil for none
	file       string
}

// pushConfig says how to push to a Pushgateway.
type pushConfig struct {
	url                string // without user and password
	every              time.Duration
	job                string
	username, password string
}

// parseConfig reads all fields. Its error names every problem, one a line.
func parseConfig(parsed *service.ParsedConfig) (config, error) {
	r := &reader{parsed: parsed}
	conf := config{
		histogram: read(r, parsed.FieldBool, fieldHistogram),
		buckets:   r.buckets(),
		process:   read(r, parsed.FieldBool, fieldProcess),
		goRuntime: read(r, parsed.FieldBool, fieldGo),
		push:      r.push(),
		file:      read(r, parsed.FieldString, fieldFile),
	}
	conf.objectives = r.objectives()
	return conf, errors.Join(r.problems...)
}

// reader reads fields and keeps what is wrong with them.
type reader struct {
	parsed   *service.ParsedConfig
	problems []error
}

func (r *reader) bad(field, format string, args ...any) {
	r.problems = append(r.problems, fmt.Errorf(field+" "+format, args...))
}

// read gets one field; the errors of the getters name the field.
func read[T any](r *reader, get func(...string) (T, error), path ...string) T {
	v, err := get(path...)
	if err != nil {
		r.problems = append(r.problems, err)
	}
	return v
}

func (r *reader) buckets() []float64 {
	bounds := read(r, r.parsed.FieldFloatList, fieldBuckets)
	for i, bound := range bounds {
		switch {
		case math.IsNaN(bound):
			r.bad(fieldBuckets, "[%d] is no number", i)
		case i > 0 && bound <= bounds[i-1]:
			r.bad(fieldBuckets, "[%d] is %v, which does not rise above the %v before it", i, bound, bounds[i-1])
		}
	}
	return bounds
}

func (r *reader) objectives() map[float64]float64 {
	objectives := map[float64]float64{}
	for i, o := range read(r, r.parsed.FieldObjectList, fieldObjectives) {
		quantile, err := o.FieldFloat(fieldQuantile)
		if err != nil {
			r.problems = append(r.problems, err)
			continue
		}
		tolerance, err := o.FieldFloat(fieldError)
		if err != nil {
			r.problems = append(r.problems, err)
			continue
		}
		if !(quantile >= 0 && quantile <= 1) {
			r.bad(fieldObjectives, "[%d] has the quantile %v; it must be between 0 and 1", i, quantile)
		}
		if !(tolerance >= 0 && tolerance <= 1) {
			r.bad(fieldObjectives, "[%d] has the error %v; it must be between 0 and 1", i, tolerance)
		}
		objectives[quantile] = tolerance
	}
	return objectives
}

func (r *reader) push() *pushConfig {
	text := ""
	if r.parsed.Contains(fieldPushURL) {
		text = read(r, r.parsed.FieldString, fieldPushURL)
	}
	p := &pushConfig{
		job:      read(r, r.parsed.FieldString, fieldPushJob),
		username: read(r, r.parsed.FieldString, fieldPushAuth, fieldUsername),
		password: read(r, r.parsed.FieldString, fieldPushAuth, fieldPassword),
	}
	if r.parsed.Contains(fieldPushEvery) {
		p.every = r.interval()
	}
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		// Without the text: there may be a password in it.
		r.bad(fieldPushURL, "is no address; write for instance http://localhost:9091")
		return nil
	}
	if u.User != nil && p.username == "" {
		p.username = u.User.Username()
		p.password, _ = u.User.Password()
	}
	u.User = nil
	p.url = u.String()
	if p.job == "" {
		r.bad(fieldPushJob, "is empty")
	}
	return p
}

// interval reads push_interval; an empty one is none.
func (r *reader) interval() time.Duration {
	text := read(r, r.parsed.FieldString, fieldPushEvery)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		r.bad(fieldPushEvery, "is %q, which is no duration; write for instance 15s", text)
	case d <= 0:
		r.bad(fieldPushEvery, "is %s; it must be more than 0", d)
	default:
		return d
	}
	return 0
}
