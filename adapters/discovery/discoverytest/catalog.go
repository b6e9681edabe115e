package discoverytest

import (
	"slices"

	"github.com/hashicorp/consul/api"

	"github.com/fsmgen/fsmgen/adapters/discovery"
)

func names(l *lab) {
	l.registered(1)
	l.registered(2)
	all, err := l.client.Names(l.Context())
	l.must(err)
	if !slices.Contains(all, l.prefix) || !slices.IsSorted(all) {
		l.Errorf("the names are %q", all)
	}
	if n := len(l.instances()); n != 2 {
		l.Errorf("%d services have the name", n)
	}
	none, err := l.client.Instances(l.Context(), l.prefix+"-none")
	if err != nil || len(none) != 0 {
		l.Errorf("an unknown name: %v, %v", none, err)
	}
}

// What others registered is listed, is nobody's, and stays.
func strangers(l *lab) {
	id := l.prefix + "-stranger"
	l.must(l.raw.Agent().ServiceRegister(&api.AgentServiceRegistration{ID: id, Name: l.prefix, Meta: map[string]string{"node_id": "theirs"}}))
	l.Cleanup(func() { l.must(l.raw.Agent().ServiceDeregister(id)) })
	l.eventually("it is there", 0, func() bool { return len(l.instances()) == 1 })
	i := l.instances()[0]
	if i.ID != id || i.RegistrationID != "" || i.Health != discovery.Passing {
		l.Errorf("the stranger is %+v", i)
	}
	l.fails(l.client.Withdraw(l.Context(), i), discovery.ErrInvalid)
	l.must(l.client.Deregister(l.Context(), id, "some-registration"))
	i.RegistrationID = "some-registration"
	l.must(l.client.Withdraw(l.Context(), i))
	if n := len(l.instances()); n != 1 {
		l.Error("the stranger is gone")
	}
}

func withdrawLocal(l *lab) {
	s, other := l.registered(1), l.registered(2)
	i := l.there(s, discovery.Passing)
	for range 2 {
		l.must(l.client.Withdraw(l.Context(), i))
	}
	l.eventually("one is left", 0, func() bool { return len(l.instances()) == 1 })
	l.there(other, discovery.Passing)
	l.fails(l.client.Heartbeat(l.Context(), s.RegistrationID), discovery.ErrNotAdvertised)
}

// ghost is a node of the catalog whose agent does not exist.
func (l *lab) ghost(s discovery.Service) string {
	l.Helper()
	node := l.prefix + "-ghost"
	type object = map[string]any
	for _, what := range []object{
		{
			"Service": object{"ID": s.ID, "Service": s.Name, "Meta": object{"node_id": s.NodeID, "registration_id": s.RegistrationID}},
			"Check":   object{"CheckID": "registration:" + s.RegistrationID, "Name": "heartbeat", "Status": "critical", "ServiceID": s.ID},
		},
		{"Check": object{"CheckID": l.prefix + "-lone", "Name": "lone", "Status": "critical"}},
	} {
		what["Node"], what["Address"] = node, "127.0.0.9"
		// The library's own type has fields that older agents refuse.
		_, err := l.raw.Raw().Write("/v1/catalog/register", what, nil, nil)
		l.must(err)
	}
	l.Cleanup(func() {
		_, err := l.raw.Catalog().Deregister(&api.CatalogDeregistration{Node: node}, nil)
		l.must(err)
	})
	return node
}

// inCatalog reports whether a node is in the catalog.
func (l *lab) inCatalog(node string) bool {
	l.Helper()
	nodes, _, err := l.raw.Catalog().Nodes(nil)
	l.must(err)
	return slices.ContainsFunc(nodes, func(n *api.Node) bool { return n.Node == node })
}

// A service outlives the machine of its agent. It is taken out of the catalog,
// with its check and without its neighbours.
func withdrawLost(l *lab) {
	s := l.service(1)
	node := l.ghost(s)
	i := l.there(s, discovery.Critical)
	if i.Node != node {
		l.Errorf("it is on %s, not on %s", i.Node, node)
	}
	elsewhere, earlier := i, i
	elsewhere.Node = l.prefix + "-other"
	earlier.RegistrationID = "earlier"
	for _, other := range []discovery.Instance{elsewhere, earlier} {
		l.must(l.client.Withdraw(l.Context(), other))
	}
	l.there(s, discovery.Critical)
	for range 2 {
		l.must(l.client.Withdraw(l.Context(), i))
	}
	l.nothing()
	i.ID = "" // Consul would remove the node
	l.fails(l.client.Withdraw(l.Context(), i), discovery.ErrInvalid)
	if !l.inCatalog(node) {
		l.Error("its node is gone, too")
	}
}

func (l *lab) check(id string) (discovery.Check, bool) {
	l.Helper()
	all, err := l.client.Checks(l.Context())
	l.must(err)
	i := slices.IndexFunc(all, func(c discovery.Check) bool { return c.ID == id })
	if i < 0 {
		return discovery.Check{}, false
	}
	return all[i], true
}

func checks(l *lab) {
	s := l.registered(1)
	i := l.there(s, discovery.Passing)
	c, ok := l.check("registration:" + s.RegistrationID)
	if !ok || c.ServiceID != s.ID || c.RegistrationID != s.RegistrationID || c.Health != discovery.Passing || c.Node != i.Node {
		l.Errorf("its check is %+v, %v", c, ok)
	}
	l.ghost(l.service(2))
	c, ok = l.check(l.prefix + "-lone")
	if !ok || c.ServiceID != "" || c.RegistrationID != "" || c.Health != discovery.Critical {
		l.Errorf("a check without a service is %+v, %v", c, ok)
	}
}

func removeCheck(l *lab) {
	s := l.registered(1)
	l.there(s, discovery.Passing)
	node := l.ghost(l.service(2))
	for _, id := range []string{"registration:" + s.RegistrationID, l.prefix + "-lone"} {
		c, ok := l.check(id)
		if !ok {
			l.Fatalf("there is no check %s", id)
		}
		for range 2 {
			l.must(l.client.RemoveCheck(l.Context(), c))
		}
		l.eventually(id+" is gone", 0, func() bool { _, there := l.check(id); return !there })
		c.ID = "" // Consul would remove the node
		l.fails(l.client.RemoveCheck(l.Context(), c), discovery.ErrInvalid)
	}
	if !l.inCatalog(node) || len(l.instances()) != 2 {
		l.Error("more than the checks is gone")
	}
	l.fails(l.client.Heartbeat(l.Context(), s.RegistrationID), discovery.ErrNotAdvertised)
}

func sessions(l *lab) {
	of := func() []discovery.Session {
		l.Helper()
		all, err := l.client.Sessions(l.Context())
		l.must(err)
		return slices.DeleteFunc(all, func(s discovery.Session) bool { return s.Name != l.prefix })
	}
	if found := of(); len(found) != 0 {
		l.Fatalf("before the test there is %+v", found)
	}
	var ids []string
	for range 2 {
		id, _, err := l.raw.Session().CreateNoChecks(&api.SessionEntry{Name: l.prefix}, nil)
		l.must(err)
		ids = append(ids, id)
	}
	if found := of(); len(found) != 2 || found[0].Node == "" || !slices.Contains(ids, found[0].ID) || !slices.Contains(ids, found[1].ID) {
		l.Errorf("%q were made, and %+v is there", ids, found)
	}
	for range 2 {
		l.must(l.client.DestroySession(l.Context(), ids[0]))
	}
	if found := of(); len(found) != 1 || found[0].ID != ids[1] {
		l.Errorf("%+v is left", found)
	}
	l.must(l.client.DestroySession(l.Context(), ids[1]))
	for _, id := range []string{"", "bogus", "../" + ids[0], ids[0] + "\n"} {
		l.fails(l.client.DestroySession(l.Context(), id), discovery.ErrInvalid)
	}
}
