// Package stream holds the tests of whole pipelines: Benthos with the output doris_stream_load, loading into the emulator, in this
// process and as the programs that people run.
package stream
