package crashtest_test

import (
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/runtime/crashtest"
)

type (
	sqliteTx   = *sql.Tx
	postgresTx = pgx.Tx
)

// sqliteAt is the database in a file.
func sqliteAt(file string) crashtest.Database[sqliteTx] { return crashtest.FileDatabase(file) }

// postgresIn is the database in a schema, for a store with adjusted connections.
func postgresIn(dsn, schema string, adjust ...func(*pgxpool.Config)) crashtest.Database[postgresTx] {
	return crashtest.Schema(dsn, schema, adjust...)
}
