package emulator

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Dialect is whose servers the emulator is.
type Dialect string

// The dialects.
const (
	Doris     Dialect = "doris"
	StarRocks Dialect = "starrocks"
)

// DefaultVersion is the version that the emulator is when Options.Version is
// empty; "" for a dialect that there is not.
func DefaultVersion(d Dialect) string {
	return map[Dialect]string{"": "3.1", Doris: "3.1", StarRocks: "3.5"}[d]
}

// Versions lists what Options.Version may name, the oldest first. A patch level
// can be added, as in 3.0.4; without it the newest of the line is meant.
func Versions(d Dialect) []string {
	if d == StarRocks {
		return []string{"2.3", "2.5", "3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "4.0"}
	}
	return []string{"1.2", "2.0", "2.1", "3.0", "3.1", "4.0", master}
}

// master is the Doris that is not released yet.
const master = "master"

// profile says what the chosen version of the servers does where dialects and
// versions differ. It never changes.
type profile struct {
	dialect Dialect
	name    string
	v       [3]int // major, minor, patch; newest stands for "the last of its line"
	label   *regexp.Regexp
}

// newest is above every number in a version.
const newest = 1 << 30

// profileOf finds the profile of a version; "" is the default.
func profileOf(d Dialect, version string) (*profile, error) {
	if d == "" {
		d = Doris
	}
	if d != Doris && d != StarRocks {
		return nil, fmt.Errorf("unknown dialect %q, want %s or %s", d, Doris, StarRocks)
	}
	if version == "" {
		version = DefaultVersion(d)
	}
	p := &profile{dialect: d, name: version, v: [3]int{2: newest}}
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
	lines := Versions(d)
	switch {
	case version == master && slices.Contains(lines, master):
		p.v = [3]int{newest, newest, newest}
	case bad, !slices.Contains(lines, strings.Join(parts[:2], ".")):
		return nil, fmt.Errorf("unknown version %q of %s, want one of %s, with or without a patch level", version, d, strings.Join(lines, ", "))
	}
	p.label = regexp.MustCompile(p.labelRegex())
	return p, nil
}

// CheckServer says what is wrong with Dialect and Version.
func (o Options) CheckServer() error {
	_, err := profileOf(o.Dialect, o.Version)
	return err
}

// since says whether the version is this one or a later one.
func (p *profile) since(major, minor, patch int) bool {
	return slices.Compare(p.v[:], []int{major, minor, patch}) >= 0
}

func (p *profile) starrocks() bool { return p.dialect == StarRocks }

// labelRegex is what a label must match: FeNameFormat.java.
func (p *profile) labelRegex() string {
	if p.starrocks() {
		return `^[-\w]{1,128}$`
	}
	if !p.since(2, 1, 0) { // about then
		return `^[-_A-Za-z0-9]{1,128}$`
	}
	return `^[-_A-Za-z0-9:]{1,128}$`
}

// jsonCompression: Doris BEs read compressed JSON since 3.0.5 (apache/doris#48990)
// and refuse it at the header before; those of StarRocks since 3.2.7
// (StarRocks/starrocks#44987), older ones do not know the header.
func (p *profile) jsonCompression() bool {
	if p.starrocks() {
		return p.since(3, 2, 7)
	}
	return p.since(3, 0, 5)
}

// mergeCommit: enable_merge_commit and its kin, of StarRocks.
func (p *profile) mergeCommit() bool { return p.starrocks() && p.since(3, 4, 0) }

// txnInterface: /api/transaction, of StarRocks.
func (p *profile) txnInterface() bool { return p.starrocks() && p.since(2, 4, 0) }

// partialColumns: the header partial_columns of Doris.
func (p *profile) partialColumns() bool { return p.since(2, 0, 0) }

// updateModes: unique_key_update_mode and partial_update_new_key_behavior of
// Doris. Since when a fixed partial update without the header columns is an upsert
// is not sure; it is taken to have come with them.
func (p *profile) updateModes() bool { return p.since(3, 1, 0) }

// zstd: compress_type zstd is newer than every release of Doris
// (apache/doris#64711).
func (p *profile) zstd() bool { return p.name == master }

// oldLZ4: 1.2 calls frames of LZ4 lz4frame (be stream_load.cpp, parse_format).
func (p *profile) oldLZ4() bool { return !p.starrocks() && !p.since(2, 0, 0) }

// timeout is the life of a transaction whose load names none
// (stream_load_default_timeout_second). It is not sure which version of Doris made
// three days of ten minutes; 2.1 has them.
func (p *profile) timeout() time.Duration {
	if p.starrocks() || !p.since(2, 1, 0) {
		return 600 * time.Second
	}
	return maxTimeout
}

// precommitTimeout: stream_load_default_precommit_timeout_second of Doris,
// prepared_transaction_default_timeout_second of StarRocks.
func (p *profile) precommitTimeout() time.Duration {
	if p.starrocks() {
		return 24 * time.Hour
	}
	return time.Hour
}

// labelKeep: streaming_label_keep_max_second of Doris, label_keep_max_second of
// StarRocks.
func (p *profile) labelKeep() time.Duration {
	if p.starrocks() {
		return 72 * time.Hour
	}
	return 12 * time.Hour
}

// labelKeepCount: label_num_threshold of Doris; StarRocks has a count too, which
// is not sure to be this one.
func (p *profile) labelKeepCount() int {
	if p.starrocks() {
		return 1000
	}
	return 2000
}

// dataQuality is the code of "too many filtered rows"; about 2.0 it got its own.
func (p *profile) dataQuality() string {
	if p.starrocks() || !p.since(2, 0, 0) {
		return "INTERNAL_ERROR"
	}
	return "DATA_QUALITY_ERROR"
}

// deleteColumn is the pseudo column that says of each row whether it deletes.
func (p *profile) deleteColumn() string {
	if p.starrocks() {
		return opColumn
	}
	return deleteSign
}

// checkModel refuses what the other dialect has.
func (p *profile) checkModel(s *schema) error {
	switch {
	case s.Model == Primary && !p.starrocks():
		return fmt.Errorf("the model %s is of StarRocks", Primary)
	case (s.SequenceColumn != "" || s.SequenceType != "") && p.starrocks():
		return errors.New("StarRocks has no sequence columns")
	case (s.MergeOnWrite != nil || s.FlexibleUpdate) && p.starrocks():
		return errors.New("merge_on_write and flexible_update are of Doris")
	}
	return nil
}

// stateName is how get_load_state names a state.
func (p *profile) stateName(s State) State {
	if p.starrocks() && s == Precommitted {
		return Prepared
	}
	return s
}
