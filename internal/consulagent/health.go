package consulagent

import (
	"maps"
	"slices"
)

func (a *Agent) healthService(c call) {
	type entry struct {
		Node    any
		Service service
		Checks  []check
	}
	entries := []entry{}
	if c.allowed {
		for _, name := range a.nodeNames() {
			n := a.nodes[name]
			for _, id := range slices.Sorted(maps.Keys(n.services)) {
				if s := n.services[id]; s.Service == c.r.PathValue("name") {
					checks := a.checksOf(n, func(c check) bool { return c.ServiceID == "" || c.ServiceID == id })
					entries = append(entries, entry{described(name, n), s, checks})
				}
			}
		}
	}
	c.answer(entries)
}

func (a *Agent) healthNode(c call) {
	found := []check{}
	if n := a.nodes[c.r.PathValue("name")]; n != nil && c.allowed {
		found = a.checksOf(n, func(check) bool { return true })
	}
	c.answer(found)
}

func (a *Agent) healthState(c call) {
	found := []check{}
	if c.allowed {
		for _, name := range a.nodeNames() {
			found = append(found, a.checksOf(a.nodes[name], func(check) bool { return true })...)
		}
	}
	c.answer(found)
}
