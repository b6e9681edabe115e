package images

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/generated/activate"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/services/images/extract"
)

// Options say where a service keeps its files and who does what.
type Options struct {
	// Dir is the folder of the database and the tars. Several processes may
	// share it, on one machine.
	Dir string
	// Objects is where images come from.
	Objects Objects
	// Volumes makes the keeper of volumes. A keeper that needs numbers for its
	// volumes gets them from the service's database.
	Volumes func(context.Context, Numbers) (Volumes, error)

	// Parallel is how many images are worked on at once. Default 4.
	Parallel int
	// ExtractTimeout is how long an extraction may take. Default 30 minutes
	// (document 002, State Contract Table of Unpack).
	ExtractTimeout time.Duration
	// ValidateTimeout is how long one validation of a downloaded file may take.
	// Default 30 minutes.
	ValidateTimeout time.Duration
	// Lease is how long the work of a process that died is left alone. Default 5
	// seconds.
	Lease time.Duration
	// Extract bounds what an archive may hold, and says what becomes of
	// set-user-ID and file capabilities. Default: see package extract.
	Extract extract.Options
	// Listener is told of progress. Default: none.
	Listener Listener
	// Logger gets the log lines. Default slog.Default.
	Logger *slog.Logger
	// Engine is changed before it is used, for metrics and traces. Default: not.
	Engine func(*engine.Config)
}

func (o Options) withDefaults() Options {
	o.Parallel = cmp.Or(o.Parallel, 4)
	o.ExtractTimeout = cmp.Or(o.ExtractTimeout, unpack.DefaultParams().ExtractTimeout)
	o.ValidateTimeout = cmp.Or(o.ValidateTimeout, 30*time.Minute)
	o.Lease = cmp.Or(o.Lease, 5*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return o
}

func (o Options) validate() error {
	switch {
	case o.Dir == "":
		return errors.New("a folder is needed")
	case o.Objects == nil || o.Volumes == nil:
		return errors.New("objects and volumes are needed")
	case o.Parallel < 0 || o.ExtractTimeout < 0 || o.ValidateTimeout < 0 || o.Lease < 0:
		return errors.New("an option is negative")
	}
	return o.Extract.Validate()
}

// Service is the image pipeline over one folder. It is safe for concurrent use.
type Service struct {
	options Options
	db      *sqlite.Store
	store   store
	engine  *engine.Engine[*sql.Tx]
	volumes Volumes
	files   files
}

// Open opens the folder, making it if it is new. Close it at the end.
func Open(ctx context.Context, o Options) (*Service, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("image service: %w", err)
	}
	s := &Service{options: o.withDefaults()}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("image service in %s: %w", o.Dir, err), s.Close())
	}
	return s, nil
}

func (s *Service) open(ctx context.Context) (err error) {
	dir, err := filepath.Abs(s.options.Dir)
	if err != nil {
		return err
	}
	for _, name := range []string{"tars", "temp"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return err
		}
	}
	if err := s.openDatabase(ctx, filepath.Join(dir, "images.db")); err != nil {
		return err
	}
	s.files = files{dir, s.store}
	if s.volumes, err = s.options.Volumes(ctx, Numbers{s.store}); err != nil {
		return err
	}
	if s.engine, err = s.makeEngine(); err != nil {
		return err
	}
	if err := s.engine.Migrate(ctx); err != nil {
		return err
	}
	return createTables(ctx, s.store)
}

// openDatabase opens the file, making it if it is new. Several commands share it,
// so each is patient.
func (s *Service) openDatabase(ctx context.Context, path string) (err error) {
	const patience = time.Minute
	if s.db, err = sqlite.Open(ctx, path, sqlite.Options{BusyTimeout: patience}); err != nil {
		return err
	}
	query := url.Values{"_query_only": {"on"}, "_busy_timeout": {fmt.Sprint(patience.Milliseconds())}}
	file := url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}
	s.store = store{Store: s.db}
	if s.store.reader, err = sql.Open("sqlite", file.String()); err != nil { // the driver is that of adapters/sqlite
		return err
	}
	const readers = 4 // a connection that is new reads the whole schema first
	s.store.reader.SetMaxOpenConns(readers)
	s.store.reader.SetMaxIdleConns(readers)
	return nil
}

func (s *Service) makeEngine() (*engine.Engine[*sql.Tx], error) {
	o := s.options
	c := engine.Config{
		Logger: o.Logger, Lease: o.Lease, Concurrency: o.Parallel,
		PollInterval: min(time.Second, o.Lease),
		// The table has a timeout for the extraction, and the handler one for the
		// validation; the engine must not be first.
		HandlerTimeout: max(o.ExtractTimeout, o.ValidateTimeout) + time.Minute,
	}
	o.Extract.Sync = true // EXTRACTED says that the files are on the device
	machines := []engine.Machine[*sql.Tx]{
		download.Define[*sql.Tx](downloader{o.Objects, s.files, o.Extract, o.ValidateTimeout, o.Listener}, download.DefaultParams()),
		unpack.Define[*sql.Tx](unpacker{s.volumes, s.store, o.Extract, o.Listener, o.Logger}, unpack.Params{ExtractTimeout: o.ExtractTimeout}),
		activate.Define[*sql.Tx](activator{s.volumes, s.store}),
	}
	c.Limits = limits(machines, o.Parallel)
	if o.Engine != nil {
		o.Engine(&c)
	}
	return engine.New(s.db, c, machines...)
}

// limits lets every destination take all of what runs at once: images come one step
// after the other, so that all may be at one destination.
func limits(machines []engine.Machine[*sql.Tx], parallel int) map[string]engine.Limit {
	all := map[string]engine.Limit{}
	for _, m := range machines {
		for _, info := range m.Effects() {
			if info.InOutbox() {
				all[cmp.Or(info.Destination, info.Name)] = engine.Limit{AtOnce: parallel}
			}
		}
	}
	return all
}

// Close closes the database. Run must have ended.
func (s *Service) Close() error {
	var errs []error
	if s.store.reader != nil {
		errs = append(errs, s.store.reader.Close())
	}
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	return errors.Join(errs...)
}

// Run works on all that was asked for, until ctx ends; while another process
// of the folder works, it waits to take over. It returns nil when ctx ends.
func (s *Service) Run(ctx context.Context) error {
	const pause = 100 * time.Millisecond
	lock := s.lock()
	held, err := lock.TryLockContext(ctx, pause)
	if ctx.Err() != nil && !held {
		return nil
	}
	if err != nil {
		return fmt.Errorf("lock of %s: %w", s.options.Dir, err)
	}
	return errors.Join(s.engine.Run(ctx), lock.Close())
}

// RunAlone is Run for a process that shall be the only one to work: it fails with
// ErrWorking at once if there is another.
func (s *Service) RunAlone(ctx context.Context) error {
	return s.alone(func() error { return s.engine.Run(ctx) })
}

// ErrWorking says that another process does the work of this folder.
var ErrWorking = errors.New("another process is at work in this folder; stop it first, or choose another folder")

// alone calls f while no other process works in the folder.
func (s *Service) alone(f func() error) error {
	lock := s.lock()
	held, err := lock.TryLock()
	if err != nil {
		return fmt.Errorf("lock of %s: %w", s.options.Dir, err)
	}
	if !held {
		return fmt.Errorf("%w: %s", ErrWorking, s.options.Dir)
	}
	return errors.Join(f(), lock.Close())
}

// lock is the lock of whoever works in the folder. The kernel takes it back from
// a process that dies.
func (s *Service) lock() *flock.Flock { return flock.New(filepath.Join(s.files.dir, "worker.lock")) }
