package streamload

import (
	"slices"
	"strings"

	"github.com/dorisload/benthos-doris/streamload/encode"
)

// UniqueKey are the settings for tables with a unique key, where a row replaces or deletes the row with its key, in whole or in part. They are
// headers of Stream Load (Doris: be stream_load.cpp, and the manual pages on delete, on the sequence column and on partial column update).
// Tables of other models refuse them.
type UniqueKey struct {
	// MergeType is what each row does: "APPEND" (the server's default) replaces the row with its key, "DELETE" deletes it, "MERGE" deletes
	// it where Delete holds and replaces it elsewhere.
	MergeType string
	// Delete is the condition of MERGE, in SQL.
	Delete string
	// SequenceColumn is the column that decides between rows with the same key: the greatest wins. Without one it is the row that is
	// loaded last, and within a load any.
	SequenceColumn string
	// HiddenColumns are columns of the table that have no name of the user's, as they stand in the rows: "__DORIS_DELETE_SIGN__" holds 1 for a
	// row that deletes. They cannot be sent together with Columns, which can name them too.
	HiddenColumns []string
	// PartialColumns keeps the other columns of a row that is there already. Each row has the same columns, among them all of the key;
	// they must stand in Columns, also with JSON.
	PartialColumns bool
	// UpdateMode is the newer form of PartialColumns (Doris 3.1): "UPSERT" (the server's default), "UPDATE_FIXED_COLUMNS", or "UPDATE_FLEXIBLE_COLUMNS",
	// where each row may have other columns (JSON only).
	UpdateMode string
	// NewKeyBehavior is what a partial update does with a row whose key is not there: "APPEND" (the server's default) or "ERROR".
	NewKeyBehavior string
	// PartialUpdateMode is how StarRocks does a partial update: "row" (its default), "column", for few columns of many rows, or "auto".
	PartialUpdateMode string
}

const (
	updateUpsert   = "UPSERT"
	updateFixed    = "UPDATE_FIXED_COLUMNS"
	updateFlexible = "UPDATE_FLEXIBLE_COLUMNS"
)

// partial is true when rows hold only some of their columns.
func (u UniqueKey) partial() bool {
	return u.PartialColumns || u.UpdateMode == updateFixed || u.UpdateMode == updateFlexible
}

// optional adds the headers of what is set.
func (u UniqueKey) optional(set func(name, value string), yes func(name string, on bool)) {
	set("merge_type", u.MergeType)
	set("delete", u.Delete)
	set("function_column.sequence_col", u.SequenceColumn)
	set("hidden_columns", strings.Join(u.HiddenColumns, ","))
	yes("partial_columns", u.PartialColumns)
	set("unique_key_update_mode", u.UpdateMode)
	set("partial_update_new_key_behavior", u.NewKeyBehavior)
	set("partial_update_mode", u.PartialUpdateMode)
}

// validate tells what servers refuse, or worse, ignore without a word.
func (u UniqueKey) validate(o Options, bad func(string, string, ...any)) {
	enum := func(field, value string, values ...string) {
		if value != "" && !slices.Contains(values, value) {
			bad(field, "is %q; it must be one of %s", value, strings.Join(values, ", "))
		}
	}
	enum("merge_type", u.MergeType, "APPEND", "DELETE", "MERGE")
	enum("unique_key_update_mode", u.UpdateMode, updateUpsert, updateFixed, updateFlexible)
	enum("partial_update_new_key_behavior", u.NewKeyBehavior, "APPEND", "ERROR")
	switch {
	case u.MergeType == "MERGE" && u.Delete == "":
		bad("delete", "is not set: merge_type MERGE needs the condition under which a row deletes")
	case u.MergeType != "MERGE" && u.Delete != "":
		bad("delete", "is only for merge_type MERGE")
	}
	if len(u.HiddenColumns) > 0 && len(o.Columns) > 0 {
		bad("hidden_columns", "is not read when columns is set: name them in columns, and leave hidden_columns out")
	}
	if u.PartialColumns && u.UpdateMode != "" {
		bad("partial_columns", "is not read when unique_key_update_mode is set: leave it out")
	}
	if (u.PartialColumns || u.UpdateMode == updateFixed) && len(o.Columns) == 0 {
		bad("columns", "is not set: a partial update takes its columns from it, and without it the server replaces whole rows, or refuses the load")
	}
	if u.NewKeyBehavior != "" && !u.partial() {
		bad("partial_update_new_key_behavior", "is only for a partial update: set partial_columns or unique_key_update_mode")
	}
	if u.UpdateMode == updateFlexible {
		if o.Format != "json" {
			bad("unique_key_update_mode", "UPDATE_FLEXIBLE_COLUMNS is only for format json")
		}
		for _, other := range []struct {
			field string
			on    bool
		}{
			{"fuzzy_parse", o.FuzzyParse},
			{"columns", len(o.Columns) > 0},
			{"jsonpaths", o.JSONPaths != ""},
			{"hidden_columns", len(u.HiddenColumns) > 0},
			{"sequence_column", u.SequenceColumn != ""},
			{"merge_type", u.MergeType != ""},
			{"where", o.Where != ""},
		} {
			if other.on {
				bad("unique_key_update_mode", "UPDATE_FLEXIBLE_COLUMNS cannot be used with %s", other.field)
			}
		}
	}
}

// ungrouped names the set options that group commit does not go with; Doris leaves it off without a word.
func (o Options) ungrouped() (fields []string) {
	type option struct {
		field string
		on    bool
	}
	options := []option{
		{"partial_columns", o.Unique.PartialColumns},
		{"unique_key_update_mode", o.Unique.UpdateMode == updateFixed || o.Unique.UpdateMode == updateFlexible},
		{"partitions", len(o.Partitions) > 0},
		{"temporary_partitions", len(o.TemporaryPartitions) > 0},
		{"two_phase_commit", o.TwoPhaseCommit},
	}
	if o.dialect() == encode.StarRocks { // the headers of loads that are merged only have to be equal
		options = []option{{"skip_lines", o.SkipLines != 0}, {"two_phase_commit", o.TwoPhaseCommit}}
	}
	for _, f := range options {
		if f.on {
			fields = append(fields, f.field)
		}
	}
	return fields
}
