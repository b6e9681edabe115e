package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fsmgen/fsmgen/runtime/engine"
)

// undefinedTable is the SQLSTATE of a reference to a table that is not there.
const undefinedTable = "42P01"

// createMachines runs the schemas of the machines whose record table is not
// there. A schema may refer to the tables of another machine: it is tried again
// after the others, until a round gets nowhere.
func createMachines(ctx context.Context, tx pgx.Tx, machines []engine.Machine[pgx.Tx]) error {
	pending, err := missing(ctx, tx, machines)
	if err != nil {
		return err
	}
	for len(pending) > 0 {
		var later []engine.Machine[pgx.Tx]
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
func missing(ctx context.Context, tx pgx.Tx, machines []engine.Machine[pgx.Tx]) ([]engine.Machine[pgx.Tx], error) {
	var out []engine.Machine[pgx.Tx]
	for _, m := range machines {
		t := m.Tables()
		columns, err := columnsOf(ctx, tx, t.Record)
		if err != nil {
			return nil, fmt.Errorf("machine %s: %w", m.Name(), err)
		}
		if len(columns) == 0 {
			out = append(out, m)
			continue
		}
		lacks := slices.DeleteFunc(slices.Clone(t.Columns), func(c string) bool { return slices.Contains(columns, c) })
		if len(lacks) > 0 {
			return nil, &TableError{Machine: m.Name(), Table: t.Record, Missing: lacks}
		}
	}
	return out, nil
}

// create runs the schema of m within a savepoint.
func create(ctx context.Context, tx pgx.Tx, m engine.Machine[pgx.Tx]) error {
	schema, err := m.Schema("postgres")
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { return script(ctx, tx, schema) })
}

// columnsOf lists the columns of a table, none where it is not there.
func columnsOf(ctx context.Context, tx pgx.Tx, table string) ([]string, error) {
	rows, err := tx.Query(ctx, `SELECT attname::text FROM pg_attribute
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
