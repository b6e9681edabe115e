package registration

import (
	"context"
	"errors"
	"time"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// remnant is an ended registration that may have left something behind.
type remnant struct {
	id    string
	ended time.Time
}

// sweep looks for what ended registrations left: those whose cleanup failed, was
// never attempted or did not answer in time. Service first, then row; when both
// are gone the registration is not looked at again.
func (s *Server) sweep(ctx context.Context, c *Collected) error {
	var all error
	for last := (remnant{id: fsm.UUID{}.String()}); ; {
		left, err := s.remnants(ctx, last)
		if err != nil {
			return errors.Join(all, err)
		}
		for _, x := range left {
			last = x
			all = errors.Join(all, s.sweepOne(ctx, x, c))
		}
		if len(left) < s.options.Collect.Batch {
			return all
		}
	}
}

// remnants lists the next, those that ended first at first.
func (s *Server) remnants(ctx context.Context, after remnant) (out []remnant, err error) {
	before := s.options.Clock.Now().Add(-s.options.Collect.SettleFor)
	err = s.db.read(ctx, func(q querier) error {
		out = nil
		return q.query(ctx, func(scan scan) error {
			var x remnant
			err := scan(&x.id, &x.ended)
			x.ended = x.ended.UTC()
			out = append(out, x)
			return err
		}, `SELECT CAST(registration_id AS text), entered_at FROM registration_records AS r
			WHERE state = 'deregistered' AND (consul_cleanup <> 'removed' OR postgres_cleanup <> 'removed') AND entered_at <= $1
				AND NOT EXISTS (SELECT 1 FROM registration_swept AS s WHERE s.registration_id = r.registration_id)
				AND (entered_at, registration_id) > ($2, $3)
			ORDER BY entered_at, registration_id LIMIT $4`, before.UTC(), after.ended, after.id, s.options.Collect.Batch)
	})
	return out, err
}

func (s *Server) sweepOne(ctx context.Context, x remnant, c *Collected) error {
	r, err := s.record(ctx, x.id)
	if err != nil {
		return err
	}
	if s.Advertises() {
		err = s.sweepService(ctx, r, x.ended, c)
	} else if r.ConsulApplied {
		return nil // it waits for a daemon that works with Consul
	}
	if err != nil {
		return err
	}
	if err := s.sweepRow(ctx, r, x.ended, c); err != nil {
		return err
	}
	return s.db.within(ctx, func(ctx context.Context, t transaction) error {
		_, err := t.exec(ctx, "INSERT INTO registration_swept (registration_id, swept_at) VALUES ($1, $2) ON CONFLICT DO NOTHING", x.id, s.options.Clock.Now().UTC())
		return err
	})
}

func (s *Server) sweepService(ctx context.Context, r *registration.Record, ended time.Time, c *Collected) error {
	i, there, err := s.instance(ctx, r)
	if err != nil || !there {
		return err
	}
	o := orphan{resourceService, byMissingNode, r.NodeID, r.Environment.V, ended}
	s.detected(o)
	err = s.options.Catalog.Withdraw(ctx, i)
	s.cleaned(gcServices, o, err)
	if err == nil {
		s.measure(metricForced, 1, r.Environment.V, i.Datacenter)
		c.Services = append(c.Services, i.ID)
	}
	return err
}

func (s *Server) sweepRow(ctx context.Context, r *registration.Record, ended time.Time, c *Collected) error {
	there, err := s.hasRow(ctx, r)
	if err != nil || !there {
		return err
	}
	o := orphan{resourceRow, byMissingNode, r.NodeID, r.Environment.V, ended}
	s.detected(o)
	err = s.registry.Delete(ctx, Key{r.NodeID, r.RegistrationID.String()})
	s.cleaned(gcRows, o, err)
	if err == nil {
		c.Rows = append(c.Rows, r.NodeID)
	}
	return err
}

// collectSessions ends the sessions of nodes that were registered here and are
// no more. Those of anybody else stay.
func (s *Server) collectSessions(ctx context.Context, c *Collected) error {
	sessions, err := s.options.Catalog.Sessions(ctx)
	if err != nil {
		return err
	}
	var all error
	for _, x := range sessions {
		if !Plain(x.Name) { // no node has such an id
			continue
		}
		r, err := s.endedNode(ctx, "node_id = $1", x.Name)
		if err != nil || r == nil {
			all = errors.Join(all, err)
			continue
		}
		o := orphan{resourceSession, byOrphanSession, r.NodeID, r.Environment.V, s.options.Clock.Now()}
		s.detected(o)
		err = s.options.Catalog.DestroySession(ctx, x.ID)
		s.cleaned(gcServices, o, err)
		if err == nil {
			c.Sessions = append(c.Sessions, x.ID)
		}
		all = errors.Join(all, err)
	}
	return all
}

// collectChecks removes checks of registrations whose service is gone.
func (s *Server) collectChecks(ctx context.Context, c *Collected) error {
	checks, err := s.options.Catalog.Checks(ctx)
	if err != nil {
		return err
	}
	ours, err := s.advertised(ctx)
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
		r, err := s.endedNode(ctx, "registration_id = $1", x.RegistrationID)
		if err != nil || r == nil {
			all = errors.Join(all, err)
			continue
		}
		o := orphan{resourceCheck, byMissingNode, r.NodeID, r.Environment.V, s.options.Clock.Now()}
		s.detected(o)
		err = s.options.Catalog.RemoveCheck(ctx, x)
		s.cleaned(gcServices, o, err)
		if err == nil {
			c.Checks = append(c.Checks, x.ID)
		}
		all = errors.Join(all, err)
	}
	return all
}

// endedNode returns the last of the registrations for which a clause holds, if
// there is one and all of them have ended; nil otherwise.
func (s *Server) endedNode(ctx context.Context, clause, value string) (r *registration.Record, err error) {
	var id string
	var live int
	err = s.db.within(ctx, func(ctx context.Context, t transaction) error {
		_, err := one(ctx, t, `SELECT coalesce(max(CAST(registration_id AS text)), ''), count(CASE WHEN state <> 'deregistered' THEN 1 END)
			FROM registration_records WHERE `+clause, []any{value}, &id, &live)
		return err
	})
	if err != nil || id == "" || live > 0 {
		return nil, err
	}
	return s.record(ctx, id)
}

// requeueWithdrawals has withdrawals that were given up tried again: what is
// behind them in the lane of their registration waits for them.
func (s *Server) requeueWithdrawals(ctx context.Context) error {
	done, err := s.db.RequeueAll(ctx, engine.Filter{Machine: machine, Effect: "consul.withdraw"}, "collector", "the service may still be advertised")
	return errors.Join(err, done.Err())
}
