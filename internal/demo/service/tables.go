package service

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// schema is the service's own tables: what effects write within the transaction of a step. The
// keys make a step that is booked twice an error.
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

// note keeps an effect that belongs to the transaction of its step: audits, manifests, tombstones,
// the operator queue.
func note(ctx context.Context, tx *sql.Tx, d fsm.Dispatch) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO service_notes VALUES (?, ?, ?, ?, ?)", d.ID, d.Machine, d.Record, d.Effect, string(d.Payload))
	return err
}

// booking says how many percent of the deposit an effect moves, from which account to which. An
// effect that moves no money has 0 percent.
func booking(effect string) (debit, credit string, percent int64) {
	switch effect {
	case "ledger_deposit":
		return "EXTERNAL_TON", "ESCROW", 100
	case "release_escrow":
		return "ESCROW", "OWNER", 100
	case "deduct_commission":
		return "OWNER", "PLATFORM", 10
	case "return_escrow":
		return "ESCROW", "ADVERTISER", 100
	}
	return "", "", 0
}

// book moves a part of a deposit: two entries of a deal that add up to zero.
func book(ctx context.Context, tx *sql.Tx, d fsm.Dispatch, debit, credit string, percent int64) error {
	var of struct {
		Deposit int64 `json:"deposit_nano"`
	}
	if err := json.Unmarshal(d.Payload, &of); err != nil {
		return err
	}
	nano := of.Deposit * percent / 100
	_, err := tx.ExecContext(ctx, "INSERT INTO service_ledger VALUES (?, ?, ?, ?), (?, ?, ?, ?)",
		d.ID, d.Record, debit, -nano, d.ID, d.Record, credit, nano)
	return err
}
