package emulator

import (
	"encoding/json"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// readBack serves what is below /emulator: the state of the emulator itself.
func (x *exchange) readBack(path string) {
	seg, ok := segments(path)
	get := x.r.Method == http.MethodGet
	var foreign error
	if !get {
		foreign = x.foreign()
	}
	switch {
	case !ok:
		x.springError(http.StatusBadRequest)
	case foreign != nil:
		x.answer(http.StatusForbidden, "text/plain; charset=utf-8", []byte(foreign.Error()+"\n"))
	case get && len(seg) == 1 && seg[0] == "live":
		x.showLive()
	case len(seg) == 1 && seg[0] == "switches":
		x.switchesEndpoint()
	case get && len(seg) == 1 && seg[0] == "tables":
		x.show(x.e.Tables())
	case get && len(seg) == 1 && seg[0] == "loads":
		x.show(x.e.Loads())
	case len(seg) == 1 && seg[0] == "faults":
		x.faultsEndpoint()
	case get && len(seg) == 3 && seg[2] == "rows":
		x.showRows(seg[0], seg[1])
	default:
		x.springError(http.StatusNotFound)
	}
}

// wanted reads a number of the query that says how many are wanted: def when it is not there, and never more than most.
func (x *exchange) wanted(name string, def, most int) (int, bool) {
	text := x.r.URL.Query().Get(name)
	if text == "" {
		return def, true
	}
	n, err := strconv.Atoi(text)
	return min(n, most), err == nil && n >= 0
}

// show answers with JSON, one object to a line.
func (x *exchange) show(v any) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		x.answer(http.StatusInternalServerError, "text/plain", []byte(err.Error()+"\n"))
		return
	}
	x.answer(http.StatusOK, jsonType, []byte(b.String()))
}

func (x *exchange) showRows(db, table string) {
	limit, ok := x.wanted("limit", 1000, math.MaxInt)
	offset, ok2 := x.wanted("offset", 0, math.MaxInt)
	if !ok || !ok2 {
		x.answer(http.StatusBadRequest, "text/plain", []byte("limit and offset are whole numbers, 0 or more\n"))
		return
	}
	rows := x.e.RowsPage(db, table, limit, offset)
	if rows == nil {
		x.answer(http.StatusNotFound, "text/plain", []byte("no table "+db+"."+table+"\n"))
		return
	}
	for _, row := range rows {
		for k, v := range row {
			if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
				row[k] = valueText(v) // JSON has no such numbers
			}
		}
	}
	x.show(map[string]any{"total": x.e.Count(db, table), "rows": rows})
}

// faultsEndpoint lists (GET), adds (POST: one fault to a line) and removes
// (DELETE) faults.
func (x *exchange) faultsEndpoint() {
	switch x.r.Method {
	case http.MethodGet:
		list := []map[string]any{}
		for _, i := range x.e.faults.all() {
			list = append(list, map[string]any{"fault": i.Fault().String(), "hits": i.Hits()})
		}
		x.show(list)
	case http.MethodDelete:
		x.e.ClearFaults()
		x.show(map[string]any{"removed": true})
	case http.MethodPost:
		text, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, 1<<20))
		if err != nil {
			x.answer(http.StatusBadRequest, "text/plain", []byte(err.Error()+"\n"))
			return
		}
		var list []Fault
		for line := range strings.SplitSeq(string(text), "\n") {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			f, err := ParseFault(line)
			if err != nil {
				x.answer(http.StatusBadRequest, "text/plain", []byte(err.Error()+"\n"))
				return
			}
			list = append(list, f)
		}
		for _, f := range list {
			x.e.Inject(f)
		}
		x.show(map[string]any{"added": len(list)})
	default:
		x.springError(http.StatusMethodNotAllowed)
	}
}
