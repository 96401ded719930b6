// Package cases runs recorded failures of Stream Load users against the output:
// scripted servers on real sockets, the output as Benthos builds it, and a
// judgement of what came of it. All of it is tests; the README describes the
// format of the cases and how to run them.
package cases
