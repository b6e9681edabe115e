package discoverytest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/hashicorp/consul/api"

	"github.com/fsmgen/fsmgen/adapters/discovery"
)

func registerMakesDiscoverable(l *lab) {
	s := l.registered(1)
	i := l.there(s, discovery.Passing)
	if i.Name != s.Name || !slices.Equal(i.Tags, s.Tags) || i.NodeID != s.NodeID || i.Node == "" || i.CorrelationID != "" {
		l.Errorf("%+v was registered, and %+v is there", s, i)
	}
	// What a discovering client asks.
	if got := l.there(s, discovery.Passing).Datacenter; got != "dc1" {
		l.Errorf("the datacenter is %q", got)
	}
	found, _, err := l.raw.Health().Service(s.Name, "eu", true, nil)
	l.must(err)
	if len(found) != 1 || found[0].Service.ID != s.ID {
		l.Errorf("a client that asks for healthy ones with a tag gets %d", len(found))
	}
}

func registerTwice(l *lab) {
	s := l.registered(1)
	l.must(l.client.Register(l.Context(), s))
	l.there(s, discovery.Passing)
	if n := len(l.instances()); n != 1 {
		l.Errorf("%d services are there", n)
	}
}

func registerReplaces(l *lab) {
	s := l.registered(1)
	other := s
	other.Tags = []string{"green"}
	l.must(l.client.Register(l.Context(), other))
	l.eventually("the tags are those of the second registration", 0, func() bool {
		return slices.Equal(l.there(s, discovery.Passing).Tags, other.Tags)
	})
	other.Name = l.prefix + "-renamed"
	l.must(l.client.Register(l.Context(), other))
	l.nothing()
}

// A check that is not replaced would keep the service critical for ever.
func registerReplacesStranger(l *lab) {
	s := l.service(1)
	l.must(l.raw.Agent().ServiceRegister(&api.AgentServiceRegistration{
		ID: s.ID, Name: s.Name, Check: &api.AgentServiceCheck{TTL: "1h", Status: api.HealthCritical},
	}))
	l.eventually("the stranger is there", 0, func() bool { return len(l.instances()) == 1 })
	l.registered(1)
	l.there(s, discovery.Passing)
}

func oddIDs(l *lab) {
	for i, odd := range []string{"with space", "größe-画像", "a/b", "a?b=c&d#e", "50%25", `q"uo'te\`, "a+b", "..a", "-"} {
		s := l.service(i)
		s.ID, s.RegistrationID = l.prefix+odd, l.prefix+"life-"+odd
		l.must(l.client.Register(l.Context(), s))
		l.there(s, discovery.Passing)
		l.must(l.client.Heartbeat(l.Context(), s.RegistrationID))
		l.must(l.client.Deregister(l.Context(), s.ID, s.RegistrationID))
	}
	l.nothing()
}

func manyAtOnce(l *lab) {
	const services, callers = 20, 3
	var all sync.WaitGroup
	for n := range services {
		for range callers {
			all.Go(func() {
				s := l.service(n)
				if err := l.client.Register(l.Context(), s); err != nil {
					l.Error(err)
				}
				if err := l.client.Heartbeat(l.Context(), s.RegistrationID); err != nil {
					l.Error(err)
				}
			})
		}
	}
	all.Wait()
	l.eventually("all are there", 0, func() bool { return len(l.instances()) == services })
	for n := range services {
		for range callers {
			all.Go(func() {
				s := l.service(n)
				if err := l.client.Deregister(l.Context(), s.ID, s.RegistrationID); err != nil {
					l.Error(fmt.Errorf("of %d at once: %w", callers, err))
				}
			})
		}
	}
	all.Wait()
	l.nothing()
}
