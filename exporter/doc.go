// Package exporter is the metrics exporter "prometheus" for Benthos, whose core has none: it serves the metrics of a pipeline under /metrics (and
// /stats) of the HTTP server that Benthos runs anyway, in the text format of Prometheus, and can push them to a Pushgateway or write them to a
// file at the end.
//
// Its name and fields are those of the exporter in Redpanda Connect, so that a config moves over. So do names and units: a timer keeps its name,
// which ends in _ns, and a summary of it is in nanoseconds; a histogram (use_histogram_timing) is in seconds, as its buckets are.
package exporter
