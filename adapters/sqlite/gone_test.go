package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestNewConnectionsOpenTheSameFile moves the file away while nothing but new connections is left
// to read it. SQLite would make an empty file in its place, and remove the write-ahead log that
// lies beside it: every commit that is not yet in the file.
func TestNewConnectionsOpenTheSameFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := Open(t.Context(), path, Options{Readers: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.inTx(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.Exec("CREATE TABLE kept (n INTEGER)")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.readers.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()

	if err := os.Rename(path, path+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := reads(t.Context(), s); !errors.Is(wrap("read", err), ErrGone) {
		t.Errorf("without the file, the error is %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file is made in its place (%v)", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := reads(t.Context(), s); !errors.Is(wrap("read", err), ErrGone) {
		t.Errorf("with another file in its place, the error is %v", err)
	}
	if err := os.Rename(path+".moved", path); err != nil {
		t.Fatal(err)
	}
	if err := reads(t.Context(), s); err != nil {
		t.Errorf("with the file again: %v", err)
	}
}

// reads reads what was committed by a new connection.
func reads(ctx context.Context, s *Store) error {
	c, err := s.readers.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	var n int
	return c.QueryRowContext(ctx, "SELECT count(*) FROM kept").Scan(&n)
}
