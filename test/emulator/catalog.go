package emulator

import (
	"slices"
	"sync"
)

// catalog is what the FE master knows: databases, tables, transactions. Its
// methods, except the constructor, are called with mu held.
type catalog struct {
	mu      sync.Mutex
	opt     *Options
	profile *profile
	dbs     map[string]*database
	nextTxn int64
}

type database struct {
	id      int64
	name    string
	tables  map[string]*table
	labels  map[string][]*txn // by rising id
	running map[int64]*txn
	ids     map[int64]*txn
	done    []*txn // VISIBLE and ABORTED, the oldest first
}

func newCatalog(opt *Options, p *profile) *catalog {
	return &catalog{opt: opt, profile: p, dbs: map[string]*database{}, nextTxn: 1000}
}

func (c *catalog) database(name string, create bool) *database {
	db := c.dbs[name]
	if db == nil && create {
		db = &database{id: 10000 + int64(len(c.dbs)), name: name, tables: map[string]*table{}, labels: map[string][]*txn{}, running: map[int64]*txn{}, ids: map[int64]*txn{}}
		c.dbs[name] = db
	}
	return db
}

func (c *catalog) table(db, name string) *table {
	if d := c.dbs[db]; d != nil {
		return d.tables[name]
	}
	return nil
}

// add creates the table of s; a table that exists already is returned instead,
// with false.
func (c *catalog) add(s *schema) (*table, bool) {
	db := c.database(s.Database, true)
	if t := db.tables[s.Name]; t != nil {
		return t, false
	}
	t := newTable(s)
	db.tables[s.Name] = t
	return t, true
}

// prepared returns the transactions that are in PREPARE; be < 0 means of all
// BEs.
func (c *catalog) prepared(be int) []*txn {
	var out []*txn
	for _, db := range c.dbs {
		for _, t := range db.running {
			if t.state == Prepare && (be < 0 || t.be == be) {
				out = append(out, t)
			}
		}
	}
	return out
}

// evict forgets the finished transactions of a database.
func (c *catalog) evict(db *database) {
	for _, t := range db.done {
		c.forget(t)
	}
	db.done = nil
}

// user returns the account that a request names, nil when the password is
// wrong or there is no such account.
func (o *Options) user(name, password string) *User {
	for i := range o.Users {
		u := &o.Users[i]
		if u.Name == name && (u.AnyPassword || u.Password == password) {
			return u
		}
	}
	return nil
}

func (u *User) mayLoad(db string) bool {
	return slices.Contains(u.Load, "*") || slices.Contains(u.Load, db)
}
