package emulator

import (
	"net/http"
	"strings"
)

// toMaster sends a call that only the master answers on to it; true means that
// the answer has been sent.
func (x *exchange) toMaster() bool {
	master := x.e.fes[x.e.master.Load()]
	if master == x.n {
		return false
	}
	target := x.location(master.at())
	if x.e.opt.FETLS != nil {
		target = "https" + strings.TrimPrefix(target, "http")
	}
	x.w.Header().Set("Location", target)
	x.answer(http.StatusTemporaryRedirect, "text/html;charset=utf-8", nil)
	return true
}

// feState is get_load_state.
func (x *exchange) feState() {
	if _, ok := x.login(); !ok {
		return
	}
	if x.toMaster() {
		return
	}
	x.label = x.r.URL.Query().Get("label")
	f, v := x.at(StateQuery)
	switch {
	case v == over:
		return
	case v == special && f.Do == SetState:
		x.entity(success(f.Message))
		return
	case v == special:
		x.entity(commonError(f.Message))
		return
	case x.label == "":
		x.entity(badRequest("No label selected"))
		return
	}
	x.entity(x.e.cat.stateAnswer(x.db, x.label))
}

func (c *catalog) stateAnswer(name, label string) entity {
	c.mu.Lock()
	defer c.mu.Unlock()
	db := c.database(name, c.opt.AutoCreate)
	if db == nil {
		return commonError("errCode = 2, detailMessage = unknown databases, dbName=" + name)
	}
	c.sweep(db)
	if t := db.newest(label); t != nil {
		return success(string(c.profile.stateName(t.state)))
	}
	return success(string(Unknown))
}

// feCancel is _cancel.
func (x *exchange) feCancel() {
	u, ok := x.login()
	if !ok || x.toMaster() {
		return
	}
	x.label = x.r.URL.Query().Get("label")
	if f, v := x.at(CancelCall); v == over {
		return
	} else if v == special {
		x.entity(commonError(f.Message))
		return
	}
	if x.label == "" {
		x.entity(badRequest("No label selected"))
		return
	}
	if !u.mayLoad(x.db) {
		x.entity(unauthorized("errCode = 2, detailMessage = " + x.e.profile.needLoad()))
		return
	}
	x.entity(x.e.cat.cancelAnswer(x.db, x.label))
}

func (c *catalog) cancelAnswer(name, label string) entity {
	c.mu.Lock()
	defer c.mu.Unlock()
	db := c.database(name, c.opt.AutoCreate)
	if db == nil {
		return commonError("errCode = 2, detailMessage = unknown database, dbName=" + name)
	}
	t, err := c.byLabel(db, label, Prepare, Precommitted)
	if err != nil {
		return commonError(c.profile.detail(err))
	}
	c.abort(t, "user cancel")
	return success(nil)
}
