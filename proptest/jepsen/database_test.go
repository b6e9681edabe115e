//go:build unix

package jepsen_test

import (
	"context"
	"database/sql"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/fsmgen/fsmgen/adapters/postgres"
	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// database is what a process needs of a database.
type database[Tx any] struct {
	open func(context.Context) (store.Store[Tx], func(), error)
	book func(ctx context.Context, tx Tx, record string, version int64, effect string) error
}

// ledger is where transaction effects write.
const ledger = "CREATE TABLE jepsen_ledger (record_id text NOT NULL, version integer NOT NULL, effect text NOT NULL)"

// leases is where triggers write down each lease of a message. at is in milliseconds since 1970.
const leases = "CREATE TABLE jepsen_leases (message_id text NOT NULL, worker text, at bigint NOT NULL)"

// postgresWatch lists the statements that add the harness's own tables to PostgreSQL.
var postgresWatch = []string{
	ledger, leases,
	`CREATE FUNCTION jepsen_watch() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO jepsen_leases VALUES (NEW.message_id::text, NEW.worker, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
		RETURN NULL;
	END $$`,
	`CREATE TRIGGER jepsen_claimed AFTER UPDATE OF lease_token ON fsm_outbox FOR EACH ROW
		WHEN (NEW.lease_token IS NOT NULL AND NEW.lease_token IS DISTINCT FROM OLD.lease_token) EXECUTE FUNCTION jepsen_watch()`,
	`CREATE TRIGGER jepsen_reserved AFTER INSERT ON fsm_outbox FOR EACH ROW
		WHEN (NEW.lease_token IS NOT NULL) EXECUTE FUNCTION jepsen_watch()`,
}

// sqliteWatch lists the statements that add the harness's own tables to SQLite.
var sqliteWatch = []string{
	ledger, leases,
	`CREATE TRIGGER jepsen_claimed AFTER UPDATE OF lease_token ON fsm_outbox
		WHEN NEW.lease_token IS NOT NULL AND NEW.lease_token IS NOT OLD.lease_token
		BEGIN INSERT INTO jepsen_leases VALUES (NEW.message_id, NEW.worker, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)); END`,
	`CREATE TRIGGER jepsen_reserved AFTER INSERT ON fsm_outbox
		WHEN NEW.lease_token IS NOT NULL
		BEGIN INSERT INTO jepsen_leases VALUES (NEW.message_id, NEW.worker, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)); END`,
}

func postgresDatabase(dsn string) database[pgx.Tx] {
	return database[pgx.Tx]{
		open: func(ctx context.Context) (store.Store[pgx.Tx], func(), error) {
			config, err := postgres.PoolConfig(dsn, postgres.Options{})
			if err != nil {
				return nil, nil, err
			}
			pool, err := pgxpool.NewWithConfig(ctx, config)
			if err != nil {
				return nil, nil, err
			}
			s, err := postgres.New(pool, postgres.Options{})
			if err != nil {
				pool.Close()
				return nil, nil, err
			}
			return s, func() {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
				defer cancel()
				_ = s.Close(ctx) // the process ends anyway
			}, nil
		},
		book: func(ctx context.Context, tx pgx.Tx, record string, version int64, effect string) error {
			_, err := tx.Exec(ctx, "INSERT INTO jepsen_ledger VALUES ($1, $2, $3)", record, version, effect)
			return err
		},
	}
}

func sqliteDatabase(file string, most int64) database[*sql.Tx] {
	return database[*sql.Tx]{
		open: func(ctx context.Context) (store.Store[*sql.Tx], func(), error) {
			s, err := sqlite.Open(ctx, file, sqlite.Options{MaxBytes: most, BusyTimeout: storeTimeout})
			if err != nil {
				return nil, nil, err
			}
			return s, func() { _ = s.Close() }, nil // the process ends anyway
		},
		book: func(ctx context.Context, tx *sql.Tx, record string, version int64, effect string) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO jepsen_ledger VALUES (?, ?, ?)", record, version, effect)
			return err
		},
	}
}

// openSQL opens a connection of the harness itself, which no fault befalls.
func openSQL(driver, source string) (*sql.DB, error) {
	db, err := sql.Open(driver, source)
	if err == nil {
		db.SetConnMaxIdleTime(time.Second) // a server that crashed has closed the idle ones
	}
	return db, err
}
