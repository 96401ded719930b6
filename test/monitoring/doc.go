// Package monitoring looks at the metrics of a pipeline as Prometheus scrapes
// them, and holds the dashboard and the alert rules in resources against them.
package monitoring
