package sqltx_test

import (
	"database/sql"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/internal/dbtest"
	"github.com/fsmgen/fsmgen/services/deal/internal/sqltx"
)

// TestStatements: both databases take the same statements and say the same.
func TestStatements(t *testing.T) {
	t.Parallel()
	dbtest.OnBoth(t, statements[*sql.Tx], statements[pgx.Tx])
}

func statements[T any](t *testing.T, db dbtest.Database[T]) {
	err := db.InTx(t.Context(), func(of T) error {
		tx := db.Statements(of)
		const several = "CREATE TABLE words (n bigint PRIMARY KEY, word text NOT NULL CHECK (word <> '')); INSERT INTO words VALUES (1, 'one')"
		if err := tx.Exec(t.Context(), several); err != nil {
			return err
		}
		if err := tx.Exec(t.Context(), "INSERT INTO words VALUES ($1, $2), ($3, $2)", 2, "more", int64(3)); err != nil {
			return err
		}
		var words []string
		err := tx.Each(t.Context(), "SELECT n, word FROM words WHERE n > $1 ORDER BY n", []any{0}, func(scan func(...any) error) error {
			var n int64
			var word string
			err := scan(&n, &word)
			words = append(words, word)
			return err
		})
		if want := []string{"one", "more", "more"}; !slices.Equal(words, want) {
			t.Errorf("got %v, want %v", words, want)
		}
		var next int64
		found, one := sqltx.One(t.Context(), tx, "UPDATE words SET n = n + 10 WHERE word = $1 RETURNING n", []any{"one"}, &next)
		if !found || next != 11 {
			t.Errorf("got %d, found %v", next, found)
		}
		missing, none := sqltx.One(t.Context(), tx, "SELECT n FROM words WHERE n = $1", []any{99}, &next)
		if missing || next != 11 {
			t.Errorf("found a row that is not there: %d", next)
		}
		return errors.Join(err, one, none)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestTimes are those that were bound, in UTC and to the microsecond.
func TestTimes(t *testing.T) {
	t.Parallel()
	dbtest.OnBoth(t, times[*sql.Tx], times[pgx.Tx])
}

func times[T any](t *testing.T, db dbtest.Database[T]) {
	want, got := time.Date(2026, 1, 2, 3, 4, 5, 678_901_000, time.UTC), time.Time{}
	err := db.InTx(t.Context(), func(of T) error {
		tx := db.Statements(of)
		if err := tx.Exec(t.Context(), "CREATE TABLE moments (at timestamptz)"); err != nil {
			return err
		}
		if err := tx.Exec(t.Context(), "INSERT INTO moments VALUES ($1)", want.Format(fsm.TimeLayout)); err != nil {
			return err
		}
		_, err := sqltx.One(t.Context(), tx, "SELECT at FROM moments", nil, fsm.Into(&got))
		return err
	})
	if err != nil || !got.Equal(want) || got.Location() != time.UTC {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

// TestRefused tells a broken rule of a table from a broken statement. PostgreSQL takes nothing after
// either, so each has its own transaction.
func TestRefused(t *testing.T) {
	t.Parallel()
	dbtest.OnBoth(t, refused[*sql.Tx], refused[pgx.Tx])
}

func refused[T any](t *testing.T, db dbtest.Database[T]) {
	for statement, want := range map[string]bool{
		"INSERT INTO words VALUES (1, 'twice')": true,
		"INSERT INTO words VALUES (2, '')":      true,
		"INSERT INTO words VALUES (2, NULL)":    true,
		"INSERT INTO word VALUES (2, 'lost')":   false,
	} {
		err := db.InTx(t.Context(), func(of T) error {
			tx := db.Statements(of)
			const table = "CREATE TABLE words (n bigint PRIMARY KEY, word text NOT NULL CHECK (word <> '')); INSERT INTO words VALUES (1, 'one')"
			if err := tx.Exec(t.Context(), table); err != nil {
				return err
			}
			err := tx.Exec(t.Context(), statement)
			if err == nil || tx.Refused(err) != want {
				t.Errorf("%s: %v: refused is %v", statement, err, tx.Refused(err))
			}
			if tx.Refused(nil) {
				t.Error("nothing is refused")
			}
			return err
		})
		if err == nil {
			t.Errorf("%s is committed", statement)
		}
	}
}
