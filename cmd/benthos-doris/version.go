package main

import (
	"runtime/debug"
)

// Set by the linker, see LDFLAGS in the Makefile. Empty in a binary that was
// built by a bare `go build` or `go install`.
var (
	version string
	date    string
)

const (
	benthosModule = "github.com/redpanda-data/benthos/v4"
	unknown       = "unknown"
)

// buildStamp says what this binary was made from.
type buildStamp struct {
	version string // of this module, e.g. v0.1.0 or a commit
	date    string // of the commit, RFC 3339
	benthos string // version of Benthos, empty if the binary does not tell
}

// stampOf completes what the linker stamped with what the Go toolchain recorded:
// the module version of a `go install ...@v1.2.3`, or the commit of a build
// inside the repository.
func stampOf(version, date string) buildStamp {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return stampFrom(version, date, info)
}

func stampFrom(version, date string, info *debug.BuildInfo) buildStamp {
	s := buildStamp{version: version, date: date}

	if s.version == "" && info.Main.Version != "(devel)" {
		s.version = info.Main.Version
	}
	var revision, modified string
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			revision = setting.Value
		case "vcs.modified":
			if setting.Value == "true" {
				modified = "-dirty"
			}
		case "vcs.time":
			if s.date == "" {
				s.date = setting.Value
			}
		}
	}
	if s.version == "" && revision != "" {
		s.version = revision + modified
	}
	if s.version == "" {
		s.version = unknown
	}
	if s.date == "" {
		s.date = unknown
	}

	for _, dep := range info.Deps {
		if dep.Path != benthosModule {
			continue
		}
		if dep.Replace != nil {
			dep = dep.Replace
		}
		s.benthos = dep.Version
	}
	return s
}

// String is the version that `--version`, the log and the components see.
func (s buildStamp) String() string {
	if s.benthos == "" {
		return s.version
	}
	return s.version + " (Benthos " + s.benthos + ")"
}
