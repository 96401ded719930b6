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
// rows nor the slice that holds them may change while a Body made from them, or
// a reader of it, is in use.
//
// The package is pure: no network, no clock, no randomness. Equal input gives
// equal output, on every machine.
//
// # JSON rows
//
// A row must be exactly one JSON object in UTF-8, nested at most 1024 levels
// and without the escape of half a surrogate pair, which servers do not take.
// White space around it is dropped. A line break inside it, which valid JSON
// can only have as white space, becomes a space in a copy of that one row: the
// server cuts the body at line breaks. Everything else stays as it is.
//
// # CSV rows
//
// A row must be one line that is not empty, in UTF-8 and without a byte order
// mark. One line delimiter is dropped from its end and, where that is "\n",
// also the carriage returns before it. The line delimiter may stand elsewhere
// in the row only inside a quoted cell, and every quoted cell must be closed, as
// an open one would swallow the rows that follow. Where the number of columns is
// known, a row must have as many cells.
//
// A [CellWriter] makes such rows of cells.
//
// # Whole bodies
//
// In the formats of which a message is a whole file, a body has one row, which is
// sent as it is.
//
// # Compression
//
// A [Compressor] makes a [Packed] body of a Body: one compressed stream, held in
// memory, because its length must be known before the first byte is sent.
package encode
