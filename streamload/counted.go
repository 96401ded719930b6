package streamload

import (
	"strconv"
	"strings"

	"github.com/dorisload/benthos-doris/streamload/internal/answer"
)

// counting is how the rows that a server counts compare with those that were sent. A server counts what it makes of a body, which is not
// always what went into it, so its counts are only compared as far as the settings fix them:
//
//   - A line of JSON and a line of CSV are one row each, and so is each object of an outer array: these have to be counted exactly. What the server
//     filters, or leaves out by "where", is in its total too (be stream_load_executor.cpp).
//   - skip_lines takes lines of CSV away, from the start of each load, before they are counted (be csv_reader.cpp): anything from the rest up to all
//     of them is right.
//   - json_root may lead to an array in each row, or to nothing; jsonpaths may match nothing. So more or fewer rows prove nothing, but none at
//     all is never right: the server has stored nothing of what was sent.
//   - In group commit loads share a transaction, and nobody says whose rows its counts are about. None at all is not right there either.
//   - Of any other format only the server knows how many rows there are.
type counting struct {
	skipped int64 // lines that need not be counted
	exact   bool  // no more and no fewer than these
	unknown bool  // even none may be right
}

func (o Options) counting() counting {
	set := o.optional()
	for name, value := range o.Headers {
		set[strings.ToLower(name)] = value
	}
	c := counting{exact: !o.Unlabelled()}
	switch o.Format {
	case "json":
		c.exact = c.exact && set["json_root"] == "" && set["jsonpaths"] == ""
	case "csv":
		for _, name := range []string{"skip_lines", "skip_header"} { // of Doris, of StarRocks
			if n, err := strconv.ParseInt(set[name], 10, 32); err == nil {
				c.skipped = max(n, 0)
			}
		}
	default:
		c.exact, c.unknown = false, true
	}
	return c
}

// of is what is right for so many rows.
func (c counting) of(rows int64) counted {
	least := max(rows-c.skipped, 0)
	if c.unknown {
		least = 0
	}
	return counted{rows: rows, least: least, exact: c.exact}
}

// counted is what is right for the rows of one load.
type counted struct {
	rows  int64 // that were sent
	least int64 // that have to be counted; 0: none need be
	exact bool  // the counts are between least and rows
}

// unaccounted is how many rows are missing in the counts of an answer or, negative, too many; 0 where that cannot be told.
func (c counted) unaccounted(a answer.Load) int64 {
	if !c.exact || !a.HasCounts {
		return 0
	}
	switch n := max(a.Total, a.Loaded+a.Filtered+a.Unselected); {
	case n < c.least:
		return c.least - n
	case n > c.rows:
		return c.rows - n
	default:
		return 0
	}
}
