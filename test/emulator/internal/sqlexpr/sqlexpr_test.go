package sqlexpr

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func env(name string) (Value, bool) {
	v, ok := map[string]Value{"s": Text("Hello"), "n": Number("6"), "t": Text("2.5"), "z": Null(), "x y": Text("q"), "d": Time("2026-01-02 00:00:00")}[name]
	return v, ok
}

func TestEval(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1 + 2 * 3": "7", "(1 + 2) * 3": "9", "7 / 2": "3.5", "1 / 3": "0.33333333333333333", "7 % 3": "1", "-7 % 3": "-1", "1 / 0": "NULL", "- - 2": "2", "n - -1": "7",
		"t * 2": "5", "s + 1": "NULL", "z + 1": "NULL", "'it''s'": "it's", `"a\"b\n"`: "a\"b\n", "`x y`": "q", ".5 + 1e1": "10.5",
		"concat(s, '-', n)": "Hello-6", "concat(s, z)": "NULL", "upper(s)": "HELLO", "lower(s)": "hello", "length('é')": "2", "char_length('é')": "1", "reverse('aé')": "éa",
		"substr(s, 2)": "ello", "substring(s, -3, 2)": "ll", "substr(s, 0)": "", "substr(s, 2, -1)": "", "left(s, 2)": "He", "left(s, 99999999999999999999)": "Hello", "replace(s, 'l', '')": "Heo", "replace(s, '', 'x')": "Hello",
		"trim('  a ')": "a", "ltrim(' a ')": "a ", "rtrim(' a ')": " a", "abs(-2.50)": "2.5", "mod(7, 4)": "3",
		"ifnull(z, 1)": "1", "nvl(s, 1)": "Hello", "coalesce(z, z, 'c')": "c", "nullif(n, 6)": "NULL", "nullif(n, 7)": "6", "if(n > 5, 'big', 'small')": "big", "if(z, 1, 2)": "2",
		"case when n = 1 then 'one' when n = 6 then 'six' else 'many' end": "six", "CASE WHEN z THEN 1 END": "NULL",
		"n = 6.0": "1", "n = '6'": "1", "'6' = '6.0'": "0", "t > '10'": "1", "t > 10": "0", "s = 1": "NULL", "n != 5": "1", "n <> 6": "0", "z = z": "NULL", "z <=> null": "1", "z <=> 1": "0",
		"d = '2026-01-02'": "1", "d < '2026-01-02 00:00:01'": "1", "d > 20260101": "1", "d = 'soon'": "NULL",
		"n >= 6 and s = 'Hello'": "1", "z and false": "0", "z and true": "NULL", "z or true": "1", "z or false": "NULL", "not z": "NULL", "not n = 5": "1", "true && false || true": "1",
		"n in (1, 6)": "1", "n not in (1, 2)": "1", "n in (1, z)": "NULL", "z in (1)": "NULL", "z is null": "1", "n is not null": "1", "n between 5 and 6": "1", "n not between 5 and 6": "0", "n between 7 and 8 or n = 6": "1",
	} {
		e, err := ParseCondition(text)
		require.NoError(t, err, text)
		got := e.Eval(env)
		if want == "NULL" {
			require.True(t, got.Null, "%s gave %s", text, got)
			continue
		}
		require.False(t, got.Null, text)
		require.Equal(t, want, got.String(), text)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                           "unexpected end",
		"1 +":                        "unexpected end",
		"a b":                        "'b' is not expected here",
		"a like 'x'":                 "'like' is not expected here",
		"median(a)":                  "Can not found function 'median'",
		"upper(a, b)":                "which has 2 arity",
		"cast(a as int)":             "'cast' is not expected",
		"'open":                      "unclosed string",
		"`open":                      "unclosed or empty",
		"1a":                         "bad number",
		"1.2.3":                      "'1.2.3' is not expected",
		"a ; drop":                   `';' at position 2`,
		"(a":                         "unexpected end",
		"a not 1":                    "'1' is not expected",
		"case when 1 end":            "'end' is not expected",
		"select 1":                   "'select' is not expected",
		"a in 1":                     "'1' is not expected",
		"a between 1 or 2":           "'or' is not expected",
		strings.Repeat("(", 1000):    "nested too deep",
		strings.Repeat("not ", 1000): "nested too deep",
	} {
		_, err := ParseCondition(text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestParseColumns(t *testing.T) {
	t.Parallel()
	items, err := ParseColumns("a, `b c`, d = upper(a), e = if(a = 1, 2, 3)")
	require.NoError(t, err)
	require.Len(t, items, 4)
	require.Equal(t, "b c", items[1].Name)
	require.Nil(t, items[1].Expr)
	require.Equal(t, []string{"a"}, items[2].Expr.Names())
	items, err = ParseColumns("(a, b)")
	require.NoError(t, err)
	require.Len(t, items, 2)
	for _, text := range []string{"", "a,", "a b", "1", "a = ", "(a", "a = 1 2", "a.b"} {
		_, err := ParseColumns(text)
		require.ErrorContains(t, err, "Syntax error", text)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a, b, c = concat(a, 'x')")
	f.Add("n > 1 and (s = 'a' or not z is null)")
	f.Add("case when a then b else c end")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 {
			return
		}
		if e, err := ParseCondition(text); err == nil {
			e.Names()
			e.True(env)
		}
		if items, err := ParseColumns(text); err == nil {
			require.NotEmpty(t, items)
			for _, item := range items {
				if item.Expr != nil {
					item.Expr.Eval(env)
				}
			}
		}
	})
}
