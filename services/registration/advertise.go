package registration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/generated/registration"
)

// errNoDiscovery says that the daemon was started without Consul.
var errNoDiscovery = fmt.Errorf("%w: this daemon was started without Consul", ErrRefused)

// noDiscovery stands where Consul would be: nothing is advertised, and whoever
// wants it is told so.
type noDiscovery struct{}

func (noDiscovery) Register(context.Context, Service) error          { return errNoDiscovery }
func (noDiscovery) Heartbeat(context.Context, string) error          { return errNoDiscovery }
func (noDiscovery) Deregister(context.Context, string, string) error { return errNoDiscovery }

// serviceOf is what a registration advertises.
func serviceOf(e registration.ConsulRegisterEffect, ttl time.Duration) Service {
	if own, err := ttlOf(e.ConsulHealthCheck, ttl); err == nil {
		ttl = own
	}
	return Service{
		ID: e.ConsulServiceID.V, Name: e.ConsulServiceName.V, Tags: e.ConsulTags.V, TTL: ttl,
		NodeID: e.NodeID, RegistrationID: e.RegistrationID.String(),
	}
}

// advertisement is what a record advertises.
func (s *Server) advertisement(r *registration.Record) Service {
	return serviceOf(registration.ConsulRegisterEffect{
		RegistrationID: r.RegistrationID, NodeID: r.NodeID, ConsulServiceID: r.ConsulServiceID, ConsulServiceName: r.ConsulServiceName,
		ConsulTags: r.ConsulTags, ConsulHealthCheck: r.ConsulHealthCheck,
	}, s.options.TTL)
}

// advertise registers a service in Consul while the row of its registration is
// there: the database has its record before the node is discoverable. The row is
// looked at again afterwards; if it has gone meanwhile, so does the service.
func (s *Server) advertise(ctx context.Context, service Service) error {
	if err := s.owned(ctx, service); err != nil {
		return err
	}
	if err := s.discovery.Register(ctx, service); err != nil {
		return err
	}
	lost := s.owned(ctx, service)
	if lost == nil {
		return nil
	}
	return errors.Join(lost, s.withdraw(ctx, service))
}

// owned makes sure that the row of a node is that of the registration.
func (s *Server) owned(ctx context.Context, service Service) error {
	owner, err := s.registry.Owner(ctx, service.NodeID)
	switch {
	case err != nil:
		return err
	case owner > service.RegistrationID:
		return fmt.Errorf("%w: registration %s has the row of node %s", ErrSuperseded, owner, service.NodeID)
	case owner != service.RegistrationID:
		return fmt.Errorf("%w: node %s has the row of an earlier registration", ErrNotRegistered, service.NodeID)
	}
	return nil
}

// withdraw takes back what advertise did, even when the attempt's time is up.
func (s *Server) withdraw(ctx context.Context, service Service) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.options.AttemptTimeout)
	defer cancel()
	if err := s.discovery.Deregister(ctx, service.ID, service.RegistrationID); err != nil {
		return fmt.Errorf("withdraw the service: %w", err)
	}
	return nil
}
