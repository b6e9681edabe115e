package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// never is the Synchronous of a file that is not used after its process.
const never Synchronous = "OFF"

// Temporary opens a Store for a test, with a new, empty file in the folder for temporary files.
// Close removes the file. If the process is killed, the file remains. Temporary ignores
// Options.Synchronous and never waits for the disk, so an event takes about a third of the time
// that it takes with Full (BenchmarkFire). It returns an error for invalid options, and if the
// file can't be created.
//
// It does not use a database in memory, because that has no write-ahead log: reads would wait
// for the transaction that writes.
func Temporary(ctx context.Context, o Options) (*Store, error) {
	o = o.WithDefaults()
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("open a temporary store: %w", err)
	}
	o.Synchronous = never
	folder, err := os.MkdirTemp("", "fsmgen-*")
	if err != nil {
		return nil, fmt.Errorf("open a temporary store: %w", err)
	}
	s, err := open(ctx, filepath.Join(folder, "store.db"), o)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	s.folder = folder
	return s, nil
}

// Path returns the absolute path of the file.
func (s *Store) Path() string { return s.path }
