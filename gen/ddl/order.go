package ddl

import "github.com/fsmgen/fsmgen/gen/ir"

// Order sorts machines so that every table is created before another machine's
// script refers to it; otherwise the given order stays. Machines that refer to
// each other in a circle keep it too.
func Order(machines []*ir.Machine) []*ir.Machine {
	needs := map[*ir.Machine][]*ir.Machine{}
	for _, m := range machines {
		for _, t := range m.Tables {
			for _, f := range t.Columns {
				if f.Ref != nil && f.Ref.Machine != m {
					needs[m] = append(needs[m], f.Ref.Machine)
				}
			}
		}
	}
	return afterNeeds(machines, needs)
}

// orderTables does the same for the tables of one machine.
func orderTables(m *ir.Machine) []*ir.Table {
	needs := map[*ir.Table][]*ir.Table{}
	for _, t := range m.Tables {
		for _, f := range t.Columns {
			if f.Ref != nil && f.Ref.Machine == m && f.Ref != t {
				needs[t] = append(needs[t], f.Ref)
			}
		}
	}
	return afterNeeds(m.Tables, needs)
}

// afterNeeds lists each item after what it needs, only items of list.
func afterNeeds[T comparable](list []T, needs map[T][]T) []T {
	pending := map[T]bool{}
	for _, item := range list {
		pending[item] = true
	}
	var out []T
	var visit func(T)
	visit = func(item T) {
		if !pending[item] {
			return
		}
		delete(pending, item)
		for _, need := range needs[item] {
			visit(need)
		}
		out = append(out, item)
	}
	for _, item := range list {
		visit(item)
	}
	return out
}
