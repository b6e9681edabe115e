package proptest

import (
	"maps"
	"slices"

	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// maxAimed bounds the records whose events are tried on the way to one row.
const maxAimed = 60

// aimAt goes on from the leaves of the tree toward a row that no call took, the
// nearest record first. If it gets there the way becomes part of the tree.
func (e *explorer) aimAt(row *ir.Row, root *node) {
	open := &frontier{machine: e.machine, way: NewAim(e.machine, row), seen: map[string]bool{}}
	root.each(func(n *node) {
		if !n.expanded {
			open.add(n)
		}
	})
	seenRows, nodes := maps.Clone(e.seenRows), e.nodes
	var grown []*node
	var last *node
	for last == nil && len(grown) < maxAimed && len(open.nodes) > 0 {
		n := open.next()
		grown = append(grown, n)
		e.expand(n)
		for _, child := range n.children {
			if child.took(row) {
				last = child
				break
			}
			open.add(child)
		}
	}
	e.seenRows, e.nodes = seenRows, nodes
	onWay := map[*node]bool{}
	for n := last; n != nil; n = n.before {
		onWay[n] = true
	}
	for _, n := range grown {
		n.children = slices.DeleteFunc(n.children, func(child *node) bool { return !onWay[child] })
		n.expanded = false
		for _, child := range n.children {
			e.nodes++
			for _, s := range child.steps {
				e.seenRows[s.Row] = true
			}
		}
	}
}

func (n *node) each(visit func(*node)) {
	visit(n)
	for _, child := range n.children {
		child.each(visit)
	}
}

func (n *node) took(row *ir.Row) bool {
	return slices.ContainsFunc(n.steps, func(s interp.Step) bool { return s.Row == row })
}

// frontier is the nodes from which a row may be reached.
type frontier struct {
	machine *ir.Machine
	way     Aim
	nodes   []*node
	far     []int
	seen    map[string]bool // records, with their times
}

func (f *frontier) add(n *node) {
	far, ok := f.way.Distance(n.record, n.now)
	key := ""
	if n.record != nil {
		key = string(interp.MarshalRecord(f.machine, n.record)) + n.now.String()
	}
	if ok && !f.seen[key] {
		f.seen[key] = true
		f.nodes, f.far = append(f.nodes, n), append(f.far, far)
	}
}

// next takes the nearest node, of several the one that was found first.
func (f *frontier) next() *node {
	best := 0
	for i := range f.far {
		if f.far[i] < f.far[best] {
			best = i
		}
	}
	n := f.nodes[best]
	f.nodes, f.far = slices.Delete(f.nodes, best, best+1), slices.Delete(f.far, best, best+1)
	return n
}
