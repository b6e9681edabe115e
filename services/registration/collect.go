package registration

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Collect says what the collectors take for an orphan, and when they look. The
// defaults are those of document 001, Garbage Collection Implementation.
type Collect struct {
	// Every is how often the collectors run. Default 5 minutes.
	Every time.Duration
	// StaleAfter is how long a node may not be heard of. Default an hour.
	StaleAfter time.Duration
	// CriticalFor is how long a service may be critical. Default 5 minutes.
	CriticalFor time.Duration
	// SettleFor is how long an ended registration is left alone, in which what
	// was still under way may arrive. Default a minute.
	SettleFor time.Duration
	// Batch is how many rows are removed in a transaction. Default 100.
	Batch int
	// Reconcile is how often partial registrations are looked at. Default 5
	// seconds.
	Reconcile time.Duration
}

func (c Collect) withDefaults() Collect {
	c.Every = cmp.Or(c.Every, 5*time.Minute)
	c.StaleAfter = cmp.Or(c.StaleAfter, time.Hour)
	c.CriticalFor = cmp.Or(c.CriticalFor, 5*time.Minute)
	c.SettleFor = cmp.Or(c.SettleFor, time.Minute)
	c.Batch = cmp.Or(c.Batch, 100)
	c.Reconcile = cmp.Or(c.Reconcile, 5*time.Second)
	return c
}

// Collected is what a run of the collectors did.
type Collected struct {
	Rows         []string `json:"rows"`         // nodes whose rows were removed
	Services     []string `json:"services"`     // ids of services that were removed
	Checks       []string `json:"checks"`       // ids of checks that were removed
	Sessions     []string `json:"sessions"`     // ids of sessions that were ended
	Deregistered []string `json:"deregistered"` // nodes whose deregistration was begun
}

// The collectors, as the label gc_type names them.
const (
	gcRows     = "postgres"
	gcServices = "consul"
)

// GC runs both collectors once, that of the services first.
func (s *Server) GC(ctx context.Context) (c Collected, err error) {
	if !s.Advertises() {
		return c, s.collector(ctx, gcRows, func() error { return errors.Join(s.sweep(ctx, &c), s.collectRows(ctx, &c)) })
	}
	services := s.collector(ctx, gcServices, func() error {
		return errors.Join(s.sweep(ctx, &c), s.collectServices(ctx, &c), s.collectSessions(ctx, &c), s.collectChecks(ctx, &c), s.requeueWithdrawals(ctx))
	})
	rows := s.collector(ctx, gcRows, func() error { return s.collectRows(ctx, &c) })
	return c, errors.Join(services, rows)
}

// collector measures a run.
func (s *Server) collector(ctx context.Context, kind string, run func() error) error {
	const millisecond = 1000
	s.measure(metricRuns, 1, kind)
	begun := time.Now()
	err := run()
	s.measure(metricDuration, time.Since(begun).Seconds()*millisecond, kind)
	if err != nil {
		s.measure(metricErrors, 1, kind, errorType(err))
		s.log.ErrorContext(ctx, "the collector failed", "gc_type", kind, "error", err)
	}
	return err
}

// end ends a registration whose node is no more: so the record tells the truth,
// and the service goes before the row. It reports whether the registration has
// ended, so that what it left can be removed; one that is still at work has not.
func (s *Server) end(ctx context.Context, r *registration.Record, c *Collected) (ended bool, err error) {
	by := registration.ByExternal("collector")
	switch r.State {
	case registration.Deregistered:
		return true, nil
	case registration.Registered:
		c.Deregistered = append(c.Deregistered, r.NodeID)
		return false, s.tell(ctx, r, registration.Deregister{}, by)
	case registration.PartialRegistered:
		// The one event that leads on and attempts nothing: a retry would advertise a
		// node that nobody has heard of (F-001-92).
		if err := s.tell(ctx, r, registration.FatalError{ErrorType: fsm.Some(registration.FatalTypeInfrastructure)}, registration.BySystem()); err != nil {
			return false, err
		}
		return s.abandon(ctx, r, by)
	case registration.Failed:
		return s.abandon(ctx, r, by)
	}
	return false, nil
}

// abandon reports whether the registration has ended by it.
func (s *Server) abandon(ctx context.Context, r *registration.Record, by registration.Actor) (ended bool, err error) {
	if err := s.tell(ctx, r, registration.Abandon{}, by); err != nil {
		return false, err
	}
	now, err := s.record(ctx, r.RegistrationID.String())
	return err == nil && now.State == registration.Deregistered, err
}

// last reads a registration that may not exist.
func (s *Server) last(ctx context.Context, id string) (r *registration.Record, there bool, err error) {
	r, err = s.record(ctx, id)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, false, nil
	}
	return r, err == nil, err
}
