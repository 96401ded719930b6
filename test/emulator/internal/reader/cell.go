// Package reader turns the body of a load into rows of cells, the way the
// file readers of a Doris BE do: a row that cannot be read is reported as one
// bad row and reading goes on.
package reader

// Cell is one value as it stands in the body, before it is converted to the
// type of a column. Numbers keep their digits, true and false are "1" and "0",
// nested JSON values are their text.
type Cell struct {
	// Text is the value; empty when Null or Missing is set.
	Text string
	// Null says that the body holds an explicit NULL (JSON null, CSV \N).
	Null bool
	// Missing says that the body has no such field (JSON only).
	Missing bool
}

// Row is one row of the body: either Cells, one for each wanted column, or the
// reason why it could not be read.
type Row struct {
	Cells []Cell
	// Bad is the reason for the error log; empty for a good row.
	Bad string
	// Src is the source text that the error log shows.
	Src string
}

// Yield takes the next row and says whether reading goes on.
type Yield func(Row) bool
