package discoverytest

import (
	"time"

	"github.com/fsmgen/fsmgen/adapters/discovery"
)

// brief is a TTL that a test can wait for.
const brief = 2 * time.Second

func lapse(l *lab) {
	s := l.service(1)
	s.TTL = brief
	l.must(l.client.Register(l.Context(), s))
	l.there(s, discovery.Passing)
	l.eventually("it turns critical", brief/4, func() bool { return l.instances()[0].Health == discovery.Critical })
	l.must(l.client.Heartbeat(l.Context(), s.RegistrationID))
	l.there(s, discovery.Passing)
	l.eventually("it turns critical again", brief/4, func() bool { return l.instances()[0].Health == discovery.Critical })
	l.must(l.client.Register(l.Context(), s)) // makes it discoverable, whatever was before
	l.there(s, discovery.Passing)
	l.must(l.client.Deregister(l.Context(), s.ID, s.RegistrationID))
}

// The second service shows that the time has passed.
func heartbeat(l *lab) {
	kept, left := l.service(1), l.service(2)
	kept.TTL, left.TTL = brief, brief
	for _, s := range []discovery.Service{kept, left} {
		l.must(l.client.Register(l.Context(), s))
	}
	of := func(s discovery.Service) discovery.Health {
		for _, i := range l.instances() {
			if i.ID == s.ID {
				return i.Health
			}
		}
		return ""
	}
	l.eventually("the one without a heartbeat turns critical", brief/8, func() bool {
		l.must(l.client.Heartbeat(l.Context(), kept.RegistrationID))
		return of(left) == discovery.Critical
	})
	if health := of(kept); health != discovery.Passing {
		l.Errorf("the one with heartbeats is %s", health)
	}
	for _, s := range []discovery.Service{kept, left} {
		l.must(l.client.Deregister(l.Context(), s.ID, s.RegistrationID))
	}
}

func heartbeatUnknown(l *lab) {
	l.fails(l.client.Heartbeat(l.Context(), l.prefix+"-never"), discovery.ErrNotAdvertised)
	s := l.registered(1)
	l.must(l.client.Deregister(l.Context(), s.ID, s.RegistrationID))
	l.fails(l.client.Heartbeat(l.Context(), s.RegistrationID), discovery.ErrNotAdvertised)
}

func deregister(l *lab) {
	s, other := l.registered(1), l.registered(2)
	for range 2 {
		l.must(l.client.Deregister(l.Context(), s.ID, s.RegistrationID))
	}
	l.must(l.client.Deregister(l.Context(), l.prefix+"-never", "never"))
	l.eventually("one is left", 0, func() bool { return len(l.instances()) == 1 })
	l.there(other, discovery.Passing)
	all, err := l.client.Checks(l.Context())
	l.must(err)
	for _, c := range all {
		if c.RegistrationID == s.RegistrationID {
			l.Errorf("its check is left: %+v", c)
		}
	}
}

func comesBack(l *lab) {
	s := l.registered(1)
	l.must(l.client.Deregister(l.Context(), s.ID, s.RegistrationID))
	l.nothing()
	again := reregistered(s)
	l.must(l.client.Register(l.Context(), again))
	l.there(again, discovery.Passing)
	l.must(l.client.Deregister(l.Context(), again.ID, again.RegistrationID))
	l.nothing()
}

// What an ended registration still does must not touch the next one of its node.
func earlierRegistration(l *lab) {
	s := l.registered(1)
	again := reregistered(s)
	again.TTL = brief
	l.must(l.client.Register(l.Context(), again))
	l.fails(l.client.Heartbeat(l.Context(), s.RegistrationID), discovery.ErrNotAdvertised)
	l.must(l.client.Deregister(l.Context(), s.ID, s.RegistrationID))
	i := l.there(again, discovery.Passing)
	i.RegistrationID = s.RegistrationID
	l.must(l.client.Withdraw(l.Context(), i))
	l.there(again, discovery.Passing)
	// Nor did the earlier heartbeat or its TTL of an hour keep it alive.
	l.eventually("it turns critical", brief/4, func() bool { return l.instances()[0].Health == discovery.Critical })
}

// A registration that arrives after the next one takes the ID over. The next
// heartbeat of the later one says so, and registering again heals it.
func lateRegistration(l *lab) {
	s := l.registered(1)
	again := reregistered(s)
	l.must(l.client.Register(l.Context(), again))
	l.must(l.client.Register(l.Context(), s)) // late
	l.fails(l.client.Heartbeat(l.Context(), again.RegistrationID), discovery.ErrNotAdvertised)
	l.must(l.client.Register(l.Context(), again))
	l.must(l.client.Heartbeat(l.Context(), again.RegistrationID))
	l.there(again, discovery.Passing)
	if n := len(l.instances()); n != 1 {
		l.Errorf("%d services are there", n)
	}
}
