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

// Synchronous is when a commit reaches the disk.
type Synchronous string

// The values of Synchronous.
const (
	Full   Synchronous = "FULL"   // before the transaction returns
	Normal Synchronous = "NORMAL" // at the next checkpoint
)

// Options configures a Store. The zero value of a field is its default.
type Options struct {
	// BusyTimeout is how long a transaction waits for transactions of other processes before it
	// returns ErrBusy. For those of the same Store it waits until its context ends. Default: 30
	// seconds.
	BusyTimeout time.Duration
	// Synchronous is when a commit reaches the disk. Default: Full.
	Synchronous Synchronous
	// Readers is how many reads can run at the same time. They run concurrently with the one
	// transaction that writes. Default: 4.
	Readers int
	// MaxBytes is the largest size of the file. A write beyond it returns ErrFull. Default: 0, no
	// limit.
	MaxBytes int64
}

// WithDefaults returns a copy of o with the defaults in its zero fields.
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
		return fmt.Errorf("option BusyTimeout must not be negative, and is %s", o.BusyTimeout)
	case o.Synchronous != Full && o.Synchronous != Normal:
		return fmt.Errorf("option Synchronous must be FULL or NORMAL, and is %q", o.Synchronous)
	case o.Readers < 0:
		return fmt.Errorf("option Readers must not be negative, and is %d", o.Readers)
	case o.MaxBytes < 0:
		return fmt.Errorf("option MaxBytes must not be negative, and is %d", o.MaxBytes)
	}
	return nil
}

// Store implements store.Store with an SQLite file. It is safe for concurrent use. Open and
// Temporary return one, and Close must be called when it is no longer needed.
type Store struct {
	path     string
	patience time.Duration // Options.BusyTimeout
	file     os.FileInfo   // the file at path when it was opened; nil: Open has no connection yet
	folder   string        // of Temporary, which Close removes; "": none
	writer   *sql.DB       // one connection; its transactions begin with the write lock
	readers  *sql.DB
	migrated atomic.Bool // the engine's tables had the current version once
	tables   sync.Map    // name of a record table to its *statements

	work  atomic.Bool // the running transaction may have written work to claim
	mu    sync.Mutex
	news  bool          // there was a commit since the last Wait
	alarm chan struct{} // closed by the next commit
}

var _ store.Store[*sql.Tx] = (*Store)(nil)

// Open opens the file at path, or creates it without tables: Migrate creates those. It blocks
// while another process creates the same file, for at most Options.BusyTimeout. It returns an
// error for invalid options and for the path ":memory:", since a store needs several
// connections to one file. Other errors wrap store.ErrStore: ErrGone if the file can't be opened,
// or if there is a write-ahead log without its file, ErrReadOnly, ErrBusy and ErrDamaged.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	o = o.WithDefaults()
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	if path == "" || path == ":memory:" {
		return nil, fmt.Errorf("open store %q: use the path of a file, because several connections share it; Temporary makes one for a test", path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	return open(ctx, path, o)
}

// open opens the file. The options have no zero fields that need a default.
func open(ctx context.Context, path string, o Options) (*Store, error) {
	s := &Store{path: path, patience: o.BusyTimeout, alarm: make(chan struct{})}
	// SQLite does not wait for another process that creates the file.
	if err := s.insist(ctx, func() error { return s.connect(ctx, o) }); err != nil {
		return nil, wrap("open store "+path, err)
	}
	return s, nil
}

// connect opens both pools. It opens the writer first, which turns on the write-ahead log that the
// readers need.
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

// alone returns ErrGone if there is a write-ahead log with commits and the file is missing or
// empty: SQLite would remove that log. alone checks the log first, because a new log gets its first
// commit after the file has its header.
func alone(path string) error {
	log, err := os.Stat(path + "-wal")
	if err != nil || log.Size() == 0 {
		return nil
	}
	if file, err := os.Stat(path); err == nil && file.Size() > 0 || err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil // if the file can't be used, SQLite returns the error
	}
	return fmt.Errorf("%w: %s-wal has commits of a file that is not there: put the file back, or move %s-wal away if its commits are not needed",
		ErrGone, path, path)
}

// private creates the file, if it does not exist, with a mode that lets only its owner read it.
// SQLite would use the umask. It gives the -wal and -shm files the same mode.
func private(path string) error {
	const mode = 0o600
	if file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, mode); err == nil {
		return file.Close()
	}
	return nil // it exists, or SQLite returns the error
}

// pageSize returns the size of the file's pages in bytes.
func (s *Store) pageSize(ctx context.Context, o Options) (size int64, err error) {
	db, err := s.pool(o, true)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	err = db.QueryRowContext(ctx, "PRAGMA page_size").Scan(&size)
	return size, err
}

// pool opens a pool of connections with the same settings. Each connection runs the statements of
// setup when it is opened. No connection creates the file: if the file was moved away for a while,
// SQLite would remove its write-ahead log.
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

// Close closes the file and rolls back running transactions. It removes the file of a Store that
// Temporary returned. The Store must not be used afterwards.
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
