package crash

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/fsmgen/fsmgen/adapters/postgres"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// Schema is the database in a schema of a PostgreSQL server, for a store with adjusted
// connections.
func Schema(dsn, schema string, adjust ...func(*pgxpool.Config)) Database[pgx.Tx] {
	options := postgres.Options{Schema: schema}
	return Database[pgx.Tx]{
		Name: "PostgreSQL",
		Open: func(ctx context.Context) (store.Store[pgx.Tx], func() error, error) {
			config, err := postgres.PoolConfig(dsn, options)
			if err != nil {
				return nil, nil, err
			}
			config.ConnConfig.RuntimeParams["application_name"] = schema
			for _, f := range adjust {
				f(config)
			}
			pool, err := pgxpool.NewWithConfig(ctx, config)
			if err != nil {
				return nil, nil, err
			}
			s, err := postgres.New(pool, options)
			return s, func() error {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastResort)
				defer cancel()
				defer pool.Close()
				return s.Close(ctx)
			}, err
		},
		Exec: func(ctx context.Context, tx pgx.Tx, statement string) error {
			_, err := tx.Exec(ctx, statement)
			return err
		},
		Watch: []string{
			`CREATE FUNCTION crash_watch() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN
				INSERT INTO crash_leases (message_id, worker, cancelled) VALUES (NEW.message_id::text, NEW.worker, NEW.cancelled);
				RETURN NULL;
			END $$`,
			`CREATE TRIGGER crash_watch AFTER UPDATE OF lease_token ON fsm_outbox FOR EACH ROW
				WHEN (NEW.lease_token IS NOT NULL AND NEW.lease_token IS DISTINCT FROM OLD.lease_token) EXECUTE FUNCTION crash_watch()`,
		},
		Prune: "ALTER TABLE fsm_keys DISABLE TRIGGER fsm_keys_stay",
		Lift:  func(index string) []string { return []string{"DROP INDEX " + index} },
		Busy: func(ctx context.Context, db *sql.DB) (busy bool, err error) {
			err = db.QueryRowContext(ctx, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = $1 AND xact_start IS NOT NULL)", schema).Scan(&busy)
			return busy, err
		},
		SQL: func() (*sql.DB, error) {
			config, err := pgxpool.ParseConfig(dsn)
			if err != nil {
				return nil, err
			}
			config.ConnConfig.RuntimeParams["search_path"] = schema
			return stdlib.OpenDB(*config.ConnConfig), nil
		},
	}
}
