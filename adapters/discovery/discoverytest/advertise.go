package discoverytest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/adapters/discovery"
)

func registerMakesDiscoverable(r *run) {
	s := r.registered(1)
	i := r.there(s, discovery.Passing)
	if i.Name != s.Name || !slices.Equal(i.Tags, s.Tags) || i.NodeID != s.NodeID || i.Node == "" || i.CorrelationID != "" {
		r.Errorf("%+v was registered, and %+v is there", s, i)
	}
	if got := r.there(s, discovery.Passing).Datacenter; got != r.Datacenter {
		r.Errorf("the datacenter is %q", got)
	}
	healthy, err := r.Registry.Healthy(r.Context(), s.Name, "eu")
	r.must(err)
	if !slices.Equal(healthy, []string{s.ID}) {
		r.Errorf("a program that asks for healthy services with a tag gets %q", healthy)
	}
}

func registerTwice(r *run) {
	s := r.registered(1)
	r.must(r.client.Register(r.Context(), s))
	r.there(s, discovery.Passing)
	if n := len(r.instances()); n != 1 {
		r.Errorf("%d services are there", n)
	}
}

func registerReplaces(r *run) {
	s := r.registered(1)
	other := s
	other.Tags = []string{"green"}
	r.must(r.client.Register(r.Context(), other))
	r.eventually("the tags are those of the second registration", 0, func() bool {
		return slices.Equal(r.there(s, discovery.Passing).Tags, other.Tags)
	})
	other.Name = r.prefix + "-renamed"
	r.must(r.client.Register(r.Context(), other))
	r.nothing()
}

// registerReplacesForeign: a check that is not replaced would keep the service critical for ever.
func registerReplacesForeign(r *run) {
	s := r.service(1)
	r.must(r.Registry.Register(r.Context(), discovery.Service{ID: s.ID, Name: s.Name, TTL: time.Hour}, discovery.Critical))
	r.eventually("the foreign service is there", 0, func() bool { return len(r.instances()) == 1 })
	r.registered(1)
	r.there(s, discovery.Passing)
}

func oddIDs(r *run) {
	for i, odd := range []string{"with space", "größe-画像", "a/b", "a?b=c&d#e", "50%25", `q"uo'te\`, "a+b", "..a", "-"} {
		s := r.service(i)
		s.ID, s.RegistrationID = r.prefix+odd, r.prefix+"first-"+odd
		r.must(r.client.Register(r.Context(), s))
		r.there(s, discovery.Passing)
		r.must(r.client.Heartbeat(r.Context(), s.RegistrationID))
		r.must(r.client.Deregister(r.Context(), s.ID, s.RegistrationID))
	}
	r.nothing()
}

func manyAtOnce(r *run) {
	const services, callers = 20, 3
	var all sync.WaitGroup
	for n := range services {
		for range callers {
			all.Go(func() {
				s := r.service(n)
				if err := r.client.Register(r.Context(), s); err != nil {
					r.Error(err)
				}
				if err := r.client.Heartbeat(r.Context(), s.RegistrationID); err != nil {
					r.Error(err)
				}
			})
		}
	}
	all.Wait()
	r.eventually("all are there", 0, func() bool { return len(r.instances()) == services })
	for n := range services {
		for range callers {
			all.Go(func() {
				s := r.service(n)
				if err := r.client.Deregister(r.Context(), s.ID, s.RegistrationID); err != nil {
					r.Error(fmt.Errorf("of %d at once: %w", callers, err))
				}
			})
		}
	}
	all.Wait()
	r.nothing()
}
