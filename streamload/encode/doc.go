// Package encode turns rows into the body of one load and finds the rows that
// cannot be loaded.
//
// A row is the content of one message: a JSON object, or a ready CSV line.
// [Encode] looks at every row, joins the good ones into a [Body] in the order
// in which they came, and returns each bad one with its position and the
// reason, so that one bad row costs the others nothing. A row is rejected here
// only where sending it would harm: the server would refuse the whole load
// because of it, or would read it as something else than one row, or would drop
// it without a word. What a row means (its columns, types, duplicate keys) is
// the server's business and passes through byte for byte.
//
// A Body is replayable: [Body.Open] gives a fresh reader as often as needed,
// because a load may have to be sent more than once and each time with the very
// same bytes. It refers to the rows instead of copying them, so neither the
// rows nor the slice that holds them may change while a Body made from them is
// in use.
//
// The package is pure: no network, no clock, no randomness. Equal input gives
// equal output, on every machine.
package encode
