package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
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

// TestOpenKeepsTheLogOfAnotherFile opens a path whose file was moved away while its write-ahead log
// stayed. SQLite would make an empty file, and remove the log with the commits in it.
func TestOpenKeepsTheLogOfAnotherFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = s.inTx(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.Exec("CREATE TABLE kept (n INTEGER)")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// A copy of both is what a process that was killed leaves.
	left := filepath.Join(t.TempDir(), "left.db")
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		if err != nil || len(data) == 0 {
			t.Fatalf("%d bytes in %s%s, %v", len(data), path, suffix, err)
		}
		if err := os.WriteFile(left+suffix, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	if err := os.Rename(left, left+".moved"); err != nil {
		t.Fatal(err)
	}
	const advice = "put the file back"
	if _, err := Open(t.Context(), left, Options{}); !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), advice) {
		t.Errorf("without the file, the error is %v", err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file is made in its place (%v)", err)
	}
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), left, Options{}); !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), advice) {
		t.Errorf("with an empty file, the error is %v", err)
	}
	if err := os.Rename(left+".moved", left); err != nil {
		t.Fatal(err)
	}
	again, err := Open(t.Context(), left, Options{})
	if err != nil {
		t.Fatalf("with the file again: %v", err)
	}
	defer again.Close()
	if err := reads(t.Context(), again); err != nil {
		t.Errorf("what was committed: %v", err)
	}
}

// An empty log has no commits, so the file is made.
func TestOpenBesideAnEmptyLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	if err := os.WriteFile(path+"-wal", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A process that opens a new path while others do sees no log without its file.
func TestOpenAtTheSameTime(t *testing.T) {
	t.Parallel()
	for range 20 {
		path := filepath.Join(t.TempDir(), "store.db")
		var opened sync.WaitGroup
		for range 6 {
			opened.Go(func() {
				s, err := Open(t.Context(), path, Options{})
				if err != nil {
					t.Error(err)
					return
				}
				defer s.Close()
				err = s.inTx(t.Context(), func(tx *sql.Tx) error {
					_, err := tx.Exec("CREATE TABLE IF NOT EXISTS kept (n INTEGER)")
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		opened.Wait()
	}
}
