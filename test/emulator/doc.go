// Package emulator is Apache Doris as a Stream Load client sees it: frontends
// and backends over HTTP, in memory, with transactions, labels, typed tables and
// faults on demand. It is for trying pipelines, for demonstrations and for tests;
// the rows are gone when it is closed.
package emulator
