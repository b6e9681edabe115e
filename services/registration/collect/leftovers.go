package collect

import (
	"context"
	"errors"
	"time"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/registration/database"
)

// sweep looks for what ended registrations left: those whose cleanup failed, was
// never attempted or did not answer in time. Service first, then row; when both
// are gone the registration is not looked at again.
func (g *run) sweep(ctx context.Context) error {
	before := g.Clock.Now().Add(-g.Limits.SettleFor)
	var all error
	for last := (database.Remnant{ID: fsm.UUID{}.String()}); ; {
		left, err := g.Ended.Remnants(ctx, before, last, g.Limits.Batch)
		if err != nil {
			return errors.Join(all, err)
		}
		for _, x := range left {
			last = x
			all = errors.Join(all, g.sweepOne(ctx, x))
		}
		if len(left) < g.Limits.Batch {
			return all
		}
	}
}

func (g *run) sweepOne(ctx context.Context, x database.Remnant) error {
	r, err := g.Registrations.Record(ctx, x.ID)
	if err != nil {
		return err
	}
	if g.Catalog != nil {
		err = g.sweepService(ctx, r, x.Ended)
	} else if r.ConsulApplied {
		return nil // it waits for a daemon that works with Consul
	}
	if err != nil {
		return err
	}
	if err := g.sweepRow(ctx, r, x.Ended); err != nil {
		return err
	}
	return g.Ended.Swept(ctx, x.ID, g.Clock.Now())
}

func (g *run) sweepService(ctx context.Context, r *registration.Record, ended time.Time) error {
	i, there, err := g.Registrations.Instance(ctx, r)
	if err != nil || !there {
		return err
	}
	o := orphan{resourceService, byMissingNode, r.NodeID, r.Environment.V, ended}
	g.detected(o)
	err = g.Catalog.Withdraw(ctx, i)
	g.cleaned(gcServices, o, err)
	if err == nil {
		g.measure(metricForced, 1, r.Environment.V, i.Datacenter)
		g.done.Services = append(g.done.Services, i.ID)
	}
	return err
}

func (g *run) sweepRow(ctx context.Context, r *registration.Record, ended time.Time) error {
	there, err := g.Registrations.HasRow(ctx, r)
	if err != nil || !there {
		return err
	}
	o := orphan{resourceRow, byMissingNode, r.NodeID, r.Environment.V, ended}
	g.detected(o)
	err = g.Rows.Delete(ctx, database.Key{NodeID: r.NodeID, RegistrationID: r.RegistrationID.String()})
	g.cleaned(gcRows, o, err)
	if err == nil {
		g.done.Rows = append(g.done.Rows, r.NodeID)
	}
	return err
}

// collectSessions ends the sessions of nodes that were registered here and are
// no more. All others stay.
func (g *run) collectSessions(ctx context.Context) error {
	sessions, err := g.Catalog.Sessions(ctx)
	if err != nil {
		return err
	}
	var all error
	for _, x := range sessions {
		id, err := g.Ended.EndedOfNode(ctx, x.Name)
		r, err := g.ended(ctx, id, err)
		if err != nil || r == nil {
			all = errors.Join(all, err)
			continue
		}
		o := orphan{resourceSession, byOrphanSession, r.NodeID, r.Environment.V, g.Clock.Now()}
		g.detected(o)
		err = g.Catalog.DestroySession(ctx, x.ID)
		g.cleaned(gcServices, o, err)
		if err == nil {
			g.done.Sessions = append(g.done.Sessions, x.ID)
		}
		all = errors.Join(all, err)
	}
	return all
}

// collectChecks removes checks of registrations whose service is gone.
func (g *run) collectChecks(ctx context.Context) error {
	checks, err := g.Catalog.Checks(ctx)
	if err != nil {
		return err
	}
	ours, err := g.advertised(ctx)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, i := range ours {
		there[i.RegistrationID] = true
	}
	var all error
	for _, x := range checks {
		if _, err := fsm.ParseUUID(x.RegistrationID); err != nil || there[x.RegistrationID] {
			continue
		}
		id, err := g.Ended.EndedRegistration(ctx, x.RegistrationID)
		r, err := g.ended(ctx, id, err)
		if err != nil || r == nil {
			all = errors.Join(all, err)
			continue
		}
		o := orphan{resourceCheck, byMissingNode, r.NodeID, r.Environment.V, g.Clock.Now()}
		g.detected(o)
		err = g.Catalog.RemoveCheck(ctx, x)
		g.cleaned(gcServices, o, err)
		if err == nil {
			g.done.Checks = append(g.done.Checks, x.ID)
		}
		all = errors.Join(all, err)
	}
	return all
}

// ended reads the registration that was found to have ended; nil if none was.
func (g *run) ended(ctx context.Context, id string, err error) (*registration.Record, error) {
	if err != nil || id == "" {
		return nil, err
	}
	return g.Registrations.Record(ctx, id)
}
