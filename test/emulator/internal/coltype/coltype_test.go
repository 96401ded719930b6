package coltype

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"bigint": "BIGINT", "INT(11)": "INT", " decimal ( 10 , 2 ) ": "DECIMAL(10,2)", "DECIMALV3(5)": "DECIMAL(5,0)", "decimal": "DECIMAL(38,9)",
		"varchar": "VARCHAR(65533)", "varchar(*)": "VARCHAR(65533)", "char": "CHAR(1)", "text": "STRING", "datetimev2(6)": "DATETIME(6)", "datetime": "DATETIME",
		"datev2": "DATE", "jsonb": "JSON", "array<array<int>>": "ARRAY<ARRAY<INT>>", "bool": "BOOLEAN",
	} {
		got, err := Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got.String(), text)
	}
	for _, text := range []string{"", "MAP<INT,INT>", "HLL", "VARIANT", "ARRAY", "ARRAY<HLL>", "VARCHAR(70000)", "CHAR(300)", "DECIMAL(80)", "DECIMAL(3,4)", "DATETIME(7)", "INT(1,2)", "INT UNSIGNED", "VARCHAR(99999999999999999999)"} {
		_, err := Parse(text)
		require.ErrorContains(t, err, "column type", text)
	}
}

func TestConvert(t *testing.T) {
	t.Parallel()
	num := func(s string) any { return json.Number(s) }
	zone := time.FixedZone("", 8*3600)
	for _, tc := range []struct {
		kind, text string
		want       any // nil: refused
	}{
		{"BOOLEAN", "1", true},
		{"BOOLEAN", "False", false},
		{"BOOLEAN", "2", nil},
		{"BOOLEAN", "", nil},
		{"TINYINT", "-128", int64(-128)},
		{"TINYINT", "128", nil},
		{"SMALLINT", "32767", int64(32767)},
		{"SMALLINT", "32768", nil},
		{"INT", " 2147483647 ", int64(2147483647)},
		{"INT", "2147483648", nil},
		{"INT", "1.9", int64(1)},
		{"INT", "1.x", nil},
		{"INT", "1e3", nil},
		{"INT", "0x1", nil},
		{"INT", "1_0", nil},
		{"INT", "", nil},
		{"INT", "--1", nil},
		{"BIGINT", "9223372036854775807", int64(math.MaxInt64)},
		{"BIGINT", "9223372036854775808", nil},
		{"LARGEINT", "-170141183460469231731687303715884105728", num("-170141183460469231731687303715884105728")},
		{"LARGEINT", "170141183460469231731687303715884105728", nil},
		{"LARGEINT", "007", num("7")},
		{"DECIMAL(5,2)", "123.455", num("123.46")},
		{"DECIMAL(5,2)", "-123.455", num("-123.46")},
		{"DECIMAL(5,2)", "999.995", nil},
		{"DECIMAL(5,2)", "1e2", num("100.00")},
		{"DECIMAL(5,2)", "-0.001", num("0.00")},
		{"DECIMAL(5,2)", "1e999999999", nil},
		{"DECIMAL(5,2)", "1/2", nil},
		{"DECIMAL(5,2)", ".", nil},
		{"DECIMAL(5,2)", "abc", nil},
		{"DECIMAL(2,2)", "0.5", num("0.50")},
		{"DECIMAL(2,2)", "1.5", nil},
		{"DOUBLE", "1.5e3", 1500.0},
		{"DOUBLE", "inf", math.Inf(1)},
		{"DOUBLE", "0x1p3", nil},
		{"DOUBLE", "x", nil},
		{"DOUBLE", "1e999", nil},
		{"FLOAT", "0.5", 0.5},
		{"VARCHAR(3)", "abc", "abc"},
		{"VARCHAR(3)", "éé", nil},
		{"CHAR(2)", "abc", nil},
		{"STRING", "", ""},
		{"DATE", "2026-01-02", "2026-01-02"},
		{"DATE", "20260102", "2026-01-02"},
		{"DATE", "2026/1/2", "2026-01-02"},
		{"DATE", "2026-01-02 03:04:05", "2026-01-02"},
		{"DATE", "2026-13-01", nil},
		{"DATE", "x", nil},
		{"DATETIME", "2026-01-02", "2026-01-02 00:00:00"},
		{"DATETIME", "2026-01-02T03:04:05.6", "2026-01-02 03:04:06"},
		{"DATETIME(2)", "2026-01-02 03:04:05.678", "2026-01-02 03:04:05.68"},
		{"DATETIME", "2026-01-02T03:04:05Z", "2026-01-02 11:04:05"},
		{"DATETIME", "2026-01-02 03:04:05+09:00", "2026-01-02 02:04:05"},
		{"DATETIME", "20260102030405", "2026-01-02 03:04:05"},
		{"DATETIME", "2026-01-02 25:00:00", nil},
		{"JSON", ` {"a": 1} `, json.RawMessage(`{"a": 1}`)},
		{"JSON", "{", nil},
		{"JSON", "", nil},
		{"ARRAY<INT>", `[1, "2", null]`, json.RawMessage(`[1,2,null]`)},
		{"ARRAY<INT>", `["x"]`, nil},
		{"ARRAY<INT>", "null", nil},
		{"ARRAY<INT>", "1", nil},
		{"ARRAY<DOUBLE>", `["nan"]`, nil},
		{"ARRAY<ARRAY<STRING>>", `[["a"],[]]`, json.RawMessage(`[["a"],[]]`)},
	} {
		kind, err := Parse(tc.kind)
		require.NoError(t, err)
		got, err := kind.Convert(tc.text, zone)
		if tc.want == nil {
			require.Error(t, err, "%s %q gave %v", tc.kind, tc.text, got)
			continue
		}
		require.NoError(t, err, "%s %q", tc.kind, tc.text)
		require.Equal(t, tc.want, got, "%s %q", tc.kind, tc.text)
	}
}

func FuzzConvert(f *testing.F) {
	for _, text := range []string{"1", "-1.5e10", "2026-01-02 03:04:05.678+08:00", `[1,[2]]`, `{"a":1}`, "true", "", "1e400"} {
		f.Add(text)
	}
	var kinds []Type
	for _, text := range []string{"BOOLEAN", "TINYINT", "BIGINT", "LARGEINT", "DECIMAL(20,5)", "FLOAT", "DOUBLE", "CHAR(3)", "VARCHAR(5)", "STRING", "DATE", "DATETIME(3)", "JSON", "ARRAY<DECIMAL(5,2)>"} {
		kind, err := Parse(text)
		require.NoError(f, err)
		kinds = append(kinds, kind)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, kind := range kinds {
			v, err := kind.Convert(text, time.UTC)
			if err != nil {
				continue
			}
			if x, ok := v.(float64); ok && (math.IsNaN(x) || math.IsInf(x, 0)) {
				continue
			}
			_, err = json.Marshal(v)
			require.NoError(t, err, "%s %q", kind, text)
			if kind.Kind == Decimal || kind.Kind == DateTime || kind.Kind == Date || kind.Kind == LargeInt {
				again, err := kind.Convert(textOf(v), time.UTC)
				require.NoError(t, err, "%s %q gave %v", kind, text, v)
				require.Equal(t, v, again)
			}
		}
	})
}

func textOf(v any) string {
	if n, ok := v.(json.Number); ok {
		return string(n)
	}
	return v.(string)
}
