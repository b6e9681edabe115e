package discoverytest

import "github.com/fsmgen/fsmgen/adapters/discovery"

func correlation(r *run) {
	ctx := discovery.WithCorrelation(r.Context(), "correlation-7")
	s := r.service(1)
	r.must(r.client.Register(ctx, s))
	r.must(r.client.Heartbeat(ctx, s.RegistrationID))
	if id := r.there(s, discovery.Passing).CorrelationID; id != "correlation-7" {
		r.Errorf("the service has the correlation id %q", id)
	}
	again := reregistered(s)
	r.must(r.client.Register(r.Context(), again))
	if id := r.there(again, discovery.Passing).CorrelationID; id != "" {
		r.Errorf("a service without a correlation id has %q", id)
	}
	r.must(r.client.Deregister(ctx, again.ID, again.RegistrationID))
	r.nothing()
}

func invalidRequests(r *run) {
	register := func(change func(*discovery.Service)) error {
		s := r.service(1)
		change(&s)
		return r.client.Register(r.Context(), s)
	}
	for _, id := range []string{"", ".", "..", "a/", "/a", "a//b", "a/../b", "../check/deregister/x", "new\nline", "nul\x00", "\xff"} {
		r.fails(register(func(s *discovery.Service) { s.ID = id }), discovery.ErrInvalid)
		r.fails(register(func(s *discovery.Service) { s.RegistrationID = id }), discovery.ErrInvalid)
		r.fails(r.client.Heartbeat(r.Context(), id), discovery.ErrInvalid)
		r.fails(r.client.Deregister(r.Context(), id, "first"), discovery.ErrInvalid)
		r.fails(r.client.Deregister(r.Context(), r.prefix, id), discovery.ErrInvalid)
	}
	r.fails(register(func(s *discovery.Service) { s.Name = "" }), discovery.ErrInvalid)
	r.fails(register(func(s *discovery.Service) { s.TTL = 0 }), discovery.ErrInvalid)
	r.fails(register(func(s *discovery.Service) { s.TTL = -1 }), discovery.ErrInvalid)
	for _, id := range []string{"two\r\nlines", "nul\x00"} {
		r.fails(r.client.Heartbeat(discovery.WithCorrelation(r.Context(), id), "first"), discovery.ErrInvalid)
	}
	r.nothing()
}
