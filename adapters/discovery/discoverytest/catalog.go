package discoverytest

import (
	"context"
	"slices"

	"github.com/fsmgen/fsmgen/adapters/discovery"
)

func names(r *run) {
	r.registered(1)
	r.registered(2)
	all, err := r.client.Names(r.Context())
	r.must(err)
	if !slices.Contains(all, r.prefix) || !slices.IsSorted(all) {
		r.Errorf("the names are %q", all)
	}
	if n := len(r.instances()); n != 2 {
		r.Errorf("%d services have the name", n)
	}
	none, err := r.client.Instances(r.Context(), r.prefix+"-none")
	if err != nil || len(none) != 0 {
		r.Errorf("an unknown name: %v, %v", none, err)
	}
}

// foreign: a service that another program registered is listed without a registration, and stays.
func foreign(r *run) {
	id := r.prefix + "-foreign"
	r.must(r.Registry.Register(r.Context(), discovery.Service{ID: id, Name: r.prefix, NodeID: "theirs"}, discovery.Passing))
	r.Cleanup(func() { r.must(r.Registry.Deregister(context.WithoutCancel(r.Context()), id)) })
	r.eventually("it is there", 0, func() bool { return len(r.instances()) == 1 })
	i := r.instances()[0]
	if i.ID != id || i.RegistrationID != "" || i.Health != discovery.Passing {
		r.Errorf("the foreign service is %+v", i)
	}
	r.fails(r.client.Withdraw(r.Context(), i), discovery.ErrInvalid)
	r.must(r.client.Deregister(r.Context(), id, "some-registration"))
	i.RegistrationID = "some-registration"
	r.must(r.client.Withdraw(r.Context(), i))
	if n := len(r.instances()); n != 1 {
		r.Error("the foreign service is gone")
	}
}

func withdrawLocal(r *run) {
	s, other := r.registered(1), r.registered(2)
	i := r.there(s, discovery.Passing)
	for range 2 {
		r.must(r.client.Withdraw(r.Context(), i))
	}
	r.eventually("one is left", 0, func() bool { return len(r.instances()) == 1 })
	r.there(other, discovery.Passing)
	r.fails(r.client.Heartbeat(r.Context(), s.RegistrationID), discovery.ErrNotAdvertised)
}

// lost adds the node of an agent that does not exist any more, with a service and a check of none.
func (r *run) lost(s discovery.Service) string {
	r.Helper()
	node := r.prefix + "-lost"
	r.must(r.Registry.AddLost(r.Context(), node, s, r.prefix+"-lone"))
	r.Cleanup(func() { r.must(r.Registry.RemoveNode(context.WithoutCancel(r.Context()), node)) })
	return node
}

// inCatalog reports whether a node is in the catalog.
func (r *run) inCatalog(node string) bool {
	r.Helper()
	there, err := r.Registry.HasNode(r.Context(), node)
	r.must(err)
	return there
}

// withdrawLost: a service outlives the machine of its agent. It is removed from the catalog with
// its check, and nothing else of the node is.
func withdrawLost(r *run) {
	s := r.service(1)
	node := r.lost(s)
	i := r.there(s, discovery.Critical)
	if i.Node != node {
		r.Errorf("it is on %s, not on %s", i.Node, node)
	}
	elsewhere, earlier := i, i
	elsewhere.Node = r.prefix + "-other"
	earlier.RegistrationID = "earlier"
	for _, other := range []discovery.Instance{elsewhere, earlier} {
		r.must(r.client.Withdraw(r.Context(), other))
	}
	r.there(s, discovery.Critical)
	for range 2 {
		r.must(r.client.Withdraw(r.Context(), i))
	}
	r.nothing()
	i.ID = "" // it must not mean the whole node
	r.fails(r.client.Withdraw(r.Context(), i), discovery.ErrInvalid)
	if !r.inCatalog(node) {
		r.Error("its node is gone, too")
	}
}

// check returns the first check that fits.
func (r *run) check(fits func(discovery.Check) bool) (discovery.Check, bool) {
	r.Helper()
	all, err := r.client.Checks(r.Context())
	r.must(err)
	i := slices.IndexFunc(all, fits)
	if i < 0 {
		return discovery.Check{}, false
	}
	return all[i], true
}

// withID fits the check with an ID.
func withID(id string) func(discovery.Check) bool {
	return func(c discovery.Check) bool { return c.ID == id }
}

// ofRegistration fits the check of a registration.
func ofRegistration(id string) func(discovery.Check) bool {
	return func(c discovery.Check) bool { return c.RegistrationID == id }
}

func checks(r *run) {
	s := r.registered(1)
	i := r.there(s, discovery.Passing)
	c, ok := r.check(ofRegistration(s.RegistrationID))
	if !ok || c.ServiceID != s.ID || c.RegistrationID != s.RegistrationID || c.Health != discovery.Passing || c.Node != i.Node {
		r.Errorf("its check is %+v, %v", c, ok)
	}
	r.lost(r.service(2))
	c, ok = r.check(withID(r.prefix + "-lone"))
	if !ok || c.ServiceID != "" || c.RegistrationID != "" || c.Health != discovery.Critical {
		r.Errorf("a check without a service is %+v, %v", c, ok)
	}
}

func removeCheck(r *run) {
	s := r.registered(1)
	r.there(s, discovery.Passing)
	node := r.lost(r.service(2))
	for what, fits := range map[string]func(discovery.Check) bool{
		"the check of a registration": ofRegistration(s.RegistrationID), "the check of no service": withID(r.prefix + "-lone"),
	} {
		c, ok := r.check(fits)
		if !ok {
			r.Fatalf("%s is not listed", what)
		}
		for range 2 {
			r.must(r.client.RemoveCheck(r.Context(), c))
		}
		r.eventually(what+" is gone", 0, func() bool { _, there := r.check(fits); return !there })
		c.ID = "" // it must not mean the whole node
		r.fails(r.client.RemoveCheck(r.Context(), c), discovery.ErrInvalid)
	}
	if !r.inCatalog(node) || len(r.instances()) != 2 {
		r.Error("more than the checks is gone")
	}
	r.fails(r.client.Heartbeat(r.Context(), s.RegistrationID), discovery.ErrNotAdvertised)
}

func sessions(r *run) {
	of := func() []discovery.Session {
		r.Helper()
		all, err := r.client.Sessions(r.Context())
		r.must(err)
		return slices.DeleteFunc(all, func(s discovery.Session) bool { return s.Name != r.prefix })
	}
	if found := of(); len(found) != 0 {
		r.Fatalf("before the test there is %+v", found)
	}
	var ids []string
	for range 2 {
		id, err := r.Registry.CreateSession(r.Context(), r.prefix)
		r.must(err)
		ids = append(ids, id)
	}
	if found := of(); len(found) != 2 || found[0].Node == "" || !slices.Contains(ids, found[0].ID) || !slices.Contains(ids, found[1].ID) {
		r.Errorf("%q were made, and %+v is there", ids, found)
	}
	for range 2 {
		r.must(r.client.DestroySession(r.Context(), ids[0]))
	}
	if found := of(); len(found) != 1 || found[0].ID != ids[1] {
		r.Errorf("%+v is left", found)
	}
	r.must(r.client.DestroySession(r.Context(), ids[1]))
	for _, id := range []string{"", "../" + ids[0], ids[0] + "\n"} {
		r.fails(r.client.DestroySession(r.Context(), id), discovery.ErrInvalid)
	}
}
