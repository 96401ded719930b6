package output

import (
	"github.com/redpanda-data/benthos/v4/public/service"

	"github.com/dorisload/benthos-doris/streamload"
)

// uniqueFields are for tables with a unique key: rows that replace, delete, or change a part.
func uniqueFields() []*service.ConfigField {
	return []*service.ConfigField{
		service.NewStringAnnotatedEnumField(fieldMergeType, map[string]string{
			"":       "The same as APPEND.",
			"APPEND": "A row is stored, in place of the row with its key if there is one.",
			"DELETE": "A row deletes the row with its key.",
			"MERGE":  "A row for which `delete` holds deletes the row with its key, any other is stored.",
		}).
			Description("What a row does in a table with a unique key.").
			Default("").
			LintRule(mergeTypeLint).
			Advanced(),
		service.NewStringField(fieldDelete).
			Description("With `merge_type: MERGE`, the condition in SQL for a row to delete.").
			Default("").
			Example("op = 'd'").
			Advanced(),
		service.NewStringField(fieldSequenceColumn).
			Description("The column that decides between rows with the same key: the row with the greatest value stays, in whatever order they are loaded. A table with a unique key needs it where order matters, since loads run side by side and are sent again after failures. With StarRocks it is the merge condition: a row is stored only where its value is not less than the one that is there.").
			Default("").
			Example("updated_at").
			Advanced(),
		service.NewStringListField(fieldHiddenColumns).
			Description("Columns that Doris itself has added to the table and that the rows hold: with `__DORIS_DELETE_SIGN__`, a row with 1 in it deletes. Not together with `columns`, which can name them too.").
			Default([]any{}).
			LintRule(listLint(fieldHiddenColumns)).
			Example([]any{"__DORIS_DELETE_SIGN__"}).
			Advanced(),
		service.NewBoolField(fieldPartialColumns).
			Description("Keep the other columns of a row that is there already. All rows have the same columns, among them all of the key, and `columns` names them, also with JSON: without it Doris replaces whole rows. Only for merge-on-write tables with a unique key; with StarRocks, for tables with a primary key.").
			Default(false).
			Advanced(),
		service.NewStringAnnotatedEnumField(fieldUpdateMode, map[string]string{
			"":                        "What `partial_columns` says.",
			"UPSERT":                  "A row replaces the whole row with its key.",
			"UPDATE_FIXED_COLUMNS":    "The same as `partial_columns`.",
			"UPDATE_FLEXIBLE_COLUMNS": "Each row may have other columns, and the rest stays. JSON only.",
		}).
			Description("How much of a row is replaced, from Doris 3.1 on. An older Doris ignores it without a word and replaces whole rows.").
			Default("").
			LintRule(updateModeLint).
			Advanced(),
		service.NewStringAnnotatedEnumField(fieldNewKeyBehavior, map[string]string{
			"":       "The same as APPEND.",
			"APPEND": "The row is stored, with defaults for what it does not have.",
			"ERROR":  "The load fails.",
		}).
			Description("What a partial update does with a row whose key is not in the table, from Doris 3.1 on.").
			Default("").
			LintRule(newKeyBehaviorLint).
			Advanced(),
		service.NewStringAnnotatedEnumField(fieldPartialUpdateMode, map[string]string{
			"":       "The same as row.",
			"row":    "For many columns of few rows.",
			"column": "For few columns of many rows.",
			"auto":   "StarRocks chooses.",
		}).
			Description("How StarRocks does a partial update, see `partial_columns`.").
			Default("").
			LintRule(partialUpdateModeLint).
			Advanced(),
	}
}

func (r *reader) uniqueKey() streamload.UniqueKey {
	p := r.parsed
	return streamload.UniqueKey{
		MergeType:      read(r, p.FieldString, fieldMergeType),
		Delete:         read(r, p.FieldString, fieldDelete),
		SequenceColumn: read(r, p.FieldString, fieldSequenceColumn),
		HiddenColumns:  r.list(fieldHiddenColumns),
		PartialColumns: read(r, p.FieldBool, fieldPartialColumns),
		UpdateMode:     read(r, p.FieldString, fieldUpdateMode),
		NewKeyBehavior: read(r, p.FieldString, fieldNewKeyBehavior),

		PartialUpdateMode: read(r, p.FieldString, fieldPartialUpdateMode),
	}
}
