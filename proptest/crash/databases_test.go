package crash_test

import (
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/proptest/crash"
)

type (
	sqliteTx   = *sql.Tx
	postgresTx = pgx.Tx
)

// sqliteAt is the database in a file.
func sqliteAt(file string) crash.Database[sqliteTx] { return crash.FileDatabase(file) }

// postgresIn is the database in a schema, for a store with adjusted connections.
func postgresIn(dsn, schema string, adjust ...func(*pgxpool.Config)) crash.Database[postgresTx] {
	return crash.Schema(dsn, schema, adjust...)
}
