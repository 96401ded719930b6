package preflight

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dorisload/benthos-doris/streamload"
)

// maxNames is how many columns a line names.
const maxNames = 20

// table looks for the table, its columns and its key. It is true when the table is known to be there.
func (r *run) table(ctx context.Context) bool {
	if !r.known() {
		r.add("table", Skipped, "table and columns cannot be looked at: they depend on the messages", "")
		return false
	}
	info, err := r.Client.InspectTable(ctx, r.Database, r.Table)
	switch {
	case errors.Is(err, streamload.ErrNotThere):
		r.add("table", Failed, fmt.Sprintf("the table %s does not exist: %s", r.name(), reason(err)), "create it, or correct database and table; upper and lower case differ")
		return false
	case errors.Is(err, streamload.ErrDenied):
		r.add("table", Note, fmt.Sprintf("the columns of %s cannot be looked at: %s", r.name(), reason(err)),
			"loads do not need that; for this check "+r.grant("SELECT_PRIV", "SELECT"))
		return false
	case err != nil:
		r.add("table", Skipped, fmt.Sprintf("the columns of %s cannot be looked at: %s", r.name(), reason(err)), "")
		return false
	}
	r.add("table", OK, fmt.Sprintf("%s exists; columns: %s", r.name(), names(info.Columns)), "")
	r.columns(info)
	r.key(info)
	return true
}

func names(columns []streamload.Column) string {
	var list []string
	for i, c := range columns {
		if i == maxNames {
			return strings.Join(list, ", ") + ", ..."
		}
		list = append(list, c.Name)
	}
	return strings.Join(list, ", ")
}

// key says what the model of the table means for rows that come twice or out of order, and looks whether the settings fit it.
func (r *run) key(t streamload.TableInfo) {
	o := r.conf.Options
	unique := t.KeysType == "UNIQUE_KEYS" || t.KeysType == "PRIMARY_KEYS"
	if t.KeysType != "" && !unique {
		for _, f := range o.Unique.Fields() {
			r.add("key", Failed, fmt.Sprintf("%s is set, but %s has no unique key (it is %s)", f, r.name(), t.KeysType), "leave it out, or make the table with UNIQUE KEY")
		}
	}
	if o.Unlabelled() && !unique {
		r.add("key", Note, fmt.Sprintf("with group_commit %s Doris makes the labels: rows may be stored twice in %s when an answer gets lost", o.GroupCommit, r.name()),
			"leave group_commit out where that matters")
		return
	}
	twice := "is stored twice"
	switch {
	case unique:
		if o.Unique.SequenceColumn == "" && r.MaxInFlight != 1 {
			advice := "where the order matters set sequence_column, or max_in_flight: 1"
			if r.starRocks() { // which has no such columns
				advice = "where the order matters set max_in_flight: 1"
			}
			r.add("key", Note, fmt.Sprintf("unique key: a row that comes twice is stored once; of several rows with one key the one that is loaded last stays, and %d loads run at a time", r.MaxInFlight), advice)
		} else {
			r.add("key", OK, "unique key: a row that comes twice is stored once", "")
		}
		return
	case t.KeysType == "AGG_KEYS":
		twice = "is aggregated twice"
	case t.KeysType != "DUP_KEYS":
		return
	}
	if r.Identity {
		r.add("key", OK, fmt.Sprintf("%s: labels are made from label and rows, so a batch that comes again unchanged is not loaded again", model(t.KeysType)), "")
		return
	}
	r.add("key", Note, fmt.Sprintf("%s: a row that is loaded twice %s. Labels prevent that while the process lives; after a crash, rows that were not acknowledged come again", model(t.KeysType), twice),
		"set label to something that comes again with a batch, for instance topic, partition and offset")
}

func model(keysType string) string {
	if keysType == "AGG_KEYS" {
		return "aggregate key"
	}
	return "duplicate key"
}
