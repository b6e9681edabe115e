package posts

import (
	"database/sql"
	_ "embed"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/services/deal/internal/sqltx"
)

//go:embed migrations/postgres.sql
var postgresSchema string

//go:embed migrations/sqlite.sql
var sqliteSchema string

// Postgres returns the tables of a PostgreSQL database.
func Postgres() *Table[pgx.Tx] { return &Table[pgx.Tx]{schema: postgresSchema, in: sqltx.Postgres} }

// SQLite returns the tables of an SQLite database.
func SQLite() *Table[*sql.Tx] { return &Table[*sql.Tx]{schema: sqliteSchema, in: sqltx.SQLite} }
