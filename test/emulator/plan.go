package emulator

import (
	"strconv"
	"strings"
	"time"

	"github.com/dorisload/benthos-doris/test/emulator/internal/reader"
	"github.com/dorisload/benthos-doris/test/emulator/internal/sqlexpr"
)

const (
	deleteSign  = "__DORIS_DELETE_SIGN__"
	sequenceCol = "__DORIS_SEQUENCE_COL__"
	opColumn    = "__op" // of StarRocks: 0 is an upsert, 1 a delete
)

// plan is how the rows of a body become rows of the table.
type plan struct {
	profile *profile
	sch     *schema        // nil: the first row decides (AutoCreate)
	items   []sqlexpr.Item // header columns
	source  []string       // the fields of a source row, in order
	target  []target       // for each column of the table
	del     target         // the delete sign
	delAll  bool           // merge_type DELETE
	where   *sqlexpr.Expr
	seq     target // overrides the sequence column of the table
	hasSeq  bool
	hidden  []string
	// partial: columns that the load does not name keep their value. The others
	// are the same for all rows, or with flexible those that each row has.
	partial, flexible bool
	noNewKeys         bool // a partial update must not bring new keys
	cond              int  // see batch

	strict bool
	ratio  float64
	zone   *time.Location
	csv    reader.CSV
	json   reader.JSON
	merge  *sqlexpr.Expr // merge_type MERGE: header delete
}

// target is where a value comes from: a source field, an expression, or
// nothing (both unset: the default of the column).
type target struct {
	field int // -1 for none
	expr  *sqlexpr.Expr
}

func (t target) none() bool { return t.field < 0 && t.expr == nil }

var noTarget = target{field: -1}

// defaultZone is the time zone of a cluster that nobody configured.
var defaultZone = time.FixedZone("+08:00", 8*3600)

// plan reads the rest of the header. What needs the columns of the table waits
// for bind when the table does not exist yet.
func (l *load) plan() (*plan, error) {
	s := l.spec
	p := &plan{profile: l.x.e.profile, del: noTarget, seq: noTarget, zone: defaultZone, cond: -1}
	steps := []func(*loadSpec) error{p.refused, p.readers, p.limits, p.columns, p.conditions, p.updates}
	if l.x.e.profile.starrocks() {
		steps = []func(*loadSpec) error{p.starrocksReaders, p.starrocksLimits, p.columns, p.starrocksConditions}
	}
	for _, step := range steps {
		if err := step(s); err != nil {
			return nil, err
		}
	}
	if l.tab == nil {
		return p, nil
	}
	p.sch = l.tab.schema
	return p, p.resolve(s)
}

// refused names what the emulator does not do.
func (p *plan) refused(s *loadSpec) error {
	if s.h.Get("negative") == "true" {
		return analysis("negative is not supported by the emulator")
	}
	return nil
}

// readers sets up the reading of the body.
func (p *plan) readers(s *loadSpec) error {
	h := s.h
	sep, err := separator(h.Get("column_separator"), "\t")
	if err != nil {
		return err
	}
	delim, err := separator(h.Get("line_delimiter"), "\n")
	if err != nil {
		return err
	}
	p.csv = reader.CSV{Separator: sep, Delimiter: delim, TrimDoubleQuotes: s.flag("trim_double_quotes"), EmptyAsNull: s.flag("empty_field_as_null"), Doubled: p.profile.doubledMarks()}
	for _, one := range []struct {
		name string
		to   *byte
	}{{"enclose", &p.csv.Enclose}, {"escape", &p.csv.Escape}} {
		text := h.Get(one.name)
		if len(text) > 1 && p.profile.singleMarks() {
			return &beError{"INVALID_ARGUMENT", one.name + " must be single-char, actually is " + text}
		}
		if text != "" {
			*one.to = text[0]
		}
	}
	if text := h.Get("skip_lines"); text != "" {
		n, ok := leadingInt(text)
		if !ok || n < 0 {
			return &beError{"INVALID_ARGUMENT", "Invalid 'skip_lines': " + text}
		}
		p.csv.Skip = int(n)
	}
	if s.withHeader > 0 {
		p.csv.Skip = s.withHeader
	}
	p.json = reader.JSON{ByLine: s.flag("read_json_by_line"), Strip: s.flag("strip_outer_array"), Delimiter: delim, PathsText: h.Get("jsonpaths"), NoRest: p.profile.strictDocument()}
	if h.Get("read_json_by_line") == "" && h.Get("strip_outer_array") == "" {
		p.json.ByLine = p.profile.jsonByLine()
	}
	if s.format != "json" {
		return nil
	}
	if text := h.Get("jsonpaths"); text != "" {
		if p.json.Paths, err = reader.ParsePaths(text); err != nil {
			return &beError{"INVALID_JSON_PATH", err.Error()}
		}
	}
	if text := h.Get("json_root"); text != "" {
		if p.json.Root, err = reader.ParsePath(text); err != nil {
			return &beError{"INVALID_JSON_PATH", err.Error()}
		}
	}
	return nil
}

// separator decodes the \x01 form and the usual escapes.
func separator(text, def string) (string, error) {
	if text == "" {
		return def, nil
	}
	if rest, ok := strings.CutPrefix(strings.ToLower(text), `\x`); ok {
		var out []byte
		for pair := range strings.SplitSeq(rest, `\x`) {
			for len(pair) >= 2 {
				n, err := strconv.ParseUint(pair[:2], 16, 8)
				if err != nil {
					break
				}
				out, pair = append(out, byte(n)), pair[2:]
			}
			if pair != "" {
				return "", analysis("Invalid separator '%s': hex str format error", text)
			}
		}
		if len(out) == 0 {
			return "", analysis("Invalid separator '%s': hex str is empty", text)
		}
		return string(out), nil
	}
	return strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n", `\r`, "\r", `\0`, "\x00").Replace(text), nil
}

// limits reads the headers about tolerance, time and memory.
func (p *plan) limits(s *loadSpec) error {
	h := s.h
	if text := h.Get("max_filter_ratio"); text != "" {
		p.ratio, _ = strconv.ParseFloat(strings.TrimSpace(text), 64) // garbage is 0
	}
	switch text := h.Get("strict_mode"); {
	case text == "", strings.EqualFold(text, "false"):
	case strings.EqualFold(text, "true"):
		p.strict = true
	default:
		return &beError{"INVALID_ARGUMENT", "Invalid strict mode format. Must be bool type"}
	}
	if text := h.Get("exec_mem_limit"); text != "" {
		if n, ok := leadingInt64(text); !ok || n <= 0 {
			return &beError{"INVALID_ARGUMENT", "Invalid mem limit format, " + text}
		}
	}
	zone := h.Get("timezone")
	if zone == "" {
		zone = h.Get("time_zone")
	}
	return p.timeZone(zone)
}

func (p *plan) timeZone(zone string) error {
	if zone == "" {
		return nil
	}
	loc, err := timezone(zone)
	if err != nil {
		return analysis("Unknown or incorrect time zone: '%s'", zone)
	}
	p.zone = loc
	return nil
}

func leadingInt64(text string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return n, err == nil
}

func timezone(text string) (*time.Location, error) {
	if text[0] == '+' || text[0] == '-' {
		when, err := time.Parse("-07:00", text)
		if err != nil {
			when, err = time.Parse("-7:00", text)
		}
		if err != nil {
			return nil, err
		}
		_, offset := when.Zone()
		return time.FixedZone(text, offset), nil
	}
	if strings.EqualFold(text, "CST") || strings.EqualFold(text, "PRC") {
		return defaultZone, nil
	}
	if text == "Asia/Shanghai" {
		return defaultZone, nil // known also where no time zone data is installed
	}
	return time.LoadLocation(text)
}

// columns reads the header columns.
func (p *plan) columns(s *loadSpec) error {
	text := s.h.Get("columns")
	if text == "" && p.profile.starrocks() {
		return nil
	}
	if text == "" {
		for name := range strings.SplitSeq(s.h.Get("hidden_columns"), ",") {
			if name = strings.TrimSpace(name); name != "" {
				p.hidden = append(p.hidden, name)
			}
		}
		return nil
	}
	items, err := sqlexpr.ParseColumns(text)
	if err != nil {
		return analysis("%s", err)
	}
	p.items = items
	return nil
}

// conditions reads where, merge_type, delete and partitions.
func (p *plan) conditions(s *loadSpec) error {
	var err error
	if text := s.h.Get("where"); text != "" {
		if p.where, err = sqlexpr.ParseCondition(text); err != nil {
			return analysis("%s", err)
		}
	}
	del := s.h.Get("delete")
	switch merge := strings.ToUpper(s.h.Get("merge_type")); merge {
	case "", "APPEND", "DELETE":
		p.delAll = merge == "DELETE"
		if del != "" {
			return &beError{"INVALID_ARGUMENT", "Not support DELETE ON clause when merge type is not MERGE."}
		}
	case "MERGE":
		if del == "" {
			return &beError{"INVALID_ARGUMENT", "Excepted DELETE ON clause when merge type is MERGE."}
		}
		if p.merge, err = sqlexpr.ParseCondition(del); err != nil {
			return analysis("%s", err)
		}
	default:
		return &beError{"INVALID_ARGUMENT", "Invalid merge type " + s.h.Get("merge_type")}
	}
	if s.h.Get("partitions") != "" && s.h.Get("temporary_partitions") != "" {
		return &beError{"INVALID_ARGUMENT", "Can not specify both partitions and temporary partitions"}
	}
	return nil
}
