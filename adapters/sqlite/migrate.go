package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// known is the version of the engine's tables that this store needs: the number of its last
// migration.
const known = 11

// names of the migrations, in their order.
var names = [known]string{"0001_engine", "0002_keys", "0003_rows", "0004_parked", "0005_suspects", "0006_pauses", "0007_forced", "0008_cancel", "0009_cut_twice", "0010_states", "0011_destination"}

// Migrate implements store.Store, in one transaction. Tables may refer to tables of other machines,
// whatever the order of the list. It returns a *store.TableError, and changes nothing, if a table
// lacks columns of its machine or refers to a table that does not exist. If triggers or indices
// differ from the schema of a machine, Migrate commits everything else and returns a
// *store.DriftError. It returns a *store.SchemaError if a later program has migrated the file.
func (s *Store) Migrate(ctx context.Context, machines []store.Machine) error {
	var differs *store.DriftError
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		if err := migrate(ctx, tx, known); err != nil {
			return err
		}
		for _, m := range machines {
			if err := create(ctx, tx, m); err != nil {
				return fmt.Errorf("machine %s: %w", m.Name(), err)
			}
		}
		for _, m := range machines {
			if err := complete(ctx, tx, m); err != nil {
				return err
			}
		}
		if err := writeRules(ctx, tx, machines); err != nil {
			return err
		}
		var err error
		differs, err = drift(ctx, tx, machines)
		return err
	})
	if err == nil && differs != nil {
		return fmt.Errorf("migrate: %w", differs)
	}
	return wrapTable("migrate", err)
}

// MigrateTo brings the engine's tables, and only those, to another version, in one transaction.
// Version 0 removes them with their content. It returns an error if this program does not know the
// version, and a *store.SchemaError if a later program has migrated the file.
func (s *Store) MigrateTo(ctx context.Context, version int) error {
	if version < 0 || version > known {
		return fmt.Errorf("migrate: there is no version %d: use 0 to %d", version, known)
	}
	s.migrated.Store(false)
	err := s.inTx(ctx, func(tx *sql.Tx) error { return migrate(ctx, tx, version) })
	return wrapTable("migrate", err)
}

// wrapTable is wrap, but leaves a *store.SchemaError and a *store.TableError without
// store.ErrStore.
func wrapTable(attempt string, err error) error {
	var schema *store.SchemaError
	var table *store.TableError
	if errors.As(err, &schema) || errors.As(err, &table) {
		return fmt.Errorf("%s: %w", attempt, err)
	}
	return wrap(attempt, err)
}

// migrate runs the migrations from the version of the file to the one wanted.
func migrate(ctx context.Context, tx *sql.Tx, want int) error {
	found, err := version(ctx, tx)
	if err != nil {
		return err
	}
	if found > known {
		return &store.SchemaError{Found: found, Known: known}
	}
	if _, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS fsm_schema (version integer NOT NULL PRIMARY KEY) STRICT"); err != nil {
		return err
	}
	for ; found < want; found++ {
		if err := step(ctx, tx, names[found]+".up.sql", "INSERT INTO fsm_schema (version) VALUES (?)", found+1); err != nil {
			return err
		}
	}
	if found > want {
		if err := dropRules(ctx, tx); err != nil {
			return err
		}
	}
	for ; found > want; found-- {
		if err := step(ctx, tx, names[found-1]+".down.sql", "DELETE FROM fsm_schema WHERE version = ?", found); err != nil {
			return err
		}
	}
	return nil
}

// step runs one migration and records it.
func step(ctx context.Context, tx *sql.Tx, file, record string, version int) error {
	script, err := migrations.ReadFile("migrations/" + file)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, string(script)); err != nil {
		return fmt.Errorf("migration %s: %w", file, err)
	}
	_, err = tx.ExecContext(ctx, record, version)
	return err
}

// version returns the version of the engine's tables, or 0 if there are none.
func version(ctx context.Context, q querier) (v int, err error) {
	there := false
	err = each(ctx, q, func(*cells) { there = true }, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'fsm_schema'")
	if err != nil || !there {
		return 0, err
	}
	err = each(ctx, q, func(c *cells) { v = int(c.int()) }, "SELECT coalesce(max(version), 0) FROM fsm_schema")
	return v, err
}

// current returns a *store.SchemaError unless the engine's tables have the version that this store
// needs. It does not check again after it has seen that version.
func (s *Store) current(ctx context.Context, q querier) error {
	if s.migrated.Load() {
		return nil
	}
	found, err := version(ctx, q)
	if err != nil {
		return wrap("read the schema version", err)
	}
	if found != known {
		return &store.SchemaError{Found: found, Known: known}
	}
	s.migrated.Store(true)
	return nil
}

// create runs the schema of a machine if its record table does not exist.
func create(ctx context.Context, tx *sql.Tx, m store.Machine) error {
	there, err := columnsOf(ctx, tx, m.Tables().Record)
	if err != nil || len(there) > 0 {
		return err
	}
	schema, err := m.Schema("sqlite")
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, schema)
	return err
}

// complete returns a *store.TableError if a table of a machine lacks a column, or refers to a table
// that does not exist: SQLite would report that at the first write.
func complete(ctx context.Context, tx *sql.Tx, m store.Machine) error {
	t := m.Tables()
	if err := fits(ctx, tx, m.Name(), t); err != nil {
		return err
	}
	for _, table := range append([]string{t.Record, t.History}, t.Others...) {
		missing, err := texts(ctx, tx, `SELECT DISTINCT f."table" FROM pragma_foreign_key_list(?) AS f
			WHERE NOT EXISTS (SELECT 1 FROM sqlite_schema AS s WHERE s.type = 'table' AND s.name = f."table" COLLATE NOCASE)`, table)
		if err != nil {
			return err
		}
		if len(missing) > 0 {
			return &store.TableError{Machine: m.Name(), Table: table, Missing: missing}
		}
	}
	return nil
}

// fits returns a *store.TableError if the record table of a machine lacks a column.
func fits(ctx context.Context, q querier, machine string, t fsm.Tables) error {
	there, err := columnsOf(ctx, q, t.Record)
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(slices.Clone(t.Columns), func(c string) bool { return slices.Contains(there, c) })
	if len(missing) > 0 {
		return &store.TableError{Machine: machine, Table: t.Record, Missing: missing}
	}
	return nil
}

// unfit is wrap for a failure to read or write a record. If a column does not exist, it returns the
// *store.TableError of fits.
func unfit(ctx context.Context, q querier, machine string, t fsm.Tables, attempt string, err error) error {
	var misfit *store.TableError
	if noColumn(err) && errors.As(fits(ctx, q, machine, t), &misfit) {
		return misfit
	}
	return wrap(attempt, err)
}

// noColumn reports whether a statement names a column that does not exist. SQLite has no code for
// that, only a message.
func noColumn(err error) bool {
	return strings.Contains(err.Error(), "no such column") || strings.Contains(err.Error(), "has no column named")
}

// quoted returns a name as an SQL identifier.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// quotedAll returns names as a list of SQL identifiers.
func quotedAll(names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = quoted(name)
	}
	return strings.Join(list, ", ")
}
