package streamload

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseVersion(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ServerVersion{
		"Doris version doris-3.0.5-rc01-1a2b3c4":               {3, 0, 5},
		"Doris version doris-2.1.10-rc01-0000000 (Cloud Mode)": {2, 1, 10},
		"Doris version doris-0.0.0--1a2b3c4":                   {},
		"Apache Doris version 1.2.4":                           {1, 2, 4},
	} {
		v, ok := parseVersion(text)
		require.True(t, ok, text)
		require.Equal(t, want, v, text)
	}
	for _, text := range []string{"", "StarRocks version 3.5.1", "Doris version doris-x", "doris-99999.1.1", "5.7.99"} {
		_, ok := parseVersion(text)
		require.False(t, ok, text)
	}
	require.True(t, ServerVersion{3, 0, 4}.Before(ServerVersion{3, 0, 5}))
	require.True(t, ServerVersion{2, 10, 0}.Before(ServerVersion{3, 0, 0}))
	require.False(t, ServerVersion{3, 0, 5}.Before(ServerVersion{3, 0, 5}))
	require.False(t, ServerVersion{}.Before(ServerVersion{3, 0, 5}), "not released: newer than all")
}
