package registration

import (
	"context"
	"errors"
	"slices"

	"github.com/fsmgen/fsmgen/generated/registration"
)

// Instance finds the service of a registration in Consul.
func (a *advertiser) Instance(ctx context.Context, r *registration.Record) (Instance, bool, error) {
	if a.catalog == nil {
		return Instance{}, false, errNoDiscovery
	}
	if !r.ConsulServiceName.IsSet {
		return Instance{}, false, nil
	}
	found, err := a.catalog.Instances(ctx, r.ConsulServiceName.V)
	i := slices.IndexFunc(found, func(i Instance) bool { return i.RegistrationID == r.RegistrationID.String() })
	if err != nil || i < 0 {
		return Instance{}, false, err
	}
	return found[i], true, nil
}

// HasRow reports whether the row of the node is that of the registration.
func (a *advertiser) HasRow(ctx context.Context, r *registration.Record) (bool, error) {
	owner, err := a.owner(ctx, r.NodeID)
	if errors.Is(err, ErrNotRegistered) {
		return false, nil
	}
	return owner == r.RegistrationID.String(), err
}

// remains looks whether row and service of a registration are there.
func (a *advertiser) remains(ctx context.Context, r *registration.Record) (row, service *bool) {
	ctx, cancel := context.WithTimeout(ctx, a.attempt)
	defer cancel()
	if there, err := a.HasRow(ctx, r); err == nil {
		row = &there
	}
	if _, there, err := a.Instance(ctx, r); err == nil {
		service = &there
	}
	return row, service
}

// Unadvertise makes sure that a registration has no service. Without Consul that
// is so if none was ever confirmed.
func (a *advertiser) Unadvertise(ctx context.Context, r *registration.Record) error {
	if !r.ConsulServiceID.IsSet || a.catalog == nil && !r.ConsulApplied {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, a.attempt)
	defer cancel()
	return a.discovery.Deregister(ctx, r.ConsulServiceID.V, r.RegistrationID.String())
}
