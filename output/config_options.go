package output

import (
	"fmt"
	"strings"

	"github.com/dorisload/benthos-doris/streamload"
)

// options reads the fields that become headers. The client checks them.
func (r *reader) options() streamload.Options {
	p := r.parsed
	o := streamload.Options{
		Dialect:             read(r, p.FieldString, fieldDialect),
		Format:              read(r, p.FieldString, fieldFormat),
		ManyRows:            r.either(fieldMessageRows, messageOne, messageMany),
		StripOuterArray:     read(r, p.FieldBool, fieldStripOuterArray),
		SkipValidation:      !read(r, p.FieldBool, fieldValidateJSON),
		JSONPaths:           read(r, p.FieldString, fieldJSONPaths),
		JSONRoot:            read(r, p.FieldString, fieldJSONRoot),
		NumAsString:         read(r, p.FieldBool, fieldNumAsString),
		FuzzyParse:          read(r, p.FieldBool, fieldFuzzyParse),
		ColumnSeparator:     read(r, p.FieldString, fieldColumnSeparator),
		LineDelimiter:       read(r, p.FieldString, fieldLineDelimiter),
		Enclose:             read(r, p.FieldString, fieldEnclose),
		Escape:              read(r, p.FieldString, fieldEscape),
		TrimDoubleQuotes:    read(r, p.FieldBool, fieldTrimDoubleQuotes),
		EmptyFieldAsNull:    read(r, p.FieldBool, fieldEmptyFieldAsNull),
		SkipLines:           read(r, p.FieldInt, fieldSkipLines),
		Compression:         read(r, p.FieldString, fieldCompression),
		CompressionLevel:    read(r, p.FieldInt, fieldCompressionLevel),
		Columns:             r.list(fieldColumns),
		Where:               read(r, p.FieldString, fieldWhere),
		Partitions:          r.list(fieldPartitions),
		TemporaryPartitions: r.list(fieldTemporaryPartitions),
		StrictMode:          read(r, p.FieldBool, fieldStrictMode),
		TwoPhaseCommit:      read(r, p.FieldBool, fieldTwoPhaseCommit),
		GroupCommit:         read(r, p.FieldString, fieldGroupCommit),
		MergeCommit:         streamload.MergeCommit{Interval: r.positive(fieldMergeCommitInterval), Parallel: r.atLeast(1, fieldMergeCommitParallel)},
		RedirectPolicy:      read(r, p.FieldString, fieldRedirectPolicy),
		Timezone:            read(r, p.FieldString, fieldTimezone),
		ExecMemLimit:        int64(read(r, p.FieldInt, fieldExecMemLimit)),
		Unique:              r.uniqueKey(),
		Headers:             read(r, p.FieldStringMap, fieldHeaders),
	}
	if p.Contains(fieldMaxFilterRatio) {
		ratio := read(r, p.FieldFloat, fieldMaxFilterRatio)
		o.MaxFilterRatio = &ratio
	}
	if o.Delimited() && o.ColumnSeparator == "" {
		// In the client that is its default; servers take a tab for it.
		r.bad(fieldColumnSeparator, "is empty; leave it out for a comma")
	}
	byLine := read(r, p.FieldBool, fieldReadJSONByLine)
	if o.Dialect != streamload.DialectStarRocks && o.Format == formatJSON && !byLine && !o.StripOuterArray {
		r.bad(fieldReadJSONByLine, "and strip_outer_array are both false: json needs one of them, or Doris takes the whole batch for one document")
	}
	return o
}

// either reads a field that has one of two values, and is true for the second. The first is the default.
func (r *reader) either(field, first, second string) bool {
	value := read(r, r.parsed.FieldString, field)
	if value != first && value != second && value != "" {
		r.bad(field, "is %q; it must be %s or %s", value, first, second)
	}
	return value == second
}

// cells reads how rows of CSV are made; nil when messages are rows already.
func (r *reader) cells(conf *config) {
	if text := read(r, r.parsed.FieldString, fieldCSVMapping); strings.TrimSpace(text) == "" {
		return
	}
	mapping := read(r, r.parsed.FieldBloblang, fieldCSVMapping)
	options, writer, err := conf.client.Options.Cells()
	if err != nil {
		r.bad(fieldCSVMapping, "cannot be used: %w", err)
		return
	}
	conf.client.Options = options
	conf.cells = &cellMapping{mapping: mapping, writer: writer}
}

// list reads a list whose entries must say something.
func (r *reader) list(field string) []string {
	entries := read(r, r.parsed.FieldStringList, field)
	for i, entry := range entries {
		if strings.TrimSpace(entry) == "" {
			r.bad(fmt.Sprintf("%s[%d]", field, i), "is empty")
		}
	}
	return entries
}
