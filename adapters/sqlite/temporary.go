package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// never is the level of a store that does not outlive its process.
const never Synchronous = "OFF"

// Temporary opens a store for a test: a new, empty file that no other call gets, in
// the folder for temporary files, which Close removes. Nothing waits for the disk:
// Options.Synchronous is ignored, and an event takes about a third of the time that it
// takes with Full (BenchmarkFire). The file is left behind if the process is killed.
//
// It is a file because databases that SQLite keeps in memory have no write-ahead log,
// so that reads would wait for the transaction that writes.
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

// Path returns the path of the file.
func (s *Store) Path() string { return s.path }
