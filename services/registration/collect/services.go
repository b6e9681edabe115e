package collect

import (
	"context"
	"errors"

	"github.com/fsmgen/fsmgen/adapters/discovery"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/registration/database"
)

// collectServices removes services without a row, and those that have been
// critical for too long: Consul does not say since when, so it is remembered.
// Services that carry no registration id, or one that is not in this database,
// belong to other programs.
func (g *run) collectServices(ctx context.Context) error {
	ours, err := g.advertised(ctx)
	if err != nil {
		return err
	}
	var critical []database.CriticalService
	for _, i := range ours {
		if i.Health == discovery.Critical {
			critical = append(critical, database.CriticalService{ServiceID: i.ID, RegistrationID: i.RegistrationID})
		}
	}
	since, err := g.Rows.SeenCritical(ctx, critical)
	if err != nil {
		return err
	}
	now := g.Clock.Now()
	var nodes []string
	var all error
	for _, i := range ours {
		first, is := since[database.CriticalService{ServiceID: i.ID, RegistrationID: i.RegistrationID}]
		o := orphan{resourceService, byMissingNode, i.NodeID, "", now}
		if is {
			o.since = first
		}
		if is && now.Sub(first) >= g.Limits.CriticalFor {
			o.method = byCriticalCheck
		}
		gone, err := g.collectService(ctx, i, o)
		if gone {
			nodes = append(nodes, i.NodeID)
		}
		all = errors.Join(all, err)
	}
	return errors.Join(all, g.Rows.LogCollected(ctx, nodes))
}

// advertised lists the services that registrations advertise.
func (g *run) advertised(ctx context.Context) (ours []discovery.Instance, err error) {
	names, err := g.Catalog.Names(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		found, err := g.Catalog.Instances(ctx, name)
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
func (g *run) collectService(ctx context.Context, i discovery.Instance, o orphan) (bool, error) {
	r, there, err := g.record(ctx, i.RegistrationID)
	if err != nil || !there { // records stay: what has none is of another database
		return false, err
	}
	o.environment = r.Environment.V
	if works(r.State) || r.State == registration.PartialRegistered { // see its own outcome, and Reconcile
		return false, nil
	}
	tracked, err := g.Registrations.HasRow(ctx, r)
	if err != nil {
		return false, err
	}
	if tracked && o.method != byCriticalCheck {
		return false, nil
	}
	g.detected(o)
	switch {
	case r.State == registration.Registered && !tracked:
		// The row was taken away by hand: the record must not say that both are there.
		err = g.Registrations.Tell(ctx, r, registration.FatalError{ErrorType: fsm.Some(registration.FatalTypeCorruptedContext)}, registration.BySystem())
	case r.State == registration.Registered:
		g.measure(metricForced, 1, o.environment, i.Datacenter)
		_, err := g.end(ctx, r)
		g.attended(o, err)
		return false, err
	}
	if err == nil {
		err = g.Catalog.Withdraw(ctx, i)
	}
	g.cleaned(gcServices, o, err)
	if err != nil {
		return false, err
	}
	g.measure(metricForced, 1, o.environment, i.Datacenter)
	g.done.Services = append(g.done.Services, i.ID)
	return true, nil
}
