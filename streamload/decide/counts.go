package decide

import "github.com/dorisload/benthos-doris/streamload/internal/answer"

// Counts is what an answer that claims a success says about how many rows it is about.
//
// A load of no rows is a success too: it is committed, and takes its label (Doris since 1.0; before that it failed with "all partitions have no
// load data"). So a success that counts nothing is no evidence for rows that were sent. It is what a json_root leads to that no row
// has, or something on the way that did not pass the body on.
type Counts uint8

const (
	// CountsFit: nothing in the answer speaks against it, or it counts nothing at all (older servers, proxies that cut answers down).
	CountsFit Counts = iota
	// CountsNothing: no row was counted of a body in which some have to be, or no byte of it.
	CountsNothing
	// CountsClash: rows were counted, and yet no byte was received. That says nothing.
	CountsClash
)

// CountsOf judges the counts of an attempt that claims a success.
func CountsOf(a Attempt) Counts {
	if a.Rows <= 0 || !a.HasAnswer || a.Load.Word != answer.Success && a.Load.Word != answer.PublishTimeout {
		return CountsFit
	}
	l := a.Load
	noRows := l.HasCounts && max(l.Total, l.Loaded, l.Filtered, l.Unselected) <= 0
	noBytes := l.HasBytes && l.LoadBytes <= 0
	switch {
	case noRows, noBytes && !l.HasCounts:
		return CountsNothing
	case noBytes:
		return CountsClash
	default:
		return CountsFit
	}
}
