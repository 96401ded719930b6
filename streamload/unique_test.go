package streamload

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestUniqueKeyHeaders(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		o    Options
		want map[string]string
	}{
		{"nothing set", Options{}, nil},
		{"merge", Options{Unique: UniqueKey{MergeType: "MERGE", Delete: "op = 'd'"}}, map[string]string{"merge_type": "MERGE", "delete": "op = 'd'"}},
		{"delete", Options{Unique: UniqueKey{MergeType: "DELETE"}}, map[string]string{"merge_type": "DELETE"}},
		{"sequence", Options{Unique: UniqueKey{SequenceColumn: "at"}}, map[string]string{"function_column.sequence_col": "at"}},
		{
			"hidden columns",
			Options{Unique: UniqueKey{HiddenColumns: []string{"__DORIS_DELETE_SIGN__", "__DORIS_SEQUENCE_COL__"}}},
			map[string]string{"hidden_columns": "__DORIS_DELETE_SIGN__,__DORIS_SEQUENCE_COL__"},
		},
		{
			"partial",
			Options{Columns: []string{"id", "a"}, Unique: UniqueKey{PartialColumns: true, NewKeyBehavior: "ERROR"}},
			map[string]string{"partial_columns": "true", "partial_update_new_key_behavior": "ERROR", "columns": "id,a"},
		},
		{"flexible", Options{Unique: UniqueKey{UpdateMode: "UPDATE_FLEXIBLE_COLUMNS"}}, map[string]string{"unique_key_update_mode": "UPDATE_FLEXIBLE_COLUMNS"}},
		{"limits", Options{Timezone: "Asia/Shanghai", ExecMemLimit: 1 << 31}, map[string]string{"timezone": "Asia/Shanghai", "exec_mem_limit": "2147483648"}},
		{"two phases", Options{TwoPhaseCommit: true}, map[string]string{"two_phase_commit": "true"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Empty(t, problemsOf(test.o))
			plain := Options{}
			plain.setDefaults()
			want := plain.header(time.Minute)
			for name, value := range test.want {
				want[name] = []string{value}
			}
			test.o.setDefaults()
			require.Equal(t, want, test.o.header(time.Minute))
		})
	}
}

func TestUniqueKeyProblems(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		o    Options
		want string
	}{
		{"merge type", Options{Unique: UniqueKey{MergeType: "merge"}}, `merge_type is "merge"; it must be one of APPEND, DELETE, MERGE`},
		{"merge without a condition", Options{Unique: UniqueKey{MergeType: "MERGE"}}, "delete is not set"},
		{"condition without merge", Options{Unique: UniqueKey{Delete: "a = 1"}}, "delete is only for merge_type MERGE"},
		{"condition with a line break", Options{Unique: UniqueKey{MergeType: "MERGE", Delete: "a\n= 1"}}, "delete contains a line break"},
		{"hidden columns and columns", Options{Columns: []string{"a"}, Unique: UniqueKey{HiddenColumns: []string{"b"}}}, "hidden_columns is not read when columns is set"},
		{"mode", Options{Unique: UniqueKey{UpdateMode: "FLEXIBLE"}}, `unique_key_update_mode is "FLEXIBLE"; it must be one of UPSERT, UPDATE_FIXED_COLUMNS, UPDATE_FLEXIBLE_COLUMNS`},
		{"two modes", Options{Unique: UniqueKey{PartialColumns: true, UpdateMode: "UPSERT"}}, "partial_columns is not read when unique_key_update_mode is set"},
		{"new keys", Options{Unique: UniqueKey{PartialColumns: true, NewKeyBehavior: "IGNORE"}}, `partial_update_new_key_behavior is "IGNORE"`},
		{"a partial update of columns that are not named", Options{Unique: UniqueKey{UpdateMode: updateFixed}}, "columns is not set: a partial update takes its columns from it"},
		{"new keys without a partial update", Options{Unique: UniqueKey{NewKeyBehavior: "ERROR"}}, "partial_update_new_key_behavior is only for a partial update"},
		{"flexible csv", Options{Format: "csv", Unique: UniqueKey{UpdateMode: updateFlexible}}, "unique_key_update_mode UPDATE_FLEXIBLE_COLUMNS is only for format json"},
		{"flexible with columns", Options{Columns: []string{"a"}, Unique: UniqueKey{UpdateMode: updateFlexible}}, "unique_key_update_mode UPDATE_FLEXIBLE_COLUMNS cannot be used with columns"},
		{"flexible with a condition", Options{Where: "a > 1", Unique: UniqueKey{UpdateMode: updateFlexible}}, "unique_key_update_mode UPDATE_FLEXIBLE_COLUMNS cannot be used with where"},
		{"group commit of a partial update", Options{GroupCommit: "sync_mode", Unique: UniqueKey{PartialColumns: true}}, "group_commit sync_mode cannot be used with partial_columns"},
		{"group commit in two phases", Options{GroupCommit: "async_mode", TwoPhaseCommit: true}, "group_commit async_mode cannot be used with two_phase_commit"},
		{"group commit into partitions", Options{GroupCommit: "async_mode", Partitions: []string{"p"}}, "group_commit async_mode cannot be used with partitions"},
		{"memory", Options{ExecMemLimit: -1}, "exec_mem_limit is negative"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, strings.Join(problemsOf(test.o), "\n"), test.want)
		})
	}
}
