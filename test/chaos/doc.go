// Package chaos looks for rows that are lost, stored twice or never acknowledged: pipelines with the real output load into the emulator
// while faults strike at every point of the exchange, messages that were not acknowledged are delivered again in other compositions,
// and processes are killed.
//
// Everything about a run follows from its seed: the cluster, the fields of the output, how the input delivers again, which exchange meets
// which fault. What depends on the order in which goroutines and sockets get their turn does not.
//
// A seed stands for a scenario in each of the tests: TestChaos is Doris as it is used most, TestBadRows has rows that Doris refuses and that are
// isolated, TestStarRocks has the other dialect.
//
//	make chaos SEEDS=1000                                         many seeds
//	go test ./test/chaos -run 'TestChaos$' -chaos.seed=7 -v       one seed again, with a trace of all that happened
//	go test ./test/chaos -run 'TestKills$' -chaos.kills=20 -v     more of the runs in which a process is killed
package chaos
