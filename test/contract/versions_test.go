package contract

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dorisload/benthos-doris/streamload"
	"github.com/dorisload/benthos-doris/streamload/decide"
	"github.com/dorisload/benthos-doris/test/emulator"
)

// release is a version that the suite runs against.
type release string

// everyRelease runs a test for each version of Doris that the emulator knows.
func everyRelease(t *testing.T, run func(t *testing.T, r release)) {
	t.Helper()
	for _, version := range emulator.Versions(emulator.Doris) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			run(t, release(version))
		})
	}
}

// since says whether it is this version or a later one.
func (r release) since(version string) bool {
	all := emulator.Versions(emulator.Doris)
	return slices.Index(all, string(r)) >= slices.Index(all, version)
}

// with starts a cluster of the version.
func (r release) with(t *testing.T, faults ...emulator.Fault) *cluster {
	t.Helper()
	return newCluster(t, emulator.Options{Version: string(r), Faults: faults})
}

// What a version makes of something that is asked for.
const (
	yes        = "yes"
	refused    = "refused"     // the load fails, and the error says why
	passedOver = "passed over" // the server does not know the header and says nothing
)

type feature struct {
	name string
	// since is the first version that has it; the ones before do what lacks says.
	since, lacks string
	observe      func(t *testing.T, r release) string
}

// word is what is expected of a version.
func (f feature) word(r release) string {
	if r.since(f.since) {
		return yes
	}
	return f.lacks
}

// features are what not every version has, and how that is seen. The table in docs/versions.md is made of the same names and words.
var features = []feature{
	{"`two_phase_commit`", "1.2", "", func(t *testing.T, r release) string {
		c := r.with(t)
		client, _ := c.client(inTwoPhases)
		report, err := client.Load(within(t, ended), batch(5))
		require.NoError(t, err)
		require.Equal(t, "commit", report.Evidence)
		require.Equal(t, ids(5), c.stored(table))
		for _, put := range c.puts("fe")[1:] {
			require.NotEmpty(t, put.Header.Get("txn_id"), "1.2 takes no label there")
		}
		return yes
	}},
	{"`group_commit`", "2.1", passedOver, func(t *testing.T, r release) string {
		c := r.with(t)
		client, _ := c.client(grouped("sync_mode"))
		report, err := client.Load(within(t, ended), batch(5))
		require.NoError(t, err)
		require.Empty(t, report.Label)
		require.Equal(t, ids(5), c.stored(table))
		if report.Ungrouped {
			return c.passesOver("group_commit")
		}
		return yes
	}},
	{"`compression: gzip`, `deflate` or `bzip2` of CSV", "1.2", "", func(t *testing.T, r release) string {
		for _, compression := range []string{"gzip", "deflate", "bzip2"} {
			require.Equal(t, yes, compresses(t, r, "csv", compression, ""))
			require.Equal(t, yes, compresses(t, r, "csv_with_names", compression, ""))
		}
		return yes
	}},
	{"`compression: lz4` of CSV", "2.0", refused, func(t *testing.T, r release) string {
		return compresses(t, r, "csv", "lz4", "unknown data format")
	}},
	{"`compression` of JSON (3.0: from 3.0.5)", "3.0", refused, func(t *testing.T, r release) string {
		gzip := compresses(t, r, "json", "gzip", "compress data of JSON format is not supported")
		for _, compression := range []string{"lz4", "deflate", "bzip2"} {
			require.Equal(t, gzip, compresses(t, r, "json", compression, "compress data of JSON format is not supported"))
		}
		return gzip
	}},
	{"`enclose`, `escape`, `trim_double_quotes`", "2.0", passedOver, func(t *testing.T, r release) string {
		c := r.with(t)
		client, _ := c.client(retries(-1), func(conf *streamload.Config) {
			conf.Options.Format, conf.Options.Enclose, conf.Options.Escape, conf.Options.TrimDoubleQuotes = "csv", `"`, `\`, true
		})
		_, err := client.Load(within(t, ended), streamload.Batch{Database: db, Table: table, Rows: [][]byte{[]byte(`1,"one, and \"more\""`)}})
		if err != nil {
			// Where cells hold separators the count of them does not fit; nothing is stored.
			require.Equal(t, decide.DataQuality, failed(t, err).Class)
			require.Empty(t, c.stored(table))
			return c.passesOver("enclose", "escape", "trim_double_quotes")
		}
		require.Equal(t, `one, and "more"`, c.Rows(db, table)[0]["note"])
		return yes
	}},
	{"`skip_lines`", "2.0", passedOver, func(t *testing.T, r release) string {
		c := r.with(t)
		client, _ := c.client(func(conf *streamload.Config) {
			conf.Options.Format, conf.Options.SkipLines = "csv", 1
		})
		report, err := client.Load(within(t, ended), streamload.Batch{Database: db, Table: table, Rows: [][]byte{[]byte("7,skipped"), []byte("1,one")}})
		require.NoError(t, err)
		if len(c.stored(table)) == 2 {
			return c.passesOver("skip_lines")
		}
		require.EqualValues(t, 1, report.Loaded)
		require.Equal(t, ids(1), c.stored(table))
		return yes
	}},
	{"`empty_field_as_null`", "3.0", passedOver, func(t *testing.T, r release) string {
		c := r.with(t)
		client, _ := c.client(func(conf *streamload.Config) { conf.Options.Format, conf.Options.EmptyFieldAsNull = "csv", true })
		_, err := client.Load(within(t, ended), streamload.Batch{Database: db, Table: table, Rows: [][]byte{[]byte("1,")}})
		require.NoError(t, err)
		if c.Rows(db, table)[0]["note"] == "" {
			return c.passesOver("empty_field_as_null")
		}
		require.Nil(t, c.Rows(db, table)[0]["note"])
		return yes
	}},
	{"`merge_type`, `delete`, `sequence_column`, `hidden_columns`", "1.2", "", func(t *testing.T, r release) string {
		c := r.withKey(t, func(table *emulator.Table) { table.SequenceType = "INT" }, func(u *streamload.UniqueKey) { u.SequenceColumn = "a" })
		_, row := c.upserts(`{"id":1,"a":0,"b":7}`, func(u *streamload.UniqueKey) { u.SequenceColumn = "a" })
		require.EqualValues(t, 1, row["b"], "the row with the larger value stays")
		c = r.withKey(t, nil, nil)
		report, row := c.upserts(`{"id":1,"a":7,"b":7,"__DORIS_DELETE_SIGN__":1}`, func(u *streamload.UniqueKey) { u.HiddenColumns = []string{"__DORIS_DELETE_SIGN__"} })
		require.EqualValues(t, 1, report.Loaded)
		require.Nil(t, row)
		_, row = c.upserts(`{"id":1,"a":8,"b":8}`, func(u *streamload.UniqueKey) { u.MergeType, u.Delete = "MERGE", "a = 9" })
		require.EqualValues(t, 8, row["a"])
		_, row = c.upserts(`{"id":1,"a":9,"b":9}`, func(u *streamload.UniqueKey) { u.MergeType, u.Delete = "MERGE", "a = 9" })
		require.Nil(t, row)
		return yes
	}},
	{"`partial_columns`", "2.0", passedOver, func(t *testing.T, r release) string {
		c := r.withKey(t, nil, nil)
		_, row := c.upserts(`{"id":1,"a":2}`, func(u *streamload.UniqueKey) { u.PartialColumns = true })
		require.EqualValues(t, 2, row["a"])
		if row["b"] == nil {
			return c.passesOver("partial_columns")
		}
		require.EqualValues(t, 1, row["b"])
		return yes
	}},
	{"`unique_key_update_mode`, `partial_update_new_key_behavior`", "3.1", passedOver, func(t *testing.T, r release) string {
		c := r.withKey(t, nil, nil)
		_, row := c.upserts(`{"id":1,"a":2}`, func(u *streamload.UniqueKey) { u.UpdateMode, u.NewKeyBehavior = "UPDATE_FIXED_COLUMNS", "ERROR" })
		require.EqualValues(t, 2, row["a"])
		if row["b"] == nil {
			return c.passesOver("unique_key_update_mode", "partial_update_new_key_behavior")
		}
		require.EqualValues(t, 1, row["b"])
		return yes
	}},
	{"`redirect_policy: public-private` or `random-be`", "3.0", passedOver, func(t *testing.T, r release) string {
		return redirects(t, r, "public-private")
	}},
	{"`redirect_policy: public`, `private` or `direct`", "3.1", passedOver, func(t *testing.T, r release) string {
		return redirects(t, r, "private")
	}},
}

// passesOver requires that the last load had these headers, and that the server did not look at them.
func (c *cluster) passesOver(names ...string) string {
	c.t.Helper()
	all := c.Loads()
	require.Subset(c.t, all[len(all)-1].Ignored, names)
	return passedOver
}

// compresses loads compressed rows. Where they are refused the error has to say so, with the words of the server and what to do.
func compresses(t *testing.T, r release, format, compression, words string) string {
	t.Helper()
	c := r.with(t)
	client, _ := c.client(retries(-1), func(conf *streamload.Config) { conf.Options.Format, conf.Options.Compression = format, compression })
	b := streamload.Batch{Database: db, Table: table, Rows: ofFormat(format, 3)}
	if format == "csv" {
		b.Rows = [][]byte{[]byte("1,one"), []byte("2,two"), []byte("3,three")}
	}
	_, err := client.Load(within(t, ended), b)
	if err == nil {
		require.Equal(t, ids(3), c.stored(table))
		return yes
	}
	e := failed(t, err)
	require.Equal(t, decide.Protocol, e.Class)
	require.Contains(t, e.Message, words)
	require.Contains(t, e.Error(), "version", "it says whose fault it is")
	require.False(t, e.Unresolved)
	require.Empty(t, c.stored(table))
	return refused
}

// withKey starts a cluster with a table that has a unique key, and the row 1, 1, 1 in it. The changes may be nil.
func (r release) withKey(t *testing.T, property func(*emulator.Table), change func(*streamload.UniqueKey)) *cluster {
	t.Helper()
	onWrite := true
	keyed := emulator.Table{
		Database: db, Name: table, Model: emulator.Unique, Keys: []string{"id"}, MergeOnWrite: &onWrite,
		Columns: []emulator.Column{{Name: "id", Type: "BIGINT", NotNull: true}, {Name: "a", Type: "INT"}, {Name: "b", Type: "INT"}},
	}
	if property != nil {
		property(&keyed)
	}
	c := newCluster(t, emulator.Options{Version: string(r), Tables: []emulator.Table{keyed}})
	_, row := c.upserts(`{"id":1,"a":1,"b":1}`, change)
	require.EqualValues(t, 1, row["b"])
	return c
}

// upserts loads one row and gives the row that is there then, nil for none.
func (c *cluster) upserts(row string, change func(*streamload.UniqueKey)) (report streamload.Report, now map[string]any) {
	c.t.Helper()
	client, _ := c.client(retries(-1), func(conf *streamload.Config) {
		if change != nil {
			change(&conf.Options.Unique)
		}
		if conf.Options.Unique.PartialColumns || conf.Options.Unique.UpdateMode != "" {
			conf.Options.Columns = []string{"id", "a"}
		}
	})
	report, err := client.Load(within(c.t, ended), streamload.Batch{Database: db, Table: table, Rows: [][]byte{[]byte(row)}})
	require.NoError(c.t, err)
	for _, now = range c.Rows(db, table) {
		require.EqualValues(c.t, 1, now["id"])
	}
	return report, now
}

// redirects loads where a BE has a public and a private address that nobody listens on. It is gone to when the FE knows the policy.
func redirects(t *testing.T, r release, policy string) string {
	t.Helper()
	opt := emulator.Options{Version: string(r), BEPrivate: []string{"127.0.0.1:1"}, BEPublic: []string{"127.0.0.1:1"}}
	if r.since("3.1") {
		opt.RedirectPolicy = "direct" // otherwise the private address is gone to without being asked for
	}
	c := newCluster(t, opt)
	client, _ := c.client(retries(-1), func(conf *streamload.Config) { conf.Options.RedirectPolicy = policy })
	_, err := client.Load(within(t, ended), batch(3))
	if err == nil {
		require.Equal(t, ids(3), c.stored(table))
		return passedOver
	}
	require.ErrorContains(t, err, "127.0.0.1:1")
	require.Equal(t, decide.Unavailable, failed(t, err).Class)
	return yes
}

// Each version has what the table says, and where it lacks something that is seen as the table says.
func TestFeaturesOfVersions(t *testing.T) {
	t.Parallel()
	for _, f := range features {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			everyRelease(t, func(t *testing.T, r release) { require.Equal(t, f.word(r), f.observe(t, r)) })
		})
	}
}

// The page for readers has the same versions, names and words.
func TestThePageOfVersions(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/versions.md")
	require.NoError(t, err)
	versions := emulator.Versions(emulator.Doris)
	want := [][]string{append([]string{""}, versions...), slices.Repeat([]string{"---"}, len(versions)+1)}
	want = append(want, append([]string{"everything that is not named below"}, slices.Repeat([]string{yes}, len(versions))...))
	for _, f := range features {
		row := []string{f.name}
		for _, v := range versions {
			row = append(row, f.word(release(v)))
		}
		want = append(want, row)
	}
	var found [][]string
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		switch cells := strings.Split(strings.Trim(line, "|"), "|"); {
		case strings.HasPrefix(line, "|"):
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			found = append(found, cells)
		case found != nil: // the table is over
			require.Equal(t, want, found)
			return
		}
	}
	require.Fail(t, "docs/versions.md has no table, or nothing behind it")
}

// Loads that use nothing of what versions differ in send one header that old versions do not know. It is harmless there, and needed elsewhere.
func TestHeadersThatVersionsDoNotKnow(t *testing.T) {
	t.Parallel()
	everyRelease(t, func(t *testing.T, r release) {
		for _, change := range []func(*streamload.Config){func(*streamload.Config) {}, inTwoPhases, compressed("csv_with_names", "none")} {
			c := r.with(t)
			conf := c.config(change)
			client, _ := newClient(t, conf)
			_, err := client.Load(within(t, ended), streamload.Batch{Database: db, Table: table, Rows: ofFormat(conf.Options.Format, 1)})
			require.NoError(t, err)
			for _, load := range c.Loads() {
				if r.since("2.1") {
					require.Empty(t, load.Ignored)
				} else {
					require.Equal(t, []string{"group_commit"}, load.Ignored)
				}
			}
		}
	})
}

// An address that no BE has is a fault of the configuration, and the error says what to do.
func TestRedirectPolicyWithoutAnAddress(t *testing.T) {
	t.Parallel()
	everyRelease(t, func(t *testing.T, r release) {
		c := r.with(t)
		client, _ := c.client(retries(-1), func(conf *streamload.Config) { conf.Options.RedirectPolicy = "private" })
		_, err := client.Load(within(t, ended), batch(3))
		if !r.since("3.1") {
			require.NoError(t, err)
			require.Equal(t, ids(3), c.stored(table))
			return
		}
		require.Equal(t, decide.Protocol, failed(t, err).Class)
		require.ErrorContains(t, err, "private endpoint is null")
		require.ErrorContains(t, err, "take another policy")
	})
}

// In 2.0 to 2.1.4 a load with more bad rows than the error page takes has no such page. The bad rows are found all the same.
func TestManyBadRowsInVersions(t *testing.T) {
	t.Parallel()
	for _, version := range append(emulator.Versions(emulator.Doris), "2.1.4") {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := release(version).with(t)
			client, _ := c.client(strict, func(conf *streamload.Config) { conf.IsolateBadRows = true })
			b := batch(20)
			for range 60 {
				b.Rows = append(b.Rows, []byte(`{"id":null,"note":"x"}`))
			}
			_, err := client.Load(within(t, time.Minute), b)
			e := failed(t, err)
			require.True(t, e.Partial)
			for i := range b.Rows {
				require.Equal(t, i >= 20, e.Row(i) != nil, i)
			}
			require.Equal(t, ids(20), c.stored(table))
		})
	}
}
