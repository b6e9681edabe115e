package registration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/services/registration/collect"
	"github.com/fsmgen/fsmgen/services/registration/database"
)

// Options say where a daemon keeps its records and what it registers with.
type Options struct {
	// Store is where records and rows are: the connection string of a PostgreSQL
	// database (postgres://…), which daemons share, or the path of a SQLite file.
	Store string
	// Schema is the schema of the PostgreSQL database. Default public.
	Schema string
	// Connections bounds the connections to PostgreSQL. Default 16, two at least.
	Connections int
	// Registry has the rows. Default: the tables beside the records.
	Registry Registry

	// Discovery and Catalog are Consul. Without them nothing is advertised, and
	// a registration ends in partial_registered, which says why.
	Discovery Discovery
	Catalog   Catalog

	// Name is the name of this daemon: a node is heartbeated for by the daemon
	// of the name through which it was registered, also when that is restarted.
	// Default: the host's name.
	Name string
	// TwoStep commits the checkpoint postgres_registered and fires CONTINUE after
	// it (document 001, CONTINUE Trigger Semantics). Default: single-step.
	TwoStep bool
	// Apart carries out each effect after the commit of the step that asks for it, also
	// those that need the database alone. Default: the payload is judged, and the row
	// is written where it is beside the records, in the transaction that stores
	// REGISTER, unless something there stands against it.
	Apart bool
	// Params are the timeouts of the states. Default: those of document 001.
	Params registration.Params
	// TTL is how long a service stays healthy without a heartbeat, unless its
	// payload says otherwise. Default a minute.
	TTL time.Duration
	// AttemptTimeout bounds one attempt of an effect that is repeated. Default 3
	// seconds.
	AttemptTimeout time.Duration
	// Collect says what the collectors take for an orphan, and when they look.
	Collect Collect

	// Clock tells the time to records, rows and collectors. Default: the system's.
	Clock engine.Clock
	// Logger gets the log lines. Default slog.Default.
	Logger *slog.Logger
	// Metrics gets the measurements of the machine, the engine and the collectors.
	// Default: none are taken.
	Metrics func(engine.Metric)
	// Trace is called around operations. Default: none.
	Trace engine.TraceFunc
	// Engine is changed before it is used. Default: not.
	Engine func(*engine.Config)
}

func (o Options) withDefaults() (Options, error) {
	if o.Store == "" {
		return o, errors.New("a store is needed")
	}
	if (o.Discovery == nil) != (o.Catalog == nil) {
		return o, errors.New("Discovery and Catalog belong together")
	}
	if o.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			return o, fmt.Errorf("name of the daemon: %w", err)
		}
		o.Name = host
	}
	if o.Params == (registration.Params{}) {
		o.Params = registration.DefaultParams()
	}
	o.Connections = cmp.Or(o.Connections, 16)
	o.TTL = cmp.Or(o.TTL, time.Minute)
	o.AttemptTimeout = cmp.Or(o.AttemptTimeout, 3*time.Second)
	o.Collect = o.Collect.WithDefaults()
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Clock == nil {
		o.Clock = engine.SystemClock{}
	}
	if o.Metrics == nil {
		o.Metrics = func(engine.Metric) {}
	}
	if o.TTL < minTTL || o.AttemptTimeout < 0 {
		return o, fmt.Errorf("a TTL of at least %s and a positive AttemptTimeout are needed", minTTL)
	}
	return o, nil
}

// What the collectors take and return is declared in package collect.
type (
	// Collect says what the collectors take for an orphan, and when they look.
	Collect = collect.Limits
	// Collected is what a run of the collectors did.
	Collected = collect.Collected
)

// Server is a registration daemon: parts that are put together. It is safe for
// concurrent use.
type Server struct {
	*registrar // Register, Trigger, Correct
	*reader    // Status, Recorded, History
	*ownNodes  // Heartbeat, Leave

	options    Options
	db         *database.DB
	records    *records
	collectors *collect.Collectors
	log        *slog.Logger
}

// Open opens the store, creating its tables if it is new. Consul need not be
// there. Close the service at the end.
func Open(ctx context.Context, o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("registration service: %w", err)
	}
	o.Metrics = newLabels(o.Metrics).measure
	h := &handlers{log: o.Logger} // Run calls them; their parts need the database
	db, err := database.Open(ctx, o.database(), h)
	if err != nil {
		return nil, fmt.Errorf("registration service: %w", err)
	}
	s := assemble(o, db)
	h.records, h.advertiser = s.records, s.reader.advertiser
	if !o.Apart {
		err = inline{o.Name, o.Clock}.install(db, o.Registry == nil)
	}
	if err := errors.Join(err, db.Migrate(ctx)); err != nil {
		return nil, errors.Join(fmt.Errorf("registration service: %w", err), db.Close())
	}
	return s, nil
}

// assemble puts the parts together.
func assemble(o Options, db *database.DB) *Server {
	rs := &records{db}
	a := &advertiser{rows: o.Registry, discovery: o.Discovery, catalog: o.Catalog, attempt: o.AttemptTimeout, ttl: o.TTL}
	if a.rows == nil {
		a.rows = db.Rows(o.Clock)
	}
	if a.discovery == nil {
		a.discovery = noDiscovery{}
	}
	return &Server{
		registrar: &registrar{db: db, daemon: o.Name, clock: o.Clock},
		reader:    &reader{rs, a},
		ownNodes:  &ownNodes{o.Name, rs, a, o.Logger},
		options:   o, db: db, records: rs, log: o.Logger,
		collectors: &collect.Collectors{
			Limits: o.Collect, Rows: a.rows, Registrations: struct {
				*records
				*advertiser
			}{rs, a},
			Ended: db, Catalog: o.Catalog, Clock: o.Clock, Metrics: o.Metrics, Log: o.Logger,
		},
	}
}

// database are the options of the database and of the engine on it.
func (o Options) database() database.Options {
	return database.Options{Store: o.Store, Schema: o.Schema, Connections: o.Connections, Engine: o.engine(), Params: o.Params}
}

func (o Options) engine() engine.Config {
	const grace = 5 * time.Second
	c := engine.Config{
		Clock: o.Clock, Logger: o.Logger, Metrics: o.Metrics, Trace: o.Trace,
		Worker: o.Name, TwoStep: o.TwoStep, StopTimeout: 500 * time.Millisecond,
		// What a daemon that was killed had under way goes to another daemon soon enough
		// for the shortest timeout of a state.
		Lease: 2 * time.Second,
		// A Consul that does not answer keeps slots busy, and the database must not
		// wait for them.
		Concurrency: 64,
		// A deregistration ends by the timeout of its state, never by that of its
		// handler: the table counts the two apart.
		HandlerTimeout: o.Params.DeregisteringTimeout + grace,
	}
	if o.Engine != nil {
		o.Engine(&c)
	}
	return c
}

// GC runs the collectors once.
func (s *Server) GC(ctx context.Context) (Collected, error) { return s.collectors.GC(ctx) }

// Reconcile completes partial registrations whose service has turned up in Consul.
func (s *Server) Reconcile(ctx context.Context) error { return s.collectors.Reconcile(ctx) }

// Close closes the store. Run must have ended.
func (s *Server) Close() error { return s.db.Close() }

// Advertises reports whether the service works with Consul.
func (s *Server) Advertises() bool { return s.options.Catalog != nil }

// Run carries out effects, fires deadlines, heartbeats for the nodes of this
// daemon and collects what was left behind, until ctx ends. It returns nil then.
func (s *Server) Run(ctx context.Context) error {
	if !s.Advertises() {
		s.log.WarnContext(ctx, "started without Consul: nodes are registered in the database alone, and stay partial_registered")
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.chores(ctx)
	}()
	err := s.db.Run(ctx)
	<-ended
	return err
}
