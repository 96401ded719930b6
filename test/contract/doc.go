// Package contract holds the scenarios of a delivery: the client of package streamload against servers, over real sockets.
//
// Most servers here are the emulator with a fault in it. Where an answer has to be exact to the byte, or no Doris would give
// it, a small scripted server stands in; where a proxy is what goes wrong, a small gateway stands before the emulator.
// The scenarios that need no fault are run against a real cluster as well when DORIS_FE_URL names one (with DORIS_USER,
// DORIS_PASSWORD and DORIS_DB; tables are made in that database and dropped again).
package contract
