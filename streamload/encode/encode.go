package encode

import (
	"errors"
	"fmt"
	"slices"
)

// Format is the form of the rows and of the body made of them.
type Format uint8

const (
	// JSON: a row is one JSON object.
	JSON Format = iota
	// CSV: a row is one line, its cells already separated and quoted.
	CSV
	// CSVWithNames: a row is a whole CSV file whose first line the server skips.
	CSVWithNames
	// CSVWithNamesAndTypes: a row is a whole CSV file whose first two lines the
	// server skips.
	CSVWithNamesAndTypes
	// Parquet: a row is a whole file.
	Parquet
	// ORC: a row is a whole file.
	ORC
	// Arrow: a row is a whole Arrow IPC stream.
	Arrow
)

var formatNames = [...]string{"json", "csv", "csv_with_names", "csv_with_names_and_types", "parquet", "orc", "arrow"}

// String returns the server's own name of the format, as in its header
// "format".
func (f Format) String() string {
	if int(f) < len(formatNames) {
		return formatNames[f]
	}
	return fmt.Sprintf("format(%d)", uint8(f))
}

// ParseFormat finds a format by the name that String gives.
func ParseFormat(name string) (f Format, ok bool) {
	i := slices.Index(formatNames[:], name)
	return Format(max(i, 0)), i >= 0
}

// Whole is true for the formats of which a row is a whole body. Such a body holds
// one row of [Encode], however many rows of a table that are.
func (f Format) Whole() bool { return f >= CSVWithNames && f <= Arrow }

// Delimited is true for the formats that are CSV.
func (f Format) Delimited() bool { return f >= CSV && f <= CSVWithNamesAndTypes }

// Options says what the rows are and how the body is laid out. The zero value
// is JSON, one object a line, validated.
type Options struct {
	// Format of the rows. Default JSON.
	Format Format

	// StripOuterArray lays a JSON body out as one array of objects, for a load
	// with the header strip_outer_array. Default false: one object a line, for
	// read_json_by_line.
	StripOuterArray bool

	// Dialect is whose CSV reader will read the rows. Default Doris.
	Dialect Dialect

	// ColumnSeparator stands between the cells of a CSV row: the bytes
	// themselves, not an escaped form such as \x01. Default ",".
	ColumnSeparator string

	// LineDelimiter stands between the rows of a CSV body: the bytes
	// themselves. Default "\n".
	LineDelimiter string

	// Enclose is the byte that quotes CSV cells. Default 0: none.
	Enclose byte

	// Escape is the byte that takes the meaning from the byte that follows it
	// inside a quoted CSV cell. Default 0: none.
	Escape byte

	// TrimDoubleQuotes says that the load asks for trim_double_quotes, which
	// takes quotes off the cells of CSV. Only [CellWriter] looks at it.
	TrimDoubleQuotes bool

	// Columns is how many cells a CSV row must have. Default 0: any number.
	Columns int

	// SkipValidation reduces the checks of a JSON row to its frame: it begins
	// with { and ends with }. What lies between is then the caller's word; a
	// second document in one row, for one, is dropped by the server without an
	// error. A row with line breaks is still validated in full, because only in
	// valid JSON can they be replaced. Default false: a row must be one valid
	// object.
	SkipValidation bool

	// ManyRows says that each row of the input is any number of lines, each of
	// them a row of its own; the last line may have a delimiter behind it. It is
	// for JSON by line and for CSV. The lines stay together: one that cannot be
	// loaded rejects all of them. Empty lines, of JSON also those of white space,
	// are left out. Default false: a row is one row.
	ManyRows bool

	// Hash makes Encode hash each row right after it has looked at it, for
	// [Body.Digest]. That costs much less than hashing the rows later, when they
	// have left the processor's cache. Default false: Digest does it.
	Hash bool
}

// RowError is a row that was left out of the body.
type RowError struct {
	// Index is the position of the row in the input of [Encode], from 0.
	Index int
	// Err says what is wrong with the row. Its text is short whatever the row
	// holds, valid UTF-8, and quotes at most 100 bytes.
	Err error
	// Lines is about how many lines are left out with it, where a row is any
	// number of lines; else 0.
	Lines int
}

// Error returns the reason with the position of the row.
func (e RowError) Error() string {
	if e.Lines > 0 {
		return fmt.Sprintf("message %d: %v", e.Index, e.Err)
	}
	return fmt.Sprintf("row %d: %v", e.Index, e.Err)
}

// Count returns how many rows of the table are left out with it, about.
func (e RowError) Count() int { return max(e.Lines, 1) }

// Unwrap returns the reason alone.
func (e RowError) Unwrap() error { return e.Err }

// checker judges one row: it returns the row as it shall stand in the body,
// which is the row itself or a part of it wherever that is possible, or what is
// wrong with it.
type checker interface {
	check(row []byte) ([]byte, error)
}

// Encode makes the body of all rows that can be loaded, in their order. The
// rows that cannot be are returned, sorted by index. Every row is in exactly one
// of the two.
//
// (Only rows of many lines that hold no row at all are in neither.)
//
// The rows are not modified. The body refers to them and to the slice itself;
// see the package documentation. If no row is left, the body has length 0 in
// every layout and there is nothing to load.
func Encode(rows [][]byte, o Options) (b Body, rejected []RowError) {
	var c checker
	var l layout
	var many *manyChecker
	var known ahead
	switch {
	case o.ManyRows && o.Format == JSON && !o.StripOuterArray:
		many, l = newManyJSON(o), jsonLines
		c = many
	case o.ManyRows && o.Format == CSV:
		many = newManyCSV(o)
		c, l = many, layout{between: many.delimiter}
	case o.ManyRows:
		c = manyOf(o.Format)
	case o.Format == JSON:
		j := jsonChecker{skipValidation: o.SkipValidation}
		if !o.Hash { // a hash is cheap only while the row is in the processor's cache
			known = lookAhead(rows, j)
		}
		c, l = j, jsonLines
		if o.StripOuterArray {
			l = jsonArray
		}
	case o.Format == CSV:
		cc := newCSVChecker(o)
		c, l = cc, layout{between: cc.delimiter}
	default:
		c = unknownFormat(o.Format)
		if o.Format.Whole() {
			c = &wholeChecker{format: o.Format}
		}
	}

	var h *hash
	if o.Hash {
		h = newHash()
	}
	s := selection{in: rows}
	var lines []int
	good := 0 // rows before it are known to be good as they are
	for i, row := range rows {
		if i >= good {
			good = known.until(i, len(rows))
		}
		if i < good { // no row is hashed: see where known comes from
			s.keep(i, row)
			continue
		}
		out, err := c.check(row)
		if err != nil {
			bad := RowError{Index: i, Err: err}
			if many != nil {
				bad.Lines = many.lines
			}
			rejected = append(rejected, bad)
			s.skipped = append(s.skipped, i)
			continue
		}
		if many != nil {
			if many.lines == 0 {
				s.skipped = append(s.skipped, i)
				continue
			}
			lines = append(lines, many.lines)
		}
		s.keep(i, out)
		if h != nil {
			h.row(out)
		}
	}
	b = newBody(s.rows(), s.skipped, l)
	b.lines = lines
	if h != nil {
		b.hash, b.hashed = h.sum(), true
		h.free()
	}
	return b, rejected
}

// unknownFormat rejects every row: a format that this package does not know
// must not go out in the layout of another.
type unknownFormat Format

func (f unknownFormat) check([]byte) ([]byte, error) {
	return nil, errors.New("no rows can be made for the unknown " + Format(f).String())
}

// manyOf rejects every row: no lines can be told apart in the layout of this
// format.
type manyOf Format

func (f manyOf) check([]byte) ([]byte, error) {
	return nil, errors.New("many rows in one message are for JSON by line and for csv, not for " + Format(f).String())
}

// selection collects the rows of a body. As long as the rows taken are the
// first ones of the input, unchanged, it is just a number, and the body shares
// the caller's slice; that is the usual case and costs nothing a row.
type selection struct {
	in      [][]byte
	n       int      // rows taken while own is nil: in[:n]
	own     [][]byte // all rows taken, once the input cannot be shared
	skipped []int
}

func (s *selection) keep(i int, row []byte) {
	if s.own == nil {
		if i == s.n && same(s.in[i], row) {
			s.n++
			return
		}
		s.own = make([][]byte, s.n, len(s.in)-len(s.skipped))
		copy(s.own, s.in)
	}
	s.own = append(s.own, row)
}

func (s *selection) rows() [][]byte {
	if s.own == nil {
		return s.in[:s.n:s.n]
	}
	return s.own
}

// same says whether two rows, neither of them empty, are the very same memory.
func same(a, b []byte) bool { return len(a) == len(b) && &a[0] == &b[0] }
