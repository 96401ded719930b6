package preflight

import (
	"context"
	"fmt"
	"slices"

	"github.com/dorisload/benthos-doris/streamload"
)

// younger is an option that not every version of Doris has. The page docs/versions.md says the same for people.
type younger struct {
	// option as in a config, with the value where only that is younger.
	option string
	// since is the first version that has it.
	since streamload.ServerVersion
	// refused is true when older versions refuse a load with it; otherwise they pass it over without a word.
	refused bool
	// without is what comes of that.
	without string
	// used is true for a config with the option.
	used func(streamload.Options) bool
}

// youngerOptions are read from the sources of Doris: the headers that be http_common.h and stream_load.cpp have in each version, and the policies
// of fe LoadAction.java.
var youngerOptions = []younger{
	{
		"group_commit",
		streamload.ServerVersion{2, 1, 0},
		false, "each load is stored by itself",
		func(o streamload.Options) bool { return o.Unlabelled() },
	},
	{
		"compression: lz4",
		streamload.ServerVersion{2, 0, 0},
		true, "",
		func(o streamload.Options) bool { return o.Delimited() && o.Compression == "lz4" },
	},
	{
		"compression of JSON",
		streamload.ServerVersion{3, 0, 5},
		true, "",
		func(o streamload.Options) bool { return o.Format == "json" && o.Compression != "none" },
	},
	{
		"enclose",
		streamload.ServerVersion{2, 0, 0},
		false, "quotes become part of the values, and a separator between them makes one cell more",
		func(o streamload.Options) bool { return o.Delimited() && o.Enclose != "" },
	},
	{
		"escape",
		streamload.ServerVersion{2, 0, 0},
		false, "it becomes part of the values",
		func(o streamload.Options) bool { return o.Delimited() && o.Escape != "" },
	},
	{
		"trim_double_quotes",
		streamload.ServerVersion{2, 0, 0},
		false, "quotes become part of the values",
		func(o streamload.Options) bool { return o.Delimited() && o.TrimDoubleQuotes && o.Enclose == "" },
	},
	{
		"skip_lines",
		streamload.ServerVersion{2, 0, 0},
		false, "the lines are loaded as rows",
		func(o streamload.Options) bool { return o.Delimited() && o.SkipLines > 0 },
	},
	{
		"empty_field_as_null",
		streamload.ServerVersion{3, 0, 0},
		false, "an empty cell is an empty text",
		func(o streamload.Options) bool { return o.Delimited() && o.EmptyFieldAsNull },
	},
	{
		"partial_columns",
		streamload.ServerVersion{2, 0, 0},
		false, "the columns that a row does not have are overwritten",
		func(o streamload.Options) bool { return o.Unique.PartialColumns },
	},
	{
		"unique_key_update_mode",
		streamload.ServerVersion{3, 1, 0},
		false, "the columns that a row does not have are overwritten",
		func(o streamload.Options) bool {
			return o.Unique.UpdateMode == "UPDATE_FIXED_COLUMNS" || o.Unique.UpdateMode == "UPDATE_FLEXIBLE_COLUMNS"
		},
	},
	{
		"partial_update_new_key_behavior",
		streamload.ServerVersion{3, 1, 0},
		false, "rows with new keys are stored",
		func(o streamload.Options) bool { return o.Unique.NewKeyBehavior == "ERROR" },
	},
	{
		"redirect_policy",
		streamload.ServerVersion{3, 0, 0},
		false, "an FE names a BE by the address that SHOW BACKENDS has; redirect_map says how that is reached",
		func(o streamload.Options) bool {
			return o.RedirectPolicy == "public-private" || o.RedirectPolicy == "random-be"
		},
	},
	{
		"redirect_policy",
		streamload.ServerVersion{3, 1, 0},
		false, "an FE names a BE by the address that SHOW BACKENDS has; redirect_map says how that is reached",
		func(o streamload.Options) bool {
			return slices.Contains([]string{"direct", "public", "private"}, o.RedirectPolicy)
		},
	},
}

// version looks whether the servers know the options that are set. A server passes over a header that it does not know.
func (r *run) version(ctx context.Context) {
	if r.starRocks() {
		return // it does not say what it is over HTTP
	}
	v, err := r.Client.InspectVersion(ctx)
	if err != nil {
		r.add("version", Skipped, fmt.Sprintf("the version cannot be read, so it is not known whether it has all options: %s", reason(err)), "")
		return
	}
	known := true
	for _, y := range youngerOptions {
		if !v.Before(y.since) || !y.used(r.conf.Options) {
			continue
		}
		known = false
		if y.refused {
			r.add("version", Failed, fmt.Sprintf("%s is refused by Doris %s: it came with %s", y.option, v, y.since), "leave it out")
			continue
		}
		r.add("version", Warning, fmt.Sprintf("%s is passed over by Doris %s without a word: it came with %s. Then %s", y.option, v, y.since, y.without), "leave it out")
	}
	if known {
		r.add("version", OK, fmt.Sprintf("Doris %s has all options that are set", name(v)), "")
	}
}

func name(v streamload.ServerVersion) string {
	if v == (streamload.ServerVersion{}) {
		return "of no release"
	}
	return v.String()
}
