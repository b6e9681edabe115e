package consulagent

import (
	"net/http"
	"slices"
)

func (a *Agent) catalogServices(c call) {
	names := map[string][]string{}
	if c.allowed {
		names["consul"] = []string{}
		for _, n := range a.nodes {
			for _, s := range n.services {
				tags := append(names[s.Service], s.Tags...)
				slices.Sort(tags)
				names[s.Service] = append([]string{}, slices.Compact(tags)...)
			}
		}
	}
	c.answer(names)
}

func (a *Agent) catalogNodes(c call) {
	found := []any{}
	if c.allowed {
		for _, name := range a.nodeNames() {
			found = append(found, described(name, a.nodes[name]))
		}
	}
	c.answer(found)
}

// described is a node as Consul shows it.
func described(name string, n *node) any {
	return struct{ Node, Address, Datacenter string }{name, n.address, "dc1"}
}

// catalogRegister writes what another agent would: services and checks that
// this one does not own.
func (a *Agent) catalogRegister(c call) {
	var r struct {
		Node, Address string
		Service       *service
		Check         *check
	}
	switch err := c.read(&r, false); {
	case err != nil:
		c.fail(http.StatusBadRequest, "Request decode failed: %v", err)
		return
	case r.Node == "" || r.Address == "":
		c.fail(http.StatusBadRequest, "Must provide node and address")
		return
	case !c.permitted("node:write on " + r.Node):
		return
	}
	n := a.nodes[r.Node]
	if n == nil {
		n = newNode(r.Address)
		a.nodes[r.Node] = n
	}
	if r.Service != nil {
		if r.Service.ID == "" {
			r.Service.ID = r.Service.Service
		}
		n.services[r.Service.ID] = *r.Service
	}
	if r.Check != nil {
		r.Check.Node = r.Node
		r.Check.ServiceName = n.services[r.Check.ServiceID].Service
		n.checks[r.Check.CheckID] = *r.Check
	}
	c.answer(true)
}

// catalogDeregister removes a service or a check; without either, the node.
func (a *Agent) catalogDeregister(c call) {
	var d struct{ Node, ServiceID, CheckID string }
	switch err := c.read(&d, false); {
	case err != nil:
		c.fail(http.StatusBadRequest, "Request decode failed: %v", err)
		return
	case d.Node == "":
		c.fail(http.StatusBadRequest, "Must provide node")
		return
	case !c.permitted("node:write on " + d.Node):
		return
	}
	n := a.nodes[d.Node]
	switch {
	case n == nil:
	case d.ServiceID != "":
		n.removeService(d.ServiceID)
	case d.CheckID != "":
		delete(n.checks, d.CheckID)
	default:
		delete(a.nodes, d.Node)
	}
	c.answer(true)
}
