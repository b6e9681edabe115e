package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	sqlite3 "modernc.org/sqlite" // also the driver named sqlite

	"github.com/fsmgen/fsmgen/runtime/store"
)

// Synchronous says when a commit is on the disk.
type Synchronous string

// The levels.
const (
	Full   Synchronous = "FULL"   // when the transaction returns
	Normal Synchronous = "NORMAL" // at the next checkpoint
)

// Options configures a store. The zero value of a field means its default.
type Options struct {
	// BusyTimeout is how long a transaction waits for those of other processes before it fails
	// with ErrBusy. Transactions of the same store wait until their contexts end. Default: 30
	// seconds.
	BusyTimeout time.Duration
	// Synchronous says when a commit is on the disk. Default: Full.
	Synchronous Synchronous
	// Readers is how many reads run at the same time, beside the one transaction that writes.
	// Default: 4.
	Readers int
	// MaxBytes bounds the size of the file. A write beyond it returns ErrFull. Default: 0, no
	// bound.
	MaxBytes int64
}

// WithDefaults returns o with defaults in its zero fields.
func (o Options) WithDefaults() Options {
	if o.BusyTimeout == 0 {
		o.BusyTimeout = 30 * time.Second
	}
	if o.Synchronous == "" {
		o.Synchronous = Full
	}
	if o.Readers == 0 {
		o.Readers = 4
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.BusyTimeout < 0:
		return fmt.Errorf("option BusyTimeout is negative: %s", o.BusyTimeout)
	case o.Synchronous != Full && o.Synchronous != Normal:
		return fmt.Errorf("option Synchronous is neither FULL nor NORMAL: %q", o.Synchronous)
	case o.Readers < 0:
		return fmt.Errorf("option Readers is negative: %d", o.Readers)
	case o.MaxBytes < 0:
		return fmt.Errorf("option MaxBytes is negative: %d", o.MaxBytes)
	}
	return nil
}

// Store is a SQLite file. It is safe for concurrent use.
type Store struct {
	path     string
	patience time.Duration // Options.BusyTimeout
	file     os.FileInfo   // what path was when it was opened; nil: Open has not come so far
	folder   string        // removed by Close; "": none
	writer   *sql.DB       // one connection; its transactions begin with the write lock
	readers  *sql.DB
	migrated atomic.Bool // the schema was seen at the current version
	tables   sync.Map    // name of a record table to its *statements

	work  atomic.Bool // the transaction under way wrote what may be work
	mu    sync.Mutex
	news  bool          // a commit that no Wait has told of
	alarm chan struct{} // closed by the next commit
}

var _ store.Store[*sql.Tx] = (*Store)(nil)

// Open opens the file at path, or creates it. It returns ErrGone where a write-ahead log lies there
// without its file. Migrate makes the engine's tables.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	o = o.WithDefaults()
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	if path == "" || path == ":memory:" {
		return nil, fmt.Errorf("open store %q: it needs a file, for several connections share it", path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	return open(ctx, path, o)
}

// open opens the file with options that are complete.
func open(ctx context.Context, path string, o Options) (*Store, error) {
	s := &Store{path: path, patience: o.BusyTimeout, alarm: make(chan struct{})}
	// SQLite does not wait itself for another process that makes the file, too.
	if err := s.insist(ctx, func() error { return s.connect(ctx, o) }); err != nil {
		return nil, wrap("open store "+path, err)
	}
	return s, nil
}

// connect opens both pools. The writer comes first: it makes the file and
// turns the write-ahead log on, which the readers need.
func (s *Store) connect(ctx context.Context, o Options) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := alone(s.path); err != nil {
		return err
	}
	if err := private(s.path); err != nil {
		return err
	}
	setup := []string{"PRAGMA busy_timeout = 0"} // see begin
	if o.MaxBytes > 0 {
		size, err := s.pageSize(ctx, o)
		if err != nil {
			return err
		}
		setup = append(setup, fmt.Sprintf("PRAGMA max_page_count = %d", max(o.MaxBytes/size, 1)))
	}
	if s.writer, err = s.pool(o, true, setup...); err != nil {
		return err
	}
	s.writer.SetMaxOpenConns(1)
	s.writer.SetMaxIdleConns(1)
	if err := s.writer.PingContext(ctx); err != nil {
		return err
	}
	if s.file, err = os.Stat(s.path); err != nil {
		return err
	}
	if s.readers, err = s.pool(o, false); err != nil {
		return err
	}
	s.readers.SetMaxOpenConns(o.Readers)
	s.readers.SetMaxIdleConns(o.Readers)
	return s.readers.PingContext(ctx)
}

// alone returns ErrGone if a write-ahead log with commits lies beside no file, or beside an empty
// one: SQLite would remove the log. The log is looked at first, since it gets its first commit
// when the file has its header.
func alone(path string) error {
	log, err := os.Stat(path + "-wal")
	if err != nil || log.Size() == 0 {
		return nil
	}
	if file, err := os.Stat(path); err == nil && file.Size() > 0 || err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil // SQLite will say what stands against it
	}
	return fmt.Errorf("%w: %s-wal has commits of a file that is not beside it; put the file back, or move %s-wal away if you do not want them",
		ErrGone, path, path)
}

// private makes the file, if it is not there, so that only its owner can read it: SQLite
// would leave that to the umask. The files beside it get the same mode.
func private(path string) error {
	const mode = 0o600
	if file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, mode); err == nil {
		return file.Close()
	}
	return nil // it is there, or SQLite will say what stands against it
}

// pageSize returns how many bytes a page of the file has.
func (s *Store) pageSize(ctx context.Context, o Options) (size int64, err error) {
	db, err := s.pool(o, true)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	err = db.QueryRowContext(ctx, "PRAGMA page_size").Scan(&size)
	return size, err
}

// pool opens a pool whose connections are all set up alike. The statements of
// setup are the last that each begins with. No connection makes the file: SQLite
// would remove the write-ahead log of one that was moved away for a while.
func (s *Store) pool(o Options, writes bool, setup ...string) (*sql.DB, error) {
	q := url.Values{}
	q.Set("mode", "rw")
	q.Set("_busy_timeout", fmt.Sprint(o.BusyTimeout.Milliseconds()))
	q.Set("_foreign_keys", "on")
	q.Set("_synchronous", string(o.Synchronous))
	q.Set("_dqs", "0")
	q.Set("_error_rc", "1")
	if writes {
		q.Set("_journal_mode", "WAL")
		q.Set("_txlock", "immediate")
	} else {
		q.Set("_query_only", "on")
	}
	dsn := url.URL{Scheme: "file", Path: s.path, RawQuery: q.Encode()}
	inner, err := sqlite3.NewConnector(dsn.String())
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector{Connector: inner, here: s.here, setup: setup}), nil
}

// Close closes the file, and removes that of Temporary. It rolls back running transactions.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.readers, s.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.folder != "" {
		errs = append(errs, os.RemoveAll(s.folder))
	}
	return errors.Join(errs...)
}
