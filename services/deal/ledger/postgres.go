package ledger

import (
	_ "embed"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/services/deal/internal/sqltx"
)

//go:embed migrations/postgres.sql
var postgresSchema string

// Postgres returns the ledger of a PostgreSQL database.
func Postgres() *Ledger[pgx.Tx] { return &Ledger[pgx.Tx]{schema: postgresSchema, in: sqltx.Postgres} }
