package decide

import (
	"fmt"
	"strings"
)

// found is the result of an exploration.
type found struct {
	states int
	acked  int // states in which the rows are acked
	fault  string
	trace  []string // what led to the fault, the shortest there is
	nodes  []node
}

func (f found) String() string {
	return fmt.Sprintf("%d states\n%s\n  %s", f.states, f.fault, strings.Join(f.trace, "\n  "))
}

// explore visits every state that can be reached, the nearest first, and ends at the first fault. It gives up after limit states: 0
// is no limit.
func (m *model) explore(limit int) found {
	start := m.first()
	seen := map[node]struct{}{start: {}}
	nodes, from := []node{start}, []int32{-1}
	for at := 0; at < len(nodes); at++ {
		var last string
		ended := false
		m.next(nodes[at], func(n node, what string) {
			if n.doris.stored > 1 {
				m.fail("the rows are stored twice")
			}
			if !ended { // what fails is passed on all the same
				last, ended = what, m.fault != ""
			}
			if _, ok := seen[n]; !ok {
				seen[n] = struct{}{}
				nodes, from = append(nodes, n), append(from, int32(at)) //nolint:gosec // memory ends first
			}
		})
		if m.fault != "" || limit > 0 && len(nodes) > limit {
			return found{states: len(nodes), fault: m.fault, trace: append(m.trace(nodes, from, at), last)}
		}
	}
	f := found{states: len(nodes), nodes: nodes}
	for _, n := range nodes {
		if m.clients[n.client].phase == acked {
			f.acked++
		}
	}
	return f
}

// trace is what happened on the way to a node.
func (m *model) trace(nodes []node, from []int32, at int) (steps []string) {
	if m.fault == "" {
		return nil
	}
	fault := m.fault
	defer func() { m.fault = fault }()
	for ; from[at] >= 0; at = int(from[at]) {
		step := ""
		m.next(nodes[from[at]], func(n node, what string) {
			if n == nodes[at] && step == "" {
				step = what
			}
		})
		steps = append([]string{step}, steps...)
	}
	return steps
}
