package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// inConn calls f with the connection that writes.
func inConn(t *testing.T, s *Store, f func(*conn) error) error {
	t.Helper()
	c, err := s.writer.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.Raw(func(c any) error { return f(c.(*conn)) })
}

// kept returns how many statements the connection that writes has prepared.
func kept(t *testing.T, s *Store) (n int) {
	t.Helper()
	if err := inConn(t, s, func(c *conn) error { n = len(c.prepared); return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAStatementIsPreparedOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for i := range 3 {
		var n int
		if err := s.writer.QueryRow("SELECT ? + 1", i).Scan(&n); err != nil || n != i+1 {
			t.Fatalf("%d + 1 = %d, %v", i, n, err)
		}
	}
	if n := kept(t, s); n != 1 {
		t.Errorf("%d statements are kept, want 1", n)
	}
}

// TestAStatementWithinItself reads rows of a statement that is asked again
// meanwhile: each reading goes on where it was.
func TestAStatementWithinItself(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	const query = "SELECT value FROM json_each(?) ORDER BY value"
	var got []string
	err := s.inTx(t.Context(), func(tx *sql.Tx) error {
		return each(t.Context(), tx, func(outer *cells) {
			if got = append(got, outer.text()); len(got) > 6 {
				t.Fatalf("it begins anew: %s", got)
			}
			err := each(t.Context(), tx, func(inner *cells) { got = append(got, inner.text()) }, query, `["x","y"]`)
			if err != nil {
				t.Error(err)
			}
		}, query, `["a","b"]`)
	})
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(got, " "); text != "a x y b x y" {
		t.Errorf("read %s", text)
	}
}

// TestStatementsAreForgotten asks more than a connection keeps, with the rows of
// one open.
func TestStatementsAreForgotten(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	ctx := t.Context()
	var got []string
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		return each(ctx, tx, func(c *cells) {
			got = append(got, c.text())
			for i := range mostPrepared {
				if _, err := tx.ExecContext(ctx, fmt.Sprintf("SELECT %d, ?", i), i); err != nil {
					t.Error(err)
				}
			}
		}, "SELECT value FROM json_each(?)", `["a","b"]`)
	})
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(got, " "); text != "a b" {
		t.Errorf("read %s", text)
	}
	if n := kept(t, s); n > mostPrepared {
		t.Errorf("%d statements are kept, at most %d may be", n, mostPrepared)
	}
}

// TestAChangedTableIsSeen changes a table between two runs of one statement.
func TestAChangedTableIsSeen(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	run := func(statement string, args ...any) error {
		_, err := s.writer.Exec(statement, args...)
		return err
	}
	const insert = "INSERT INTO t (n) VALUES (?)"
	if err := errors.Join(run("CREATE TABLE t (n)"), run(insert, 1)); err != nil {
		t.Fatal(err)
	}
	err := run("CREATE TRIGGER no BEFORE INSERT ON t BEGIN SELECT RAISE(ABORT, 'no more'); END")
	if err != nil {
		t.Fatal(err)
	}
	if err := run(insert, 2); err == nil || !strings.Contains(err.Error(), "no more") {
		t.Fatalf("the error is %v", err)
	}
	if err := errors.Join(run("DROP TABLE t"), run("CREATE TABLE t (m, n)"), run(insert, 3)); err != nil {
		t.Fatal(err)
	}
}

// TestTheLimitOutlivesAConnection replaces the connection that writes, as the
// pool does after a statement was interrupted.
func TestTheLimitOutlivesAConnection(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, err := Open(ctx, filepath.Join(t.TempDir(), "store.db"), Options{MaxBytes: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := inConn(t, s, func(*conn) error { return driver.ErrBadConn }); !errors.Is(err, driver.ErrBadConn) {
		t.Fatal(err)
	}
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.Exec("CREATE TABLE t AS SELECT zeroblob(?) AS b", 128<<10)
		return wrap("fill", err)
	})
	if !errors.Is(err, ErrFull) {
		t.Fatalf("the error is %v", err)
	}
}
