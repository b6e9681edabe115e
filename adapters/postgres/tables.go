package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// SQLSTATEs of references to what is not there.
const (
	undefinedTable  = "42P01"
	undefinedColumn = "42703"
)

// misfitTimeout bounds the question what a table lacks: it may need a connection
// of a pool that has none left.
const misfitTimeout = 5 * time.Second

// createMachines runs the schemas of the machines whose record table is not
// there. A schema may refer to the tables of another machine: it is tried again
// after the others, until a round gets nowhere.
func createMachines(ctx context.Context, tx pgx.Tx, machines []store.Machine) error {
	pending, err := missing(ctx, tx, machines)
	if err != nil {
		return err
	}
	for len(pending) > 0 {
		var later []store.Machine
		var cause error
		for _, m := range pending {
			err := create(ctx, tx, m)
			var refused *pgconn.PgError
			switch {
			case errors.As(err, &refused) && refused.Code == undefinedTable:
				later, cause = append(later, m), fmt.Errorf("machine %s: %w", m.Name(), err)
			case err != nil:
				return fmt.Errorf("machine %s: %w", m.Name(), err)
			}
		}
		if len(later) == len(pending) {
			return cause
		}
		pending = later
	}
	return nil
}

// missing lists the machines without a record table, and checks the tables of
// the others.
func missing(ctx context.Context, tx pgx.Tx, machines []store.Machine) ([]store.Machine, error) {
	var out []store.Machine
	for _, m := range machines {
		there, err := fits(ctx, tx, m.Name(), m.Tables())
		if err != nil {
			return nil, fmt.Errorf("machine %s: %w", m.Name(), err)
		}
		if !there {
			out = append(out, m)
		}
	}
	return out, nil
}

// fits reports whether the record table of a machine is there. One that lacks a
// column is an *store.TableError.
func fits(ctx context.Context, q asker, machine string, t fsm.Tables) (there bool, err error) {
	columns, err := columnsOf(ctx, q, t.Record)
	if err != nil || len(columns) == 0 {
		return false, err
	}
	lacks := slices.DeleteFunc(slices.Clone(t.Columns), func(c string) bool { return slices.Contains(columns, c) })
	if len(lacks) > 0 {
		return true, &store.TableError{Machine: machine, Table: t.Record, Missing: lacks}
	}
	return true, nil
}

// lacksColumn reports whether a statement names a column that is not there.
func lacksColumn(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == undefinedColumn
}

// misfit returns an *store.TableError if a record table lacks a column. It asks
// on another connection where that of tx is in a transaction, which has failed.
func (s *Store) misfit(ctx context.Context, tx pgx.Tx, machine string, t fsm.Tables) error {
	ctx, cancel := context.WithTimeout(ctx, misfitTimeout)
	defer cancel()
	var q asker = s.pool
	if own, ok := tx.(*transaction); ok && own.tx == nil {
		q = own.conn
	}
	_, err := fits(ctx, q, machine, t)
	var misfit *store.TableError
	if errors.As(err, &misfit) {
		return misfit
	}
	return nil
}

// asker is what pools, connections and transactions have in common.
type asker interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// create runs the schema of m within a savepoint.
func create(ctx context.Context, tx pgx.Tx, m store.Machine) error {
	schema, err := m.Schema("postgres")
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { return script(ctx, tx, schema) })
}

// columnsOf lists the columns of a table, none where it is not there.
func columnsOf(ctx context.Context, q asker, table string) ([]string, error) {
	rows, err := q.Query(ctx, `SELECT attname::text FROM pg_attribute
		WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped`, quoted(table))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// quoted returns a name as an SQL identifier.
func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

// quotedAll returns names as a list of SQL identifiers.
func quotedAll(names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = quoted(name)
	}
	return strings.Join(list, ", ")
}
