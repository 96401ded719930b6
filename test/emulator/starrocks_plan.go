package emulator

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dorisload/benthos-doris/test/emulator/internal/reader"
	"github.com/dorisload/benthos-doris/test/emulator/internal/sqlexpr"
)

// starrocksReaders sets up the reading of the body.
func (p *plan) starrocksReaders(s *loadSpec) error {
	h := s.h
	if err := s.payloadCompression(p.profile); err != nil {
		return err
	}
	sep, err := starrocksSeparator("column separator", h.Get("column_separator"), "\t")
	if err != nil {
		return err
	}
	delim, err := starrocksSeparator("row delimiter", h.Get("row_delimiter"), "\n")
	if err != nil {
		return err
	}
	p.csv = reader.CSV{Separator: sep, Delimiter: delim, StarRocks: true}
	p.csv.WidthText = func(got int) string {
		return fmt.Sprintf("Value count does not match column count. Expect %d, but got %d", p.csv.Width, got)
	}
	if p.profile.since(3, 0, 0) && !s.inTxn {
		if err := p.csvOptions(s); err != nil {
			return err
		}
	}
	p.json = reader.JSON{Stream: true, Sparse: true, Strip: s.flag("strip_outer_array"), PathsText: h.Get("jsonpaths")}
	if s.format != "json" {
		return nil
	}
	if text := h.Get("jsonpaths"); text != "" {
		if p.json.Paths, err = reader.ParsePaths(text); err != nil {
			return analysis("%s", err)
		}
	}
	if text := h.Get("json_root"); text != "" {
		if p.json.Root, err = reader.ParsePath(text); err != nil {
			return analysis("%s", err)
		}
	}
	if p.profile.since(4, 0, 0) && h.Get("envelope") != "" && !strings.EqualFold(h.Get("envelope"), "none") {
		return &beError{"NOT_IMPLEMENTED_ERROR", "the envelope " + h.Get("envelope") + " is not supported by the emulator"}
	}
	return nil
}

func starrocksSeparator(what, text, def string) (string, error) {
	sep, err := separator(text, def)
	if err == nil && len(sep) > 50 {
		err = analysis("The valid bytes length for '%s' is [1, 50]", what)
	}
	return sep, err
}

// csvOptions reads what loads of the transaction interface do not look at.
func (p *plan) csvOptions(s *loadSpec) error {
	h := s.h
	if text := h.Get("skip_header"); text != "" {
		n, ok := leadingInt(text)
		switch {
		case !ok:
			return &beError{"INVALID_ARGUMENT", "Invalid csv load skip_header format"}
		case n < 0:
			return &beError{"INVALID_ARGUMENT", "skip_header must be equal or greater than 0"}
		}
		p.csv.Skip = int(n)
	}
	var err error
	if p.csv.TrimSpace, err = strictBool(h.Get("trim_space"), "trim space"); err != nil {
		return err
	}
	if text := h.Get("enclose"); text != "" {
		p.csv.Enclose = text[0]
		p.csv.TrimDoubleQuotes = text[0] == '"' // no mark stays in the field here
	}
	if text := h.Get("escape"); text != "" {
		p.csv.Escape = text[0]
	}
	return nil
}

// strictBool reads a boolean header that takes no other words.
func strictBool(text, what string) (bool, error) {
	switch {
	case strings.EqualFold(text, "true"):
		return true, nil
	case text == "", strings.EqualFold(text, "false"):
		return false, nil
	}
	return false, &beError{"INVALID_ARGUMENT", "Invalid " + what + " format. Must be bool type"}
}

// starrocksLimits reads the headers about tolerance, time, memory and updates.
func (p *plan) starrocksLimits(s *loadSpec) error {
	h := s.h
	if text := h.Get("max_filter_ratio"); text != "" {
		p.ratio, _ = strconv.ParseFloat(strings.TrimSpace(text), 64) // garbage is 0
	}
	var err error
	if p.strict, err = strictBool(h.Get("strict_mode"), "strict mode"); err != nil {
		return err
	}
	if s.inTxn {
		p.partial = h.Get("partial_update") == "true"
	} else if p.partial, err = strictBool(h.Get("partial_update"), "partial update flag"); err != nil {
		return err
	}
	if text := h.Get("load_mem_limit"); text != "" {
		n, ok := leadingInt64(text)
		if !ok {
			return &beError{"INVALID_ARGUMENT", "Invalid load mem limit format"}
		}
		if n < 0 {
			return &beError{"INVALID_ARGUMENT", "load_mem_limit must be equal or greater than 0"}
		}
	}
	if text := h.Get("exec_mem_limit"); text != "" {
		if n, ok := leadingInt64(text); !ok || n <= 0 {
			return &beError{"INVALID_ARGUMENT", "exec_mem_limit must be greater than 0"}
		}
	}
	return p.timeZone(h.Get("timezone"))
}

// starrocksConditions reads where and partitions.
func (p *plan) starrocksConditions(s *loadSpec) error {
	if text := s.h.Get("where"); text != "" {
		var err error
		if p.where, err = sqlexpr.ParseCondition(text); err != nil {
			return analysis("%s", err)
		}
	}
	if s.h.Get("partitions") != "" && s.h.Get("temporary_partitions") != "" {
		return &beError{"INVALID_ARGUMENT", "Can not specify both partitions and temporary partitions"}
	}
	if s.h.Get("negative") == "true" {
		return analysis("negative is not supported by the emulator")
	}
	return nil
}

// starrocksTable checks what only PRIMARY KEY tables can do. Apart from the first
// text the words are the emulator's.
func (p *plan) starrocksTable(s *loadSpec) error {
	primary := p.sch.Model == Primary
	if p.partial && !primary {
		return analysis("Only primary key table support partial update")
	}
	if !p.del.none() && !primary {
		return analysis("Unknown column '%s' in '%s'", opColumn, p.sch.Name)
	}
	if p.items == nil {
		p.partial = false // it names all columns
	}
	for i, c := range p.sch.cols[:p.sch.keys] {
		if p.partial && p.target[i].none() {
			return analysis("a partial update needs all key columns, missing: %s", c.Name)
		}
	}
	cond := s.h.Get("merge_condition")
	if cond == "" {
		return nil
	}
	i, ok := p.sch.lookup(cond)
	switch {
	case !primary:
		return analysis("Conditional update only support primary key table")
	case !ok:
		return analysis("Merge condition column %s does not exist", cond)
	case i < p.sch.keys:
		return analysis("Merge condition column %s should not be a key column", cond)
	case p.target[i].none():
		return analysis("Merge condition column %s is not among the columns of the load", cond)
	}
	p.cond = i
	return nil
}

// starrocksReasons has the words of StarRocks for reasons that the reader gives
// in those of Doris.
var starrocksReasons = strings.NewReplacer(
	"JSON data is array-object, `strip_outer_array` must be TRUE.",
	"The value is array type in json document stream, you can set strip_outer_array=true to parse each element of the array as individual rows",
	"JSON data is not an array-object, `strip_outer_array` must be FALSE.",
	"The value should be array type in strip_outer_array mode",
)
