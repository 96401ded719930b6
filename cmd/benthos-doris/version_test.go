package main

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStamp(t *testing.T) {
	t.Parallel()

	benthos := &debug.Module{Path: benthosModule, Version: "v4.80.0"}
	tests := []struct {
		name          string
		version, date string
		info          debug.BuildInfo
		wantVersion   string
		wantDate      string
	}{
		{
			name:    "the linker's stamp wins",
			version: "v0.1.0", date: "2026-01-02T03:04:05Z",
			info: debug.BuildInfo{
				Main:     debug.Module{Version: "v0.0.9"},
				Deps:     []*debug.Module{benthos},
				Settings: []debug.BuildSetting{{Key: "vcs.time", Value: "2020-01-01T00:00:00Z"}},
			},
			wantVersion: "v0.1.0 (Benthos v4.80.0)",
			wantDate:    "2026-01-02T03:04:05Z",
		},
		{
			name:        "go install of a version",
			info:        debug.BuildInfo{Main: debug.Module{Version: "v0.2.0"}, Deps: []*debug.Module{benthos}},
			wantVersion: "v0.2.0 (Benthos v4.80.0)",
			wantDate:    unknown,
		},
		{
			name: "go build inside the repository",
			info: debug.BuildInfo{
				Main: debug.Module{Version: "(devel)"},
				Deps: []*debug.Module{{Path: "example.com/other", Version: "v9.9.9"}, benthos},
				Settings: []debug.BuildSetting{
					{Key: "vcs.revision", Value: "0123abcd"},
					{Key: "vcs.time", Value: "2026-05-06T07:08:09Z"},
					{Key: "vcs.modified", Value: "true"},
				},
			},
			wantVersion: "0123abcd-dirty (Benthos v4.80.0)",
			wantDate:    "2026-05-06T07:08:09Z",
		},
		{
			name: "Benthos replaced by a fork",
			info: debug.BuildInfo{
				Main: debug.Module{Version: "v0.2.0"},
				Deps: []*debug.Module{{
					Path: benthosModule, Version: "v4.80.0",
					Replace: &debug.Module{Path: "example.com/benthos", Version: "v4.81.0-fork"},
				}},
			},
			wantVersion: "v0.2.0 (Benthos v4.81.0-fork)",
			wantDate:    unknown,
		},
		{
			name:        "nothing is known",
			wantVersion: unknown,
			wantDate:    unknown,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			stamp := stampFrom(test.version, test.date, &test.info)
			require.Equal(t, test.wantVersion, stamp.String())
			require.Equal(t, test.wantDate, stamp.date)
		})
	}
}
