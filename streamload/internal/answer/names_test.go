package answer

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesFit(t *testing.T) {
	t.Parallel()
	require.LessOrEqual(t, len(names), 32, "each has a bit")
	for _, name := range names {
		require.LessOrEqual(t, len(name), maxName)
		require.Equal(t, spellings[name].bit, spellings[strings.ToLower(name)].bit)
	}
}

// What is found with the help of the table is what a search through all members finds.
func TestFindAgreesWithASearch(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	spell := []func(string) string{
		func(s string) string { return s },
		strings.ToLower,
		strings.ToUpper,
		func(s string) string { return strings.ReplaceAll(s, "s", "\u017f") }, // which folds to "s"
		func(s string) string { return strings.ReplaceAll(s, "s", `\u0073`) },
		func(s string) string { return s + strings.Repeat("x", 40) },
	}
	keys := []string{"Status", "status", "Label", "TxnId", "msg", "Message", "state", "other", "LoadBytes", ""}
	for range 20_000 {
		var s strings.Builder
		s.WriteString("{")
		for i := range r.IntN(6) {
			if i > 0 {
				s.WriteString(",")
			}
			fmt.Fprintf(&s, `"%s":%d`, spell[min(r.IntN(12), r.IntN(len(spell)))](keys[r.IntN(len(keys))]), i)
		}
		s.WriteString("}")
		o, ok := parseObject([]byte(s.String()), nil)
		require.True(t, ok, s.String())
		for _, ask := range [][]string{{"Status", "status"}, {"status"}, {"Label"}, {"Message", "msg"}, {"other"}, {"LoadBytes"}, {"nobody"}} {
			slow := object{members: o.members, odd: true}
			want, has := slow.find(ask...)
			got, found := o.find(ask...)
			require.Equal(t, has, found, "%v in %s", ask, s.String())
			require.Equal(t, string(want), string(got), "%v in %s", ask, s.String())
			require.Equal(t, slow.all(ask...), o.all(ask...), "%v in %s", ask, s.String())
		}
	}
}
