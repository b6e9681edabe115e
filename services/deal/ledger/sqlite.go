package ledger

import (
	"database/sql"
	_ "embed"

	"github.com/fsmgen/fsmgen/services/deal/internal/sqltx"
)

//go:embed migrations/sqlite.sql
var sqliteSchema string

// SQLite returns the ledger of an SQLite database.
func SQLite() *Ledger[*sql.Tx] { return &Ledger[*sql.Tx]{schema: sqliteSchema, in: sqltx.SQLite} }
