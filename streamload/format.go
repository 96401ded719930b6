package streamload

import (
	"errors"
	"strings"

	"github.com/dorisload/benthos-doris/streamload/encode"
)

// format is Options.Format, which validate has found to be right.
func (o Options) format() encode.Format {
	f, _ := encode.ParseFormat(o.Format)
	return f
}

// Delimited is true for the formats of rows of cells: csv, csv_with_names and csv_with_names_and_types.
func (o Options) Delimited() bool { return o.format().Delimited() }

func (o Options) validateFormat(bad func(string, string, ...any)) {
	f, known := encode.ParseFormat(o.Format)
	if !known {
		bad("format", "is %q; it must be json, csv, csv_with_names, csv_with_names_and_types, parquet, orc or arrow", o.Format)
	}
	if o.ManyRows && (f == encode.JSON && o.StripOuterArray || f != encode.JSON && f != encode.CSV) {
		bad("message_rows", "is many, which is for json by line (read_json_by_line without strip_outer_array) and for csv")
	}
	if f.Delimited() && f.Whole() && o.SkipLines > 0 {
		bad("skip_lines", "is not used with format %s, which skips its own first lines", f)
	}
	if known {
		o.validateCompression(f, bad)
	}
	for name, value := range map[string]string{"enclose": o.Enclose, "escape": o.Escape} {
		if err := quotingByte(value); value != "" && err != nil {
			bad(name, "is %q; %w", value, err)
		}
	}
	if b := o.quoting("enclose", o.Enclose); b != 0 && b == o.quoting("escape", o.Escape) {
		bad("escape", "is the same as enclose, so that no quoted cell would ever end")
	}
}

func (o Options) validateSeparators(bad func(string, string, ...any)) {
	separator, err := readSeparator(o.ColumnSeparator)
	if err != nil {
		bad("column_separator", "%w", err)
	}
	delimiter, err := readSeparator(o.LineDelimiter)
	if err != nil {
		bad("line_delimiter", "%w", err)
	}
	if !o.Delimited() {
		return
	}
	if separator != "" && separator == delimiter {
		bad("column_separator", "is the same as line_delimiter")
	}
	for _, quoting := range []struct{ name, option string }{{"enclose", o.Enclose}, {"escape", o.Escape}} {
		b := o.quoting(quoting.name, quoting.option)
		switch mark := string([]byte{b}); {
		case b == 0:
		case mark == separator:
			bad(quoting.name, "is the same as column_separator")
		case mark == delimiter:
			bad(quoting.name, "is the same as line_delimiter")
		}
	}
}

func (o Options) validateCompression(f encode.Format, bad func(string, string, ...any)) {
	c, known := encode.ParseCompression(o.Compression)
	switch {
	case !known:
		bad("compression", "is %q; it must be none, gzip, lz4, zstd, deflate or bzip2", o.Compression)
		return
	case c == encode.Uncompressed:
		if o.CompressionLevel != 0 {
			bad("compression_level", "is %d, and there is no compression", o.CompressionLevel)
		}
		return
	case o.CompressionLevel < 0 || o.CompressionLevel > c.MaxLevel():
		bad("compression_level", "is %d; %s has the levels 1 to %d, and 0 for its default", o.CompressionLevel, c, c.MaxLevel())
	}
	switch _, _, ok := o.compressionHeader(); {
	case ok && f == encode.JSON && o.StripOuterArray && o.dialect() == encode.Doris:
		// Only its line reader decompresses (be new_json_reader.cpp); the other takes the compressed bytes for the document.
		bad("compression", "is %s, and Doris decompresses JSON only when it reads it by line: it cannot be used with strip_outer_array", c)
	case ok:
	case f != encode.JSON && !f.Delimited():
		bad("compression", "is %s, and files of format %s have their own compression inside: servers take no other around them", c, f)
	default:
		bad("compression", "is %s, which Doris does not read; use gzip, lz4, deflate or bzip2", c)
	}
}

// dorisCodecs are the values of the header compress_type (be load_util.cpp). There is none for zstd: with CSV it is refused as an unknown
// format, with JSON the compressed bytes are read as if they were JSON.
var dorisCodecs = map[encode.Compression]string{encode.Gzip: "gz", encode.LZ4: "lz4", encode.Deflate: "deflate", encode.Bzip2: "bz2"}

// compressionHeader is the header that tells the server how the body is compressed. It is not ok when there is nothing to tell, or the server
// cannot read such a body.
//
// StarRocks has a header of the name "compression" for JSON, and for CSV puts the codec in the place of the format
// (be stream_load.cpp, compression_utils.cpp). Its lz4 is a bare block there, lz4_frame the frame.
func (o Options) compressionHeader() (name, value string, ok bool) {
	c, _ := encode.ParseCompression(o.Compression)
	return codecHeader(o.dialect(), o.format(), c)
}

func codecHeader(d encode.Dialect, f encode.Format, c encode.Compression) (name, value string, ok bool) {
	if c == encode.Uncompressed || f != encode.JSON && !f.Delimited() {
		return "", "", false
	}
	switch {
	case d == encode.Doris:
		value, ok = dorisCodecs[c]
		return "compress_type", value, ok
	case f == encode.JSON && c == encode.LZ4:
		return "compression", "lz4_frame", true
	case f == encode.JSON:
		return "compression", c.String(), true
	default:
		return "format", c.String(), f == encode.CSV
	}
}

// compressor compresses bodies; nil when they go as they are.
func (o Options) compressor() (*encode.Compressor, error) {
	c, _ := encode.ParseCompression(o.Compression)
	if c == encode.Uncompressed {
		return nil, nil
	}
	return encode.NewCompressor(c, o.CompressionLevel)
}

// Cells is for rows of CSV that are made of cells, with encode.CellWriter, rather than given as lines. It returns the options of
// their loads, which are o with what such rows need, and what makes them. The error names the option that is in the way.
func (o Options) Cells() (Options, *encode.CellWriter, error) {
	o.setDefaults()
	enclose := o.quoting("enclose", o.Enclose)
	switch {
	case o.format() != encode.CSV:
		return o, nil, errors.New("format is " + o.Format + "; it must be csv")
	case o.ManyRows:
		return o, nil, errors.New("message_rows is many, and the cells of a message make one row")
	case o.TrimDoubleQuotes && enclose != '"':
		return o, nil, errors.New("trim_double_quotes takes away double quotes that belong to the cells; leave it out")
	case enclose == '"' && o.dialect() == encode.Doris:
		o.TrimDoubleQuotes = true // without it some versions leave these quotes in the cells (be csv_reader.cpp, _not_trim_enclose)
	}
	w, err := encode.NewCellWriter(o.encoding())
	return o, w, err
}

func (o Options) encoding() encode.Options {
	e := encode.Options{Format: o.format(), Dialect: o.dialect(), StripOuterArray: o.StripOuterArray, SkipValidation: o.SkipValidation, ManyRows: o.ManyRows}
	if e.Format == encode.CSV {
		e.ColumnSeparator, e.LineDelimiter = o.separators()
		e.Enclose, e.Escape = o.quoting("enclose", o.Enclose), o.quoting("escape", o.Escape)
		e.TrimDoubleQuotes = o.TrimDoubleQuotes
		e.Columns = fileColumns(o.Columns)
	}
	return e
}

// separators are the real bytes of ColumnSeparator and LineDelimiter, which validate has found to be right.
func (o Options) separators() (column, line string) {
	column, _ = readSeparator(o.ColumnSeparator)
	line, _ = readSeparator(o.LineDelimiter)
	return column, line
}

// quoting is the byte of an option for quoting, which may also come as a header; 0 if it is not set. Servers look at the first byte.
func (o Options) quoting(name, option string) byte {
	if option != "" {
		return option[0]
	}
	for n, v := range o.Headers {
		if strings.EqualFold(n, name) && v != "" {
			return v[0]
		}
	}
	return 0
}

// quotingByte says why a text cannot be enclose or escape.
func quotingByte(s string) error {
	if len(s) != 1 {
		return errors.New("it must be one character of ASCII")
	}
	if c := s[0]; c <= ' ' || c >= 0x7f || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
		return errors.New("it must be no letter, digit, space or control character")
	}
	return nil
}

// fileColumns is how many cells each line has according to the option columns: one for each column that is not computed. 0 means that it
// is not known. The entries are joined before they are sent, so one may hold several columns, or a part of an expression.
func fileColumns(columns []string) int {
	n, depth, computed, empty := 0, 0, false, true
	var quote byte
	end := func() {
		if !computed && !empty {
			n++
		}
		computed, empty = false, true
	}
	text := strings.Join(columns, ",")
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == '\\' && quote != '`' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"' || c == '`':
			quote, empty = c, false
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			end()
		case c == '=' && depth == 0:
			computed = true
		case c != ' ' && c != '\t':
			empty = false
		}
	}
	end()
	if quote != 0 || depth != 0 {
		return 0 // the server will say what it thinks of it
	}
	return n
}
