// Package collect removes what registrations leave behind: in the rows, in Consul, and
// among the records. It completes partial registrations whose service turned up late.
package collect

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"github.com/fsmgen/fsmgen/adapters/discovery"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/registration/database"
)

// Limits say what the collectors take for an orphan, and when they look. The
// defaults are those of document 001, Garbage Collection Implementation.
type Limits struct {
	// Every is how often the collectors run. Default 5 minutes.
	Every time.Duration
	// StaleAfter is how long a node may be silent. Default an hour.
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

// WithDefaults fills in what is zero.
func (l Limits) WithDefaults() Limits {
	l.Every = cmp.Or(l.Every, 5*time.Minute)
	l.StaleAfter = cmp.Or(l.StaleAfter, time.Hour)
	l.CriticalFor = cmp.Or(l.CriticalFor, 5*time.Minute)
	l.SettleFor = cmp.Or(l.SettleFor, time.Minute)
	l.Batch = cmp.Or(l.Batch, 100)
	l.Reconcile = cmp.Or(l.Reconcile, 5*time.Second)
	return l
}

// Collected is what a run of the collectors did.
type Collected struct {
	Rows         []string `json:"rows"`         // nodes whose rows were removed
	Services     []string `json:"services"`     // ids of services that were removed
	Checks       []string `json:"checks"`       // ids of checks that were removed
	Sessions     []string `json:"sessions"`     // ids of sessions that were ended
	Deregistered []string `json:"deregistered"` // nodes whose deregistration was begun
}

// Rows is what the collectors ask of the rows of nodes. registration.Registry says what
// each method does.
type Rows interface {
	Stale(ctx context.Context, before time.Time, after database.Stale, limit int) ([]database.Stale, error)
	Collect(ctx context.Context, rows []database.Stale, before time.Time) ([]database.Key, error)
	Delete(ctx context.Context, of database.Key) error
	SeenCritical(ctx context.Context, now []database.CriticalService) (since map[database.CriticalService]time.Time, err error)
	LogCollected(ctx context.Context, nodeIDs []string) error
}

// Registrations is what the collectors ask of the part that registers.
type Registrations interface {
	// Record reads a registration: an error that wraps engine.ErrNotFound if there is none.
	Record(ctx context.Context, id string) (*registration.Record, error)
	// All reads the registrations in a state that can be read.
	All(ctx context.Context, state registration.State) iter.Seq2[*registration.Record, error]
	// Tell fires an event at a registration, unless it has moved on.
	Tell(ctx context.Context, r *registration.Record, event registration.Payload, by registration.Actor) error
	// HasRow reports whether the row of the node is that of the registration.
	HasRow(ctx context.Context, r *registration.Record) (bool, error)
	// Instance finds the service of a registration in Consul.
	Instance(ctx context.Context, r *registration.Record) (i discovery.Instance, found bool, err error)
	// Unadvertise removes the service of a registration, if it has one.
	Unadvertise(ctx context.Context, r *registration.Record) error
	// RetryWithdrawals has the withdrawals tried again that were given up.
	RetryWithdrawals(ctx context.Context) error
}

// Ended finds registrations that have ended. database.Queries says what each method does.
type Ended interface {
	Remnants(ctx context.Context, before time.Time, after database.Remnant, limit int) ([]database.Remnant, error)
	Swept(ctx context.Context, registrationID string, at time.Time) error
	EndedOfNode(ctx context.Context, node string) (registrationID string, err error)
	EndedRegistration(ctx context.Context, registrationID string) (string, error)
}

// Collectors are the collectors of a daemon. They are safe for concurrent use.
type Collectors struct {
	Limits        Limits // with its defaults
	Rows          Rows
	Registrations Registrations
	Ended         Ended
	Catalog       discovery.Catalog // nil: the daemon works without Consul
	Clock         engine.Clock
	Metrics       func(engine.Metric)
	Log           *slog.Logger
}

// The collectors, as the label gc_type names them.
const (
	gcRows     = "postgres"
	gcServices = "consul"
)

// GC runs both collectors once, that of the services first.
func (c *Collectors) GC(ctx context.Context) (Collected, error) {
	g := &run{Collectors: c, meter: meter{c.Metrics, c.Clock}}
	if c.Catalog == nil {
		err := g.collector(ctx, gcRows, func() error { return errors.Join(g.sweep(ctx), g.collectRows(ctx)) })
		return g.done, err
	}
	services := g.collector(ctx, gcServices, func() error {
		return errors.Join(g.sweep(ctx), g.collectServices(ctx), g.collectSessions(ctx), g.collectChecks(ctx), c.Registrations.RetryWithdrawals(ctx))
	})
	rows := g.collector(ctx, gcRows, func() error { return g.collectRows(ctx) })
	return g.done, errors.Join(services, rows)
}

// run is one run of the collectors.
type run struct {
	*Collectors
	meter
	done Collected
}

// collector measures a run.
func (g *run) collector(ctx context.Context, kind string, collect func() error) error {
	const millisecond = 1000
	g.measure(metricRuns, 1, kind)
	begun := time.Now()
	err := collect()
	g.measure(metricDuration, time.Since(begun).Seconds()*millisecond, kind)
	if err != nil {
		g.measure(metricErrors, 1, kind, database.ErrorType(err))
		g.Log.ErrorContext(ctx, "the collector failed", "gc_type", kind, "error", err)
	}
	return err
}

// end ends a registration whose node is no more: so the record tells the truth,
// and the service goes before the row. It reports whether the registration has
// ended, so that what it left can be removed; one that is still at work has not.
func (g *run) end(ctx context.Context, r *registration.Record) (ended bool, err error) {
	by := registration.ByExternal("collector")
	switch r.State {
	case registration.Deregistered:
		return true, nil
	case registration.Registered:
		g.done.Deregistered = append(g.done.Deregistered, r.NodeID)
		return false, g.Registrations.Tell(ctx, r, registration.Deregister{}, by)
	case registration.PartialRegistered:
		// The one event that leads on and attempts nothing: a retry would advertise a
		// node that is silent (F-001-92).
		if err := g.Registrations.Tell(ctx, r, registration.FatalError{ErrorType: fsm.Some(registration.FatalTypeInfrastructure)}, registration.BySystem()); err != nil {
			return false, err
		}
		return g.abandon(ctx, r, by)
	case registration.Failed:
		return g.abandon(ctx, r, by)
	}
	return false, nil
}

// abandon reports whether the registration has ended by it.
func (g *run) abandon(ctx context.Context, r *registration.Record, by registration.Actor) (ended bool, err error) {
	if err := g.Registrations.Tell(ctx, r, registration.Abandon{}, by); err != nil {
		return false, err
	}
	now, err := g.Registrations.Record(ctx, r.RegistrationID.String())
	return err == nil && now.State == registration.Deregistered, err
}

// record reads a registration that may not exist.
func (g *run) record(ctx context.Context, id string) (r *registration.Record, found bool, err error) {
	r, err = g.Registrations.Record(ctx, id)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, false, nil
	}
	return r, err == nil, err
}
