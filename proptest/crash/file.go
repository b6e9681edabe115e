package crash

import (
	"context"
	"database/sql"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// FileDatabase is the database in a file. What a killed process has given to the kernel
// stays, so nothing here waits for the disk.
func FileDatabase(file string) Database[*sql.Tx] { return BoundedFile(file, 0) }

// BoundedFile is the database in a file of at most most bytes for the store; 0: any
// number.
func BoundedFile(file string, most int64) Database[*sql.Tx] {
	return Database[*sql.Tx]{
		Name: "SQLite",
		Open: func(ctx context.Context) (store.Store[*sql.Tx], func() error, error) {
			s, err := sqlite.Open(ctx, file, sqlite.Options{Synchronous: sqlite.Normal, MaxBytes: most})
			if err != nil {
				return nil, nil, err
			}
			return s, s.Close, nil
		},
		Exec: func(ctx context.Context, tx *sql.Tx, statement string) error {
			_, err := tx.ExecContext(ctx, statement)
			return err
		},
		Watch: []string{`CREATE TRIGGER crash_watch AFTER UPDATE OF lease_token ON fsm_outbox
			WHEN NEW.lease_token IS NOT NULL AND NEW.lease_token IS NOT OLD.lease_token
			BEGIN
				INSERT INTO crash_leases (message_id, worker, cancelled) VALUES (NEW.message_id, NEW.worker, NEW.cancelled);
			END`},
		Prune: "DROP TRIGGER fsm_keys_delete",
		Lift: func(index string) []string {
			return []string{"DROP INDEX " + index, "DROP TRIGGER IF EXISTS " + index + "_insert", "DROP TRIGGER IF EXISTS " + index + "_update"}
		},
		SQL: func() (*sql.DB, error) { return sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)") },
	}
}
