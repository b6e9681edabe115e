package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Version is the version of the engine's tables that this store needs: the number of its last
// migration.
const Version = 12

// names of the migrations, in their order.
var names = [Version]string{"0001_engine", "0002_fences", "0003_keys", "0004_rows", "0005_parked", "0006_suspects", "0007_pauses", "0008_forced", "0009_cancel", "0010_cut_twice", "0011_states", "0012_destination"}

// Migrate implements store.Store, in one transaction under an advisory lock: if several processes
// start at the same time, one migrates and the others wait. It creates the schema if it is missing.
// Tables may refer to tables of other machines, whatever the order of the list. It changes nothing
// and returns a *store.TableError if a record table lacks columns of its machine, a
// *store.SchemaError if a later program has migrated the database, and a *SearchPathError. If the
// database differs from the schema of a machine, Migrate commits everything else and returns a
// *store.DriftError.
func (s *Store) Migrate(ctx context.Context, machines []store.Machine) error {
	var drift *store.DriftError
	err := s.exclusively(ctx, func(tx pgx.Tx) error {
		if err := migrate(ctx, tx, Version); err != nil {
			return err
		}
		if err := createMachines(ctx, tx, machines); err != nil {
			return err
		}
		if err := s.writeRules(ctx, tx, machines); err != nil {
			return err
		}
		var err error
		drift, err = s.drift(ctx, tx, machines)
		return err
	})
	if err == nil && drift != nil {
		return fmt.Errorf("migrate: %w", drift)
	}
	return wrapSchema("migrate", err)
}

// MigrateTo brings the engine's tables, and only those, to another version, in one transaction.
// Version 0 removes them with their content. It returns an error if this program does not know the
// version, and a *store.SchemaError if a later program has migrated the database.
func (s *Store) MigrateTo(ctx context.Context, version int) error {
	if version < 0 || version > Version {
		return fmt.Errorf("migrate: there is no version %d: use 0 to %d", version, Version)
	}
	s.migrated.Store(false)
	err := s.exclusively(ctx, func(tx pgx.Tx) error { return migrate(ctx, tx, version) })
	return wrapSchema("migrate", err)
}

// exclusively runs f in a transaction while no other process of this schema is in one.
func (s *Store) exclusively(ctx context.Context, f func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", lockOf(s.schema)); err != nil {
			return err
		}
		// A role without the right to create schemas may use one that is there.
		var there bool
		if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)", s.schema).Scan(&there); err != nil {
			return err
		}
		if !there {
			if _, err := tx.Exec(ctx, "CREATE SCHEMA "+quoted(s.schema)); err != nil {
				return err
			}
		}
		var current string
		if err := tx.QueryRow(ctx, "SELECT COALESCE(current_schema(), '')").Scan(&current); err != nil {
			return err
		}
		if current != s.schema {
			return &SearchPathError{Schema: s.schema, Current: current}
		}
		return f(tx)
	})
}

// lockOf returns the key of the advisory lock for migrations of a schema.
func lockOf(schema string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte("fsmgen migrate " + schema)) // never fails
	return int64(h.Sum64())
}

// migrate runs the migrations from the version of the database to the one wanted.
func migrate(ctx context.Context, tx pgx.Tx, want int) error {
	if err := script(ctx, tx, "CREATE TABLE IF NOT EXISTS fsm_schema (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"); err != nil {
		return err
	}
	found, err := version(ctx, tx)
	if err != nil {
		return err
	}
	if found > Version {
		return &store.SchemaError{Found: found, Known: Version}
	}
	for ; found < want; found++ {
		if err := step(ctx, tx, names[found]+".up.sql", "INSERT INTO fsm_schema (version) VALUES ($1)", found+1); err != nil {
			return err
		}
	}
	for ; found > want; found-- {
		if err := step(ctx, tx, names[found-1]+".down.sql", "DELETE FROM fsm_schema WHERE version = $1", found); err != nil {
			return err
		}
	}
	return nil
}

// step runs one migration and records it.
func step(ctx context.Context, tx pgx.Tx, file, record string, version int) error {
	text, err := migrations.ReadFile("migrations/" + file)
	if err != nil {
		return err
	}
	if err := script(ctx, tx, string(text)); err != nil {
		return fmt.Errorf("migration %s: %w", file, err)
	}
	_, err = tx.Exec(ctx, record, version)
	return err
}

// script runs SQL of several statements.
func script(ctx context.Context, tx pgx.Tx, text string) error {
	_, err := tx.Exec(ctx, text, pgx.QueryExecModeSimpleProtocol)
	return err
}

// queries is a pool or a transaction.
type queries interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// version returns the version of the engine's tables, or 0 if there are none.
func version(ctx context.Context, q queries) (v int, err error) {
	var there bool
	if err := q.QueryRow(ctx, "SELECT to_regclass('fsm_schema') IS NOT NULL").Scan(&there); err != nil || !there {
		return 0, err
	}
	err = q.QueryRow(ctx, "SELECT COALESCE(max(version), 0) FROM fsm_schema").Scan(&v)
	return v, err
}

// current returns a *store.SchemaError unless the engine's tables have the version that this store
// needs. It does not check again after it has seen that version.
func (s *Store) current(ctx context.Context, q queries) error {
	if s.migrated.Load() {
		return nil
	}
	found, err := version(ctx, q)
	if err != nil {
		return wrap("read the schema version", err)
	}
	if found != Version {
		return &store.SchemaError{Found: found, Known: Version}
	}
	s.migrated.Store(true)
	return nil
}

// wrapSchema is wrap, but leaves a *store.SchemaError, a *store.TableError and a *SearchPathError
// without store.ErrStore.
func wrapSchema(attempt string, err error) error {
	var schema *store.SchemaError
	var table *store.TableError
	var path *SearchPathError
	if errors.As(err, &schema) || errors.As(err, &table) || errors.As(err, &path) {
		return fmt.Errorf("%s: %w", attempt, err)
	}
	return wrap(attempt, err)
}
