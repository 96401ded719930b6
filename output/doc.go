// Package output is the Benthos output doris_stream_load, which loads the messages of a pipeline into Apache Doris.
//
// Importing the package registers the output in Benthos' global environment:
//
//	import _ "github.com/dorisload/benthos-doris/output"
//
// # The name
//
// Redpanda Connect bundles an output of the same name. Benthos does not complain about a second component of a name: the
// last one to register wins, silently. Packages are initialised in the order of their import paths, so in a program that
// contains both it is luck which one runs. Call Register in main, after all packages are initialised, to be sure; or
// register under a name of your own:
//
//	err := output.Register(service.GlobalEnvironment(), "doris")
//
// The fields that both have are named and meant alike. Which of the two runs can be seen in the log: this one names itself and its
// version when it starts.
//
// # What the pipeline sees
//
// A batch becomes one load for each table that its messages name, or a part of one: batches that are written at the same time are joined into
// one load for each table. WriteBatch returns nil when every row is committed, or else a
// *service.BatchError over the very batch it was given, in which each message that failed has its own reason and all others
// count as delivered. A message is failed only when its row cannot be loaded, when retries are used up, or when nobody can say
// whether it is stored; retries happen inside, with the label of the load in mind, because a message that is
// given back to Benthos and comes again has lost it (see package streamload).
//
// The headline of the error, which Benthos logs and which the error_patterns of the drop_on output see, begins with the class of the
// failure (data_quality, schema, auth, not_found, capacity, timeout, unavailable, label, protocol, too_large, unknown).
// When messages failed for reasons of several classes it begins with "mixed" and names none of them, so that a pattern
// for one class never drops messages that failed for another reason. A headline never quotes rows; the errors of the
// single messages, which the fallback output hands on as fallback_error, may.
package output
