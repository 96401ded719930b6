package emulator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// DefaultVersion is the version of Doris that the emulator is when
// Options.Version is empty.
const DefaultVersion = "3.1"

// Versions lists what Options.Version may name, the oldest first. A patch level
// can be added, as in 3.0.4; without it the newest of the line is meant.
func Versions() []string { return slices.Clone(dorisLines) }

var dorisLines = []string{"1.2", "2.0", "2.1", "3.0", "3.1", "4.0", master}

// master is the version that is not released yet.
const master = "master"

// profile says what the chosen version of the servers does where versions
// differ.
type profile struct {
	name string
	v    [3]int // major, minor, patch; newest stands for "the last of its line"
}

// newest is above every number in a version.
const newest = 1 << 30

// profileOf finds the profile of a version; "" is DefaultVersion.
func profileOf(version string) (profile, error) {
	if version == "" {
		version = DefaultVersion
	}
	if version == master {
		return profile{name: master, v: [3]int{newest, newest, newest}}, nil
	}
	p := profile{name: version, v: [3]int{2: newest}}
	parts := strings.Split(version, ".")
	bad := len(parts) < 2 || len(parts) > 3
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil || bad {
			bad = true
			break
		}
		p.v[i] = int(n)
	}
	if bad || !slices.Contains(dorisLines, strings.Join(parts[:2], ".")) {
		return profile{}, fmt.Errorf("unknown version %q, want one of %s, with or without a patch level", version, strings.Join(dorisLines, ", "))
	}
	return p, nil
}

// CheckServer says what is wrong with Version.
func (o Options) CheckServer() error {
	_, err := profileOf(o.Version)
	return err
}

// since says whether the version is this one or a later one.
func (p profile) since(major, minor, patch int) bool {
	return slices.Compare(p.v[:], []int{major, minor, patch}) >= 0
}

// jsonCompression: BEs read compressed JSON since 3.0.5 (apache/doris#48990) and
// refuse it at the header before.
func (p profile) jsonCompression() bool { return p.since(3, 0, 5) }

// zstd: compress_type zstd is newer than every release (apache/doris#64711).
func (p profile) zstd() bool { return p.name == master }
