package attacks

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	sqlite3 "modernc.org/sqlite" // also the driver named sqlite
	codes "modernc.org/sqlite/lib"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
)

type sqliteDatabase struct {
	dir  string
	file []byte // as it was prepared
	ids  map[string]string
}

// SQLite prepares a file. Each attack has a copy of it, and is committed.
func SQLite(t testing.TB) Database {
	t.Helper()
	d := &sqliteDatabase{dir: t.TempDir()}
	path := filepath.Join(d.dir, "prepared.db")
	store, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d.ids, err = Prepare(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil { // the last connection folds the log into the file
		t.Fatal(err)
	}
	if d.file, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *sqliteDatabase) Dialect() Dialect       { return InSQLite }
func (d *sqliteDatabase) IDs() map[string]string { return d.ids }
func (d *sqliteDatabase) Has(role Role) bool     { return role == AnyFile }

// Try uses a connection as SQLite opens it by itself: foreign_keys and
// recursive_triggers are off.
func (d *sqliteDatabase) Try(ctx context.Context, _ Role, statements []string) (changed int64, err error) {
	path := filepath.Join(d.dir, "attacked.db")
	if err := os.WriteFile(path, d.file, 0o600); err != nil {
		return 0, err
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	for _, s := range statements {
		result, err := tx.ExecContext(ctx, s)
		if err != nil {
			return changed, errors.Join(err, tx.Rollback())
		}
		n, err := result.RowsAffected()
		if err != nil {
			return changed, errors.Join(err, tx.Rollback())
		}
		changed += n
	}
	return changed, tx.Commit()
}

// Refusal knows the result codes of constraints and triggers; the rule is in the
// message.
func (d *sqliteDatabase) Refusal(err error) (string, bool) {
	var refused *sqlite3.Error
	if !errors.As(err, &refused) {
		return "", false
	}
	return refused.Error(), refused.Code()&0xff == codes.SQLITE_CONSTRAINT
}
