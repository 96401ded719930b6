// Package bench measures what the output costs: CPU, throughput, latency,
// allocations and memory, each as a ratio to a peer that does the same work in
// the same run. It needs Linux.
//
//	make bench                       every benchmark, into bin/bench.txt
//	go test ./test/bench             what must hold on any machine: no byte to
//	                                 an FE, allocations, answers that arrive
//
// The peers are the http_client output of Benthos with the rows joined by
// archive: lines, a plain PUT of one ready buffer with net/http straight to the
// BE, and the same bytes written to a bare TCP connection. FE and BE are played
// by another process, which answers as Doris does and throws the rows away, so
// that the CPU time of this process is that of the client alone.
//
// A benchmark goes in rounds. In each round every peer runs once, one after
// the other, in an order that moves on from round to round; a reported ratio is
// the median over the rounds of the ratios inside a round. Only ratios mean
// something: absolute numbers of a machine that does other things drift by tens
// of percents.
package bench
