package service

import (
	"context"
	"database/sql"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// schema is the service's own tables: what its handlers write within the
// transaction of a step. The keys make a step that is booked twice an error.
const schema = `
CREATE TABLE service_ledger (
  message_id text NOT NULL, deal_id text NOT NULL, account text NOT NULL, nano integer NOT NULL,
  PRIMARY KEY (message_id, account)
) STRICT;
CREATE TABLE service_notes (
  message_id text NOT NULL PRIMARY KEY, machine text NOT NULL, record_id text NOT NULL, effect text NOT NULL, payload text NOT NULL
) STRICT`

// Migrate creates the service's own tables.
func Migrate(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, schema)
	return err
}

// note keeps what a step asked to be recorded, in the step's transaction:
// audits, manifests, tombstones, the operator queue.
func note(ctx context.Context, tx *sql.Tx, d fsm.Dispatch) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO service_notes VALUES (?, ?, ?, ?, ?)", d.ID, d.Machine, d.Record, d.Effect, string(d.Payload))
	return err
}

// book moves money from one account to another: two entries that add up to
// zero.
func book(ctx context.Context, tx *sql.Tx, d fsm.Dispatch, debit, credit string, nano int64) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO service_ledger VALUES (?, ?, ?, ?), (?, ?, ?, ?)",
		d.ID, d.Record, debit, -nano, d.ID, d.Record, credit, nano)
	return err
}
