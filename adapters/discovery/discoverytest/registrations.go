package discoverytest

import (
	"time"

	"github.com/fsmgen/fsmgen/adapters/discovery"
)

// brief is a TTL that a test can wait for.
const brief = 2 * time.Second

func lapse(r *run) {
	s := r.service(1)
	s.TTL = brief
	r.must(r.client.Register(r.Context(), s))
	r.there(s, discovery.Passing)
	r.eventually("it turns critical", brief/4, func() bool { return r.instances()[0].Health == discovery.Critical })
	r.must(r.client.Heartbeat(r.Context(), s.RegistrationID))
	r.there(s, discovery.Passing)
	r.eventually("it turns critical again", brief/4, func() bool { return r.instances()[0].Health == discovery.Critical })
	r.must(r.client.Register(r.Context(), s)) // makes it discoverable, whatever was before
	r.there(s, discovery.Passing)
	r.must(r.client.Deregister(r.Context(), s.ID, s.RegistrationID))
}

// heartbeat: the second service shows that the time has passed.
func heartbeat(r *run) {
	kept, left := r.service(1), r.service(2)
	kept.TTL, left.TTL = brief, brief
	for _, s := range []discovery.Service{kept, left} {
		r.must(r.client.Register(r.Context(), s))
	}
	of := func(s discovery.Service) discovery.Health {
		for _, i := range r.instances() {
			if i.ID == s.ID {
				return i.Health
			}
		}
		return ""
	}
	r.eventually("the one without a heartbeat turns critical", brief/8, func() bool {
		r.must(r.client.Heartbeat(r.Context(), kept.RegistrationID))
		return of(left) == discovery.Critical
	})
	if health := of(kept); health != discovery.Passing {
		r.Errorf("the one with heartbeats is %s", health)
	}
	for _, s := range []discovery.Service{kept, left} {
		r.must(r.client.Deregister(r.Context(), s.ID, s.RegistrationID))
	}
}

func heartbeatUnknown(r *run) {
	r.fails(r.client.Heartbeat(r.Context(), r.prefix+"-never"), discovery.ErrNotAdvertised)
	s := r.registered(1)
	r.must(r.client.Deregister(r.Context(), s.ID, s.RegistrationID))
	r.fails(r.client.Heartbeat(r.Context(), s.RegistrationID), discovery.ErrNotAdvertised)
}

func deregister(r *run) {
	s, other := r.registered(1), r.registered(2)
	for range 2 {
		r.must(r.client.Deregister(r.Context(), s.ID, s.RegistrationID))
	}
	r.must(r.client.Deregister(r.Context(), r.prefix+"-never", "never"))
	r.eventually("one is left", 0, func() bool { return len(r.instances()) == 1 })
	r.there(other, discovery.Passing)
	all, err := r.client.Checks(r.Context())
	r.must(err)
	for _, c := range all {
		if c.RegistrationID == s.RegistrationID {
			r.Errorf("its check is left: %+v", c)
		}
	}
}

func comesBack(r *run) {
	s := r.registered(1)
	r.must(r.client.Deregister(r.Context(), s.ID, s.RegistrationID))
	r.nothing()
	again := reregistered(s)
	r.must(r.client.Register(r.Context(), again))
	r.there(again, discovery.Passing)
	r.must(r.client.Deregister(r.Context(), again.ID, again.RegistrationID))
	r.nothing()
}

// earlierRegistration: calls of an ended registration must not touch the next one of its node.
func earlierRegistration(r *run) {
	s := r.registered(1)
	again := reregistered(s)
	again.TTL = brief
	r.must(r.client.Register(r.Context(), again))
	r.fails(r.client.Heartbeat(r.Context(), s.RegistrationID), discovery.ErrNotAdvertised)
	r.must(r.client.Deregister(r.Context(), s.ID, s.RegistrationID))
	i := r.there(again, discovery.Passing)
	i.RegistrationID = s.RegistrationID
	r.must(r.client.Withdraw(r.Context(), i))
	r.there(again, discovery.Passing)
	// Nor did the earlier heartbeat or its TTL of an hour keep it alive.
	r.eventually("it turns critical", brief/4, func() bool { return r.instances()[0].Health == discovery.Critical })
}

// lateRegistration: a registration that arrives after the next one takes the ID over. The next
// heartbeat of the later one reports it, and registering again repairs it.
func lateRegistration(r *run) {
	s := r.registered(1)
	again := reregistered(s)
	r.must(r.client.Register(r.Context(), again))
	r.must(r.client.Register(r.Context(), s)) // late
	r.fails(r.client.Heartbeat(r.Context(), again.RegistrationID), discovery.ErrNotAdvertised)
	r.must(r.client.Register(r.Context(), again))
	r.must(r.client.Heartbeat(r.Context(), again.RegistrationID))
	r.there(again, discovery.Passing)
	if n := len(r.instances()); n != 1 {
		r.Errorf("%d services are there", n)
	}
}
