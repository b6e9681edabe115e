package registration

import (
	"context"
	"errors"
	"slices"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Reconcile looks at the partial registrations: one whose service has turned up
// in Consul after all, since the answer came too late, is complete (document
// 001, Trigger Catalog, RECOVERY_COMPLETE).
func (s *Server) Reconcile(ctx context.Context) error {
	if !s.Advertises() {
		return nil
	}
	var all error
	err := s.each(ctx, registration.PartialRegistered, func(r *registration.Record) {
		all = errors.Join(all, s.reconcile(ctx, r))
	})
	return errors.Join(err, all)
}

func (s *Server) reconcile(ctx context.Context, r *registration.Record) error {
	if _, there, err := s.instance(ctx, r); err != nil || !there {
		return err
	}
	if there, err := s.hasRow(ctx, r); err != nil || !there {
		return err
	}
	return s.tell(ctx, r, registration.RecoveryComplete{PostgresApplied: true, ConsulApplied: true}, registration.BySystem())
}

// tell fires an event that the daemon itself found out about, under the
// correlation id of the registration. A record that is no longer where it was
// is none of its business.
func (s *Server) tell(ctx context.Context, r *registration.Record, event registration.Payload, by registration.Actor) error {
	id := r.RegistrationID.String()
	correlation := ""
	err := s.db.read(ctx, func(q querier) (err error) {
		correlation, err = correlationOf(ctx, q, id)
		return err
	})
	if err != nil {
		return err
	}
	_, err = s.db.records().Fire(ctx, r.RegistrationID, event, by, engine.Correlation(correlation))
	var refused *fsm.Rejection
	if errors.As(err, &refused) || errors.Is(err, engine.ErrConflict) {
		return nil
	}
	return err
}

// each calls f for every registration in a state.
func (s *Server) each(ctx context.Context, state registration.State, f func(*registration.Record)) error {
	for found, err := range s.db.records().All(ctx, state) {
		if err != nil {
			return err
		}
		if found.Err == nil {
			f(found.Record)
		}
	}
	return nil
}

// instance finds the service of a registration in Consul.
func (s *Server) instance(ctx context.Context, r *registration.Record) (Instance, bool, error) {
	if !s.Advertises() {
		return Instance{}, false, errNoDiscovery
	}
	if !r.ConsulServiceName.IsSet {
		return Instance{}, false, nil
	}
	found, err := s.options.Catalog.Instances(ctx, r.ConsulServiceName.V)
	i := slices.IndexFunc(found, func(i Instance) bool { return i.RegistrationID == r.RegistrationID.String() })
	if err != nil || i < 0 {
		return Instance{}, false, err
	}
	return found[i], true, nil
}

// hasRow reports whether the row of the node is that of the registration.
func (s *Server) hasRow(ctx context.Context, r *registration.Record) (bool, error) {
	owner, err := s.owner(ctx, r.NodeID)
	if errors.Is(err, ErrNotRegistered) {
		return false, nil
	}
	return owner == r.RegistrationID.String(), err
}
