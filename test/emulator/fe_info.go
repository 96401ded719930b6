package emulator

import (
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/dorisload/benthos-doris/test/emulator/internal/coltype"
)

func (x *exchange) feBootstrap() {
	x.entity(success(map[string]any{"replayedJournalId": 0, "queryPort": 0, "rpcPort": 0, "arrowFlightSqlPort": 0, "version": ""}))
}

func (x *exchange) feHealth() {
	x.entity(success(map[string]any{"total_backend_num": len(x.e.bes), "online_backend_num": x.e.upBEs()}))
}

func (e *Emulator) upBEs() int {
	up := 0
	for _, n := range e.bes {
		if n.isUp() {
			up++
		}
	}
	return up
}

func (x *exchange) feBackends() {
	if _, ok := x.login(); !ok {
		return
	}
	onlyUp := x.r.URL.Query().Get("is_alive") == "true"
	list := []map[string]any{}
	for _, n := range x.e.bes {
		host, port, _ := net.SplitHostPort(n.at())
		number, _ := strconv.Atoi(port)
		if up := n.isUp(); up || !onlyUp {
			list = append(list, map[string]any{"ip": host, "http_port": number, "is_alive": up})
		}
	}
	x.entity(success(map[string]any{"backends": list}))
}

func (x *exchange) feSchema() {
	u, ok := x.login()
	if !ok {
		return
	}
	if !u.mayLoad(x.db) { // accounts have no other rights here
		x.entity(unauthorized("errCode = 2, detailMessage = Access denied; you need (at least one of) the (SELECT) privilege(s) for this operation"))
		return
	}
	c := x.e.cat
	c.mu.Lock()
	t := c.table(x.db, x.table)
	c.mu.Unlock()
	if t == nil {
		x.entity(entity{Msg: "Not Found", Code: http.StatusNotFound, Data: "errCode = 2, detailMessage = Unknown table '" + x.table + "'"})
		return
	}
	props := make([]map[string]string, 0, len(t.cols))
	for i, col := range t.cols {
		name, _, _ := strings.Cut(col.kind.String(), "(")
		p := map[string]string{"name": col.Name, "type": name, "comment": "", "aggregation_type": ""}
		if t.Model == Aggregate && i >= t.keys {
			p["aggregation_type"] = strings.ToUpper(col.Aggregation)
		}
		if col.kind.Kind == coltype.Decimal {
			p["precision"], p["scale"] = strconv.Itoa(col.kind.Precision), strconv.Itoa(col.kind.Scale)
		}
		props = append(props, p)
	}
	x.entity(success(map[string]any{"status": 200, "keysType": map[Model]string{Duplicate: "DUP_KEYS", Unique: "UNIQUE_KEYS", Aggregate: "AGG_KEYS"}[t.Model], "properties": props}))
}
