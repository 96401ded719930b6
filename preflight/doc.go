// Package preflight looks, before rows are sent, at everything that loads into a table need: FEs, account, table, columns, the way to the BEs,
// and how long labels are remembered. It says what it found, and what to do about it. Nothing is stored, except with Subject.Load a load of no rows.
//
// It knows nothing of pipelines: package output uses it for the connection test of Benthos, and the command "check" of benthos-doris for people.
package preflight
