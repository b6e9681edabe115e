package registration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/internal/groupcommit"
)

// errNoDiscovery says that the daemon was started without Consul.
var errNoDiscovery = fmt.Errorf("%w: this daemon was started without Consul", ErrRefused)

// noDiscovery stands where Consul would be: nothing is advertised, and each
// method says so.
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

// advertiser keeps what Consul has of registrations in step with their rows.
type advertiser struct {
	rows      Registry
	discovery Discovery
	catalog   Catalog // nil: the daemon works without Consul
	attempt   time.Duration
	ttl       time.Duration
	lookups   groupcommit.Queue[string, *lookup]
}

// advertisement is what a record advertises.
func (a *advertiser) advertisement(r *registration.Record) Service {
	return serviceOf(registration.ConsulRegisterEffect{
		RegistrationID: r.RegistrationID, NodeID: r.NodeID, ConsulServiceID: r.ConsulServiceID, ConsulServiceName: r.ConsulServiceName,
		ConsulTags: r.ConsulTags, ConsulHealthCheck: r.ConsulHealthCheck,
	}, a.ttl)
}

// advertise registers a service in Consul while the row of its registration is
// there: the database has its record before the node is discoverable. The row is
// looked at again afterwards; if it has gone meanwhile, so does the service.
func (a *advertiser) advertise(ctx context.Context, service Service) error {
	if err := a.owned(ctx, service); err != nil {
		return err
	}
	if err := a.discovery.Register(ctx, service); err != nil {
		return err
	}
	lost := a.owned(ctx, service)
	if lost == nil {
		return nil
	}
	return errors.Join(lost, a.withdraw(ctx, service))
}

// owned makes sure that the row of a node is that of the registration.
func (a *advertiser) owned(ctx context.Context, service Service) error {
	owner, err := a.owner(ctx, service.NodeID)
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

// lookup asks who has the row of a node.
type lookup struct{ node, owner string }

// owner returns the registration that has the row of a node. It asks together with
// others that ask at the same time. ErrNotRegistered: there is no row.
func (a *advertiser) owner(ctx context.Context, node string) (registrationID string, err error) {
	mine := &lookup{node: node}
	err = a.lookups.Do(node, mine, together, func(all []*lookup) error { return a.look(ctx, all) })
	if err == nil && mine.owner == "" {
		err = fmt.Errorf("node %s: %w", node, ErrNotRegistered)
	}
	return mine.owner, err
}

func (a *advertiser) look(ctx context.Context, all []*lookup) error {
	nodes := make([]string, len(all))
	for i, l := range all {
		nodes[i] = l.node
	}
	owners, err := a.rows.Owners(ctx, nodes)
	if err != nil {
		return err
	}
	for _, l := range all {
		l.owner = owners[l.node]
	}
	return nil
}

// withdraw takes back what advertise did, even when the attempt's time is up.
func (a *advertiser) withdraw(ctx context.Context, service Service) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.attempt)
	defer cancel()
	if err := a.discovery.Deregister(ctx, service.ID, service.RegistrationID); err != nil {
		return fmt.Errorf("withdraw the service: %w", err)
	}
	return nil
}
