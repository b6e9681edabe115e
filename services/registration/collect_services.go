package registration

import (
	"context"
	"errors"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// collectServices removes services that nobody tracks, and those that have been
// critical for too long: Consul does not say since when, so it is remembered.
// Services that carry no registration id, or one that is not in this database,
// are somebody else's.
func (s *Server) collectServices(ctx context.Context, c *Collected) error {
	ours, err := s.advertised(ctx)
	if err != nil {
		return err
	}
	var critical []CriticalService
	for _, i := range ours {
		if i.Health == Critical {
			critical = append(critical, CriticalService{i.ID, i.RegistrationID})
		}
	}
	since, err := s.registry.SeenCritical(ctx, critical)
	if err != nil {
		return err
	}
	now := s.options.Clock.Now()
	var nodes []string
	var all error
	for _, i := range ours {
		first, is := since[CriticalService{i.ID, i.RegistrationID}]
		o := orphan{resourceService, byMissingNode, i.NodeID, "", now}
		if is {
			o.since = first
		}
		if is && now.Sub(first) >= s.options.Collect.CriticalFor {
			o.method = byCriticalCheck
		}
		gone, err := s.collectService(ctx, i, o, c)
		if gone {
			nodes = append(nodes, i.NodeID)
		}
		all = errors.Join(all, err)
	}
	return errors.Join(all, s.registry.LogCollected(ctx, nodes))
}

// advertised lists the services that registrations advertise.
func (s *Server) advertised(ctx context.Context) (ours []Instance, err error) {
	names, err := s.options.Catalog.Names(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		found, err := s.options.Catalog.Instances(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, i := range found {
			if _, err := fsm.ParseUUID(i.RegistrationID); err == nil {
				ours = append(ours, i)
			}
		}
	}
	return ours, nil
}

// collectService removes a service if it is an orphan, and reports whether it is
// gone by that. A node that is registered is deregistered by its machine; the
// record of one that has failed waits for its operator without the service.
func (s *Server) collectService(ctx context.Context, i Instance, o orphan, c *Collected) (bool, error) {
	r, there, err := s.last(ctx, i.RegistrationID)
	if err != nil || !there { // records stay: what has none is of another database
		return false, err
	}
	o.environment = r.Environment.V
	if works(r.State) || r.State == registration.PartialRegistered { // see its own outcome, and Reconcile
		return false, nil
	}
	tracked, err := s.hasRow(ctx, r)
	if err != nil {
		return false, err
	}
	if tracked && o.method != byCriticalCheck {
		return false, nil
	}
	s.detected(o)
	switch {
	case r.State == registration.Registered && !tracked:
		// Somebody took the row away: the record must not say that both are there.
		err = s.tell(ctx, r, registration.FatalError{ErrorType: fsm.Some(registration.FatalTypeCorruptedContext)}, registration.BySystem())
	case r.State == registration.Registered:
		s.measure(metricForced, 1, o.environment, i.Datacenter)
		_, err := s.end(ctx, r, c)
		s.attended(o, err)
		return false, err
	}
	if err == nil {
		err = s.options.Catalog.Withdraw(ctx, i)
	}
	s.cleaned(gcServices, o, err)
	if err != nil {
		return false, err
	}
	s.measure(metricForced, 1, o.environment, i.Datacenter)
	c.Services = append(c.Services, i.ID)
	return true, nil
}
